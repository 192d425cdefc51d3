"""Variables by name: scopes, and sharing."""

from __future__ import annotations

from typing import Any

from dualflow._core import TensorBase, unwrapped
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.in_force import graph_in_force, recorded, runs_at_once
from dualflow.compat.v1.init_ops import (
    Initializer,
    glorot_uniform_initializer,
    zeros_initializer,
)
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import float32

__all__ = ["AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable",
           "get_variable_scope", "no_regularizer", "variable_op_scope", "variable_scope"]


class _AutoReuse:
    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


class VariableStore:
    """The variables of a graph that `get_variable` made, and the scope in force."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.scope = VariableScope(False)
        self.opened: set[str] = set()

    def unique_scope(self, prefix: str) -> str:
        """A name of a scope that has not been opened."""
        full = f"{self.scope.name}/{prefix}" if self.scope.name else prefix
        if full not in self.opened:
            return prefix
        k = 1
        while f"{full}_{k}" in self.opened:
            k += 1
        return f"{prefix}_{k}"

    def close(self, name: str) -> None:
        """Forgets the scopes opened inside one that ends: when it is opened by name again, the same
        default names come again, and share variables."""
        self.opened = {x for x in self.opened if not x.startswith(f"{name}/")}


def store_of(graph: Graph) -> VariableStore:
    """The variables of a graph by name."""
    if graph.variable_store is None:
        graph.variable_store = VariableStore()
    found: VariableStore = graph.variable_store
    return found


class VariableScope:
    """What `get_variable` adds to a name, and its defaults.

    Attributes
    ----------
    name : str
    reuse : bool or AUTO_REUSE
    initializer, regularizer, dtype, constraint, custom_getter, original_name_scope

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer") as scope:
    ...     scope.name, scope.reuse
    ('layer', False)
    """

    def __init__(self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None,
                 caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None,
                 name_scope: str = "", dtype: Any = float32, use_resource: Any = None,
                 constraint: Any = None) -> None:
        self.name, self.reuse, self.initializer = name, reuse, initializer
        self.regularizer, self.custom_getter, self.dtype = regularizer, custom_getter, dtype
        self.original_name_scope, self.constraint = name_scope, constraint
        self.caching_device, self.partitioner, self.use_resource = None, None, None

    def reuse_variables(self) -> None:
        """From now on variables that exist are returned."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Changes the initializer of variables that name none."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Changes the regularizer of variables that name none."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Changes the dtype of variables that name none."""
        self.dtype = as_dtype(dtype)

    def get_collection(self, name: Any) -> list[Any]:
        """What a collection holds of this scope."""
        return graph_in_force().get_collection(name, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def within(self, name: str, parent: VariableScope, reuse: Any,
               given: dict[str, Any]) -> VariableScope:
        """A scope of this name that takes from this one what is not given."""
        def of(key: str) -> Any:
            found = given.get(key)
            return getattr(self, key) if found is None else found

        return VariableScope(reuse or self.reuse or parent.reuse, name, of("initializer"),
                             of("regularizer"), custom_getter=of("custom_getter"),
                             dtype=of("dtype"), constraint=of("constraint"))


class variable_scope:
    """Variables that `get_variable` makes in the ``with`` block have names that begin with
    `name_or_scope/`.

    Parameters
    ----------
    name_or_scope : str, VariableScope or None
    default_name : str, optional
        Used, made unique, if that is None.
    values : ignored
    initializer, regularizer, dtype, constraint, custom_getter : optional
        Defaults of `get_variable` inside.
    reuse : bool or AUTO_REUSE, optional
        True: variables must exist; AUTO_REUSE: they are made where they do not. Scopes inside one
        that reuses do so too.
    auxiliary_name_scope : bool, default True
        Whether it is a name scope besides.
    caching_device, partitioner, use_resource : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer"):
    ...         w = tf.get_variable("w", [2])
    ...     with tf.variable_scope("layer", reuse=True):
    ...         tf.get_variable("w", [2]) is w
    True
    """

    def __init__(self, name_or_scope: Any, default_name: str | None = None, values: Any = None,
                 initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
                 partitioner: Any = None, custom_getter: Any = None, reuse: Any = None,
                 dtype: Any = None, use_resource: Any = None, constraint: Any = None,
                 auxiliary_name_scope: bool = True) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, False, True) and reuse is not AUTO_REUSE:
            raise ValueError(f"The reuse parameter must be True or False or None. Got: {reuse!r}")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self.wanted, self.default_name, self.reuse = name_or_scope, default_name, reuse
        self.auxiliary = auxiliary_name_scope
        self.given = {"initializer": initializer, "regularizer": regularizer,
                      "custom_getter": custom_getter, "constraint": constraint,
                      "dtype": None if dtype is None else as_dtype(dtype)}

    def __enter__(self) -> VariableScope:
        self._store = store = store_of(graph_in_force())
        self._before = before = store.scope
        if isinstance(self.wanted, VariableScope):
            base, full = self.wanted, self.wanted.name
            last = full.rpartition("/")[2]
        else:
            last = self.wanted
            if last is None:
                last = store.unique_scope(str(self.default_name))
            base, full = before, f"{before.name}/{last}" if before.name and last else (
                last or before.name)
        self._names: Any = name_scope(last) if self.auxiliary and last else None
        entered = "" if self._names is None else self._names.__enter__()
        store.scope = base.within(full, before, self.reuse, self.given)
        store.scope.original_name_scope = (
            base.original_name_scope if isinstance(self.wanted, VariableScope) else entered)
        store.opened.add(full)
        self._opened = set(store.opened) if isinstance(self.wanted, VariableScope) else None
        return store.scope

    def __exit__(self, *raised: Any) -> None:
        if self._opened is None:
            self._store.close(self._store.scope.name)
        else:
            self._store.opened = self._opened
        self._store.scope = self._before
        if self._names is not None:
            self._names.__exit__(*raised)


