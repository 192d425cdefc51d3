"""Shapes of results of Python functions that are declared after the call, by `set_shape`."""

from __future__ import annotations

from dualflow._core import host_function, make_attrs
from dualflow.ops.control_flow.registered import type_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow._core import Symbol

__all__: list[str] = []


def declare_shape(x: Symbol, shape: Any) -> bool:
    """Declare the shape of a result of a Python function that promised only its dtype; runs check
    it. Return False, without an effect, for any other symbol, or if an op has read the result."""
    node = x.node
    host = None if node.op.name != "host_compute" else host_function(node.op, node.attrs)
    if host is None or shape.ndims is None or x.index not in getattr(host.call, "undeclared", ()) \
            or any([any([y is x for y in other.inputs]) for other in x.graph.nodes]):
        return False
    sizes = shape.as_list()
    x.know(sizes, sizes)
    node.attrs = make_attrs(node.op, id=host.id, types=type_words(
        [(y.dtype, y.known_shape) for y in node.outputs]))
    return True
