"""Indices of the largest and smallest elements."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.dtypes import int64
from dualflow.gradient_registry import no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["argmax", "argmin"]


def argmax(input: TensorLike, axis: int | None = None, output_type: DTypeLike = int64,
           name: str | None = None) -> Tensor:
    """Return the index of the largest element along `axis`, the first of equal ones.

    Parameters
    ----------
    input : Tensor, any number dtype or bool
    axis : int, optional
        By default the first, as in TensorFlow.
    output_type : DType, int64 or int32

    Returns
    -------
    Tensor, `output_type`, the shape of `input` without `axis`

    Raises
    ------
    InvalidArgumentError
        If the axis does not exist or has no elements.

    Notes
    -----
    NaN counts as the largest. There is no gradient: the result is an integer.

    Examples
    --------
    >>> import dualflow as df
    >>> df.argmax([[1, 5, 5], [7, 2, 3]], axis=1).numpy().tolist()
    [1, 0]
    """
    return apply("argmax", input, axis=0 if axis is None else axis, output_type=output_type,
                 name=name)


no_gradient("argmax", why="integer result")


def argmin(input: TensorLike, axis: int | None = None, output_type: DTypeLike = int64,
           name: str | None = None) -> Tensor:
    """Return the index of the smallest element along `axis`, the first of equal ones.

    Parameters
    ----------
    input : Tensor, any number dtype or bool
    axis : int, optional
        By default the first, as in TensorFlow.
    output_type : DType, int64 or int32

    Returns
    -------
    Tensor, `output_type`, the shape of `input` without `axis`

    Raises
    ------
    InvalidArgumentError
        If the axis does not exist or has no elements.

    Notes
    -----
    NaN counts as the smallest. There is no gradient: the result is an integer.

    Examples
    --------
    >>> import dualflow as df
    >>> df.argmin([[1, 5, 5], [7, 2, 3]], axis=1).numpy().tolist()
    [0, 1]
    """
    return apply("argmin", input, axis=0 if axis is None else axis, output_type=output_type,
                 name=name)


no_gradient("argmin", why="integer result")
