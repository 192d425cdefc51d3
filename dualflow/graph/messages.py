"""What is said where a traced tensor is used as if it had a value, and how a warning finds the
caller's line."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

from dualflow._core import Symbol
from dualflow.graph.ir import PARAMETER, VARIABLE

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_frame(depth: int) -> tuple[FrameType | None, int]:
    """The innermost frame outside the package, and how many frames it is from the caller's; looks
    from `depth` frames above the caller's on."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the line outside the package that led here."""
    warnings.warn(message, category, stacklevel=user_frame(0)[1] + 1)


def origin(x: Symbol) -> str:
    """Where a traced tensor comes from."""
    node = x.node
    if node is None:
        return "made by an op that failed"
    path = getattr(node.data, "path", None)
    if node.op is PARAMETER and path is not None:
        return f"argument {path}" + (f" of the call at {node.line}" if node.line else "")
    made = f"made at {node.line}" if node.line else "made by dualflow"
    return f"a variable's value, {made}" if node.op is VARIABLE else made


def no_value(x: Symbol, graph: str, asked: str, instead: str) -> str:
    """For Python that asks for the numbers of a traced tensor."""
    return (f"{asked} needs the value of {x.name} ({x.dtype} {x.known_shape}, {origin(x)}), a "
            f"traced tensor, which has none while {graph} is traced; use {instead}")


def escaped(x: Symbol, graph: str, who: str) -> str:
    """For a traced tensor that is used outside its graph."""
    return (f"{who}: {x.name} ({x.dtype} {x.known_shape}) is a traced tensor of {graph}, "
            f"{origin(x)}, and means nothing outside; return it from the function, by itself or in "
            "lists, tuples, dicts or dataclasses, or assign it to a Variable")
