"""`get_variable`: creates a variable, or returns the existing one of the same name."""

from __future__ import annotations

from typing import Any

from dualflow._core import TensorBase, unwrapped
from dualflow.compat.v1.default_graph import default_graph, recorded, runs_at_once
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.init_ops import (
    Initializer,
    glorot_uniform_initializer,
    zeros_initializer,
)
from dualflow.compat.v1.scopes import store_of
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import float32

__all__ = ["get_local_variable", "get_variable", "no_regularizer"]


def no_regularizer(_: Any) -> None:
    """Disable regularization in a scope; overrides the regularizer of enclosing scopes.

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
    """Return the variable of this name in the current scope: a new variable, or the existing one
    if the scope reuses.

    Parameters
    ----------
    name : str
    shape : sequence of int
        Must be omitted if `initializer` is a value.
    dtype : dtype, default float32
    initializer : Initializer, callable or value, optional
        By default the initializer of the scope, or `glorot_uniform_initializer`; 0 for integers and
        bools.
    regularizer : callable, optional
        Function of the variable; its result is added to the collection ``REGULARIZATION_LOSSES``.
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
        If the variable exists and the scope does not reuse; if it does not exist and
        ``reuse=True``; if it exists with another shape or dtype.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable("w", [2, 3]).name
    'layer/w:0'
    """
    scope = store_of(default_graph()).scope
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
    """Return the variable of this full name, creating it if the scope allows."""
    store = store_of(default_graph())
    found, reuse = store.variables.get(name), store.scope.reuse
    if found is not None and runs_at_once() and not reuse:
        found = None                # eager variables may share a name
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
    """Raise ValueError if an existing variable has another shape or dtype than requested."""
    if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
        raise ValueError(f"Trying to share variable {name}, but specified shape "
                         f"{TensorShape(shape)} and found shape {found.shape}.")
    if dtype is not None and dtype is not found.dtype:
        raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and "
                         f"found dtype {found.dtype.name}_ref.")


def initial_value(name: str, shape: Any, dtype: Any, initializer: Any) -> tuple[Any, Any, Any]:
    """Return the initial value of a new variable (a value or a callable), its dtype and shape."""
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
    """Return a variable like `get_variable`, in the collection ``LOCAL_VARIABLES``, not trainable.

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
