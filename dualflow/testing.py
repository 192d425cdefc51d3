"""Test utilities: comparison in units in the last place, and finite-difference gradient checks.

Examples
--------
>>> import dualflow as df
>>> from dualflow import testing
>>> testing.check_gradients(lambda x: df.exp(x) * x, [[0.5, 1., 2.]], order=2)
"""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import POSITIVE, integer, number
from dualflow.autodiff import GradientTape
from dualflow.dtypes import complex128, float64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.nest import flatten_tensors
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["assert_close", "assert_ulp", "check_gradients", "numeric_gradient"]

SMALL = 64  # number of elements up to which each one is checked
DIRECTIONS = 2


def numeric_gradient(f: Callable[..., Any], args: Sequence[Any], eps: float = 1e-5) -> list[Any]:
    """Return central finite differences of a scalar function, computed in float64.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a real tensor with one element.
    args : sequence of anything that becomes a tensor
        Floating arguments are converted to float64, complex ones to complex128; others are passed
        unchanged.
    eps : float
        Half the step. The error is about eps² times a third derivative plus 2e-16 / eps.

    Returns
    -------
    list of numpy.ndarray, one per argument, float64 or complex128; None for other arguments
        With respect to z = x + iy the gradient is df/dx + i df/dy, as `GradientTape` returns.

    Examples
    --------
    >>> from dualflow import testing
    >>> testing.numeric_gradient(lambda x: x * x, [3.])[0].round(6).item()
    6.0
    """
    import numpy as np  # slow import

    eps = number(eps, "numeric_gradient: eps", POSITIVE)
    tensors = [widened(a) for a in args]

    def value(arrays: list[Any]) -> float:
        return float(check_real("numeric_gradient", f(*[
            t if a is None else as_tensor(a)
            for t, a in zip(tensors, arrays, strict=True)]), "the result of f").item())

    arrays = [np.array(t.numpy()) if t.dtype.is_inexact else None for t in tensors]
    gradients: list[Any] = []
    for a in arrays:
        if a is None:
            gradients.append(None)
            continue
        g = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            original = a[at]
            for unit in units(a):
                a[at] = original + eps * unit
                up = value(arrays)
                a[at] = original - eps * unit
                down = value(arrays)
                a[at] = original
                g[at] += unit * ((up - down) / (2 * eps))
        gradients.append(g)
    return gradients


