"""Variables of graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from dualflow._core import Tensor, TensorBase, Variable as own_variable, unwrapped
from dualflow.compat.v1 import scatter
from dualflow.compat.v1.assign import assign, assign_add, assign_sub, write
from dualflow.compat.v1.default_graph import default_graph, recorded, runs_at_once
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.ops.array.shape import identity

__all__ = ["Variable"]


Operator: TypeAlias = Callable[..., Any]


def _of_the_value(operator: str) -> Operator:
    """Return an operator that applies to the value of a variable."""
    def apply(self: Any, *others: Any) -> Any:
        return getattr(self.__df_tensor__(), operator)(*others)

    return recorded(apply)


class Variable:
    """A tensor whose value sessions keep between runs and operations write.

    Parameters
    ----------
    initial_value : Tensor, number, array, or callable without arguments that returns one
    trainable : bool, default True
        Whether to add it to the collection ``TRAINABLE_VARIABLES``, the default of optimizers.
    collections : list of str, optional
        By default ``GLOBAL_VARIABLES``.
    validate_shape : bool
        Ignored; the shape must be known.
    caching_device : ignored
    name : str, optional
        "Variable" by default.
    variable_def : ignored
    dtype : dtype, optional
        By default the dtype of the initial value.
    shape : sequence of int, optional
        Needed, with `dtype`, only in a loop body, where the initial value is not computed.
    expected_shape, import_scope, use_resource, synchronization, aggregation : ignored
    constraint : callable, optional
        Stored as an attribute.

    Notes
    -----
    In eager mode the class returns a `dualflow.Variable`.

    Attributes
    ----------
    name, op, dtype, shape, graph, initializer, initial_value

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([1., 2.], name="w")
    ...     sess.run(tf.global_variables_initializer())
    ...     print(w.name, sess.run(w * 2))
    w:0 [2. 4.]
    """

    __array_ufunc__ = None          # so that `array * variable` calls __rmul__
    __array_priority__ = 100

    def __new__(cls, initial_value: Any = None, trainable: bool | None = None, *args: Any,
                **options: Any) -> Any:
        if runs_at_once():              # an eager variable
            dtype = options.get("dtype")
            return own_variable(initial_value, trainable is not False, options.get("name"),
                                None if dtype is None else as_dtype(dtype))
        return super().__new__(cls)

    def __init__(self, initial_value: Any = None, trainable: bool | None = None,
                 collections: Iterable[str] | None = None, validate_shape: bool = True,
                 caching_device: Any = None, name: str | None = None, variable_def: Any = None,
                 dtype: Any = None, expected_shape: Any = None, import_scope: str | None = None,
                 constraint: Callable[..., Any] | None = None, use_resource: bool | None = None,
                 synchronization: Any = None, aggregation: Any = None, shape: Any = None) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if not isinstance(collections, list | tuple | set | type(None)):
            raise ValueError("collections argument to Variable constructor must be a list, tuple, "
                             f"or set. Got {collections!r} of type {type(collections)}")
        self.trainable: bool = trainable is not False
        self.constraint = constraint
        self.initial_value: Tensor = initial_value
        self._make(name or "Variable", None if dtype is None else as_dtype(dtype), shape)
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        self.graph.add_to_collections(names, self)

    @recorded
    def _make(self, name: str, dtype: Any, shape: Any) -> None:
        graph = default_graph()
        self.graph: Any = graph
        self._initializer: Any = None
        with graph.control_dependencies(None), graph.name_scope(name) as self._scope:
            given: Any = self.initial_value
            if graph.bodies and callable(given) and None not in (dtype, shape):
                self.slot: Any = VariableHandle(graph, self._scope, dtype,
                                                TensorShape(shape).as_list())
                return  # in a branch or loop body: the initializer is recorded outside
            value = self._begin(dtype)
            found = TensorShape(value.shape)
            if not found.is_fully_defined() or not graph.specializations.knows_shape(value):
                raise ValueError(f"initial_value must have a shape specified: {value!r}")
            self.slot = VariableHandle(graph, self._scope, value.dtype, found.as_list())
            self._initializer = write("assign", self, value, "Assign", "Assign").op

    def _begin(self, dtype: Any) -> Any:
        """Return the initial value as a tensor."""
        value: Any = self.initial_value
        if callable(value) and not isinstance(unwrapped(value), TensorBase):
            value = value()
        self.initial_value = value = convert(value, dtype)
        if dtype is not None and value.dtype is not dtype:
            raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with "
                             f"dtype {value.dtype.name}: {value!r}")
        return value

    # --- properties ---

    @property
    def name(self) -> str:
        """The name: `operation:0`."""
        return f"{self.slot.name}:0"

    @property
    def op(self) -> Any:
        """The operation of the variable."""
        return self.slot.leaf.node

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.slot.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self.slot.shape)

    @property
    def device(self) -> str:
        """The requested device."""
        return str(self.op.device)

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    @property
    def initializer(self) -> Any:
        """The operation that assigns the initial value."""
        if self._initializer is None:
            self._initialize()
        return self._initializer

    @recorded
    def _initialize(self) -> None:
        with self.graph.control_dependencies(None), self.graph.name_scope(self._scope):
            value = self._begin(self.dtype)
            self._initializer = write("assign", self, value, "Assign", "Assign").op

    @recorded
    def initialize_with(self, value: Any) -> None:
        """Assign another initial value in the initializer."""
        self.initial_value, self._initializer = value, None
        self._initialize()

    def __df_tensor__(self) -> Any:
        """Return the value that operations recorded now read."""
        return self.slot.__df_tensor__()

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}_ref>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.slot.leaf.__array__(dtype, copy)        # raises an error with the remedy

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    # --- value ---

    def value(self) -> Any:
        """Return a tensor of the value."""
        return self.slot.leaf

    @recorded
    def read_value(self) -> Any:
        """Return a tensor of the value after the current control dependencies have run."""
        return identity(self.slot, name="read")

    @recorded
    def initialized_value(self) -> Any:
        """Return the initial value as a tensor, for initializing another variable."""
        return identity(self.initializer.outputs[-1], name="initialized_value")

    def eval(self, session: Any = None) -> Any:
        """Return the value in a session, by default the default session."""
        return default_session(session, "eval", "Cannot evaluate tensor using `eval()`",
                               self.graph).run(self)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in a session, by default the default session."""
        session = default_session(session, "load", "Cannot load a value", self.graph)
        session.load(self, value)

    # --- writing ---

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None,
               read_value: bool = True) -> Any:
        """Assign a value; see `tf.assign`."""
        return assign(self, value, name=name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> Any:
        """Add to the variable; see `tf.assign_add`."""
        return assign_add(self, delta, name=name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> Any:
        """Subtract from the variable; see `tf.assign_sub`."""
        return assign_sub(self, delta, name=name)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False,
                    name: str | None = None) -> Any:
        """Add IndexedSlices to rows."""
        return scatter.of_rows(scatter.scatter_add, self, sparse_delta, name)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False,
                    name: str | None = None) -> Any:
        """Subtract IndexedSlices from rows."""
        return scatter.of_rows(scatter.scatter_sub, self, sparse_delta, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False,
                       name: str | None = None) -> Any:
        """Replace rows by IndexedSlices."""
        return scatter.of_rows(scatter.scatter_update, self, sparse_delta, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False,
                    name: str | None = None) -> Any:
        """Compute the maximum of rows and IndexedSlices."""
        return scatter.of_rows(scatter.scatter_max, self, sparse_delta, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False,
                    name: str | None = None) -> Any:
        """Compute the minimum of rows and IndexedSlices."""
        return scatter.of_rows(scatter.scatter_min, self, sparse_delta, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to slices; see `tf.scatter_nd_add`."""
        return scatter.scatter_nd_add(self, indices, updates, name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtract from slices; see `tf.scatter_nd_sub`."""
        return scatter.scatter_nd_sub(self, indices, updates, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Replace slices; see `tf.scatter_nd_update`."""
        return scatter.scatter_nd_update(self, indices, updates, name=name)

    # --- operators of the value ---

    __add__: Operator = _of_the_value("__add__")
    __radd__: Operator = _of_the_value("__radd__")
    __sub__: Operator = _of_the_value("__sub__")
    __rsub__: Operator = _of_the_value("__rsub__")
    __mul__: Operator = _of_the_value("__mul__")
    __rmul__: Operator = _of_the_value("__rmul__")
    __truediv__: Operator = _of_the_value("__truediv__")
    __rtruediv__: Operator = _of_the_value("__rtruediv__")
    __floordiv__: Operator = _of_the_value("__floordiv__")
    __rfloordiv__: Operator = _of_the_value("__rfloordiv__")
    __mod__: Operator = _of_the_value("__mod__")
    __rmod__: Operator = _of_the_value("__rmod__")
    __pow__: Operator = _of_the_value("__pow__")
    __rpow__: Operator = _of_the_value("__rpow__")
    __matmul__: Operator = _of_the_value("__matmul__")
    __rmatmul__: Operator = _of_the_value("__rmatmul__")
    __and__: Operator = _of_the_value("__and__")
    __rand__: Operator = _of_the_value("__rand__")
    __or__: Operator = _of_the_value("__or__")
    __ror__: Operator = _of_the_value("__ror__")
    __xor__: Operator = _of_the_value("__xor__")
    __rxor__: Operator = _of_the_value("__rxor__")
    __neg__: Operator = _of_the_value("__neg__")
    __abs__: Operator = _of_the_value("__abs__")
    __invert__: Operator = _of_the_value("__invert__")
    __lt__: Operator = _of_the_value("__lt__")
    __le__: Operator = _of_the_value("__le__")
    __gt__: Operator = _of_the_value("__gt__")
    __ge__: Operator = _of_the_value("__ge__")
    __getitem__: Operator = _of_the_value("__getitem__")
