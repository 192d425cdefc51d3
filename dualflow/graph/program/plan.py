"""The memory plan: where each value lives, and which nodes become instructions.

`compile` and `lower` call `make_plan` on an optimised graph. Time k is the execution of node k. No
two values that are alive at one time may overlap.

Views become offsets, as do parts of a concat or stack. An op may reuse the memory of an input that
dies. An update writes its variable directly if the old version is not needed, and a loop overwrites
a carry if its body permits. Other values of known size get an offset in one arena; values of
unknown size are dynamic: allocated when their instruction runs.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from itertools import accumulate
from types import MappingProxyType

from dualflow._core import Symbol, Variable, get_op, symbol, view_offset, workspace_bytes
from dualflow.errors import ResourceExhaustedError
from dualflow.graph import ir
from dualflow.graph.ir import (
    CONSTANT,
    LEAVES,
    LOOP,
    PARAMETER,
    VARIABLE,
    Graph,
    Node,
    is_dynamic,
    loop_parts,
)
from dualflow.graph.program.arena import ALIGNMENT, Block, Buffer, assign_offsets, lower_bound
from dualflow.graph.program.lifetimes import (
    ASSIGN,
    carry_chains,
    joined_values,
    last_uses,
    nbytes,
    shared_inputs,
    wave_spans,
)
from dualflow.graph.program.spec import SlotKind

MOST_BYTES = 1 << 62      # limit of a value: sums of a few sizes fit 64 bits
COPY = get_op("identity")
ARENA, ARG, DYNAMIC = SlotKind.ARENA, SlotKind.ARG, SlotKind.DYNAMIC
AS_IS = SlotKind.CONSTANT, DYNAMIC      # returned without a copy, and not shared by views


class Instruction:
    """A node that becomes an instruction, its inputs and outputs (without versions of variables),
    and the plans of its bodies."""

    def __init__(self, node: Node, inputs: tuple[Symbol, ...], outputs: tuple[Symbol, ...],
                 dynamic: bool) -> None:
        self.node, self.inputs, self.outputs = node, inputs, outputs
        self.dynamic = dynamic
        self.workspace: Block | None = None
        self.bodies: tuple[Plan, ...] = ()


class Plan:
    """The memory plan of a graph.

    Attributes
    ----------
    graph : Graph
    instructions : list of Instruction
    where : dict of Symbol to (Buffer, byte offset in the buffer)
    variables : list of Variable
        Arguments of a run that follow the parameters of the graph.
    returned : dict of Symbol to Symbol
        From an output that does not own its memory to the copy that is returned instead.
    results : list of Symbol
        The results of a run, or of a body for its instruction, without versions of variables.
    arena_bytes, lower_bound : int
        Bytes of the arena, and the maximum of bytes alive in it at any time.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.instructions: list[Instruction] = []
        self.where: dict[Symbol, tuple[Buffer, int]] = {}
        self.buffers: list[Buffer] = []
        self.variables: list[Variable] = []
        self.written: list[bool] = []
        self.returned: dict[Symbol, Symbol] = {}
        self.results: list[Symbol] = []
        self.arena_bytes = self.lower_bound = 0

    def stays(self, k: int, x: Symbol) -> bool:
        """Return True if result k is in the memory of x."""
        return self.where[self.results[k]] == self.where[x]

    def overwrites(self, x: Symbol) -> bool:
        """Return True if an instruction writes the memory of x."""
        buffer, _ = self.where[x]
        return any([self.where[y][0] is buffer for i in self.instructions for y in i.outputs])


