"""The methods of a trace that record `cond`, `while_loop` and `scan`.

The ops call them with Python functions for branches and iterations. `ops/control_flow/state.py`
checks results and carries with the same rules in eager mode. `caller` is the name of the function
the user called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import Dim, Symbol, TensorBase, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.graph.ir import COND, LOOP, NO_LIMIT, loop_attrs
from dualflow.graph.trace import cond_gradient, loop_gradient  # noqa: F401  gradient rules
from dualflow.graph.trace.bodies import Body, param
from dualflow.graph.trace.control_gradient import own_recorded
from dualflow.nest import flatten, flatten_with_path
from dualflow.ops.control_flow import state
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.trace.trace import Trace


def trace_and_discard(trace: Trace, f: Callable[[], Any]) -> None:
    """Run `f` and discard the nodes and guards that it records."""
    guards = dict(trace.guards)
    try:
        Body(trace, "tried out", lambda: f() and None, (), rounds=True)
    finally:
        trace.guards = guards


def cond(trace: Trace, index: Symbol, branches: Sequence[Callable[[], Any]], caller: str,
         name: str | None = None, what: Sequence[str] = ()) -> Any:
    """Record a cond and return its result. `index` selects the branch: a bool one of two, an int32
    one of many. `what` has the names of the branches."""
    name = name or caller
    what = what or [f"branch {k}" for k in range(len(branches))]
    bodies = [Body(trace, f"{name}/{k}", f, ()) for k, f in enumerate(branches)]
    for k, body in enumerate(bodies[1:], 1):
        _unify(trace, caller, bodies[0], body, what[0], what[k])
    node = own_recorded(trace, COND, None, [index], 0, bodies, name)
    return state.packed(bodies[0].result, node.outputs)


def _unify(trace: Trace, caller: str, first: Body, other: Body, what: str, other_what: str) -> None:
    """Raise unless two branches return the same structure, dtypes and ranks. A returned Python
    number takes the dtype of the other branch's tensor."""
    state.check_structure(
        caller, first.result, other.result,
        lambda path: f"{what} and {other_what} differ{' at ' * bool(path)}{path}",
        "all must return the same structure")
    pairs = zip(flatten_with_path(first.result), flatten(other.result),
                state.is_static(first.result), strict=True)
    taken = [(path, x, y) for (path, x), y, static in pairs if not static]
    for k, (path, x, y) in enumerate(taken):
        for body, value, beside in ((first, x, other), (other, y, first)):
            if body.outputs[k].dtype is not beside.outputs[k].dtype:
                fitting = state.number_like(value, beside.outputs[k])
                if fitting is not None:
                    body.outputs[k] = trace.to_symbols(None, [fitting])[0]
        a, b = first.outputs[k], other.outputs[k]
        difference = (f"{caller}: {what} returns {state.described(a)}, "
                      f"{other_what} {state.described(b)}{' at ' * bool(path)}{path}")
        if a.dtype is not b.dtype:
            raise DTypeError(f"{difference}; use cast in one of them")
        if a.ndim != b.ndim:
            raise ShapeError(f"{difference}; all must return the same rank")


def while_loop(trace: Trace, test: Callable[..., Any], step: Callable[..., Any], carried: Any,
               limit: Any, shapes: Sequence[Any] | None, caller: str, name: str | None = None,
               what: str = "loop_vars", recompute: bool = False) -> Any:
    """Record a loop that ends when `test` returns false, or after `limit` iterations. Return the
    last carries. `shapes` has the shapes of carries that change size, by leaf."""
    name = name or caller
    start = _symbols(trace, carried)
    open_shapes = None if shapes is None else [
        s for static, s in zip(state.is_static(carried), shapes, strict=True) if not static]
    params = [param(trace, x, f"{name}/{k}",
                    shape=None if open_shapes is None else open_shapes[k])
              for k, x in enumerate(start)]
    given = state.packed(carried, params)
    keep_going = _truth(trace, caller, test(*state.packed(carried, start)))

    def round(*_: Symbol) -> list[Any]:
        result = state.carried(caller, what, given, step(*given), shapes)
        return [_truth(trace, caller, test(*result)), *state.leaves(result)]

    body = Body(trace, f"{name}/body", round, params, rounds=True)
    times, inputs = _times(trace, limit, False)
    attrs = loop_attrs(times, len(start), 0, True, False, recompute=recompute)
    node = own_recorded(trace, LOOP, attrs, [*inputs, keep_going, *start], len(params), [body],
                        name)
    return state.packed(carried, node.outputs[:len(start)])


def scan(trace: Trace, step: Callable[..., Any], carried: Any, rows: Any, times: Any,
         reverse: bool, caller: str, name: str | None = None, what: str = "carry",
         recompute: bool = False) -> tuple[Any, Any]:
    """Record a loop over rows; return the last carries and the stacked outputs of `step`."""
    name = name or caller
    start, slices = _symbols(trace, carried), _symbols(trace, rows)
    n = len(start)
    params = [param(trace, x, f"{name}/{k}") for k, x in enumerate(start)]
    params += [param(trace, x, f"{name}/row {k}", 1) for k, x in enumerate(slices)]
    given, row = state.packed(carried, params[:n]), state.packed(rows, params[n:])
    made: Any = None

    def round(*_: Symbol) -> list[Any]:
        nonlocal made
        result, made = step(given, row)
        made = state.tensors(made, caller)
        return [*state.leaves(state.carried(caller, what, given, result)), *state.leaves(made)]

    body = Body(trace, f"{name}/body", round, params, rounds=True)
    times, inputs = _times(trace, times, bool(slices) or len(body.outputs) > n)
    attrs = loop_attrs(times, n, len(slices), False, reverse, recompute=recompute)
    node = own_recorded(trace, LOOP, attrs, [*inputs, *start, *slices], len(params), [body], name)
    return state.packed(carried, node.outputs[:n]), state.packed(made, node.outputs[n:])


# --- values ---

def _symbols(trace: Trace, structure: Any) -> list[Symbol]:
    """Return the tensors of a structure, including the sizes of sparse tensors, as symbols."""
    return trace.to_symbols(None, [as_tensor(x) for x in state.leaves(structure)])



def _times(trace: Trace, limit: Any, sizes: bool) -> tuple[Any, list[Symbol]]:
    """Return the maximal trip count as an attribute, and as inputs: [] or, if it may change from
    run to run, one input. If output sizes depend on it (`sizes`), it is an attribute if possible,
    so that they are known."""
    if limit is None:
        return NO_LIMIT, []
    if isinstance(limit, Dim):
        known = sizes and not limit.data_dependent
    else:
        known = not isinstance(limit, TensorBase)
    if known:
        return limit, []
    return -1, trace.to_symbols(None, [cast(as_tensor(limit), int64)])


def _truth(trace: Trace, caller: str, x: Any) -> Symbol:
    return trace.to_symbols(None, [state.truth(caller, "what cond returned", x)])[0]
