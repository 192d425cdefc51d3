"""Graph: contexts, scopes, collections and lookup, as users of TensorFlow 1 know them.

There is one IR: a Graph is a Trace that stays open. Its values are Symbols, its operations Nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, NoReturn

from dualflow._core import (
    SIZE_HINT,
    Attrs,
    Op,
    PatchedAttribute,
    PushedItem,
    Symbol,
    Tensor,
    TraceContext,
    current_graph,
    symbol,
)
from dualflow.compat.v1.contexts import make_default
from dualflow.compat.v1.errors import ForeignTensorError
from dualflow.compat.v1.graph_keys import Collections
from dualflow.compat.v1.lookup import Lookup
from dualflow.compat.v1.names import NODE, OPERATORS, ScopedNames, allowed
from dualflow.compat.v1.operation import Operation
from dualflow.compat.v1.programs import Programs
from dualflow.compat.v1.rank_specialization import RankSpecializations, mapped
from dualflow.compat.v1.runner import Runner
from dualflow.compat.v1.tensor_methods import TensorMethods
from dualflow.compat.v1.value_sizes import SizedTrace
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import TracedValueError
from dualflow.graph.inspect.draw import draw
from dualflow.graph.ir import CALL, CONSTANT, VARIABLE, Node
from dualflow.graph.trace import messages
from dualflow.graph.trace.trace import Trace
from dualflow.ops.types import DTypeLike

__all__ = ["Graph", "name_scope"]

TRUTH = ("Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead "
         "of `if t:` to test if a tensor is defined, and use TensorFlow ops such as tf.cond to "
         "execute subgraphs conditioned on the value of a tensor.")
ITERATION = ("Tensor objects are not iterable when eager execution is not enabled. To iterate over "
             "this tensor use tf.map_fn.")


class Graph(SizedTrace):
    """Operations in the order in which they were recorded, for sessions to run.

    Parameters
    ----------
    name : str, default "graph"

    Notes
    -----
    Inside `as_default` ops are recorded instead of run. Each operation stores the user's source
    line and gets a unique name: the op's `name=`, prefixed by the current scopes. An op applied
    outside `as_default` to a tensor of the graph is recorded in the graph as well.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default():
    ...     x = g.placeholder([2], name="x")
    ...     y = df.square(x, name="y")
    >>> [op.name for op in g.get_operations()]
    ['x', 'y']
    >>> g.get_tensor_by_name("y:0") is y
    True
    """

    input_text = "placeholder {} made at {}"
    outside_text = "use a session's run(), which gives its value"
    for_any_size = True
    encloses = False            # any node can be fetched by name
    is_open = True
    methods: type | None = TensorMethods
    guards: dict[tuple[Any, ...], Any]

    def __init__(self, name: str = "graph", after: Graph | None = None) -> None:
        if not (after is None or isinstance(after, Trace)):
            raise TypeError(f"Graph: after is {after!r}, expected a graph or None")
        super().__init__(name, after)
        self.alive: int = 1
        self.names: ScopedNames = ScopedNames()
        self.finalized: bool = False
        self.seed: int | None = None
        self.current_device = ""
        self.unranked: dict[Symbol, None] = {}
        self.specializations: RankSpecializations = RankSpecializations(self)
        self.operations: list[Operation] = []
        self.collections: Collections = Collections()
        self.drawn: list[Any] = []              # set by iterators.py
        self._calls = False                     # True while a function is called that records here
        self.variable_store: Any = None         # set by scopes.py
        self._control: list[tuple[Operation, ...] | None] = []
        self.programs: Programs = Programs(self)
        self._lookup, self._runner = Lookup(self), Runner(self)

    # --- recording ---

    def node(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None, name: str | None,
             data: Any = None) -> Operation:
        name = name or OPERATORS.get(op.name, op.name)
        if op is CALL or (op is VARIABLE and not isinstance(data, VariableHandle)):
            name = allowed(name)        # name of a function or of an eager variable
        return self._operation(op, inputs, attrs, name, data)

    def _operation(self, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None, name: str,
                   data: Any = None, label: str | None = None) -> Operation:
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        full = self.names.unique(name)
        if not NODE.match(full):
            raise ValueError(f"{full!r} is not a valid node name")
        made = Operation(self, op, inputs, attrs, full, self.line(), data, label)
        self.operations.append(made)
        if self.unranked:
            self.specializations.note(made)
        if self.guards and not self._calls:
            made.decisions, self.guards = self.guards, {}
        return made

    def to_symbols(self, op: Op | None, inputs: list[Any]) -> list[Symbol]:
        if op is not None and not self._calls:
            self.guards = {}        # guards of an op that failed
        return super().to_symbols(op, [self.specializations.here(x) for x in inputs] if self.after
                                  else inputs)

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return the result of a function whose ops are recorded here. All of its ops share the
        guards on tensor sizes that Python evaluates during the call."""
        if self._calls:
            return self._called(function, args, kwargs)
        start, self.guards, self._calls = len(self.operations), {}, True
        try:
            made = self._called(function, args, kwargs)
        finally:
            guards, self.guards, self._calls = self.guards, {}, False
        if guards:
            for op in self.operations[start:]:
                op.decisions = guards
        return made

    def _called(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with nullcontext() if current_graph() is self else TraceContext(self):
            if self.unranked:
                return self.specializations.call(function, args, kwargs)
            if self.after is not None:      # functions called by branches and loop bodies
                args, kwargs = mapped((args, kwargs), self.specializations.here)
            return self.made(function(*args, **kwargs))

    def made(self, found: Any) -> Any:
        """Return the result of a function; an eager tensor is captured as a constant."""
        return self.capture(found) if type(found) is Tensor else found

    @property
    def base(self) -> Graph:
        """The graph that users see: self, or the base graph of this edition."""
        return self if self.after is None else self.after  # type: ignore[return-value]

    def every_operation(self) -> list[Operation]:
        """Return all operations, base graph first."""
        return self.operations if self.after is None else self.base.operations + self.operations

    def every_node(self) -> list[Node]:
        """Return all nodes, base graph first."""
        return self.nodes if self.after is None else self.base.nodes + self.nodes

    def every_value_size(self) -> set[Symbol]:
        """Return the values that are sizes, including values of the base graph."""
        return (self.value_sizes if self.after is None
                else self.base.value_sizes | self.value_sizes)

    def outside_op(self, kind: str, name: str) -> Operation:
        """Return an operation that no program executes; it carries control dependencies."""
        return self._operation(CONSTANT, (), None, name, None, kind)

    def version_of(self, variable: Any, node: Node, index: int) -> Symbol:
        """Return the value of a variable after a write. Later reads of a Slot do not depend on it:
        the fetches of a run decide whether the write is executed before them."""
        if self.bodies or not isinstance(variable, VariableHandle):
            return super().version_of(variable, node, index)
        first = self.variables[variable]
        after = symbol(self, node, index, first.dtype, first.shape, stands_for=variable)
        self.versions[after] = variable
        return after

    # --- contexts ---

    def as_default(self) -> AbstractContextManager[Graph]:
        """Return a context in which ops of this thread are recorded here."""
        return make_default(self, TraceContext(self))

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Return a context in which names of new nodes begin with `name/`."""
        return self.names.scope(name)

    def control_dependencies(
            self, control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
        """Return a context in which new operations run after these; None removes outer ones."""
        if control_inputs is None:
            return PushedItem(self._control, None)
        items = [self.as_graph_element(x) for x in control_inputs]
        return PushedItem(self._control,
                          tuple([x if isinstance(x, Operation) else x.op for x in items]))

    def control_inputs(self) -> tuple[Operation, ...]:
        """Return the control dependencies of operations recorded now."""
        if not self._control:
            return ()
        found: dict[Operation, None] = {}
        for ops in reversed(self._control):
            if ops is None:
                break
            found.update(dict.fromkeys(ops))
        return tuple(found)

    def device(self, name: Any) -> AbstractContextManager[None]:
        """Return a context that sets the requested device; everything runs on the CPU."""
        return PatchedAttribute(self, "current_device", name if isinstance(name, str) else "")

    # --- leaves ---

    def placeholder(self, shape: Iterable[int | None], dtype: DTypeLike = float32,
                    name: str = "placeholder") -> Symbol:
        """Return a tensor whose value is fed when the graph runs.

        Parameters
        ----------
        shape : sequence of int or None
            None for a dimension that may differ between runs.
        dtype : dtype, default float32
        name : str, default "placeholder"

        Returns
        -------
        Symbol
        """
        dims = tuple(shape)
        return self.parameter(len(self.inputs), name, as_dtype(dtype), dims, self.hints(dims))

    @staticmethod
    def hints(shape: Iterable[int | None]) -> list[int]:
        """Return the shape with a typical size for each unknown size."""
        return [SIZE_HINT if d is None else d for d in shape]

    def unranked_placeholder(self, dtype: DTypeLike, name: str) -> Symbol:
        """Return a placeholder of unknown rank."""
        self.unranked[made := self.placeholder([], dtype, name)] = None
        return made

    def constant_of(self, x: Any, name: str) -> Symbol:
        """Return a constant of this name."""
        return x if type(x) is Symbol else self.leaf(CONSTANT, x, x.shape, x.shape, x, x, name)

    # --- running ---

    def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Return the values of the fetches; only operations that they need are run.

        Parameters
        ----------
        fetches : tensor, operation, or name of one, or nested lists, tuples, dicts of them
        feeds : dict, optional
            Values of placeholders and other tensors, by tensor or name.

        Returns
        -------
        The structure of `fetches`, of Tensors; None for operations.

        Raises
        ------
        InvalidArgumentError
            If a placeholder that is needed is not fed.

        Examples
        --------
        >>> import dualflow as df
        >>> g = df.Graph()
        >>> with g.as_default():
        ...     x = g.placeholder([None], name="x")
        ...     y = x * 2.
        >>> g.run(y, {"x:0": [1., 2.]}).tolist()
        [2.0, 4.0]
        """
        return self._runner.tensors(fetches, feeds)

    def draw(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return an SVG drawing, or DOT if `path` ends in ``.dot``; write it to `path` if given."""
        return draw(self, path)

    # --- looking up ---

    def get_operations(self) -> list[Operation]:
        """Return all operations in topological order."""
        return list(self.operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of this name; raise KeyError if it does not exist."""
        return self._lookup.operation(name)

    def get_tensor_by_name(self, name: str) -> Any:
        """Return the tensor of this name: the operation's name, a colon, and the output index;
        raise KeyError if it does not exist."""
        return self._lookup.tensor(name)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True,
                         allow_operation: bool = True) -> Any:
        """Return the tensor or operation for an object or a name."""
        return self._lookup.element(obj, allow_tensor, allow_operation)

    def finalize(self) -> None:
        """Disallow adding operations."""
        self.finalized = True

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = True) -> Any:
        """Return the graph as a GraphDef of the package tensorboard, always with shapes."""
        return import_module("dualflow.summary.graph_def").as_graph_def(self)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` prefixed by the scope and made unique."""
        return self.names.unique(name, mark_as_used)

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append to a collection."""
        self.collections.add([name], value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append to each of several collections."""
        self.collections.add(names, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return the items of a collection; `scope` is a regex for the start of their names."""
        return self.collections.get(name, scope)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the list object of a collection."""
        return self.collections.ref(name)

    def get_all_collection_keys(self) -> list[Any]:
        """Return the names of the collections in use."""
        return self.collections.keys()

    def clear_collection(self, name: Any) -> None:
        """Remove all items of a collection."""
        self.collections.clear(name)

    # --- errors ---

    def no_value(self, x: Symbol, operation: str, instead: str) -> Any:
        message = {messages.TRUTH: TRUTH, "iteration": ITERATION}.get(operation)
        if message is not None:
            raise TracedValueError(f"{message} ({x.name}, {messages.origin(x)})")
        raise messages.error(operation)(messages.leaked(x, self.name, operation, self.outside_text))

    def raise_leaked(self, x: Symbol, caller: str) -> None:
        current = current_graph()
        if current is None:
            raise TracedValueError(
                f"{messages.leaked(x, self.name, caller, self.outside_text)}, or call {caller} "
                "inside graph.as_default(), which makes it part of the graph")
        if not self.goes_on_in(current):
            self.refuse(x, caller, current)

    def refuse(self, x: Symbol, caller: str, other: Any) -> NoReturn:
        """Raise the error for a tensor that is used in another graph."""
        raise ForeignTensorError(
            f"{caller}: {TensorMethods.text(x)} ({messages.origin(x)}) must be from the graph that "
            f"records, {other.name}; it is of {self.name}")


def name_scope(name: str) -> AbstractContextManager[str]:
    """Return a context in which names of new nodes begin with `name/`; no effect if no graph
    records.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default(), df.name_scope("layer") as scope:
    ...     y = df.add(1., 2.)
    >>> scope, y.name
    ('layer/', 'layer/add:0')
    """
    graph = current_graph()
    return nullcontext(f"{name}/") if graph is None else graph.names.scope(name)
