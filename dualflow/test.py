"""Test cases under TensorFlow's names (`tf.test`). `dualflow.testing` compares in units in the last
place and checks gradients of higher order."""

from __future__ import annotations

import atexit
import functools
import os
import random as python_random
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualflow import random
from dualflow.errors import DualflowError
from dualflow.nest import rebuild
from dualflow.testing import compute_gradient as compute_gradient

__all__ = ["TestCase", "compute_gradient", "get_temp_dir", "gpu_device_name", "is_built_with_cuda",
           "is_gpu_available", "main"]

SEED = 87654321     # of each test


class TestCase(unittest.TestCase):
    """A `unittest.TestCase` with assertions about arrays, which accept tensors, arrays and nested
    lists of numbers. Each test starts with the same seeds of the random generators.

    Examples
    --------
    >>> import dualflow as df
    >>> class SquareTest(df.test.TestCase):
    ...     def test_square(self):
    ...         self.assertAllClose(df.square([1., 2.]), [1., 4.])
    >>> SquareTest("test_square").run().wasSuccessful()
    True
    """

    op_error: type[Exception] = DualflowError

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._folder: str | None = None

    def setUp(self) -> None:
        """Set the seeds of the generators of Python, NumPy and dualflow."""
        import numpy as np

        super().setUp()
        python_random.seed(SEED)
        np.random.seed(SEED)
        random.set_seed(SEED)

    def get_temp_dir(self) -> str:
        """Return an empty directory for the files of this test."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of nested tensors as arrays."""
        return rebuild(tensors, lambda x: x.numpy() if hasattr(x, "numpy") else x)

    def is_tensor(self, x: Any) -> bool:
        """Return True if an object has a value for `evaluate`."""
        return hasattr(x, "numpy")

    def array(self, x: Any) -> Any:
        """Return anything that becomes a tensor as an array; text becomes bytes, and bfloat16
        becomes float32."""
        import numpy as np

        made = np.asarray(rebuild(x, lambda y: self.evaluate(y) if self.is_tensor(y) else y))
        if made.dtype.kind == "U":
            return np.char.encode(made, "utf-8")
        if made.dtype.kind == "O":
            return np.asarray([y.encode() if isinstance(y, str) else y for y in made.ravel()],
                              object).reshape(made.shape)
        return made.astype(np.float32) if made.dtype.kind == "V" else made

    def pair(self, a: Any, b: Any, msg: str | None) -> tuple[Any, Any]:
        """Return two arrays after comparing their shapes."""
        a, b = self.array(a), self.array(b)
        if a.shape != b.shape:
            self.fail(self._formatMessage(msg, f"shape mismatch: {a.shape} and {b.shape}"))
        return a, b

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Assert that shapes and elements are equal; NaN equals NaN."""
        import numpy as np

        np.testing.assert_array_equal(*self.pair(a, b, msg), err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Assert that shapes or elements differ."""
        self._differ(self.assertAllEqual, a, b, msg=msg)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6,
                       msg: str | None = None) -> None:
        """Assert that ``|a - b| <= atol + rtol * |b|`` for each element; `a` and `b` may be nested
        lists, tuples and dicts of arrays of different shapes."""
        self._all_close(a, b, lambda x, y: (rtol, atol), msg, "")

    def assertAllCloseAccordingToType(
            self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
            float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3,
            bfloat16_rtol: float = 1e-2, bfloat16_atol: float = 1e-2,
            msg: str | None = None) -> None:
        """Assert that elements are close, with the tolerances of the narrower dtype: `rtol` and
        `atol` are for float64 and complex128."""
        by_name = {"float32": (float_rtol, float_atol), "complex64": (float_rtol, float_atol),
                   "float16": (half_rtol, half_atol), "bfloat16": (bfloat16_rtol, bfloat16_atol)}

        def tolerances(x: Any, y: Any) -> tuple[float, float]:
            found = [by_name.get(self._dtype(z), (0., 0.)) for z in (x, y)]
            return max(rtol, *[r for r, _ in found]), max(atol, *[a for _, a in found])

        self._all_close(a, b, tolerances, msg, "")

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6,
                          msg: str | None = None) -> None:
        """Assert that elements are not all close."""
        self._differ(self.assertAllClose, a, b, rtol=rtol, atol=atol, msg=msg)

    def _dtype(self, x: Any) -> str:
        """Return the name of the dtype of a tensor or array."""
        import numpy as np

        dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
        return str(dtype.name)

    def _all_close(self, a: Any, b: Any, tolerances: Callable[..., Any], msg: str | None,
                   path: str) -> None:
        """Compare nested arrays."""
        import numpy as np

        a, b = ({**x._asdict()} if hasattr(x, "_asdict") else x for x in (a, b))
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            if not (isinstance(a, Mapping) and isinstance(b, Mapping)) or {*a} != {*b}:
                self.fail(self._formatMessage(msg, f"keys differ{path}: {a!r} and {b!r}"))
            for key in a:
                self._all_close(a[key], b[key], tolerances, msg, f"{path or ' at '}[{key!r}]")
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple) and (
                self._is_ragged(a) or self._is_ragged(b)):
            if len(a) != len(b):
                self.fail(self._formatMessage(msg, f"lengths differ{path}: {len(a)} and {len(b)}"))
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._all_close(x, y, tolerances, msg, f"{path or ' at '}[{i}]")
        else:
            rtol, atol = tolerances(a, b)
            x, y = self.pair(a, b, (path and self._formatMessage(msg, path)) or msg)
            np.testing.assert_allclose(x, y, rtol, atol, err_msg=f"{msg or ''}{path}")

    def _is_ragged(self, x: Any) -> bool:
        """Return True if a list is no array, or has dicts in it."""
        try:
            return bool(self.array(x).dtype.kind == "O")
        except (ValueError, TypeError, DualflowError):
            return True

    def _differ(self, same: Callable[..., None], *args: Any, msg: str | None, **kwargs: Any
                ) -> None:
        """Assert that an assertion fails."""
        try:
            same(*args, **kwargs)
        except AssertionError:
            return
        self.fail(self._formatMessage(msg, f"the values are the same: {args[0]!r}"))

    def _each(self, holds: Any, a: Any, what: str) -> None:
        """Assert that a condition holds for all elements of an array."""
        import numpy as np

        if not np.all(holds):
            self.fail(f"{int(np.sum(~np.asarray(holds)))} of {np.size(a)} elements are not "
                      f"{what}: {a}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are greater than a number."""
        a = self.array(a)
        self._each(a > comparison_target, a, f"greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are less than a number."""
        a = self.array(a)
        self._each(a < comparison_target, a, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are at least a number."""
        a = self.array(a)
        self._each(a >= comparison_target, a, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Assert that all elements are at most a number."""
        a = self.array(a)
        self._each(a <= comparison_target, a, f"at most {comparison_target}")

    def assertAllInRange(self, target: Any, lower_bound: float, upper_bound: float,
                         open_lower_bound: bool = False, open_upper_bound: bool = False) -> None:
        """Assert that all elements are between two bounds, or equal a bound that is not open."""
        a = self.array(target)
        above = a > lower_bound if open_lower_bound else a >= lower_bound
        below = a < upper_bound if open_upper_bound else a <= upper_bound
        self._each(above & below, a, f"in {'(' if open_lower_bound else '['}{lower_bound}, "
                                     f"{upper_bound}{')' if open_upper_bound else ']'}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Assert that all elements are in a set."""
        import numpy as np

        a = self.array(target)
        self._each(np.isin(a, self.array(list(expected_set))), a, f"in {expected_set}")

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Assert that two numbers differ by at most `err`."""
        if f1 != f2 and not abs(f1 - f2) <= err:
            self.fail(self._formatMessage(msg, f"{f1!r} != {f2!r} +/- {err!r}"))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None
                        ) -> None:
        """Assert that the numbers of two sequences differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
                          ) -> None:
        """Assert that the norm of the difference of two arrays is below `err`."""
        import numpy as np

        a, b = self.pair(ndarray1, ndarray2, msg)
        norm = np.linalg.norm(a - b)
        if not norm < err:
            self.fail(self._formatMessage(msg, f"the norm of the difference is {norm}, expected "
                                               f"less than {err}"))

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Assert that two tensors or arrays have the same shape."""
        a, b = [tuple(x.shape) if hasattr(x, "shape") else self.array(x).shape
                for x in (input_a, input_b)]
        self.assertEqual(a, b, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Assert that a tensor or array has a dtype."""
        import numpy as np

        wanted = getattr(expected_dtype, "name", None) or np.dtype(expected_dtype).name
        self.assertEqual(self._dtype(target), wanted)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Assert that a text has a prefix."""
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with "
                                               f"{expected_start!r}"))

    @contextmanager
    def assertRaisesWithPredicateMatch(
            self, exception_type: type[BaseException],
            expected_err_re_or_predicate: str | Callable[[Any], Any]) -> Iterator[None]:
        """Assert that the block raises an error whose message matches a regular expression, or for
        which a function returns True."""
        matches = expected_err_re_or_predicate
        try:
            yield
        except exception_type as error:
            found = matches(error) if callable(matches) else re.search(matches, str(error))
            if not found:
                raise AssertionError(f"error of type {type(error).__name__} does not match "
                                     f"{matches!r}: {error}") from error
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: str | Callable[[Any], Any]
                            ) -> AbstractContextManager[None]:
        """Assert that the block raises an error of an operation."""
        return self.assertRaisesWithPredicateMatch(self.op_error, expected_err_re_or_predicate)


@functools.cache
def get_temp_dir() -> str:
    """Return a directory for temporary files, which is deleted at the end of the program.

    Examples
    --------
    >>> import os
    >>> import dualflow as df
    >>> os.path.isdir(df.test.get_temp_dir())
    True
    """
    made = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    atexit.register(shutil.rmtree, made, True)
    return made


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return False; the arguments `cuda_only` and `min_cuda_compute_capability` are ignored.

    Examples
    --------
    >>> import dualflow as df
    >>> df.test.is_gpu_available()
    False
    """
    return False


def is_built_with_cuda() -> bool:
    """Return False.

    Examples
    --------
    >>> import dualflow as df
    >>> df.test.is_built_with_cuda()
    False
    """
    return False


def gpu_device_name() -> str:
    """Return an empty name: there is no GPU.

    Examples
    --------
    >>> import dualflow as df
    >>> df.test.gpu_device_name()
    ''
    """
    return ""


def main(argv: list[str] | None = None) -> None:
    """Run all tests of the program and exit.

    Parameters
    ----------
    argv : list of str, optional
        The command line of `unittest.main`; by default `sys.argv`.

    Examples
    --------
    >>> import dualflow as df
    >>> if __name__ == "a program":
    ...     df.test.main()
    """
    unittest.main(module="__main__", argv=argv)


def __dir__() -> list[str]:
    return __all__
