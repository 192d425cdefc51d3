"""Limiting the norms of gradients."""

from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, apply, constant
from dualflow.dtypes import DType, float64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.arithmetic import abs, multiply
from dualflow.ops.array import stop_gradient
from dualflow.ops.cast import cast
from dualflow.ops.compare import where
from dualflow.ops.join import stack
from dualflow.ops.limits import maximum
from dualflow.ops.types import TensorLike

__all__ = ["clip_by_global_norm", "clip_by_norm", "global_norm"]


def _tensor(x: TensorLike) -> Any:
    return x if isinstance(x, TensorBase) else constant(x)


def _norm(x: TensorBase) -> Tensor:
    """The norm in float64, in which squares of narrower numbers cannot overflow. Numbers of float64
    are divided by the largest before they are squared."""
    axes = tuple(range(x.ndim))
    if x.dtype is not float64:
        return apply("reduce_euclidean_norm", cast(x, float64), axes=axes, keepdims=False)
    largest = stop_gradient(apply("reduce_max", abs(x), axes=axes, keepdims=False))
    unit = where((largest > 0) & (largest < float("inf")), largest, 1.0)
    return unit * apply("reduce_euclidean_norm", x / unit, axes=axes, keepdims=False)


def _norm_of_all(t_list: Sequence[TensorLike | None], name: str | None) -> tuple[Tensor, DType]:
    """The common norm in float64, and the dtype of the tensors."""
    tensors = [_tensor(t) for t in t_list if t is not None]
    if not tensors:
        raise InvalidArgumentError("global_norm: the list has no tensors, want at least one")
    dtype = max([t.dtype for t in tensors], key=lambda d: d.itemsize)
    return _norm(stack([_norm(t) for t in tensors], name=name)), dtype


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """The norm of all tensors taken as one vector: sqrt(sum of squares).

    Parameters
    ----------
    t_list : sequence of Tensor, floating, of one dtype
        None entries are left out.

    Returns
    -------
    Tensor, shape ()

    Raises
    ------
    InvalidArgumentError
        If there is nothing in `t_list`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.global_norm([df.constant([3.]), df.constant([[4.]])]).numpy().item()
    5.0
    """
    return cast(*_norm_of_all(t_list, name))


def _scale(norm: Tensor, limit: TensorLike) -> Tensor:
    """The factor that makes `norm` at most `limit`: 1 if it is small, NaN if infinite or NaN."""
    return limit / maximum(norm, limit) + (norm - norm)


def clip_by_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """`t` scaled down to a norm of at most `clip_norm`: t * clip_norm / max(norm(t), clip_norm).

    Parameters
    ----------
    t : Tensor, floating, shape (...)
    clip_norm : number or Tensor, > 0

    Returns
    -------
    Tensor, like `t`

    Notes
    -----
    The norm is computed in float64; NaN throughout if it is infinite there or NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.clip_by_norm([3., 4.], 2.5).numpy().tolist()
    [1.5, 2.0]
    """
    x = _tensor(t)
    return multiply(x, cast(_scale(_norm(x), clip_norm), x.dtype), name=name)


def clip_by_global_norm(t_list: Sequence[TensorLike | None], clip_norm: TensorLike,
                        use_norm: TensorLike | None = None,
                        name: str | None = None) -> tuple[list[Tensor | None], Tensor]:
    """All tensors scaled by the same factor, so that their common norm is at most `clip_norm`.

    Parameters
    ----------
    t_list : sequence of Tensor, floating, of one dtype
        None entries stay None.
    clip_norm : number or Tensor, > 0
    use_norm : Tensor, optional
        The common norm, if it is already known.

    Returns
    -------
    list of Tensor, Tensor
        The scaled tensors, and their common norm before scaling.

    Notes
    -----
    The norm is computed in float64; NaN throughout if it is infinite there or NaN. Pascanu, Mikolov
    and Bengio, "On the difficulty of training recurrent neural networks", ICML 2013.

    Examples
    --------
    >>> import dualflow as df
    >>> clipped, norm = df.clip_by_global_norm([df.constant([3.]), df.constant([4.])], 2.5)
    >>> [t.numpy().tolist() for t in clipped], norm.numpy().item()
    ([[1.5], [2.0]], 5.0)
    """
    if use_norm is None:
        wide, dtype = _norm_of_all(t_list, name)
        norm = cast(wide, dtype)
    else:
        wide = norm = _tensor(use_norm)
    scale = _scale(wide, clip_norm)
    clipped = [None if t is None else _tensor(t) for t in t_list]
    return [None if t is None else multiply(t, cast(scale, t.dtype)) for t in clipped], norm
