"""The gradient registry: gradient rules by op.

A rule is defined right below the function of its op::

    @gradient("multiply", saves="inputs")
    def _(g, y, a, b):
        return lambda: g * b, lambda: g * a

Its arguments are the cotangent of the output, the output, the inputs, then the op's attributes by
name. If the op has several outputs, `g` and `y` are tuples; an output without a cotangent has
zeros in `g`, an integer output None. The rule returns one result per input: a tensor, None for no
gradient, or a function without arguments that computes it, called only if the gradient of that
input is needed. A rule applies public ops only, so it works eagerly, while tracing and under
another tape. The backward pass, not the rule, sums cotangents and undoes broadcasting.

`saves` names the residuals of the rule: "none", "inputs", "output", "both", or a tuple of input
positions and "output". Other operands arrive as `TensorSpec`: shape and dtype only.

A module that is reloaded registers its rules again, which replaces the old ones.
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
    """Register the decorated function as the gradient rule of `op`."""
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
    """Declare that `op` has no gradient; the reason is shown to users."""
    handle = _core.get_op(op)
    handle.rule, handle.why_no_gradient = None, why
