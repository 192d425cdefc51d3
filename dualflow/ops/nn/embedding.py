"""Lookup of rows of embedding tables."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow.ops.indexing.gather import gather
from dualflow.ops.state.clip import clip_by_norm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["embedding_lookup"]


def embedding_lookup(params: TensorLike, ids: TensorLike, max_norm: float | None = None,
                     name: str | None = None) -> Tensor:
    """Return rows of `params` by index: ``params[ids]``, shape ``ids.shape + params.shape[1:]``.

    Parameters
    ----------
    params : Tensor, shape (n, ...)
    ids : Tensor, int32 or int64, any shape
    max_norm : float, optional
        Rows with a larger norm are scaled down to this norm.

    Returns
    -------
    Tensor, of dtype of `params`

    Raises
    ------
    OutOfRangeError
        If an id is out of range.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.embedding_lookup([[1., 2.], [3., 4.]], [1, 1]).numpy().tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    if max_norm is None:
        return gather(params, ids, axis=0, name=name)
    ids = as_tensor(ids, None, "embedding_lookup")
    rows = gather(params, ids, axis=0)
    return clip_by_norm(rows, max_norm, list(range(ids.ndim, rows.ndim)), name)
