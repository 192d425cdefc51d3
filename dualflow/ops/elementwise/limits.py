"""Maximum, minimum and clipping, with their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.compare import where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "clip_by_value",
    "maximum",
    "minimum",
]


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the larger of x and y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    NaN in either operand gives NaN. The gradient goes to x where ``x >= y``, else to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.maximum([1, 5], 3).numpy().tolist()
    [3, 5]
    """
    return apply_binary("maximum", x, y, name)


@gradient("maximum", saves="inputs")
def _(g, y, a, b):
    a_wins = a >= b
    return lambda: where(a_wins, g, 0), lambda: where(a_wins, 0, g)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the smaller of x and y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    NaN in either operand gives NaN. The gradient goes to x where ``x <= y``, else to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.minimum([1, 5], 3).numpy().tolist()
    [1, 3]
    """
    return apply_binary("minimum", x, y, name)


@gradient("minimum", saves="inputs")
def _(g, y, a, b):
    a_wins = a <= b
    return lambda: where(a_wins, g, 0), lambda: where(a_wins, 0, g)


def clip_by_value(
    t: TensorLike,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Return max(min(t, clip_value_max), clip_value_min), elementwise.

    Parameters
    ----------
    t : Tensor, any number dtype
    clip_value_min, clip_value_max : Tensor, shapes that broadcast with `t`

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    NaN in any operand gives NaN. The gradient goes to `t` where it is within the limits, inclusive,
    else to the limit that replaced it.

    Examples
    --------
    >>> import dualflow as df
    >>> df.clip_by_value([-2., 0.5, 7.], 0., 1.).numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    return apply("clip_by_value", t, clip_value_min, clip_value_max, name=name)


@gradient("clip_by_value", saves="inputs")
def _(g, y, t, low, high):
    below, above = t < low, t > high
    return (
        lambda: where(below | above, 0, g),
        lambda: where(below, g, 0),
        lambda: where(above, g, 0),
    )