class Planner:
    """Assigns buffers in one pass over the nodes, then offsets in the arena."""

    def __init__(self, graph: Graph, in_place: bool, is_body: bool,
                 carried: Mapping[int, Symbol]) -> None:
        self.graph = graph
        self.in_place = in_place
        self.is_body = is_body
        self.carried = carried
        self.before: dict[Symbol, Symbol] = carry_chains(graph, carried)
        self.plan: Plan = Plan(graph)
        self.spans: list[tuple[int, int]] = wave_spans(graph)
        self.last: dict[Symbol, int] = last_uses(graph, self.spans)
        self.writes: dict[Variable | Symbol, list[int]] = {}         # times, ascending
        refusing = [node.may_raise for node in graph.nodes]
        self.n_refusing: list[int] = list(accumulate(refusing, initial=0))  # before time k
        self.assigned: dict[Symbol, tuple[int, Node]] = {
            node.inputs[1]: (k, node) for k, node in enumerate(graph.nodes) if node.op is ASSIGN}
        self.joined: dict[Symbol, tuple[Symbol, int]] = (
            joined_values(graph, {*self.assigned, *self.before}) if in_place else {})
        self.wholes: dict[Symbol, Buffer] = {}      # of the tensors that consist of joined values

    def run(self) -> Plan:
        """Return the plan."""
        self._leaves()
        for k, node in enumerate(self.graph.nodes):
            if node.op not in LEAVES:
                self._node(k, node)
        if self.is_body:
            self._results_of_body()
        else:
            self._results()
        self._place()
        return self.plan

    # --- where values live ---

    def _leaves(self) -> None:
        plan, where = self.plan, self.plan.where
        n = len(self.graph.inputs)
        owner: dict[Symbol, Variable | Symbol] = {}
        overwritten = {before for node in self.graph.nodes for before, _ in node.written}
        for k, x in enumerate(self.graph.inputs):
            where[x] = Buffer(ARG, nbytes(x), index=k), 0
            if x in overwritten:            # a parameter of a body may be a variable
                where[x][0].variable = owner[x] = x
        for k, node in enumerate(self.graph.nodes):
            if node.op is VARIABLE:
                y = node.outputs[0]
                owner[y] = node.data
                where[y] = Buffer(ARG, nbytes(y), index=n + len(plan.variables),
                             variable=node.data), 0
                plan.variables.append(node.data)
            elif node.op is CONSTANT:
                y = node.outputs[0]
                where[y] = Buffer(SlotKind.CONSTANT, nbytes(y), data=node.data), 0
            for before, after in node.written:
                owner[after] = owner[before]
                self.writes.setdefault(owner[before], []).append(k)
        plan.written = [v in self.writes for v in plan.variables]

    def _node(self, k: int, node: Node) -> None:
        where = self.plan.where
        own = node.outputs[:len(node.outputs) - len(node.written)]
        dynamic = any(map(is_dynamic, own)) or any(map(is_dynamic, node.inputs))
        if node.op is ASSIGN and where[node.inputs[0]] == where[node.inputs[1]]:
            where[node.outputs[0]] = where[node.inputs[0]]
            return              # the value was computed directly in the variable
        if node.op.kind == "view" and not dynamic and self._view(k, node):
            return
        start, end = self.spans[k]
        instruction = Instruction(node, node.inputs, own, dynamic)
        self.plan.instructions.append(instruction)
        shared: dict[Symbol, Buffer] = {}
        if node.bodies:
            shared = self._bodies(k, instruction)
        taken: set[Buffer] = {*shared.values()}
        if node.op.async_role == "wait":    # its results are in the buffers of the start
            where.update((y, where[x]) for x, y in zip(node.inputs[1:], own, strict=False))
        for y in own if node.op.async_role != "wait" else ():
            if not is_dynamic(y) and nbytes(y) > MOST_BYTES:
                raise ResourceExhaustedError(f"{node.op.name}: no memory for {ir.type_text(y)}, "
                                             f"{nbytes(y)} bytes (made at {node.line})")
            whole, offset = self.joined.get(y, (y, 0))
            buffer = shared.get(y) or self.wholes.get(whole)
            if buffer is None and not (dynamic or node.wave or y is not whole):
                buffer = self._variable_for(k, node, y) or self._dying_input(k, node, y, taken)
            if buffer is None:
                buffer = Buffer(DYNAMIC, 0, start) if is_dynamic(y) else Buffer(
                    ARENA, nbytes(whole), start)
                self.plan.buffers.append(buffer)
            if y is not whole:
                self.wholes[whole] = buffer
            buffer.end = max(buffer.end, self.last[y], end)
            taken.add(buffer)
            where[y] = buffer, offset
        for before, after in node.written:
            where[after] = where[before]
        if not dynamic:
            size = workspace_bytes(node.op, node.inputs, own, node.attrs)
            if node.bodies:                 # their arenas follow the workspace of the op
                inside = max([body.arena_bytes for body in instruction.bodies])
                size = -(-max(size, 0) // ALIGNMENT) * ALIGNMENT + inside
            instruction.workspace = Block(size, start, end) if size >= 0 else None

    def _bodies(self, k: int, instruction: Instruction) -> dict[Symbol, Buffer]:
        """Plan the bodies of an instruction. Return the buffers of outputs that the bodies compute
        in the memory of inputs which are not read after time k."""
        node = instruction.node
        shared = {c: i for c, i in shared_inputs(node).items() if self.in_place and not node.wave
                  and self._is_free(k, node, i, node.outputs[c])}
        while True:
            carried = [carried_of(node) if node.op is LOOP else
                       {c: body.inputs[i] for c, i in shared.items()} for body in node.bodies]
            instruction.bodies = tuple([make_plan(body, self.in_place, True, found)
                                        for body, found in zip(node.bodies, carried, strict=True)])
            first = loop_parts(node).first if node.op is LOOP else 0
            stay = {c: i for c, i in shared.items() if all([
                body.stays(first + c, body.graph.inputs[i]) for body in instruction.bodies])}
            if node.op is LOOP or len(stay) == len(shared):
                return {node.outputs[c]: self.plan.where[node.inputs[i]][0]
                        for c, i in stay.items()}
            shared = stay

    def _is_free(self, k: int, node: Node, i: int, y: Symbol) -> bool:
        """Return True if bodies may compute y in the buffer of input i."""
        x = node.inputs[i]
        buffer, offset = self.plan.where[x]
        is_free = (buffer.end == k if buffer.kind is ARENA else
                   buffer.kind is ARG and self.before.get(y) is x and self.last[x] == k)
        return (is_free and offset == 0 and not is_dynamic(x) and buffer.size == nbytes(y) > 0
                and sum([self.plan.where[z][0] is buffer for z in node.inputs]) == 1)

    def _view(self, k: int, node: Node) -> bool:
        """Make a view share the memory of its input; return False if it must be computed."""
        x, y = node.inputs[0], node.outputs[0]
        buffer, at = self.plan.where[x]
        offset = view_offset(node.op, node.inputs, node.outputs, node.attrs)
        if offset < 0 or buffer.kind in AS_IS:
            return False
        if buffer.variable is not None and self._written(buffer.variable, k, self.last[y]):
            return False
        self.plan.where[y] = buffer, at + offset
        return True

    def _dying_input(self, k: int, node: Node, y: Symbol, taken: set[Buffer]) -> Buffer | None:
        """Return the buffer of an input that is not read after time k, if `y` may be computed in
        it. In a loop body, this may be the buffer of a carry whose next value is `y`, or a value
        from which the next one is computed in that buffer (see `carry_chains`)."""
        if not (self.in_place and node.op.may_alias):
            return None
        before = self.before.get(y)
        for x in node.inputs if before is None else (before, *node.inputs):
            buffer, offset = self.plan.where[x]
            is_free = (buffer.end == k if buffer.kind is ARENA else
                       buffer.kind is ARG and before is x and self.last[x] == k)
            if (is_free and offset == 0 and buffer not in taken
                    and self._in_place(node, buffer, y)):       # checks all inputs
                return buffer
        return None

    def _variable_for(self, k: int, node: Node, y: Symbol) -> Buffer | None:
        """Return the buffer of the variable that `y` is assigned to, if y may be computed in it."""
        at, assign = self.assigned.get(y, (0, None))
        if assign is None or not self.in_place:
            return None
        before = assign.inputs[0]
        buffer, _ = self.plan.where.get(before, (None, 0))
        if buffer is None or buffer.variable is None or self.last[before] > k:
            return None
        if buffer.end > k:
            return None                 # an earlier value that was computed there is still needed
        if (self._written(buffer.variable, k, at - 1)
                or self._written(buffer.variable, at, self.last[y])):
            return None
        reads_it = any(self.plan.where[x][0] is buffer for x in node.inputs)
        if reads_it and not self._in_place(node, buffer, y):
            return None
        checks_first = reads_it and not (node.bodies or node.effect or node.needs_value_check)
        if self.n_refusing[at] - self.n_refusing[k + checks_first]:
            return None                 # after a failure the variable must have its old value
        return buffer

    def _written(self, variable: Variable | Symbol, after: int, until: int) -> bool:
        """Return True if a node writes the variable at a time in (after, until]."""
        writes = self.writes.get(variable, [])
        at = bisect.bisect_right(writes, after)
        return at < len(writes) and writes[at] <= until

    def _in_place(self, node: Node, buffer: Buffer, y: Symbol) -> bool:
        """Return True if `node` may write `y` into `buffer` while it reads the inputs there."""
        return buffer.size == nbytes(y) and all(
            node.op.may_alias >> min(i, 31) & 1 and x.shape == y.shape
            and x.dtype.itemsize == y.dtype.itemsize
            for i, x in enumerate(node.inputs) if self.plan.where[x][0] is buffer)

    # --- results ---

    def _results(self) -> None:
        """Assign each output separate memory, which the caller of a run provides. Constants and
        arguments are returned without a copy."""
        plan = self.plan
        plan.results = list(dict.fromkeys(self.graph.outputs))
        n_results = 0
        seen: set[Symbol] = set()
        for x in self.graph.outputs:
            buffer, offset = plan.where[x]
            as_is = buffer.kind in AS_IS or (
                buffer.kind is ARG and x.node.op is PARAMETER)
            if as_is or x in seen:
                continue
            seen.add(x)
            if buffer.kind is not ARENA or offset or buffer.size != nbytes(x):
                y, buffer = self._copy(x)
                plan.returned[x] = y
            buffer.kind, buffer.index = SlotKind.RESULT, n_results
            n_results += 1

    def _results_of_body(self) -> None:
        """Assign each output of a body memory that its instruction provides, or, if its size
        depends on data, a dynamic slot that is not freed. Only a carry of known size stays in the
        memory of its parameter."""
        plan, outputs = self.plan, self.graph.outputs
        plan.results = outputs[:len(outputs) - self.graph.n_versions]
        seen: set[Buffer] = set()
        for k, x in enumerate(plan.results):
            buffer, offset = plan.where[x]
            if buffer.kind is DYNAMIC and buffer not in seen:
                seen.add(buffer)
                continue
            stays = (buffer.kind is ARG and k in self.carried and not is_dynamic(x)
                     and plan.where[self.carried[k]] == (buffer, offset))
            if not stays and (buffer.kind is not ARENA or offset or buffer.size != nbytes(x)):
                plan.results[k], buffer = self._copy(x)
            seen.add(buffer)
            if buffer.kind is ARENA:
                buffer.kind, buffer.index = SlotKind.RESULT, k

    def _copy(self, x: Symbol) -> tuple[Symbol, Buffer]:
        """Add an instruction at the end that copies a value."""
        end = len(self.graph.nodes)
        node = Node(COPY, (x,), None, (), "copy")
        y = symbol(self.graph, node, 0, x.dtype, x.shape)
        node.outputs = (y,)
        dynamic = is_dynamic(x)
        buffer = Buffer(DYNAMIC, 0, end, end) if dynamic else Buffer(ARENA, nbytes(x), end, end)
        self.plan.instructions.append(Instruction(node, (x,), (y,), dynamic))
        self.plan.buffers.append(buffer)
        self.plan.where[y] = buffer, 0
        return y, buffer

    # --- the arena ---

    def _place(self) -> None:
        plan = self.plan
        live = [b for b in plan.buffers if b.kind is ARENA]
        blocks = [Block(b.size, b.start, b.end) for b in live]
        spaces = [i.workspace for i in plan.instructions if i.workspace is not None]
        plan.arena_bytes = assign_offsets(blocks + spaces)
        plan.lower_bound = lower_bound(blocks + spaces)
        for b, block in zip(live, blocks, strict=True):
            b.offset = block.offset


def carried_of(node: Node) -> dict[int, Symbol]:
    """Return, for each carried output of a loop body, the parameter that holds it in the next
    iteration; {} for other nodes."""
    if node.op is not LOOP:
        return {}
    parts = loop_parts(node)
    return dict(enumerate(node.bodies[0].inputs[parts.carried], parts.first))


def make_plan(graph: Graph, in_place: bool = True, is_body: bool = False,
              carried: Mapping[int, Symbol] = MappingProxyType({})) -> Plan:
    """Return the memory plan of a graph.

    Parameters
    ----------
    graph : Graph
    in_place : bool, default True
        Whether a result may overwrite an input that is not read any more.
    is_body : bool, default False
        Whether the graph is a body, whose owner provides memory for all results.
    carried : mapping of int to Symbol
        Of a body: from the index of an output to the parameter in whose memory it may be, such as
        the one that holds it in the next iteration of a loop.

    Returns
    -------
    Plan
    """
    while True:
        plan = Planner(graph, in_place, is_body, carried).run()
        kept = {k: x for k, x in carried.items() if plan.stays(k, x) or not plan.overwrites(x)}
        if len(kept) == len(carried):
            return plan
        carried = kept
