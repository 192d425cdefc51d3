"""Nodes: applications of ops, leaves, which stand for values that no kernel makes, and owners of
graphs.

A value is a `Symbol`. Knows no op by name except the three leaves and `call`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from dualflow._core import Attrs, Op, Symbol, get_op, leaf_ops

if TYPE_CHECKING:
    from dualflow.graph.ir.graph import Graph

LEAVES = PARAMETER, CONSTANT, VARIABLE = leaf_ops()
CALL = get_op("call")


class Line(NamedTuple):
    """Where in the user's code a node was made, and the op whose gradient it belongs to, if any;
    `own_rule`: that gradient's rule is the user's. `place`: how many nodes of its trace precede it.
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


class Input(NamedTuple):
    """What a parameter of a body stands for: an input of the node that owns the body."""

    place: int

    def __repr__(self) -> str:
        return f"input {self.place}"


class Rule(NamedTuple):
    """What a call looks like to gradients: an application of `op`, which has nothing but a rule, to
    values that were there when it was recorded. It has the first `n_outputs` of the call's. If it
    `sums`, its rule is one of `record_call`, otherwise one of `record_function`."""

    op: Op
    inputs: tuple[Symbol, ...]
    n_outputs: int
    sums: bool = False

    def __repr__(self) -> str:
        return f"the gradient of {self.op.name}"


class Owned(NamedTuple):
    """What branches and loops look like to gradients: an application of `op`, which has nothing but
    a rule. Its first output stands for all that is inside.

    Attributes
    ----------
    op : Op
    inputs : tuple of Symbol
    inside : Symbol
    n_outputs : int
        How many outputs the node had when it was recorded; others give what is inside.
    outside : dict of Symbol to Symbol
        For a value inside: the output that gives it.
    rows : dict of Symbol to Symbol
        Of the gradient of a loop, for a value inside that: the parameter that it is in a round.
    keeps_identity : bool
        Whether eager mode has one tensor where a round hands on and the next is given, as in loops
        of Python's own; `while_loop` and `scan` give it a new identity.
    """

    op: Op
    inputs: tuple[Symbol, ...]
    inside: Symbol
    n_outputs: int
    outside: dict[Symbol, Symbol]
    rows: dict[Symbol, Symbol]
    keeps_identity: bool

    def __repr__(self) -> str:
        return f"the gradient of {self.op.name}"


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
        Of a leaf: the parameter's path, the constant's Tensor, the Variable; of a call of a trace
        that has a gradient rule of its own: the Rule.
    bodies : tuple of Graph
        The graphs it owns, see docs/ir.md; `own` replaces them.
    writes : int
        Bit i: input i is a variable that it, or a node inside, writes.
    effect : bool
        Whether it, or a node inside, has an effect, so that it may be neither dropped nor merged.
    wave : int
        Nodes of one wave may run side by side; 0: alone.
    """

    __slots__ = ("_refuses_inside", "attrs", "bodies", "data", "effect", "inputs", "line", "name",
                 "op", "outputs", "wave", "writes")

    def __init__(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None,
                 outputs: Iterable[Symbol] = (), name: str = "", line: Line | None = None,
                 data: Any = None, bodies: Sequence[Graph] = ()) -> None:
        self.op: Op = op
        self.inputs: tuple[Symbol, ...] = tuple(inputs)
        self.attrs: Attrs | None = attrs
        self.outputs: tuple[Symbol, ...] = tuple(outputs)
        self.name: str = name
        self.line: Line | None = line
        self.data: Any = data
        self.wave: int = 0
        self.bodies: tuple[Graph, ...] = ()
        self.writes: int = op.writes
        self.effect: bool = op.effect
        self._refuses_inside = False
        if bodies:
            self.own(bodies)

    def __repr__(self) -> str:
        return f"<Node {self.name} ({self.op.name})>"

    def own(self, bodies: Sequence[Graph], writes: int = 0) -> None:
        """Takes bodies, or the same ones again after a change, and updates what is derived from
        them. What they wrote before that change, or `writes` says, still counts as written, since
        there are outputs for it: a body may return it as it was."""
        inside = [node for body in bodies for node in body.nodes]
        self.bodies = tuple(bodies)
        self._refuses_inside = any([node.may_refuse for node in inside])
        self.effect = self.op.effect or any([node.effect for node in inside])
        self.writes |= writes
        for body in bodies:
            overwritten = {before for node in body.nodes for before, _ in node.written}
            for i, x in enumerate(body.inputs):
                self.writes |= (x in overwritten) << i
        for body in bodies:
            body.n_versions = self.writes.bit_count()

    @property
    def type(self) -> str:
        """The op's name."""
        return self.op.name

    @property
    def given(self) -> dict[str, Any]:
        """Its attributes by name."""
        return {} if self.attrs is None else self.attrs.as_dict()

    @property
    def applied(self) -> tuple[Op, tuple[Symbol, ...], tuple[Symbol, ...]]:
        """The op, inputs and outputs of what tapes take it for."""
        if isinstance(self.data, Rule):
            return self.data.op, self.data.inputs, self.outputs[:self.data.n_outputs]
        if isinstance(self.data, Owned):
            made = self.outputs[:len(self.outputs) - self.writes.bit_count()]
            return self.data.op, self.data.inputs, (self.data.inside, *made)
        return self.op, self.inputs, self.outputs

    @property
    def written(self) -> list[tuple[Symbol, Symbol]]:
        """(version before, version after) of each input it writes."""
        writes = self.writes
        if not writes:
            return []
        before = [x for i, x in enumerate(self.inputs) if writes >> i & 1]
        return list(zip(before, self.outputs[len(self.outputs) - len(before):], strict=True))

    @property
    def refuses_values(self) -> bool:
        """Whether an elementwise op may refuse the numbers it meets: an integer divisor that is not
        known to be nonzero."""
        op = self.op
        if op.kind != "elementwise":
            return False
        x = self.inputs[op.looks_at]
        return op.refuses(x.dtype) and (x.node.op is not CONSTANT
                                        or op.refuses(x.dtype, x.node.data))

    @property
    def may_refuse(self) -> bool:
        """Whether its kernel, or that of a node inside, may fail for the values it meets: an index,
        a label, a size.

        What a built-in gradient rule made has already been checked by the forward run. Running out
        of memory can happen anywhere and does not count.
        """
        op = self.op
        if self._refuses_inside:
            return True
        if self.effect:
            return not self.writes
        if any([x.is_dynamic for x in (*self.inputs, *self.outputs)]):
            return True
        if self.line and self.line.gradient_of and not self.line.own_rule:
            return False
        return (op.may_fail and op not in LEAVES) or self.refuses_values


def is_dynamic(x: Symbol) -> bool:
    """Whether a size of a value depends on data and has no hint."""
    return x.is_dynamic


def walk(nodes: Iterable[Node], into: Op | None = None) -> Iterator[Node]:
    """All nodes, those inside a node before the node itself; `into`: only what is inside nodes of
    that op."""
    owners: list[Node] = []
    inside = [iter(nodes)]
    while inside:
        for node in inside[-1]:
            if node.bodies and (into is None or node.op is into):
                owners.append(node)
                inside.append(chain.from_iterable([body.nodes for body in node.bodies]))
                break
            yield node
        else:
            inside.pop()
            if owners:
                yield owners.pop()
