"""Error messages for traced tensors that are used as if they had a value."""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import PARAMETER, VARIABLE, Node


def origin(x: Symbol) -> str:
    """Where a traced tensor comes from."""
    node = x.node
    if node is None:
        return "made by an op that failed"
    made = f"made at {node.line}" if node.line else "made by dualflow"
    path = getattr(node.data, "path", None)
    if node.op is PARAMETER and path is not None and node.line:
        return x.graph.input_text.format(path, node.line)
    return f"a variable's value, {made}" if node.op is VARIABLE else made


# What control flow asks of tensors.
TRUTH = "bool()"
ITERATION = "iteration"
CONTROL_FLOW = (TRUTH, ITERATION, "use as an index, a length or in range()", "int()", "float()",
                "`in`", "len()")


def no_value(x: Symbol, graph: str, asked: str, instead: str, why: str) -> str:
    """For Python that asks for the numbers of a traced tensor, and why that was not converted."""
    return (f"{asked} needs the value of {x.name} ({x.dtype} {x.known_shape}, {origin(x)}), a "
            f"traced tensor, which has none while {graph} is traced; use {instead}"
            f"{'. Control flow was not converted: ' if why else ''}{why}")


def too_many(x: Symbol, n: int, most: int, instead: str, why: str) -> str:
    """For iteration over more rows than are recorded one by one, and why that was not converted."""
    return (f"iteration over {x.name} ({x.dtype} {x.known_shape}, {origin(x)}) outside a `for` "
            f"statement that is converted records its {n} rows one by one, of which there may be "
            f"{most}; use {instead}{'. Control flow was not converted: ' if why else ''}{why}")


def escaped(x: Symbol, graph: str, who: str, instead: str) -> str:
    """For a traced tensor that is used outside its graph."""
    return (f"{who}: {x.name} ({x.dtype} {x.known_shape}) is a traced tensor of {graph}, "
            f"{origin(x)}, and means nothing outside; {instead}")


def inside(x: Symbol, owner: Node) -> str:
    """For a value made in a branch or a round that is used outside."""
    return (f"{x.name} ({x.dtype} {x.known_shape}, {origin(x)}) was made inside {owner.name}, "
            f"which runs it perhaps never or many times (made at {owner.line}); return it from the "
            "function that made it")
