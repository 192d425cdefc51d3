"""Assertions for eager and traced code.

An assertion about values is an op: it runs at once in eager code and in each run of a traced
function. An assertion about ranks, shapes or dtypes is checked while Python runs.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import integer
from dualflow.dtypes import DType, as_dtype, float32
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.display import values_text
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "Assert", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank", "assert_shapes",
    "assert_true", "assert_type",
]

SHOWN = 3        # elements that a message prints at each end of a dimension


# --- values ---------------------------------------------------------------------------------------

def _demand(condition: Tensor, what: str, shown: Sequence[tuple[str, Tensor]], message: str | None,
            summarize: int | None, name: str | None) -> None:
    """Record or run a check that raises unless all elements of `condition` are true."""
    edge = SHOWN if summarize is None else integer(summarize, "summarize")
    check = functools.partial(check_all, what, [label for label, _ in shown], message, edge)
    host_call(check, [condition, *[x for _, x in shown]], name or "assert")


def check_all(what: str, labels: Sequence[str], message: str | None, edge: int, good: Tensor,
              *values: Tensor) -> None:
    """Raise unless all elements of `good` are true."""
    wrong = good.size - int(reduce_sum(cast(good, "int64")).item())
    if wrong:
        details = "; ".join(f"{label} = {values_text(x, edge)}"
                            for label, x in zip(labels, values, strict=True))
        head = f"{message}: " if message else ""
        raise InvalidArgumentError(f"{head}expected {what}, which fails for {wrong} of "
                                   f"{good.size} elements{': ' if details else ''}{details}")


def _compare(op: Callable[..., Tensor], sign: str, x: TensorLike, y: TensorLike,
             message: str | None, summarize: int | None, name: str | None) -> None:
    a, b = as_tensor(x), as_tensor(y)
    _demand(op(a, b), f"x {sign} y", [("x", a), ("y", b)], message, summarize, name)


def _against_zero(op: Callable[..., Tensor], sign: str, x: TensorLike, message: str | None,
                  summarize: int | None, name: str | None) -> None:
    a = as_tensor(x)
    _demand(op(a, 0), f"x {sign} 0", [("x", a)], message, summarize, name)


def assert_true(condition: TensorLike, data: Iterable[TensorLike] = (),
                summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless all elements of a condition are true.

    Parameters
    ----------
    condition : Tensor, bool
    data : sequence of Tensor
        Printed in the error message.
    summarize : int, optional
        Number of elements to print at both ends of a dimension; -1 for all.

    Raises
    ------
    InvalidArgumentError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_true(df.constant(1.) < 2.)
    """
    shown = [(f"data[{k}]", as_tensor(x)) for k, x in enumerate(data)]
    _demand(as_tensor(condition, "bool"), "a true condition", shown, None, summarize, name)


