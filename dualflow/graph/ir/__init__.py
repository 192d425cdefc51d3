"""The intermediate representation: an ordered list of nodes and its invariants (docs/ir.md).

Traces record it, passes rewrite it, `graph.program` lowers it. Nothing here imports those.
"""

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
    is_dynamic,
    walk,
)
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
