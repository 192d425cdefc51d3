"""Branches and loops over tensors: plain Python in eager mode, nodes that own graphs while a
function is traced.

Names follow TensorFlow's.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Symbol, as_tensor, current_graph
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.nest import flatten, map_structure, pack_sequence_as
from dualflow.ops.join import stack

__all__ = ["cond", "scan", "switch_case", "while_loop"]


def _is_traced(x: Any) -> bool:
    return type(x) is Symbol and current_graph() is not None


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any],
         name: str = "cond") -> Any:
    """``true_fn()`` if `pred`, else ``false_fn()``.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def f(x):
    ...     return df.cond(df.reduce_sum(x) > 0., lambda: x * 2., lambda: -x)
    >>> f(df.constant([1., 2.])).tolist(), f(df.constant([-1., -2.])).tolist()
    ([2.0, 4.0], [1.0, 2.0])
    """
    pred = as_tensor(pred)
    if pred.shape != () or pred.dtype.name != "bool":
        raise InvalidArgumentError(f"cond: pred is {pred.dtype} {pred.shape}, want a bool of "
                                   "shape ()")
    if not _is_traced(pred):
        return true_fn() if pred else false_fn()
    return current_graph().cond(pred, (false_fn, true_fn), name)


def switch_case(branch_index: Any, branch_fns: Sequence[Callable[[], Any]],
                default: Callable[[], Any] | None = None, name: str = "switch_case") -> Any:
    """``branch_fns[branch_index]()``, `default` or the last one where there is no such branch."""
    branches = list(branch_fns) + ([] if default is None else [default])
    index = as_tensor(branch_index)
    if index.shape != () or index.dtype.name != "int32":
        raise InvalidArgumentError(f"switch_case: branch_index is {index.dtype} {index.shape}, "
                                   "want an int32 of shape ()")
    if _is_traced(index):
        return current_graph().cond(index, branches, name)
    k = int(index)
    return branches[k if 0 <= k < len(branches) else -1]()


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
               shape_invariants: Any = None, maximum_iterations: Any = None,
               name: str = "while") -> Any:
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def steps(n):
    ...     return df.while_loop(lambda k, n: n > 1,
    ...                          lambda k, n: (k + 1, df.where(n % 2 == 0, n // 2, 3 * n + 1)),
    ...                          (0, n))[0]
    >>> steps(df.constant(27)).item()
    111
    """
    loop_vars = map_structure(as_tensor, loop_vars)
    graph = current_graph()
    if graph is not None:
        shapes = None if shape_invariants is None else [
            tuple(s) for s in flatten(shape_invariants)]
        return graph.while_loop(cond, body, loop_vars, maximum_iterations, shapes, name)
    rounds = 0
    while cond(*loop_vars) and (maximum_iterations is None or rounds < maximum_iterations):
        made = body(*loop_vars)
        loop_vars = pack_sequence_as(loop_vars, flatten(made))
        rounds += 1
    return loop_vars


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None,
         length: int | None = None, reverse: bool = False, name: str = "scan") -> tuple[Any, Any]:
    """``carry, y = f(carry, x)`` for each row x of `xs`: the last carry, and all y stacked."""
    init, xs = map_structure(as_tensor, init), map_structure(as_tensor, xs) if flatten(xs) != [
        None] else []
    sizes = {x.shape[0] for x in flatten(xs)} | ({length} if length is not None else set())
    if len(sizes) != 1:
        raise ShapeError(f"scan: rows and length do not agree: {sorted(sizes)}")
    n = sizes.pop()
    graph = current_graph()
    if graph is not None:
        return graph.scan(f, init, xs, n, reverse, name)
    rows = []
    for k in reversed(range(n)) if reverse else range(n):
        init, y = f(init, map_structure(lambda x, k=k: x[k], xs))
        rows.append(flatten(y))
    if reverse:
        rows.reverse()
    stacked = [stack(list(column)) for column in zip(*rows, strict=True)]
    return init, pack_sequence_as(y, stacked)
