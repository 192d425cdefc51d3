"""The gradient registry: which rule belongs to which op.

A rule is written right below the function of its op::

    @gradient("multiply", saves="inputs")
    def _(g, y, a, b):
        return lambda: g * b, lambda: g * a

Its arguments are the gradient of the output, the output, the inputs, then the op's attributes by
name; if the op has several outputs, `g` and `y` are tuples (for an output nothing flowed into `g`
is zeros, for an integer one None). It returns one result per input: a tensor, None if nothing
flows, or a function without arguments that computes it, called only if that input's gradient is
wanted. A rule applies public ops only, so it works eagerly, while tracing and under another tape.
It never un-broadcasts and never adds up: the walker does.

`saves` names what a tape keeps for the rule: "none", "inputs", "output", "both", or a tuple of
input positions and "output". All other operands arrive as `TensorSpec`: shape and dtype only.

A module that is reloaded declares its rules again, and these replace the old ones.
"""

from __future__ import annotations

from dualflow import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

Rule: TypeAlias = "Callable[..., Any]"

_ALL_INPUTS = 0x7FFFFFFF
_OUTPUT = 0x80000000
_SAVES = {"none": 0, "inputs": _ALL_INPUTS, "output": _OUTPUT, "both": _ALL_INPUTS | _OUTPUT}


def gradient(op: str, saves: str | tuple[int | str, ...]) -> Callable[[Rule], Rule]:
    """Declares the decorated function to be the gradient rule of `op`."""
    handle = _core.get_op(op)
    if isinstance(saves, str):
        mask = _SAVES[saves]
    else:
        mask = sum(_OUTPUT if s == "output" else 1 << int(s) for s in saves)

    def register(rule: Rule) -> Rule:
        handle.rule, handle.saves, handle.why_no_gradient = rule, mask, None
        return rule

    return register


def no_gradient(op: str, why: str) -> None:
    """Declares that nothing flows back through `op`, and why; users are shown the reason."""
    handle = _core.get_op(op)
    handle.rule, handle.why_no_gradient = None, why