def check_gradients(f: Callable[..., Any], args: Sequence[Any], order: int = 1, eps: float = 1e-5,
                    rtol: float = 1e-6, seed: int = 0) -> None:
    """Compare gradients with central finite differences in float64.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a tensor or nested tensors.
    args : sequence of anything that becomes a tensor
        Floating arguments are converted to float64, complex ones to complex128, and checked;
        others are passed unchanged.
    order : int, default 1
        Order of differentiation: 2 checks gradients of gradients as well.
    eps : float
        Half the step of the differences.
    rtol : float
        Allowed error, relative to one plus the sum of the magnitudes of the summed terms.
    seed : int
        Seed of the random directions and of the weights of the results.

    Raises
    ------
    AssertionError
        The message has the argument, the position, the gradient and the difference quotient.

    Notes
    -----
    With random weights w of the results and a random direction d of the arguments, the gradient of
    <w, f> along d is compared with <w, f(x + eps d) - f(x - eps d)> / 2 eps. If the arguments have
    at most 64 elements in all, each element is checked as well. Of complex numbers, <w, f> is the
    real part of ``sum(conj(w) * f)``.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow import testing
    >>> testing.check_gradients(lambda a, b: a * b, [[1., 2.], [[3.], [4.]]], order=2)
    """
    eps = number(eps, "check_gradients: eps", POSITIVE)
    if integer(order, "check_gradients: order") < 1:
        raise InvalidArgumentError(f"check_gradients: order is {order}, expected at least 1")
    import numpy as np  # slow import

    rng = np.random.default_rng(integer(seed, "check_gradients: seed"))
    tensors = [widened(a) for a in args]
    floating = [i for i, t in enumerate(tensors) if t.dtype.is_inexact]
    points = [tensors[i].numpy() for i in floating]

    def call(*moved: Any) -> list[Tensor]:
        given = list(tensors)
        for i, x in zip(floating, moved, strict=True):
            given[i] = x
        return [y for y in flatten_tensors(f(*given)) if y.dtype.is_inexact]

    weights = [cast(as_tensor(uniform(rng, 0.5, 1.5, y.shape, y.dtype.is_complex)), y.dtype)
               for y in call(*tensors_of(points))]

    def gradients(*moved: Any) -> list[Tensor]:
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(moved)
            results = call(*moved)
        return tape.gradient(results, list(moved), output_gradients=weights,
                             unconnected_gradients="zero")

    got = [g.numpy() for g in gradients(*tensors_of(points))]
    for i, g in zip(floating, got, strict=True):
        if g.shape != tensors[i].shape:
            raise AssertionError(f"gradient of argument {i} has shape {g.shape}, "
                                 f"the argument {tensors[i].shape}")
    for what, direction in directions(rng, floating, points):
        change = [
            (up.numpy() - down.numpy()) / (2 * eps)
            for up, down in zip(call(*moved(points, direction, eps)),
                                call(*moved(points, direction, -eps)), strict=True)]
        terms = [np.real(w.numpy().conj() * c) for w, c in zip(weights, change, strict=True)]
        products = [np.real(a.conj() * d) for a, d in zip(got, direction, strict=True)]
        found, wanted = (sum(float(np.sum(t)) for t in ts) for ts in (products, terms))
        scale = 1 + sum(float(np.sum(np.abs(t))) for t in products + terms)
        if not abs(found - wanted) <= rtol * scale:
            raise AssertionError(f"gradient {what} is {found!r}, by differences {wanted!r} "
                                 f"(allowed error {rtol * scale:.2g})")
    if order > 1:
        try:
            check_gradients(gradients, tensors_of(points), order - 1, eps, rtol, seed + 1)
        except AssertionError as error:
            error.add_note("while checking the gradient of the gradient")
            raise


def directions(rng: Any, floating: list[int], points: list[Any]) -> list[tuple[str, list[Any]]]:
    """Return named directions: random ones, and for small arguments one along each element, or
    along each part of a complex number."""
    import numpy as np  # slow import

    out = [("along a random direction",
            [uniform(rng, -1, 1, p.shape, p.dtype.kind == "c") for p in points])
           for _ in range(DIRECTIONS)]
    if sum(p.size for p in points) <= SMALL:
        for k, p in enumerate(points):
            for at in np.ndindex(p.shape):
                for unit in units(p):
                    direction = [np.zeros_like(q) for q in points]
                    direction[k][at] = unit
                    out.append((f"of argument {floating[k]} at {at}"
                                f"{', imaginary part' * (unit == 1j)}", direction))
    return out


def units(x: Any) -> list[complex]:
    """Return the directions in which an element of an array may move."""
    return [1, 1j] if x.dtype.kind == "c" else [1]


def uniform(rng: Any, low: float, high: float, shape: Any, is_complex: bool) -> Any:
    """Return random numbers, or complex numbers with random parts."""
    if is_complex:
        return rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
    return rng.uniform(low, high, shape)


def tensors_of(points: list[Any]) -> list[Tensor]:
    return [as_tensor(p) for p in points]


def moved(points: list[Any], direction: list[Any], step: float) -> list[Tensor]:
    return [as_tensor(p + step * d) for p, d in zip(points, direction, strict=True)]


def widened(arg: Any) -> Tensor:
    x = as_tensor(arg)
    if x.dtype.is_complex:
        return cast(x, complex128)
    return cast(x, float64) if x.dtype.is_floating else x


