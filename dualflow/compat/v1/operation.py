"""Operations: nodes with what TensorFlow says of them besides, and tensors that Python makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dualflow._core import Attrs, Op, Symbol
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.shapes import TensorShape
from dualflow.graph.ir import Line, Node
from dualflow.graph.trace.parameters import Guard

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph

__all__ = ["Operation"]

# TensorFlow's types of operations, where they are not the name in capitals.
TYPES = {"parameter": "Placeholder", "constant": "Const", "variable": "VariableV2",
         "multiply": "Mul", "subtract": "Sub", "divide": "RealDiv", "negative": "Neg",
         "reduce_sum": "Sum", "reduce_mean": "Mean", "reduce_max": "Max", "reduce_min": "Min",
         "reduce_prod": "Prod", "reduce_all": "All", "reduce_any": "Any", "matmul": "MatMul",
         "argmax": "ArgMax", "argmin": "ArgMin", "concat": "ConcatV2", "stack": "Pack",
         "unstack": "Unpack", "gather": "GatherV2", "conv2d": "Conv2D", "where": "Select",
         "floordiv": "FloorDiv", "floormod": "FloorMod", "no_op": "NoOp", "cond": "If",
         "loop": "While"}


UNDECIDED: Mapping[tuple[Any, ...], Guard] = MappingProxyType({})


class Operation(Node):
    """A node of a graph.

    Attributes
    ----------
    name, type : str
    inputs, outputs : tuple of Tensor
    control_inputs : tuple of Operation
        What runs before it besides what makes its inputs.
    graph : Graph
    device : str
    in_order : bool
        Whether it keeps its place among operations that write variables, though it waits for none.
    decisions : dict of tuple to Guard
        What Python decided by sizes when it was made: it can run only where that holds.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     op = tf.add(1, 2, name="sum").op
    >>> op.name, op.type
    ('sum', 'Add')
    """

    __slots__ = ("control_inputs", "decisions", "device", "graph", "in_order", "label")

    def __init__(self, graph: Graph, op: Op, inputs: Sequence[Symbol], attrs: Attrs | None,
                 name: str, line: Line | None, data: Any, label: str | None = None) -> None:
        super().__init__(op, inputs, attrs, (), name, line, data)
        self.graph: Graph = graph
        self.control_inputs: tuple[Operation, ...] = graph.control_inputs()
        self.device: str = graph.current_device
        self.label: str | None = label
        self.in_order: bool = False
        self.decisions: Mapping[tuple[Any, ...], Guard] = UNDECIDED

    @property
    def type(self) -> str:
        """The kind of operation, as TensorFlow calls it."""
        return self.label or TYPES.get(self.op.name) or "".join(
            [word.capitalize() for word in self.op.name.split("_")])

    def values(self) -> tuple[Any, ...]:
        """Its outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """The attribute called `name`."""
        if name == "dtype" and self.outputs:
            return self.outputs[0].dtype
        if name not in self.given:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")
        return self.given[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs it in a session, by default the one in force."""
        session = default_session(session, "run", "Cannot execute operation using `run()`",
                                  self.graph)
        session.run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class HostTensor:
    """A tensor whose value Python makes when it is fetched: text, or what a summary writes.

    Parameters
    ----------
    graph : Graph
    kind : str
        The type of its operation.
    name : str
    inputs : sequence of Tensor or HostTensor
    compute : callable, optional
        Called with the session and the values of the inputs; without it, the tensor must be fed.
    shape : sequence of int or None, optional
    """

    def __init__(self, graph: Graph, kind: str, name: str, dtype: Any,
                 inputs: Iterable[Any] = (), compute: Callable[..., Any] | None = None,
                 shape: Any = ()) -> None:
        self.graph = graph
        self.dtype = dtype
        self.shape: TensorShape = TensorShape(shape)
        self.inputs: tuple[Any, ...] = tuple(inputs)
        self.compute = compute
        self.op: Operation = graph.outside_op(kind, name)
        self.op.outputs = (self,)       # type: ignore[assignment]
        self.op.control_inputs += tuple([x.op for x in self.inputs])
        self.value_index = 0

    @property
    def name(self) -> str:
        """`operation:0`"""
        return f"{self.op.name}:0"

    @property
    def device(self) -> str:
        """Where it was asked to be."""
        return self.op.device

    def get_shape(self) -> TensorShape:
        """Its shape."""
        return self.shape

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in a session, by default the one in force."""
        return default_session(session, "eval", "Cannot evaluate tensor using `eval()`",
                               self.graph).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = f", shape={self.shape}" if self.shape.known_rank else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'