def variable_op_scope(values: Any, name_or_scope: Any, default_name: str | None = None,
                      **options: Any) -> variable_scope:
    """The older form of `variable_scope`.

    Parameters
    ----------
    values : Tensor
    name_or_scope : as for `variable_scope`
    default_name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_op_scope([], "layer") as scope:
    ...     scope.name
    'layer'
    """
    return variable_scope(name_or_scope, default_name, values, **options)


def get_variable_scope() -> VariableScope:
    """The scope in force.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable_scope().name
    'layer'
    """
    return store_of(graph_in_force()).scope


def no_regularizer(_: Any) -> None:
    """In a scope: variables are not regularized, whatever the scopes around say.

    Parameters
    ----------
    _ : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("s", regularizer=tf.no_regularizer):
    ...     w = tf.get_variable("w", [2])
    """
    return None


@recorded
def get_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
                 regularizer: Any = None, trainable: bool | None = None, collections: Any = None,
                 caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
                 use_resource: bool | None = None, custom_getter: Any = None,
                 constraint: Any = None, synchronization: Any = None,
                 aggregation: Any = None) -> Variable:
    """The variable of this name in the scope in force: a new one, or where the scope reuses, the
    one that is there.

    Parameters
    ----------
    name : str
    shape : sequence of int
        Left out if `initializer` is a value.
    dtype : dtype, default float32
    initializer : Initializer, callable or value, optional
        By default that of the scope, or `glorot_uniform_initializer`; 0 for integers and bools.
    regularizer : callable, optional
        What it gives for the variable goes to the collection ``REGULARIZATION_LOSSES``.
    trainable, collections : optional
        As for `Variable`.
    custom_getter : callable, optional
        Called with the getter and the arguments.
    constraint : callable, optional
    caching_device, partitioner, validate_shape, use_resource : ignored
    synchronization, aggregation : ignored

    Raises
    ------
    ValueError
        If it is there and the scope does not reuse, or the other way round; if it is there with
        another shape or dtype.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable("w", [2, 3]).name
    'layer/w:0'
    """
    scope = store_of(graph_in_force()).scope
    getter = scope.custom_getter if custom_getter is None else custom_getter
    options: dict[str, Any] = {
        "shape": shape, "dtype": scope.dtype if dtype is None else as_dtype(dtype),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "trainable": trainable, "collections": collections,
        "constraint": scope.constraint if constraint is None else constraint}
    full = f"{scope.name}/{name}" if scope.name else name
    if getter is None:
        return found_or_made(full, **options)
    made: Variable = getter(found_or_made, full, **options)
    return made


def found_or_made(name: str, shape: Any = None, dtype: Any = float32, initializer: Any = None,
                  regularizer: Any = None, trainable: bool | None = None, collections: Any = None,
                  constraint: Any = None, **ignored: Any) -> Variable:
    """The variable of this full name."""
    store = store_of(graph_in_force())
    found, reuse = store.variables.get(name), store.scope.reuse
    if found is not None and runs_at_once() and not reuse:
        found = None                # eager variables may have the same name
    if found is not None:
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n"
                f"  {found.op.line}")
        check_shared(found, name, shape, dtype)
        return found
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?")
    initial, dtype, shape = initial_value(name, shape, dtype, initializer)
    with name_scope(None):
        made = Variable(initial, trainable, collections, name=name, dtype=dtype, shape=shape,
                        constraint=constraint)
    store.variables[name] = made
    if regularizer is not None:
        with name_scope(f"{name}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            made.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def check_shared(found: Variable, name: str, shape: Any, dtype: Any) -> None:
    """Raises if a variable is not what is asked for."""
    if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
        raise ValueError(f"Trying to share variable {name}, but specified shape "
                         f"{TensorShape(shape)} and found shape {found.shape}.")
    if dtype is not None and dtype is not found.dtype:
        raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and "
                         f"found dtype {found.dtype.name}_ref.")


def initial_value(name: str, shape: Any, dtype: Any, initializer: Any) -> tuple[Any, Any, Any]:
    """The initial value of a new variable, a value or a callable, its dtype and its shape."""
    if initializer is None:
        initializer = glorot_uniform_initializer() if dtype.is_floating else zeros_initializer()
    if isinstance(initializer, type):
        initializer = initializer(dtype=dtype)
    if not callable(initializer) or isinstance(unwrapped(initializer), TensorBase):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer, None, None
    if shape is None:
        if isinstance(initializer, Initializer):
            raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument "
                             "must be specified.")
        return initializer, dtype, None
    wanted = TensorShape(shape)
    if not wanted.is_fully_defined():
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was "
                         f"{wanted}.")
    sizes, make = wanted.as_list(), initializer
    return (lambda: make(sizes, dtype=dtype)), dtype, sizes


def get_local_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
                       **options: Any) -> Variable:
    """As `get_variable`, in the collection ``LOCAL_VARIABLES`` and not trainable.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype
    initializer : as for `get_variable`

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.get_local_variable("n", [], tf.int32) in tf.local_variables()
    True
    """
    options["trainable"], options["collections"] = False, [GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, **options)