def compute_gradient(f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
                     ) -> tuple[list[Any], list[Any]]:
    """Return the Jacobians of a function by its gradients, and by central differences.

    Parameters
    ----------
    f : callable
        Function of as many tensors as `x` has that returns a tensor.
    x : list or tuple of floating or complex tensors
    delta : float, default 1/1024
        Half the step of the differences, which are computed in the dtype of the argument.

    Returns
    -------
    (list of numpy.ndarray, list of numpy.ndarray)
        Each array has the shape (size of the result, size of the argument), and the dtype of the
        argument. Complex tensors count as real tensors of twice the size.

    Examples
    --------
    >>> import dualflow as df
    >>> gradients, differences = df.test.compute_gradient(df.square, [[1., 3.]])
    >>> gradients[0].tolist(), differences[0].round(3).tolist()
    ([[2.0, 0.0], [0.0, 6.0]], [[2.0, 0.0], [0.0, 6.0]])
    """
    import numpy as np

    if not isinstance(x, list | tuple):
        raise DTypeError("compute_gradient: x is not a list or tuple of arguments")
    step = number(1 / 1024 if delta is None else delta, "compute_gradient: delta", POSITIVE)
    points = [as_tensor(a) for a in x]
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(points)
        y = as_tensor(f(*points))
    n = parts(y.numpy()).size
    by_gradients = [np.zeros((n, parts(p.numpy()).size), parts(p.numpy()).dtype) for p in points]
    for row in range(n):
        seed = np.zeros(y.shape, y.numpy().dtype)
        parts(seed)[row] = 1
        found = tape.gradient(y, points, output_gradients=as_tensor(seed),
                              unconnected_gradients="zero")
        for jacobian, g in zip(by_gradients, found, strict=True):
            jacobian[row] = parts(as_tensor(g).numpy())
    by_differences = [np.zeros_like(jacobian) for jacobian in by_gradients]
    for i, jacobian in enumerate(by_differences):
        for column in range(jacobian.shape[1]):
            ends = []
            for side in (step, -step):
                moved = np.array(points[i].numpy())
                parts(moved)[column] += side
                end = as_tensor(f(*points[:i], as_tensor(moved), *points[i + 1:]))
                ends.append(parts(end.numpy()))
            jacobian[:, column] = (ends[0] - ends[1]) / (2 * step)
    return by_gradients, by_differences


def parts(x: Any) -> Any:
    """Return the elements of a dense array, or the parts of complex numbers, as a flat view."""
    return x.reshape(-1).view(x.real.dtype)


def assert_ulp(actual: Any, expected: Any, ulp: float) -> None:
    """Assert that floats are within `ulp` units in the last place of the expected values.

    Parameters
    ----------
    actual : Tensor or array, floating
    expected : array
        More precise than `actual`, for example float64 for float32 results. The unit is the
        spacing of the dtype of `actual` at the expected value; of complex numbers, that of their
        parts at the absolute value. NaN, inf and shape must be equal.
    ulp : float

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow import testing
    >>> testing.assert_ulp(df.constant([0.1, 0.2]), [0.1, 0.2], ulp=0.5)
    """
    import numpy as np  # slow import

    ulp = float(number(ulp, "assert_ulp: ulp"))
    got, want = np.asarray(actual), np.asarray(expected)
    if np.iscomplexobj(want) and not np.iscomplexobj(got):
        check_real("assert_ulp", want, "expected")
    want = want.astype(np.promote_types(got.dtype, np.float64))
    if got.shape != want.shape:
        raise AssertionError(f"shape is {got.shape}, expected {want.shape}")
    rounded = want.astype(got.dtype)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, rounded))
    error = np.zeros(got.shape)
    with np.errstate(invalid="ignore"):
        error[finite] = (np.abs(got[finite].astype(want.dtype) - want[finite])
                         / np.spacing(np.abs(rounded[finite])))
    bad = ~(error <= ulp)
    if bad.any():
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        place = tuple(int(i) for i in at)
        raise AssertionError(f"{int(bad.sum())} of {bad.size} elements are off by more than {ulp} "
                             f"ulp; worst at {place}: got {got[at]!r}, expected {want[at]!r}, "
                             f"{error[at]:.3g} ulp")


def assert_close(actual: Any, expected: Any, rtol: float = 1e-6, atol: float = 0.0) -> None:
    """Assert that `actual` is within ``atol + rtol * |expected|`` of `expected`, with equal shape.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow import testing
    >>> testing.assert_close(df.exp([0., 1.]), [1., 2.718282], rtol=1e-6)
    """
    import numpy as np  # slow import

    got, want = np.asarray(actual), np.asarray(expected)
    if got.shape != want.shape:
        raise AssertionError(f"shape is {got.shape}, expected {want.shape}")
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def __dir__() -> list[str]:
    return __all__
