"""Nodes: applications of ops, and the leaves, which stand for values that no kernel makes.

A value is a `Symbol`. Knows no op by name but the three leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dualflow._core import Attrs, Op, Symbol, leaf_ops

LEAVES = PARAMETER, CONSTANT, VARIABLE = leaf_ops()


class Line(NamedTuple):
    """Where in the user's code a node was made, and of which op it is the gradient, if of one;
    `own_rule`: by a rule that people gave. `place`: how many nodes of its trace were made before.
    """

    file: str
    line: int
    function: str
    gradient_of: str = ""
    own_rule: bool = False
    place: int = 0

    def __str__(self) -> str:
        of = f", in the gradient of {self.gradient_of}" if self.gradient_of else ""
        return f"{self.file}:{self.line}, in {self.function}{of}"


class Node:
    """One application of an op.

    Attributes
    ----------
    op : Op
    inputs : tuple of Symbol
    attrs : Attrs or None
    outputs : tuple of Symbol
        The op's outputs, then the next version of each input it writes.
    name : str
    line : Line or None
    data : object
        Of a leaf: the parameter's path, the constant's Tensor, the Variable.
    wave : int
        Nodes of one wave may run side by side; 0: alone.
    """

    __slots__ = ("attrs", "data", "inputs", "line", "name", "op", "outputs", "wave")

    def __init__(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None,
                 outputs: Iterable[Symbol] = (), name: str = "", line: Line | None = None,
                 data: Any = None) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.attrs = attrs
        self.outputs = tuple(outputs)
        self.name = name
        self.line = line
        self.data = data
        self.wave = 0

    def __repr__(self) -> str:
        return f"<Node {self.name} ({self.op.name})>"

    @property
    def type(self) -> str:
        """The op's name."""
        return self.op.name

    @property
    def written(self) -> list[tuple[Symbol, Symbol]]:
        """(version before, version after) of each input it writes."""
        if not self.op.writes:
            return []
        before = [x for i, x in enumerate(self.inputs) if self.op.writes >> i & 1]
        return list(zip(before, self.outputs[len(self.outputs) - len(before):], strict=True))


def is_dynamic(x: Symbol) -> bool:
    """Whether a size of a value depends on data, and no hint stands for it."""
    return any([d is None for d in x.shape])        # `in` would ask a Dim, which equals None


def refuses_values(node: Node) -> bool:
    """Whether an elementwise op may refuse the numbers it meets: an integer divisor that is not
    known to be other than 0."""
    op = node.op
    if op.kind != "elementwise":
        return False
    x = node.inputs[op.looks_at]
    return op.refuses(x.dtype) and (x.node.op is not CONSTANT or op.refuses(x.dtype, x.node.data))


def may_refuse(node: Node) -> bool:
    """Whether its kernel may fail for the values it meets: an index, a label, a size.

    What a gradient rule of dualflow's made has passed when it went forward. Memory may run out
    anywhere, and is not counted.
    """
    op = node.op
    if op.effect:
        return not op.writes
    if any([is_dynamic(x) for x in (*node.inputs, *node.outputs)]):
        return True
    if node.line and node.line.gradient_of and not node.line.own_rule:
        return False
    return (op.may_fail and op not in LEAVES) or refuses_values(node)
