"""Operation: a graph node with TensorFlow's attributes; HostTensor: a tensor computed in Python."""

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

# TensorFlow's operation types, if they differ from the capitalised op name.
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
        Operations that run before it, in addition to the producers of its inputs.
    graph : Graph
    device : str
    in_order : bool
        Whether it stays in program order with operations that write variables, without an edge.
    decisions : dict of tuple to Guard
        Guards on sizes that held when it was recorded; it can run only if they hold.

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
        """The operation type under TensorFlow's name."""
        return self.label or TYPES.get(self.op.name) or "".join(
            [word.capitalize() for word in self.op.name.split("_")])

    def values(self) -> tuple[Any, ...]:
        """Return the outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """Return the attribute of this name."""
        if name == "dtype" and self.outputs:
            return self.outputs[0].dtype
        if name not in self.attr_dict:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")
        return self.attr_dict[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in a session, by default the default session."""
        session = default_session(session, "run", "Cannot execute operation using `run()`",
                                  self.graph)
        session.run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class HostTensor:
    """A tensor that Python computes when it is fetched: text, or a serialised summary.

    Parameters
    ----------
    graph : Graph
    kind : str
        Type of its operation.
    name : str
    inputs : sequence of Tensor or HostTensor
    compute : callable, optional
        Called with the session and the values of the inputs. If None, the tensor must be fed.
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
        """The name: `operation:0`."""
        return f"{self.op.name}:0"

    @property
    def device(self) -> str:
        """The requested device."""
        return self.op.device

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value in a session, by default the default session."""
        return default_session(session, "eval", "Cannot evaluate tensor using `eval()`",
                               self.graph).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = f", shape={self.shape}" if self.shape.known_rank else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'
