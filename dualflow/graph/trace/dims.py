"""Dims as expressions: their leaves, their values, and formulas, which are Dims without a graph.

Used by traces, specialisation and exporters. No function here refers to a graph or recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import Dim, dim_value
from dualflow._util.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAF_KINDS = ("size", "argument", "element")    # kinds of Dims without operands
SHOWN = 60                                  # printed characters of a formula


def in_order(dim: Dim) -> list[Dim]:
    """Return a Dim and all Dims it is computed from, operands first."""
    found: dict[int, Dim] = {}
    pending = [dim]
    while pending:
        d = pending[-1]
        waiting = [] if d.kind in LEAF_KINDS else [
            x for x in d.args if isinstance(x, Dim) and id(x) not in found]
        if waiting:
            pending.extend(waiting)
        else:
            found[id(pending.pop())] = d
    return list(found.values())


def dim_now(dim: Dim, leaf: Callable[[Dim], Any]) -> Any:
    """Return the value of a Dim; `leaf` returns the values of sizes, arguments and elements."""
    values: dict[int, Any] = {}
    for d in in_order(dim):
        values[id(d)] = leaf(d) if d.kind in LEAF_KINDS else dim_value(
            d.kind, *[values[id(x)] if isinstance(x, Dim) else x for x in d.args])
    return values[id(dim)]


def leaves(dim: Dim) -> list[Dim]:
    """Return the sizes, arguments and elements that a Dim is computed from."""
    return [d for d in in_order(dim) if d.kind in LEAF_KINDS]


def depends_on_arguments(dim: Dim) -> bool:
    """Return True if a Dim is computed from a Python number among the arguments."""
    return any(d.kind == "argument" for d in leaves(dim))


class Formula(NamedTuple):
    """An expression that computes a number from Python numbers among the arguments of a call.

    Attributes
    ----------
    steps : tuple
        Each ("argument", leaf of the call), ("number", value), or an operator of Dims and the
        indices of its operands among the steps. The last step is the result.
    type : type
        The required type of the number.

    Examples
    --------
    >>> half = Formula((("argument", 0), ("number", 2), ("truediv", 0, 1)), float)
    >>> half.value([3])
    1.5
    >>> print(half)
    truediv(leaf 0, 2)
    """

    steps: tuple[tuple[Any, ...], ...]
    type: type

    def value(self, leaves: Sequence[Any]) -> Any:
        """Return the number for the leaves of a call's arguments."""
        values: list[Any] = []
        for op, *operands in self.steps:
            if op == "argument":
                values.append(leaves[operands[0]])
            elif op == "number":
                values.append(operands[0])
            else:
                values.append(dim_value(op, *[values[k] for k in operands]))
        return values[-1]

    def __str__(self) -> str:
        texts: list[str] = []
        for op, *operands in self.steps:
            text = f"leaf {operands[0]}" if op == "argument" else (
                repr(operands[0]) if op == "number" else
                f"{op}({', '.join([texts[k] for k in operands])})")
            texts.append(text if len(text) <= SHOWN else text[:SHOWN - 4] + " ...")
        return texts[-1]


def formula(dim: Dim, known: Callable[[Dim], Any]) -> Formula:
    """Return a Dim as a formula; `known` returns its sizes and elements, which become constants."""
    steps: list[tuple[Any, ...]] = []
    index: dict[int, int] = {}
    for d in in_order(dim):
        if d.kind == "argument":
            step: tuple[Any, ...] = (d.kind, d.args[0])
        elif d.kind in LEAF_KINDS:
            step = ("number", known(d))
        else:
            operands = []
            for x in d.args:
                if not isinstance(x, Dim):
                    steps.append(("number", x))
                operands.append(index[id(x)] if isinstance(x, Dim) else len(steps) - 1)
            step = (d.kind, *operands)
        index[id(d)] = len(steps)
        steps.append(step)
    return Formula(tuple(steps), type(dim.hint))
