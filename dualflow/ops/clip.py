"""Limiting the norms of gradients."""

from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, apply, constant
from dualflow.errors import InvalidArgumentError
from dualflow.ops.arithmetic import multiply
from dualflow.ops.join import stack
from dualflow.ops.limits import maximum
from dualflow.ops.types import TensorLike

__all__ = ["clip_by_global_norm", "clip_by_norm", "global_norm"]


def _tensor(x: TensorLike) -> Any:
    return x if isinstance(x, TensorBase) else constant(x)


def _norm(x: TensorLike) -> Tensor:
    t = _tensor(x)
    return apply("reduce_euclidean_norm", t, axes=tuple(range(t.ndim)), keepdims=False)


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
    norms = [_norm(t) for t in t_list if t is not None]
    if not norms:
        raise InvalidArgumentError("global_norm: the list has no tensors, want at least one")
    return _norm(stack(norms, name=name))


def _scale(norm: Tensor, limit: TensorLike) -> Tensor:
    """What makes `norm` at most `limit`: 1 for small norms, NaN for infinite ones and NaN."""
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
    NaN throughout if the norm is infinite or NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.clip_by_norm([3., 4.], 2.5).numpy().tolist()
    [1.5, 2.0]
    """
    x = _tensor(t)
    return multiply(x, _scale(_norm(x), clip_norm), name=name)


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
        The common norm, if it is known already.

    Returns
    -------
    list of Tensor, Tensor
        The tensors, and their common norm before.

    Notes
    -----
    NaN throughout if the norm is infinite or NaN. Pascanu, Mikolov and Bengio, "On the difficulty
    of training recurrent neural networks", ICML 2013.

    Examples
    --------
    >>> import dualflow as df
    >>> clipped, norm = df.clip_by_global_norm([df.constant([3.]), df.constant([4.])], 2.5)
    >>> [t.numpy().tolist() for t in clipped], norm.numpy().item()
    ([[1.5], [2.0]], 5.0)
    """
    norm = _tensor(global_norm(t_list, name) if use_norm is None else use_norm)
    scale = _scale(norm, clip_norm)
    return [None if t is None else multiply(t, scale) for t in t_list], norm
