"""Branches and loops in graphs, with the names and results of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow._core import Symbol, constant as own_constant, unwrapped
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.operation import Operation
from dualflow.compat.v1.ops import convert, either, wrapped
from dualflow.nest import map_structure

__all__ = ["case", "cond", "foldl", "foldr", "map_fn", "scan", "while_loop"]

foldl: Callable[..., Any] = wrapped(df.foldl, "foldl")
foldr: Callable[..., Any] = wrapped(df.foldr, "foldr")
map_fn: Callable[..., Any] = wrapped(df.map_fn, "map")


@recorded
def cond(pred: Any, true_fn: Callable[[], Any] | None = None,
         false_fn: Callable[[], Any] | None = None, strict: bool = False, name: str | None = None,
         fn1: Callable[[], Any] | None = None, fn2: Callable[[], Any] | None = None) -> Any:
    """Return the result of one of two functions, selected by a condition when the graph runs.

    Parameters
    ----------
    pred : Tensor, bool, shape ()
    true_fn, false_fn : callable
        Functions without arguments; only one of them runs. An operation that they return is
        replaced by True.
    strict : bool, default False
        If True, a list of one tensor is returned as a list.
    name : str, optional
    fn1, fn2 : callable
        Older names of the functions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     print(sess.run(tf.cond(x > 0, lambda: x, lambda: -x), {x: -3.}))
    3.0
    """
    then = either(true_fn, fn1, "true_fn and fn1")
    otherwise = either(false_fn, fn2, "false_fn and fn2")
    if not callable(then):
        raise TypeError("'true_fn' must be callable.")
    if not callable(otherwise):
        raise TypeError("'false_fn' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    found = df.cond(condition(pred), lambda: returned(then(), "true_fn"),
                    lambda: returned(otherwise(), "false_fn"), name)
    return found if strict else unpacked(found)


def returned(made: Any, caller: str) -> Any:
    """Return the result of a branch as tensors; raise ValueError if it is None."""
    if made is None:
        raise ValueError(f"{caller} must have a return value.")
    return tensors(made)


def condition(pred: Any) -> Any:
    """Return the condition of a branch as a tensor; a placeholder of unknown rank becomes a
    scalar."""
    found = convert(pred)
    if isinstance(found, Symbol):
        specializations = getattr(found.graph, "specializations", None)
        if specializations is not None:
            specializations.settle(found)
    return found


def tensors(made: Any) -> Any:
    """Replace None and operations in the result of a branch by True: an operation has run when the
    branch has."""
    return map_structure(
        lambda x: own_constant(True) if x is None or isinstance(x, Operation) else unwrapped(x),
        made)


def unpacked(found: Any) -> Any:
    """Return the only element of a list of one; return anything else unchanged."""
    alone = isinstance(found, list | tuple) and len(found) == 1 and not hasattr(found, "_fields")
    return found[0] if alone else found


@recorded
def case(pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False,
         strict: bool = False, name: str = "case") -> Any:
    """Return the result of the function that belongs to the first true condition.

    Parameters
    ----------
    pred_fn_pairs : list of (Tensor, callable)
    default : callable, optional
    exclusive : bool, default False
        Whether to raise if two conditions are true.
    strict : bool, default False

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.case([(x < 0, lambda: -x)], default=lambda: x)
    ...     print(sess.run(y, {x: -3.}))
    3.0
    """
    return unpacked(df.case(pred_fn_pairs, default, exclusive, strict, name))


@recorded
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
               shape_invariants: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
               swap_memory: bool = False, name: str | None = None, maximum_iterations: Any = None,
               return_same_structure: bool = False) -> Any:
    """Call a function repeatedly as long as a condition is true.

    Parameters
    ----------
    cond, body : callable
        Functions of the loop variables; `body` returns their values for the next iteration.
    loop_vars : list or tuple of tensors
    shape_invariants : list of shapes, optional
        None for a size that changes.
    maximum_iterations : int, optional
    return_same_structure : bool, default False
        If True, a list of one tensor is returned as a list.
    parallel_iterations, back_prop, swap_memory : ignored
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     i = tf.while_loop(lambda i: i < 10, lambda i: i + 3, [tf.constant(0)])
    ...     print(sess.run(i))
    12
    """
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    begun = map_structure(lambda x: x if x is None else convert(x), loop_vars)
    found = df.while_loop(cond, body, begun, shape_invariants, parallel_iterations, back_prop,
                          swap_memory, maximum_iterations, name)
    return found if return_same_structure else unpacked(found)


@recorded
def scan(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None,
         parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
         infer_shape: bool = True, reverse: bool = False, name: str | None = None) -> Any:
    """Return the results of a function of each row and the result for the previous row.

    Parameters
    ----------
    fn : callable
        Function of the previous result and a row.
    elems : Tensor, or nested lists of them
    initializer : Tensor, optional
        The result before the first row; by default the first row itself.
    reverse : bool, default False
        Whether to start with the last row.
    parallel_iterations, back_prop, swap_memory, infer_shape : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3]))))
    [1 3 6]
    """
    return df.scan(fn=fn, elems=elems, initializer=initializer, reverse=reverse, name=name)
