"""Comparisons, and selection between two tensors by a condition."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_unary
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient, no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "approximate_equal",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "where",
]


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x == y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    NaN equals no value. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.equal([1, 2, 3], 2).numpy().tolist()
    [False, True, False]
    """
    return apply_binary("equal", x, y, name)


no_gradient("equal", why="its result is bool")


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x != y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    NaN differs from every value. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.not_equal([1, 2, 3], 2).numpy().tolist()
    [True, False, True]
    """
    return apply_binary("not_equal", x, y, name)


no_gradient("not_equal", why="its result is bool")


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x < y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    False where either is NaN. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.less([1, 2, 3], 2).numpy().tolist()
    [True, False, False]
    """
    return apply_binary("less", x, y, name)


no_gradient("less", why="its result is bool")


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x <= y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    False where either is NaN. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.less_equal([1, 2, 3], 2).numpy().tolist()
    [True, True, False]
    """
    return apply_binary("less_equal", x, y, name)


no_gradient("less_equal", why="its result is bool")


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x > y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    False where either is NaN. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.greater([1, 2, 3], 2).numpy().tolist()
    [False, False, True]
    """
    return apply_binary("greater", x, y, name)


no_gradient("greater", why="its result is bool")


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x >= y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any dtype with arithmetic, or bool, shapes that broadcast

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Notes
    -----
    False where either is NaN. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.greater_equal([1, 2, 3], 2).numpy().tolist()
    [False, True, True]
    """
    return apply_binary("greater_equal", x, y, name)


no_gradient("greater_equal", why="its result is bool")


def approximate_equal(
    x: TensorLike, y: TensorLike, tolerance: float = 1e-5, name: str | None = None
) -> Tensor:
    """Return ``|x - y| < tolerance``, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast
    tolerance : float, default 1e-5

    Returns
    -------
    Tensor, bool, of the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.approximate_equal([1., 2.], [1.000001, 2.1]).numpy().tolist()
    [True, False]
    """
    return abs(apply_binary("subtract", x, y, name)) < tolerance


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return x where `condition` is true, else y. Without x and y, return the true indices.

    Parameters
    ----------
    condition : Tensor, bool
    x, y : Tensor, any dtype, shapes that broadcast with each other and with `condition`
        Both or neither.

    Returns
    -------
    Tensor, of the promoted dtype of x and y and the broadcast shape; without them int64, shape
    (number of true elements, rank)

    Raises
    ------
    DTypeError
        If `condition` is not bool.

    Notes
    -----
    The gradient of x is g where `condition` is true, else 0; the gradient of y is the opposite.

    Examples
    --------
    >>> import dualflow as df
    >>> df.where([True, False], [1, 2], 0).numpy().tolist()
    [1, 0]
    >>> df.where([True, False, True]).numpy().tolist()
    [[0], [2]]
    """
    if x is None and y is None:
        return apply_unary("where_indices", condition, name)
    if x is None or y is None:
        raise InvalidArgumentError("where: got one of x and y, expected both or neither")
    return apply("where", condition, x, y, name=name)


@gradient("where", saves=(0,))
def _(g, out, condition, x, y):
    return None, lambda: where(condition, g, 0), lambda: where(condition, 0, g)