def Assert(condition: TensorLike, data: Iterable[TensorLike | str],
           summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless all elements of a condition are true.

    Parameters
    ----------
    condition : Tensor, bool
    data : sequence of Tensor or str
        Printed in the error message.
    summarize : int, optional
        As in `assert_true`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Assert(df.constant(1.) < 2., ["want less than", 2.])
    """
    parts = list(data)
    texts = [x for x in parts if isinstance(x, str)]
    tensors = [x for x in parts if not isinstance(x, str)]
    shown = [(f"data[{k}]", as_tensor(x)) for k, x in enumerate(tensors)]
    _demand(as_tensor(condition, "bool"), "a true condition", shown, " ".join(texts) or None,
            summarize, name)


def assert_equal(x: TensorLike, y: TensorLike, message: str | None = None,
                 summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless x == y for all elements, broadcast.

    Parameters
    ----------
    x, y : Tensor
    message : str, optional
    summarize : int, optional
        Number of elements to print at both ends of a dimension; -1 for all.

    Raises
    ------
    InvalidArgumentError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_equal([1, 2], [1, 2])
    """
    _compare(equal, "==", x, y, message, summarize, name)


def assert_none_equal(x: TensorLike, y: TensorLike, summarize: int | None = None,
                      message: str | None = None, name: str | None = None) -> None:
    """Raise unless x != y for all elements, broadcast; `message` and `summarize` as in
    `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_none_equal([1, 2], 3)
    """
    _compare(not_equal, "!=", x, y, message, summarize, name)


def assert_less(x: TensorLike, y: TensorLike, message: str | None = None,
                summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless x < y for all elements, broadcast; `message` and `summarize` as in
    `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_less([1, 2], 3)
    """
    _compare(less, "<", x, y, message, summarize, name)


def assert_less_equal(x: TensorLike, y: TensorLike, message: str | None = None,
                      summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless x <= y for all elements, broadcast; `message` and `summarize` as in
    `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_less_equal([1, 2], 2)
    """
    _compare(less_equal, "<=", x, y, message, summarize, name)


def assert_greater(x: TensorLike, y: TensorLike, message: str | None = None,
                   summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless x > y for all elements, broadcast; `message` and `summarize` as in
    `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_greater([1, 2], 0)
    """
    _compare(greater, ">", x, y, message, summarize, name)


def assert_greater_equal(x: TensorLike, y: TensorLike, message: str | None = None,
                         summarize: int | None = None, name: str | None = None) -> None:
    """Raise unless x >= y for all elements, broadcast; `message` and `summarize` as in
    `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_greater_equal([1, 2], 1)
    """
    _compare(greater_equal, ">=", x, y, message, summarize, name)


def spacing(dtype: DType) -> float:
    """Return the distance from 1 to the next number of a floating dtype, or of the parts of a
    complex one; of others, float32's."""
    return 2.0 ** (1 - (dtype if dtype.is_inexact else float32).digits)


def assert_near(x: TensorLike, y: TensorLike, rtol: float | None = None, atol: float | None = None,
                message: str | None = None, summarize: int | None = None,
                name: str | None = None) -> None:
    """Raise unless ``|x - y| <= atol + rtol |y|`` for all elements, broadcast.

    Parameters
    ----------
    x, y : Tensor, floating
    rtol, atol : float, optional
        By default ten times the spacing of floating-point values at 1.
    message : str, optional
    summarize : int, optional

    Raises
    ------
    InvalidArgumentError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_near([1., 2.], [1., 2.0000001])
    """
    a, b = as_tensor(x), as_tensor(y)
    default = 10 * spacing(a.dtype)
    near = (default if atol is None else atol) + (default if rtol is None else rtol) * abs(b)
    _demand(less_equal(abs(a - b), near), "|x - y| <= atol + rtol |y|", [("x", a), ("y", b)],
            message, summarize, name)


def assert_positive(x: TensorLike, message: str | None = None, summarize: int | None = None,
                    name: str | None = None) -> None:
    """Raise unless x > 0 for all elements; `message` and `summarize` as in `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_positive([1, 2])
    """
    _against_zero(greater, ">", x, message, summarize, name)


def assert_negative(x: TensorLike, message: str | None = None, summarize: int | None = None,
                    name: str | None = None) -> None:
    """Raise unless x < 0 for all elements; `message` and `summarize` as in `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_negative([-1, -2])
    """
    _against_zero(less, "<", x, message, summarize, name)


def assert_non_negative(x: TensorLike, message: str | None = None, summarize: int | None = None,
                        name: str | None = None) -> None:
    """Raise unless x >= 0 for all elements; `message` and `summarize` as in `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_non_negative([0, 2])
    """
    _against_zero(greater_equal, ">=", x, message, summarize, name)


def assert_non_positive(x: TensorLike, message: str | None = None, summarize: int | None = None,
                        name: str | None = None) -> None:
    """Raise unless x <= 0 for all elements; `message` and `summarize` as in `assert_equal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_non_positive([0, -2])
    """
    _against_zero(less_equal, "<=", x, message, summarize, name)


# --- shapes and dtypes ---------------------------------------------------------------------------

def assert_rank(x: TensorLike, rank: int, message: str | None = None,
                name: str | None = None) -> None:
    """Raise unless `x` has `rank` dimensions.

    Parameters
    ----------
    x : Tensor
    rank : int
    message : str, optional

    Raises
    ------
    ShapeError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_rank([[1, 2]], 2)
    """
    t = as_tensor(x)
    if t.ndim != rank:
        raise ShapeError(f"{message or name or 'assert_rank'}: got shape {t.shape}, "
                         f"expected {rank} dimensions")


def assert_type(tensor: TensorLike, tf_type: DTypeLike, message: str | None = None,
                name: str | None = None) -> None:
    """Raise unless a tensor has the given dtype.

    Parameters
    ----------
    tensor : Tensor
    tf_type : dtype
    message : str, optional

    Raises
    ------
    DTypeError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_type(df.constant(1.), df.float32)
    """
    t, wanted = as_tensor(tensor), as_dtype(tf_type)
    if t.dtype is not wanted:
        raise DTypeError(f"{message or name or 'assert_type'}: got {t.dtype}, expected {wanted}")


def assert_shapes(shapes: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise unless tensors have the given shapes, in which equal names must mean equal sizes.

    Parameters
    ----------
    shapes : dict or sequence of (Tensor, shape)
        A dimension is an int, a name (with one size throughout), or None or "." for any size.
    message : str, optional

    Raises
    ------
    ShapeError

    Examples
    --------
    >>> import dualflow as df
    >>> x, w = df.zeros([5, 3]), df.zeros([3, 2])
    >>> df.debugging.assert_shapes([(x, ("n", "k")), (w, ("k", 2))])
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    sizes: dict[str, tuple[int, int]] = {}                # by name: size, index of the first tensor
    caller = message or name or "assert_shapes"
    for k, (x, wanted) in enumerate(pairs):
        have = as_tensor(x).shape
        want = tuple(wanted) if isinstance(wanted, tuple | list | str) else (wanted,)
        if len(have) != len(want):
            raise ShapeError(f"{caller}: tensor {k} has shape {have}, expected {len(want)} "
                             f"dimensions, {want}")
        for d, (size, dim) in enumerate(zip(have, want, strict=True)):
            if dim is None or dim == ".":
                continue
            expected, since = sizes.setdefault(dim, (size, k)) if isinstance(dim, str) else (dim, k)
            if size != expected:
                reason = f"{dim!r} is {expected} in tensor {since}" if isinstance(dim, str) \
                    else f"expected {dim}"
                raise ShapeError(f"{caller}: tensor {k} has shape {have}; dimension {d} is {size}, "
                                 f"{reason}")
