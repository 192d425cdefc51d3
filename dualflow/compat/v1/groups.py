"""Grouping operations, identity, name scopes, control dependencies, devices and collections."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dualflow.compat.v1.default_graph import (
    default_graph,
    get_default_graph,
    recorded,
    runs_at_once,
)
from dualflow.compat.v1.operation import HostTensor, Operation
from dualflow.nest import flatten
from dualflow.ops.array.shape import identity as own_identity

__all__ = ["add_to_collection", "add_to_collections", "control_dependencies", "device",
           "get_collection", "get_collection_ref", "group", "identity", "name_scope", "no_op",
           "op_scope", "tuple"]


class name_scope:
    """A context in which the names of new operations begin with `name/`.

    Parameters
    ----------
    name : str or None
        A name that ends with a slash re-enters an existing scope; None is the outermost scope.
    default_name : str, optional
        Used if `name` is None.
    values : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer"):
    ...     print(tf.constant(1., name="c").name)
    layer/c:0
    """

    def __init__(self, name: str | None, default_name: str | None = None,
                 values: Any = None) -> None:
        self.name: str | None = default_name if name is None else name

    def __enter__(self) -> str:
        self._scope: Any = (nullcontext(f"{self.name}/") if runs_at_once()
                            else default_graph().name_scope(self.name))
        entered: str = self._scope.__enter__()
        return entered

    def __exit__(self, *raised: Any) -> None:
        self._scope.__exit__(*raised)


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> name_scope:
    """Return a `name_scope`; older form.

    Parameters
    ----------
    values : Tensor
    default_name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.op_scope([], "layer") as scope:
    ...     print(scope)
    layer/
    """
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Return a context in which new operations run after the given ones.

    Parameters
    ----------
    control_inputs : list of tensor, operation or variable, or None
        None removes the control dependencies of outer contexts.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     sess.run(w.initializer)
    ...     with tf.control_dependencies([w.assign_add(1.)]):
    ...         y = w * 10.
    ...     print(sess.run(y))
    20.0
    """
    if runs_at_once():
        return nullcontext()
    return default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Return a context that sets the requested device; everything runs on the CPU.

    Parameters
    ----------
    device_name_or_function : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.device("/gpu:0"):
    ...     print(tf.constant(1.).device)
    /gpu:0
    """
    return nullcontext() if runs_at_once() else default_graph().device(device_name_or_function)


def no_op(name: str | None = None) -> Any:
    """Return an operation that does nothing.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.no_op().type
    'NoOp'
    """
    return None if runs_at_once() else default_graph().outside_op("NoOp", name or "NoOp")


def group(*inputs: Any, name: str | None = None, **kwargs: Any) -> Any:
    """Return an operation that runs other operations.

    Parameters
    ----------
    *inputs : operation, tensor, variable, or nested lists of them
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     a, b = tf.Variable(1.), tf.Variable(2.)
    ...     print(sess.run(tf.group(a.initializer, b.initializer)))
    None
    """
    if runs_at_once():
        return None
    graph = default_graph()
    wanted = [graph.as_graph_element(x) for x in flatten(list(inputs)) if x is not None]
    made = graph.outside_op("NoOp", name or "group_deps")
    ops = [x if isinstance(x, Operation) else x.op for x in wanted]
    made.control_inputs = (*dict.fromkeys([*made.control_inputs, *ops]),)
    return made


@recorded
def identity(input: Any, name: str | None = None) -> Any:
    """Return a tensor of the same value.

    Parameters
    ----------
    input : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.identity([1., 2.])))
    [1. 2.]
    """
    if isinstance(input, HostTensor):
        return HostTensor(input.graph, "Identity", name or "Identity", input.dtype, [input],
                          lambda session, x: x, input.shape)
    return own_identity(input, name=name or "Identity")


@recorded
def tuple(tensors: Iterable[Any], name: str | None = None,
          control_inputs: Iterable[Any] | None = None) -> list[Any]:
    """Return tensors of the same values, available when all of them have been computed.

    Parameters
    ----------
    tensors : list of tensor
    control_inputs : list, optional
        Further operations to wait for.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.tuple([tf.constant(1), tf.constant(2)])))
    [np.int32(1), np.int32(2)]
    """
    given = list(tensors)
    with control_dependencies([x for x in given if x is not None] + list(control_inputs or ())):
        return [None if x is None else identity(x) for x in given]


def add_to_collection(name: Any, value: Any) -> None:
    """Append to a collection of the default graph.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.add_to_collection("numbers", 3)
    ...     tf.get_collection("numbers")
    [3]
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append to several collections of the default graph.

    Parameters
    ----------
    names : list of str
    value : object

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.add_to_collections(["a", "b"], 3)
    ...     tf.get_collection("b")
    [3]
    """
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return the items of a collection of the default graph.

    Parameters
    ----------
    key : str
        The name of the collection.
    scope : str, optional
        Regular expression for the start of the names.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.get_collection("nothing")
    []
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return the list object of a collection; items appended to it belong to the collection.

    Parameters
    ----------
    key : str
        The name of the collection.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.get_collection_ref("numbers").append(3)
    ...     tf.get_collection("numbers")
    [3]
    """
    return get_default_graph().get_collection_ref(key)
