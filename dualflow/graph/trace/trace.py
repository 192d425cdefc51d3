"""`Trace`: the graph that the core calls while Python runs with Symbols.

The core calls `to_symbols` and `record` for an application, `read` for a variable, `number` and
`guard` for a number that may change, `no_value` and `raise_leaked` for uses that raise. A trace
must hold for every call that passes its guards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import (
    Attrs,
    Dim,
    HostFunction,
    Op,
    Symbol,
    Tensor,
    TensorSpec,
    TraceContext,
    Variable,
    as_tensor,
    current_graph,
    symbol,
    symbol_like,
)
from dualflow._util.frames import user_frame
from dualflow._util.late_binding import late_method
from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError
from dualflow.graph.ir import (
    CALL,
    CONSTANT,
    PARAMETER,
    VARIABLE,
    Graph,
    Line,
    Node,
    RegionRecord,
    Rule,
    walk,
)
from dualflow.graph.trace import messages
from dualflow.graph.trace.names import Names
from dualflow.graph.trace.outlining import Outliner
from dualflow.graph.trace.parameters import Argument, Cotangent, Feed, Guard, Number, hint
from dualflow.graph.trace.static_value import static_value
from dualflow.ops.printing import printing_when_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.bodies import Body


def suspended() -> TraceContext:
    """Return a context in which ops run eagerly, even while a trace records."""
    return TraceContext(None)


class Trace(Graph):
    """A graph that is recorded while Python runs.

    Attributes
    ----------
    names : Names
    guards : dict of tuple to Guard
        By operator and operands.
    variables : dict of Variable to Symbol
        The current version of each variable.
    versions : dict of Symbol to Variable
        From a version to its variable.
    made_variables : list of Variable
        The variables created while the trace recorded.
    after : Trace or None
        The trace that this one continues. Its Symbols are valid here, too.
    returned : list of Dim
        Python numbers that the function returned.
    held, captured : dict of int to (Tensor, Symbol)
        By id: tensors of Python's state that are inputs, existing tensors that it uses.
    outliner : Outliner
        The calls in this trace and in the traces that it continues.
    alive : int
        Nonzero while the trace records; only then can its Dims be used as numbers.
    bodies : list of Body
        The branches and loop bodies that are being recorded, the outermost first.
    sizes_seen : bool
        Whether Python was given a size that may change.
    flowed : dict of Symbol to Symbol
        From a gradient that has zeros for a missing cotangent to its run-time flag.
    stale : str or None
        Why the trace is out of date: the state read by Python that has changed.
    """

    # Texts of messages: the name of an input, and the remedy for a tensor used outside.
    input_text = "argument {} of the call at {}"
    outside_text = ("return it from the function, by itself or in lists, tuples, dicts or "
                    "dataclasses, or assign it to a Variable")

    for_any_size = False        # whether sizes that may change are printed as unknown
    encloses = True             # whether the nodes of a called function become the body of a call

    def __init__(self, name: str = "graph", after: Trace | None = None) -> None:
        super().__init__(name)
        self.after = after
        self.returned: list[Dim] = []
        self.bodies: list[Body] = []
        self.sizes_seen = False
        self.guards: dict[tuple[Any, ...], Guard] = {}
        self.variables: dict[Any, Symbol] = {}
        self.versions: dict[Symbol, Any] = {}
        self.made_variables: list[Variable] = []
        self.flowed: dict[Symbol, Symbol] = {}
        self.host_functions: list[HostFunction] = []
        self.may_create: str | None = None
        self.stale: str | None = None
        self.owner: Callable[[], Any] = lambda: None    # weak reference to its function
        self.held: dict[int, tuple[Tensor, Symbol]] = {} if after is None else after.held
        self.captured: dict[int, tuple[Tensor, Symbol]] = {}
        self._numbers: dict[tuple[int, DType], tuple[Dim, Symbol]] = {}
        self.names: Names = Names()
        self._gradient_of: tuple[str, bool] = "", False
        self.alive = self._n_recorded = 0
        self.outliner: Outliner = Outliner() if after is None else after.outliner

    def recording(self) -> TraceContext:
        """Return a context in which this thread's ops, and prints of tensors, are recorded here."""
        return TraceContext(self, printing_when_run)

    # --- applications (called by the core) ---

    def to_symbols(self, op: Op | None, inputs: list[Any]) -> list[Symbol]:
        """Return the inputs of an application as Symbols; concrete tensors become constants."""
        adopted = [x if type(x) is Symbol else self.capture(x) for x in inputs]
        return list(map(self.outliner.outside, adopted)) if self.outliner else adopted

    def capture(self, x: Tensor) -> Symbol:
        """Return the parameter or constant for a concrete tensor."""
        found = self.captured.get(id(x))
        if found is None:
            found = self.captured[id(x)] = self.held.get(id(x)) or (
                x, self.leaf(CONSTANT, x, x.shape, x.shape, x, x, None))
        return found[1]

    def record(self, op: Op, inputs: list[Symbol], attrs: Attrs | None, outputs: list[Symbol],
               name: str | None) -> None:
        """Append an application whose outputs have been inferred."""
        node = self.node(op, inputs, attrs, name)
        if op.writes:
            outputs = outputs + [self.version_of(self.variable_of(x), node, 0)
                                 for i, x in enumerate(inputs) if op.writes >> i & 1]
        for k, y in enumerate(outputs):
            y.node, y.index = node, k
        node.outputs = tuple(outputs)
        self.nodes.append(node)

    def differentiate(self, of: Any, output: Any) -> Any:
        """Mark the nodes recorded from now on as part of the gradient of `output`, an output of op
        `of`. Return the previous mark; pass it as `of`, with output None, to restore it."""
        before = self._gradient_of
        if output is None:
            self._gradient_of = of
            return before
        node = output.node if type(output) is Symbol else None
        at = f" at {node.line.file}:{node.line.line}" if node and node.line else ""
        self._gradient_of = f"{of}{at}", node is not None and isinstance(node.data, Rule)
        return before

    def node(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None, name: str | None,
             data: Any = None) -> Node:
        """Return a new node with a unique name and without outputs."""
        return Node(op, inputs, attrs, (), self.names.unique(name or op.name), self.line(), data)

    def line(self) -> Line | None:
        """Return the line of the user's code that is executing."""
        frame, _ = user_frame(2)
        if frame is None:
            return None
        self._n_recorded += 1
        return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name,
                    *self._gradient_of, self._n_recorded)

    # --- calls ---

    @property
    def mark(self) -> int:
        """The current position, which a function passes to `outline` when it returns."""
        return len(self.nodes)

    def outline(self, mark: int, name: str, outputs: Sequence[Symbol] = ()) -> Node:
        """Move the nodes recorded since `mark` into the body of a new call and return the call. Its
        first outputs are `outputs` under new identities."""
        call = self.node(CALL, (), None, name)
        self.outliner.outline(self, mark if self.encloses else self.mark, name, call, outputs)
        for before, after in call.written:
            variable = self.versions[self.outliner.recorded(before)]
            self.variables[variable] = after
        return call

    def record_function(self, op: Op, inputs: list[Any], outputs: list[Tensor],
                        mark: int | None) -> tuple[list[Any], list[Any]]:
        """Record that `op`, which has a gradient rule and no kernel, maps inputs to outputs. The
        nodes since `mark` become a call, through which gradients do not pass. Return the inputs as
        Symbols, and the outputs of the call."""
        inputs, returned = self.to_symbols(op, inputs), self.to_symbols(op, outputs)
        call = self.outline(self.mark if mark is None else mark, op.name, returned)
        call.data = Rule(op, tuple(inputs), len(outputs))
        return inputs, list(call.outputs[:len(outputs)])

    @property
    def rules(self) -> list[Any]:
        """The gradient rules of the user in this trace."""
        return [node.data.op.rule for node in walk(self.nodes) if isinstance(node.data, Rule)]

    @property
    def may_lead_further(self) -> bool:
        """True if second-order gradients may read more values than first-order gradients do."""
        return any([isinstance(node.data, Rule | RegionRecord) for node in walk(self.nodes)])

    # branches, loops and iteration over a tensor (called by ops)
    cond: Callable[..., Any] = late_method("dualflow.graph.trace.control")
    while_loop: Callable[..., Any] = late_method("dualflow.graph.trace.control")
    scan: Callable[..., Any] = late_method("dualflow.graph.trace.control")
    trace_and_discard: Callable[..., Any] = late_method("dualflow.graph.trace.control")
    cond_builder: Callable[..., Any] = late_method("dualflow.graph.trace.region_builder")
    loop_builder: Callable[..., Any] = late_method("dualflow.graph.trace.region_builder")
    unroll: Callable[..., Any] = late_method("dualflow.graph.trace.unrolled")

    # --- variables and other leaves ---

    def version_of(self, variable: Any, node: Node, index: int) -> Symbol:
        """Return the next version of a variable: output `index` of a node."""
        before = self.variables[variable]
        after = symbol(self, node, index, before.dtype, before.shape, stands_for=variable)
        self.variables[variable] = after
        self.versions[after] = variable
        return after

    def variable_of(self, x: Symbol) -> Any:
        """Return the variable that a value is a version of, or None."""
        return self.versions.get(self.outliner.recorded(x))

    def read(self, variable: Variable) -> Symbol:
        """Return the current version of a variable."""
        if variable not in self.variables:
            with suspended():
                now = variable.value()
            self.leaf(VARIABLE, now, now.shape, now.shape, variable, variable, variable.name)
        return self.variables[variable]

    def leaf(self, op: Op, like: Any, shape: Sequence[int | None], hints: Sequence[int | None],
             data: Any, stands_for: Any, name: str | None) -> Symbol:
        """Append a leaf; tapes identify it with `stands_for`."""
        node = self.node(op, (), None, name, data)
        made = symbol(self, node, 0, like.dtype, shape, hints, stands_for)
        node.outputs = (made,)
        self.nodes.append(node)
        if op is VARIABLE:
            self.versions[made] = data
            self.variables[data] = made
            for body in self.bodies:        # each open loop body reads its own version
                self.variables[data] = body.first_read(self, data, self.variables[data])
        return made

    def part(self, nodes: list[Node], inputs: list[Symbol], outputs: list[Symbol],
             guards: dict[tuple[Any, ...], Guard]) -> Trace:
        """Return a trace of some of the nodes (not copied), which can be specialised alone."""
        part = Trace(self.name)
        part.nodes, part.inputs, part.outputs, part.guards = nodes, inputs, outputs, guards
        part.outliner = self.outliner
        return part

    # --- parameters ---

    def parameter(self, index: int, path: str, dtype: DType, shape: Sequence[int | None],
                  hints: Sequence[int | None]) -> Symbol:
        """Add a parameter for leaf `index` of the call's arguments."""
        made = self.leaf(PARAMETER, TensorSpec((), dtype), shape, hints,
                         Argument(index, path), None, path)
        self.inputs.append(made)
        return made

    def parameter_like(self, y: Symbol, name: str, data: Cotangent | None = None) -> Symbol:
        """Return a new parameter like `y`, a value of this trace or of one that it continues."""
        node = Node(PARAMETER, (), None, (), self.names.unique(name), y.node.line, data)
        made = symbol_like(self, node, 0, y)
        node.outputs = (made,)
        return made

    def feed(self, make: Callable[..., Tensor], args: tuple[Any, ...], spec: TensorSpec,
             name: str, give_back: Callable[[], None] | None = None) -> Symbol:
        """Add a parameter like `spec`, whose value each run computes by ``make(*args)``."""
        made = self.leaf(PARAMETER, spec, spec.shape, spec.shape, Feed(make, args, give_back), None,
                         name)
        self.inputs.append(made)
        return made

    def number(self, dim: Dim, dtype: DType) -> Symbol:
        """Return a number that may change as a tensor of shape ()."""
        key = (id(dim), dtype)
        if key not in self._numbers:
            made = self.leaf(PARAMETER, TensorSpec((), dtype), (), (), Number(dim, dtype), None,
                             "number")
            self.inputs.append(made)
            self._numbers[key] = (dim, made)
        return self._numbers[key][1]

    def guard(self, op: str, args: tuple[Any, ...], answer: Any) -> None:
        """Record that a comparison of numbers answered `answer`."""
        current = current_graph()
        if current is not self and self.goes_on_in(current):
            current.guard(op, args, answer)
            return
        if self.bodies:         # the check belongs to a body, which may not be executed
            args = tuple([self.inside(x) for x in args])
        key = (op, *[id(x) if isinstance(x, Dim) else (type(x), x) for x in args])
        if key not in self.guards:
            self.guards[key] = Guard(op, args, answer, self.line())

    decision: Callable[..., Any] = late_method("dualflow.graph.trace.decisions")
    ask_to_convert: Callable[..., Any] = late_method("dualflow.graph.trace.decisions")
    truth_of: Callable[..., Any] = late_method("dualflow.graph.trace.decisions")

    # integers as attributes (called by the core and by ops)
    dim_of: Callable[..., Any] = late_method("dualflow.graph.trace.as_dims")
    dims_of: Callable[..., Any] = late_method("dualflow.graph.trace.as_dims")
    inside: Callable[..., Any] = late_method("dualflow.graph.trace.as_dims")
    by_axes: Callable[..., Any] = late_method("dualflow.graph.trace.axes")
    choose: Callable[..., Any] = late_method("dualflow.graph.trace.axes")

    def known(self, x: Symbol, read: Callable[[Symbol], Tensor]) -> Tensor:
        """Return the statically known value of `x`; `read` returns the values of leaves."""
        return static_value(x, read, self.outliner.recorded_as)

    # --- variables ---

    def initial_value(self, value: Any) -> Any:
        """Return the initial value of a variable that is created while the trace records."""
        if self.may_create is not None:
            raise InvalidArgumentError(self.may_create)
        if callable(value) and not isinstance(value, Tensor | Variable):
            with suspended():
                return value()
        if isinstance(value, Variable):
            value = self.read(value)
        if type(value) is Symbol:
            return self.known(value, self._now)
        return value

    def _now(self, x: Symbol) -> Tensor:
        """Return the value of a leaf at trace time."""
        node = x.node
        if node.op is VARIABLE:
            with suspended():
                return node.data.value()
        if isinstance(node.data, Feed):
            return node.data.make(*[hint(a) for a in node.data.args])
        raise InvalidArgumentError(
            f"a variable's initial value depends on {x.name}, an argument of {self.name}; "
            "pass the value as a Python number or make the variable outside")

    def outdated(self, why: str) -> None:
        """Mark the trace as stale; called when state that Python read has changed."""
        self.stale = why
        owner = self.owner()
        if owner is not None:
            owner.forget()

    def created(self, variable: Variable) -> None:
        """Register a variable that was created while the trace records."""
        self.made_variables.append(variable)

    # --- uses that a Symbol does not support ---

    def no_value(self, x: Symbol, operation: str, instead: str) -> Tensor:
        """Raise TracedValueError, or return the truth of `x` that the conversion has decided."""
        if current_graph() is not self:
            self.raise_leaked(x, operation)
        question = self.outliner.question if operation in messages.CONTROL_FLOW else None
        why = "" if question is None else question(x if operation == messages.TRUTH else None)
        if why is True or why is False:
            return as_tensor(why)
        known = self.truth_of(x) if operation == messages.TRUTH else None
        if known is not None:
            return as_tensor(known)
        raise messages.error(operation)(messages.no_value(x, self.name, operation, instead, why))

    def goes_on_in(self, other: Any) -> bool:
        """Return True if `other` is this trace or continues it."""
        while isinstance(other, Trace):
            if other is self:
                return True
            other = other.after
        return False

    def raise_leaked(self, x: Symbol, caller: str) -> None:
        """Raise TracedValueError unless this trace, or one that continues it, is recording."""
        if not self.goes_on_in(current_graph()):
            raise messages.error(caller)(messages.leaked(x, self.name, caller, self.outside_text))
