"""The intermediate representation: nodes in order, and the rules they keep; docs/ir.md."""

from dualflow.graph.ir.check import IRError, check
from dualflow.graph.ir.copy import copy
from dualflow.graph.ir.edit import Edit, edit
from dualflow.graph.ir.graph import Graph
from dualflow.graph.ir.node import (
    CONSTANT,
    LEAVES,
    PARAMETER,
    VARIABLE,
    Line,
    Node,
    is_dynamic,
    may_refuse,
    refuses_values,
)
from dualflow.graph.ir.text import attrs_text, data_text, type_text

__all__ = [
    "CONSTANT",
    "LEAVES",
    "PARAMETER",
    "VARIABLE",
    "Edit",
    "Graph",
    "IRError",
    "Line",
    "Node",
    "attrs_text",
    "check",
    "copy",
    "data_text",
    "edit",
    "is_dynamic",
    "may_refuse",
    "refuses_values",
    "type_text",
]
