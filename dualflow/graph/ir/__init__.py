"""The intermediate representation: an ordered list of nodes and its invariants (docs/ir.md).

Traces record it, passes rewrite it, `graph.program` lowers it. Nothing here imports those. The
functions that print it are imported at the first use.
"""

from dualflow._util.late_binding import submodule
from dualflow.graph.ir.check import IRError, check
from dualflow.graph.ir.control_flow import (
    COND,
    LOOP,
    NO_LIMIT,
    LoopParts,
    is_invariant,
    loop_attrs,
    loop_parts,
)
from dualflow.graph.ir.copy import Copier, Open, copy
from dualflow.graph.ir.edit import Edit, edit
from dualflow.graph.ir.graph import Graph, graphs
from dualflow.graph.ir.node import (
    CALL,
    CONSTANT,
    LEAVES,
    PARAMETER,
    VARIABLE,
    Input,
    Line,
    Node,
    RegionRecord,
    Rule,
    Weight,
    is_dynamic,
    walk,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.graph.ir.text import attrs_text, data_text, type_text

__all__ = [
    "CALL",
    "COND",
    "CONSTANT",
    "LEAVES",
    "LOOP",
    "NO_LIMIT",
    "PARAMETER",
    "VARIABLE",
    "Copier",
    "Edit",
    "Graph",
    "IRError",
    "Input",
    "Line",
    "LoopParts",
    "Node",
    "Open",
    "RegionRecord",
    "Rule",
    "Weight",
    "attrs_text",
    "check",
    "copy",
    "data_text",
    "edit",
    "graphs",
    "is_dynamic",
    "is_invariant",
    "loop_attrs",
    "loop_parts",
    "type_text",
    "walk",
]

if not TYPE_CHECKING:
    def __getattr__(name):
        if name in ("attrs_text", "data_text", "type_text"):
            return getattr(submodule(__name__, "text"), name)
        return submodule(__name__, name)
