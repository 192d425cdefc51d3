"""Writing variables: operations whose result is the value after."""

from __future__ import annotations

from typing import Any

from dualflow._core import Symbol, Variable as own_variable, apply, current_graph
from dualflow.compat.v1.in_force import graph_in_force, recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.slot import Slot

__all__ = ["assign", "assign_add", "assign_sub"]


def write(op: str, ref: Any, value: Any, name: str | None, kind: str) -> Any:
    """Applies an op that writes a variable; the value after that, or in eager mode the variable."""
    if isinstance(ref, own_variable):
        apply(op, ref, convert(value, ref.dtype), name=name or kind)
        return value_after(ref)
    slot = slot_of(ref)
    if slot is None:
        raise TypeError(f"Input 'ref' of '{kind}' Op requires l-value input: {ref!r} is no "
                        "variable, and cannot be assigned")
    x = convert(value, slot.dtype)
    if x.dtype is not slot.dtype:
        raise TypeError(f"Input 'value' of '{kind}' Op has type {x.dtype.name} that does not match "
                        f"type {slot.dtype.name} of argument 'ref' ({slot.name}).")
    shape = TensorShape(x.shape)
    if not shape.is_compatible_with(slot.shape):
        raise ValueError(
            f"Shapes must be equal, but are {list(slot.shape)} and {shape.as_list()} for "
            f"'{name or kind}' (op: '{kind}') of variable {slot.name}.")
    graph = graph_in_force()
    apply(op, slot, x, name=name or kind)
    return graph.nodes[-1].outputs[-1]


def value_after(variable: own_variable) -> Any:
    """The value of one of dualflow's own variables after a write, in the graph that records."""
    graph = current_graph()
    return variable if graph is None else graph.nodes[-1].outputs[-1]


def slot_of(ref: Any) -> Slot | None:
    """The variable of a graph that an object is or is a value of."""
    found = getattr(ref, "slot", ref)
    if isinstance(found, Symbol):
        found = found.graph.variable_of(found)
    return found if isinstance(found, Slot) else None


@recorded
def assign(ref: Any, value: Any, validate_shape: bool | None = None,
           use_locking: bool | None = None, name: str | None = None) -> Any:
    """Gives a variable a value.

    Parameters
    ----------
    ref : Variable
    value : Tensor, number or array
    validate_shape, use_locking : ignored
    name : str, optional

    Returns
    -------
    Tensor, the value after the assignment

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     print(sess.run(tf.assign(w, 2.)), sess.run(w))
    2.0 2.0
    """
    return write("assign", ref, value, name, "Assign")


@recorded
def assign_add(ref: Any, value: Any, use_locking: bool | None = None,
               name: str | None = None) -> Any:
    """Adds to a variable; the value after that.

    Parameters
    ----------
    ref : Variable
    value : Tensor, number or array
    use_locking : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     more = tf.assign_add(w, 2.)
    ...     sess.run(w.initializer)
    ...     print(sess.run(more), sess.run(more))
    3.0 5.0
    """
    return write("assign_add", ref, value, name, "AssignAdd")


@recorded
def assign_sub(ref: Any, value: Any, use_locking: bool | None = None,
               name: str | None = None) -> Any:
    """Subtracts from a variable; the value after that.

    Parameters
    ----------
    ref : Variable
    value : Tensor, number or array
    use_locking : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1.)
    ...     less = tf.assign_sub(w, 2.)
    ...     sess.run(w.initializer)
    ...     print(sess.run(less))
    -1.0
    """
    return write("assign_sub", ref, value, name, "AssignSub")
