"""Error messages for traced tensors that Python uses as if they had a value.

Called by traces. The texts of `operation` (`TRUTH`, `ITERATION`, ...) also select control flow.
"""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.errors import TracedMethodError, TracedValueError
from dualflow.graph.ir import PARAMETER, VARIABLE, Node


def origin(x: Symbol) -> str:
    """Return a text that locates the origin of a traced tensor."""
    node = x.node
    if node is None:
        return "made by an op that failed"
    made = f"made at {node.line}" if node.line else "made by dualflow"
    path = getattr(node.data, "path", None)
    if node.op is PARAMETER and path is not None and node.line:
        return x.graph.input_text.format(path, node.line)
    return f"a variable's value, {made}" if node.op is VARIABLE else made


# The uses of a tensor that converted control flow replaces.
TRUTH = "bool()"
ITERATION = "iteration"
CONTROL_FLOW = (TRUTH, ITERATION, "use as an index, a length or in range()", "int()", "float()",
                "`in`", "len()")


def no_value(x: Symbol, graph: str, operation: str, instead: str, why: str) -> str:
    """Return the message for a use that needs the value of a traced tensor. `why`: the reason why
    the control flow was not converted."""
    return (f"{operation} needs the value of {x.name} ({x.dtype} {x.known_shape}, {origin(x)}), a "
            f"traced tensor, which has none while {graph} is traced; use {instead}"
            f"{'. Control flow was not converted: ' if why else ''}{why}")


def too_many(x: Symbol, n: int, most: int, instead: str, why: str) -> str:
    """Return the message for Python iteration over more than `most` rows."""
    return (f"iteration over {x.name} ({x.dtype} {x.known_shape}, {origin(x)}) outside a `for` "
            f"statement that is converted records its {n} rows one by one, at most {most} are "
            f"possible; use {instead}{'. Control flow was not converted: ' if why else ''}{why}")


def error(operation: str) -> type[TracedValueError]:
    """Return the class of the error for an operation that needs the value of a traced tensor."""
    return TracedMethodError if operation == ".numpy()" else TracedValueError


def leaked(x: Symbol, graph: str, caller: str, instead: str) -> str:
    """Return the message for a traced tensor that is used outside its graph."""
    return (f"{caller}: {x.name} ({x.dtype} {x.known_shape}) is a traced tensor of {graph}, "
            f"{origin(x)}, and has no value outside; {instead}")


def inside(x: Symbol, owner: Node) -> str:
    """Return the message for a value of a branch or a loop body that is used outside."""
    return (f"{x.name} ({x.dtype} {x.known_shape}, {origin(x)}) was made inside {owner.name}, "
            f"which may execute it any number of times (made at {owner.line}); return it from the "
            "function that made it")
