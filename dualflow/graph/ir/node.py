"""Nodes: applications of ops, leaves (parameters, constants, variables) and owners of graphs.

Traces, passes and the planner read and create nodes; a value is a `Symbol`, one output of a node.
No code here may depend on the name of an op other than the three leaves and `call`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from dualflow._core import Attrs, Op, Symbol, Tensor, get_op, leaf_ops
from dualflow._util.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.ir.graph import Graph

LEAVES = PARAMETER, CONSTANT, VARIABLE = leaf_ops()
CALL = get_op("call")


class Line(NamedTuple):
    """The user's line that created a node, and the op whose gradient the node belongs to, if any.

    `own_rule` is True if the user wrote that gradient rule. `place` is the number of the node in
    the order in which its trace recorded, from 1.
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
    """The `data` of a parameter of a body: the index of the owner's input that it is bound to."""

    place: int

    def __repr__(self) -> str:
        return f"input {self.place}"


class Rule(NamedTuple):
    """The application that tapes and gradients see instead of a `call` with a gradient rule.

    `op` has a gradient rule and no kernel; `inputs` are values recorded before the call. The
    application has the first `n_outputs` outputs of the call. `sums` is True if the rule continues
    accumulators (`record_call`), False if it returns cotangents (`record_function`)."""

    op: Op
    inputs: tuple[Symbol, ...]
    n_outputs: int
    sums: bool = False

    def __repr__(self) -> str:
        return f"the gradient of {self.op.name}"


class RegionRecord(NamedTuple):
    """The application that tapes and gradients see instead of a `cond` or a `loop`.

    `op` has a gradient rule and no kernel. The first output stands for all values of the bodies.

    Attributes
    ----------
    op : Op
    inputs : tuple of Symbol
    inside : Symbol
        The first output.
    n_outputs : int
        Number of outputs of the node when it was recorded; later outputs return residuals.
    outside : dict of Symbol to Symbol
        From a value of a body to the output that returns it (the residuals).
    rows : dict of Symbol to Symbol
        In the gradient of a loop: from a value of the loop to the parameter that holds its value of
        the current iteration.
    keeps_identity : bool
        True if eager mode passes one tensor object from an iteration to the next, as Python's own
        loops do. `while_loop` and `scan` give a carry a new identity.
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


class Weight:
    """A constant. `dense` is None while only `packed` is stored (`passes/packing.py`)."""

    def __init__(self, dense: Tensor) -> None:
        self.dtype, self.shape = dense.dtype, dense.shape
        self.dense: Tensor | None = dense
        self.packed: Any = None         # ends with the function of the weight that unpacks it

    def tensor(self) -> Tensor:
        """Return `dense`, which stays stored from now on."""
        dense = self.dense
        if dense is None:
            dense = self.dense = self.packed[-1](self)
        return dense


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
        Of a parameter: its path or `Input`; of a constant: the Tensor; of a variable: the Variable;
        of a call with a gradient rule: the `Rule`; of a recorded `cond` or `loop`: the
        `RegionRecord`.
    stored : object
        Of some constants, a `Weight`, which copies of the node share; otherwise `data`.
    bodies : tuple of Graph
        The graphs it owns (docs/ir.md); `own` replaces them.
    writes : int
        Bit i: input i is a variable that the node, or a node of a body, writes.
    effect : bool
        Whether the node, or a node of a body, has an effect. Such a node is not dropped or merged.
    wave : int
        Nodes of one wave may run in parallel; 0: the node runs alone.
    """

    __slots__ = ("_refuses_inside", "attrs", "bodies", "effect", "inputs", "line", "name", "op",
                 "outputs", "stored", "wave", "writes")

    def __init__(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None,
                 outputs: Iterable[Symbol] = (), name: str = "", line: Line | None = None,
                 data: Any = None, bodies: Sequence[Graph] = ()) -> None:
        self.op: Op = op
        self.inputs: tuple[Symbol, ...] = tuple(inputs)
        self.attrs: Attrs | None = attrs
        self.outputs: tuple[Symbol, ...] = tuple(outputs)
        self.name: str = name
        self.line: Line | None = line
        self.stored: Any = data
        self.wave: int = 0
        self.bodies: tuple[Graph, ...] = ()
        self.writes: int = op.writes
        self.effect: bool = op.effect
        self._refuses_inside = False
        if bodies:
            self.own(bodies)

    def __repr__(self) -> str:
        return f"<Node {self.name} ({self.op.name})>"

    @property
    def data(self) -> Any:
        stored = self.stored
        return stored.tensor() if type(stored) is Weight else stored

    @data.setter
    def data(self, data: Any) -> None:
        self.stored = data

    def own(self, bodies: Sequence[Graph], writes: int = 0) -> None:
        """Set the bodies, and derive `writes`, `effect` and `may_raise` from their nodes.

        Call `own` again after a body has changed. An input that was written before, or is in
        `writes`, stays written: the node has an output for its version, and a body that does not
        write it any more returns its parameter."""
        inside = [node for body in bodies for node in body.nodes]
        self.bodies = tuple(bodies)
        self._refuses_inside = any([node.may_raise for node in inside])
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
        """The name of the op."""
        return self.op.name

    @property
    def attr_dict(self) -> dict[str, Any]:
        """The attributes by name."""
        return {} if self.attrs is None else self.attrs.as_dict()

    @property
    def applied(self) -> tuple[Op, tuple[Symbol, ...], tuple[Symbol, ...]]:
        """The op, inputs and outputs of the application that tapes see."""
        if isinstance(self.data, Rule):
            return self.data.op, self.data.inputs, self.outputs[:self.data.n_outputs]
        if isinstance(self.data, RegionRecord):
            made = self.outputs[:len(self.outputs) - self.writes.bit_count()]
            return self.data.op, self.data.inputs, (self.data.inside, *made)
        return self.op, self.inputs, self.outputs

    @property
    def written(self) -> list[tuple[Symbol, Symbol]]:
        """Pairs (version read, version written), one for each written input."""
        writes = self.writes
        if not writes:
            return []
        before = [x for i, x in enumerate(self.inputs) if writes >> i & 1]
        return list(zip(before, self.outputs[len(self.outputs) - len(before):], strict=True))

    @property
    def needs_value_check(self) -> bool:
        """True if an elementwise op may raise for some element values: an integer division whose
        divisor is not a constant without zeros."""
        op = self.op
        if op.kind != "elementwise":
            return False
        x = self.inputs[op.checked_input]
        return op.may_raise(x.dtype) and (x.node.op is not CONSTANT
                                          or op.may_raise(x.dtype, x.node.data))

    @property
    def may_raise(self) -> bool:
        """True if its kernel, or a kernel of a body, may raise for some values: an index, a label,
        a size.

        Nodes of built-in gradient rules do not count, since the forward pass has checked their
        values. Running out of memory does not count either: every kernel may do so.
        """
        op = self.op
        if self._refuses_inside:
            return True
        if self.effect:
            return not self.writes
        for x in self.inputs + self.outputs:
            if x.is_dynamic:
                return True
        if self.line and self.line.gradient_of and not self.line.own_rule:
            return False
        return (op.may_fail and op not in LEAVES) or self.needs_value_check


def is_dynamic(x: Symbol) -> bool:
    """Return True if a size of `x` depends on data and has no hint."""
    return x.is_dynamic


def walk(nodes: Iterable[Node], into: Op | None = None) -> Iterator[Node]:
    """Yield all nodes in order, the nodes of bodies before their owner.

    If `into` is given, only bodies of nodes of that op are entered."""
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
