"""Assignment operations of variables; the result of each is the value after the write."""

from __future__ import annotations

from typing import Any

from dualflow._core import Symbol, Variable as own_variable, apply, current_graph
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.variable_handle import VariableHandle

__all__ = ["assign", "assign_add", "assign_sub"]


def write(op: str, ref: Any, value: Any, name: str | None, kind: str) -> Any:
    """Apply an op that writes a variable. Return the new value, or the variable in eager mode."""
    if isinstance(ref, own_variable):
        apply(op, ref, convert(value, ref.dtype), name=name or kind)
        return value_after(ref)
    slot = slot_of(ref)
    if slot is None:
        raise TypeError(f"Input 'ref' of '{kind}' Op requires l-value input: {ref!r} is not a "
                        "variable and cannot be assigned")
    x = convert(value, slot.dtype)
    if x.dtype is not slot.dtype:
        raise TypeError(f"Input 'value' of '{kind}' Op has type {x.dtype.name} that does not match "
                        f"type {slot.dtype.name} of argument 'ref' ({slot.name}).")
    shape = TensorShape(x.shape)
    if not shape.is_compatible_with(slot.shape):
        raise ValueError(
            f"Shapes must be equal, but are {list(slot.shape)} and {shape.as_list()} for "
            f"'{name or kind}' (op: '{kind}') of variable {slot.name}.")
    graph = default_graph()
    apply(op, slot, x, name=name or kind)
    return graph.nodes[-1].outputs[-1]


def value_after(variable: own_variable) -> Any:
    """Return the value of an eager variable after a write in the current graph, if there is one."""
    graph = current_graph()
    return variable if graph is None else graph.nodes[-1].outputs[-1]


def slot_of(ref: Any) -> VariableHandle | None:
    """Return the graph variable that `ref` is or is a value of, or None."""
    found = getattr(ref, "slot", ref)
    if isinstance(found, Symbol):
        found = found.graph.variable_of(found)
    return found if isinstance(found, VariableHandle) else None


@recorded
def assign(ref: Any, value: Any, validate_shape: bool | None = None,
           use_locking: bool | None = None, name: str | None = None) -> Any:
    """Assign a value to a variable.

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
    """Add to a variable and return the new value.

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
    """Subtract from a variable and return the new value.

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
