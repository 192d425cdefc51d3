"""Scatter operations: write rows or slices of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow._core import Variable as own_variable, as_tensor
from dualflow.compat.v1.assign import slot_of, write
from dualflow.compat.v1.default_graph import recorded, recording
from dualflow.compat.v1.ops import convert
from dualflow.ops.indexing.indexed_slices import IndexedSlices

__all__ = ["scatter_add", "scatter_max", "scatter_min", "scatter_nd_add", "scatter_nd_sub",
           "scatter_nd_update", "scatter_sub", "scatter_update"]

# A function of a tensor, indices and updates.
Update = Callable[..., Any]


def written(ref: Any, indices: Any, updates: Any, update: Update, name: str, rows: bool) -> Any:
    """Apply an update to a variable. If `rows` is True, `indices` are row indices."""
    slot = ref if isinstance(ref, own_variable) else slot_of(ref)
    if slot is None:
        raise TypeError(f"Input 'ref' of '{name}' Op requires l-value input: {ref!r} is not a "
                        "variable and cannot be assigned")
    at, what = convert(indices), convert(updates, slot.dtype)
    graph = recording()
    start = 0 if graph is None else len(graph.nodes)
    if rows:
        wanted = (*at.shape, *slot.shape[1:])
        what = df.broadcast_to(what, wanted) if what.ndim == 0 else what
        at = df.expand_dims(at, -1)
    value = update(as_tensor(slot), at, what)
    for node in () if graph is None else graph.nodes[start:]:
        node.in_order = True    # type: ignore[attr-defined]
    return write("assign", ref, value, None, name)


def writer(name: str, update: Update, does: str, rows: bool = True) -> Callable[..., Any]:
    """Return a scatter function."""
    kind = "".join([word.capitalize() for word in name.split("_")])

    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool | None = None,
                name: str | None = None) -> Any:
        return written(ref, indices, updates, update, name or kind, rows)

    where = ("Tensor, int32 or int64\n        Row indices." if rows else
             "Tensor, int32 or int64, shape (n, k)\n        Positions of the slices, one per row.")
    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"""{does} of a variable and return its new value.

    Parameters
    ----------
    ref : Variable
    indices : {where}
    updates : Tensor
    use_locking : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([1., 2., 3.])
    ...     sess.run(w.initializer)
    ...     value = sess.run(tf.{name}(w, {'[0]' if rows else '[[0]]'}, [1.]))
    """
    return recorded(scatter)


scatter_update: Callable[..., Any] = writer("scatter_update", df.tensor_scatter_nd_update,
                                            "Replace rows")
scatter_add: Callable[..., Any] = writer("scatter_add", df.tensor_scatter_nd_add, "Add to rows")
scatter_sub: Callable[..., Any] = writer("scatter_sub", df.tensor_scatter_nd_sub,
                                         "Subtract from rows")
scatter_max: Callable[..., Any] = writer("scatter_max", df.tensor_scatter_nd_max,
                                         "Compute the maximum with rows")
scatter_min: Callable[..., Any] = writer("scatter_min", df.tensor_scatter_nd_min,
                                         "Compute the minimum with rows")
scatter_nd_update: Callable[..., Any] = writer("scatter_nd_update", df.tensor_scatter_nd_update,
                                               "Replace slices",
                           False)
scatter_nd_add: Callable[..., Any] = writer("scatter_nd_add", df.tensor_scatter_nd_add,
                                            "Add to slices", False)
scatter_nd_sub: Callable[..., Any] = writer("scatter_nd_sub", df.tensor_scatter_nd_sub,
                                            "Subtract from slices", False)


def of_rows(function: Callable[..., Any], variable: Any, delta: Any, name: str | None) -> Any:
    """Apply a scatter function to IndexedSlices; methods of variables call it."""
    if not isinstance(delta, IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {delta!r}")
    return function(variable, delta.indices, delta.values, name=name)
