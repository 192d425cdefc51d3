"""Clipping the norms of gradients. Rows of `IndexedSlices` with equal indices are added first, so
that norms equal the norms of the dense gradients."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, constant
from dualflow.dtypes import DType, float64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.join import stack
from dualflow.ops.array.shape import ints, stop_gradient
from dualflow.ops.elementwise.arithmetic import abs, multiply
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import complex, imag, real
from dualflow.ops.elementwise.limits import clip_by_value, maximum
from dualflow.ops.indexing.indexed_slices import IndexedSlices, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["clip_by_global_norm", "clip_by_norm", "clip_gradient_by_value", "global_norm"]


def _tensor(x: TensorLike) -> Any:
    if isinstance(x, IndexedSlices):
        return merged(x)
    return x if isinstance(x, TensorBase) else constant(x)


def _numbers(x: Any) -> Any:
    return x.values if isinstance(x, IndexedSlices) else x


def _norm(x: TensorBase, axes: Any = None) -> Tensor:
    """Return the norm in float64, of all elements or along `axes` with keepdims. In float64 the
    squares of narrower dtypes cannot overflow; float64 elements are divided by the largest before
    they are squared."""
    keepdims = axes is not None
    x = abs(x) if x.dtype.is_complex else x
    axes = ints(axes, "clip_by_norm: axes") if keepdims else tuple(range(x.ndim))
    if x.dtype.is_complex:
        x = abs(x)
    if x.dtype is not float64:
        return apply("reduce_euclidean_norm", cast(x, float64), axes=axes, keepdims=keepdims)
    largest = stop_gradient(apply("reduce_max", abs(x), axes=axes, keepdims=keepdims))
    unit = where((largest > 0) & (largest < float("inf")), largest, 1.0)
    return unit * apply("reduce_euclidean_norm", x / unit, axes=axes, keepdims=keepdims)


def _tensors(t_list: Sequence[TensorLike | None]) -> list[Any]:
    return [None if t is None else _tensor(t) for t in t_list]


def _norm_of_all(t_list: Sequence[Any], name: str | None) -> tuple[Tensor, DType]:
    """Return the common norm in float64, and the dtype of the tensors or of their parts."""
    tensors = [_numbers(t) for t in t_list if t is not None]
    if not tensors:
        raise InvalidArgumentError("global_norm: the list has no tensors, expected at least one")
    dtype = max([t.dtype.real_dtype for t in tensors], key=lambda d: d.itemsize)
    return _norm(stack([_norm(t) for t in tensors], name=name)), dtype


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Return the norm of all tensors as one vector: sqrt(sum of squares).

    Parameters
    ----------
    t_list : sequence of Tensor or IndexedSlices, floating, of one dtype
        None entries are skipped.

    Returns
    -------
    Tensor, shape ()

    Raises
    ------
    InvalidArgumentError
        If `t_list` has no tensors.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.global_norm([df.constant([3.]), df.constant([[4.]])]).numpy().item()
    5.0
    """
    return cast(*_norm_of_all(_tensors(t_list), name))


def _scale(norm: Tensor, limit: TensorLike) -> Tensor:
    """Return the factor that scales `norm` to at most `limit`: 1 if it is smaller, NaN if it is
    infinite or NaN."""
    return limit / maximum(norm, limit) + (norm - norm)


def clip_gradient_by_value(g: TensorLike, limit: float) -> Any:
    """Clip each element of a gradient, or its parts if it is complex, to [-limit, limit].
    `IndexedSlices` remain `IndexedSlices`.

    Examples
    --------
    >>> from dualflow.ops.state.clip import clip_gradient_by_value
    >>> clip_gradient_by_value([-2., 0.5], 1.).numpy().tolist()
    [-1.0, 0.5]
    """
    x = _tensor(g)
    clipped = _clipped(_numbers(x), limit)
    return IndexedSlices(clipped, x.indices, x.shape) if isinstance(x, IndexedSlices) else clipped


def _clipped(x: TensorBase, limit: float) -> Tensor:
    if x.dtype.is_complex:
        return complex(_clipped(real(x), limit), _clipped(imag(x), limit))
    return clip_by_value(x, -limit, limit)


def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Any = None,
                 name: str | None = None) -> Tensor:
    """Scale `t` to a norm of at most `clip_norm`: t * clip_norm / max(norm(t), clip_norm).

    Parameters
    ----------
    t : Tensor or IndexedSlices, floating, shape (...)
    clip_norm : number or Tensor, > 0
    axes : int or ints, optional
        The dimensions to take each norm over, by default all.

    Returns
    -------
    Tensor or IndexedSlices, like `t`

    Notes
    -----
    The norm is computed in float64. If it is infinite or NaN, all elements are NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.clip_by_norm([3., 4.], 2.5).numpy().tolist()
    [1.5, 2.0]
    """
    x = _tensor(t)
    return scaled(x, cast(_scale(_norm(_numbers(x), axes), clip_norm), x.dtype.real_dtype),
                  name)


def scaled(x: Any, factor: TensorLike, name: str | None = None) -> Any:
    """Return a tensor or `IndexedSlices` multiplied by a scalar."""
    if isinstance(x, IndexedSlices):
        return IndexedSlices(multiply(x.values, factor, name=name), x.indices, x.dense_shape)
    return multiply(x, factor, name=name)


def clip_by_global_norm(t_list: Sequence[TensorLike | None], clip_norm: TensorLike,
                        use_norm: TensorLike | None = None,
                        name: str | None = None) -> tuple[list[Tensor | None], Tensor]:
    """Scale all tensors by one factor so that their common norm is at most `clip_norm`.

    Parameters
    ----------
    t_list : sequence of Tensor or IndexedSlices, floating, of one dtype
        None entries are returned as None.
    clip_norm : number or Tensor, > 0
    use_norm : Tensor, optional
        The common norm, if it is already computed.

    Returns
    -------
    list of Tensor, Tensor
        The scaled tensors, and their common norm before scaling.

    Notes
    -----
    The norm is computed in float64. If it is infinite or NaN, results are NaN. Pascanu, Mikolov
    and Bengio, "On the difficulty of training recurrent neural networks", ICML 2013.

    Examples
    --------
    >>> import dualflow as df
    >>> clipped, norm = df.clip_by_global_norm([df.constant([3.]), df.constant([4.])], 2.5)
    >>> [t.numpy().tolist() for t in clipped], norm.numpy().item()
    ([[1.5], [2.0]], 5.0)
    """
    tensors = _tensors(t_list)
    if use_norm is None:
        wide, dtype = _norm_of_all(tensors, name)
        norm = cast(wide, dtype)
    else:
        wide = norm = _tensor(use_norm)
    scale = _scale(wide, clip_norm)
    return [None if t is None else scaled(t, cast(scale, t.dtype.real_dtype))
            for t in tensors], norm
