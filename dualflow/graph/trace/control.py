"""Branches and loops while Python is traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._core import Symbol, TensorBase, as_tensor, make_attrs, symbol, symbol_like
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.graph.ir import COND, LOOP, PARAMETER, Node
from dualflow.graph.trace.bodies import Body, own
from dualflow.nest import assert_same_structure, flatten, pack_sequence_as

if TYPE_CHECKING:
    from dualflow.graph.trace.trace import Trace

ENDLESS = (1 << 63) - 1


def cond(trace: Trace, index: Symbol, branches: Sequence[Callable[[], Any]], name: str) -> Any:
    """What the branch returns that `index` chooses: a bool one of two, an int32 one of many."""
    bodies = [Body(trace, f"{name}/{k}", f, ()) for k, f in enumerate(branches)]
    first = bodies[0]
    for k, body in enumerate(bodies[1:], 1):
        _check_alike(name, first, body, k)
    node = own(trace, COND, None, [index], 0, bodies, name)
    return _packed(first.result, node.outputs)


def _check_alike(name: str, first: Body, other: Body, k: int) -> None:
    """Branches must return the same structure of tensors of the same dtypes and ranks."""
    try:
        assert_same_structure(first.result, other.result)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{name}: branch 0 returns {first.result!r}, branch {k} {other.result!r}; all must "
            f"return the same structure: {error}") from error
    for i, (x, y) in enumerate(zip(first.outputs, other.outputs, strict=True)):
        if x.dtype is not y.dtype:
            raise DTypeError(f"{name}: output {i} is {x.dtype} in branch 0 (made at "
                             f"{x.node.line}), {y.dtype} in branch {k} (made at {y.node.line})")
        if x.ndim != y.ndim:
            raise ShapeError(f"{name}: output {i} has shape {x.known_shape} in branch 0 (made at "
                             f"{x.node.line}), {y.known_shape} in branch {k} (made at "
                             f"{y.node.line})")


def while_loop(trace: Trace, test: Callable[..., Any], step: Callable[..., Any], carried: Any,
               limit: int | Symbol | None, shapes: Sequence[Sequence[int | None]] | None,
               name: str) -> Any:
    """What is carried when `test` says no, or after `limit` rounds; `shapes` of what changes its
    size."""
    start = _tensors(trace, carried)
    params = [_param(trace, x, f"{name}/{k}", None if shapes is None else shapes[k])
              for k, x in enumerate(start)]
    go_on = _truth(trace, test(*pack_sequence_as(carried, start)), name)

    def round(*params: Symbol) -> list[Any]:
        result = step(*pack_sequence_as(carried, params))
        result = _like(name, carried, result, params)
        return [_truth(trace, test(*result), name), *_tensors(trace, result)]

    body = Body(trace, f"{name}/body", round, params)
    given = [go_on, *start]
    if isinstance(limit, Symbol):
        given.insert(0, limit)
    times = ENDLESS if limit is None else -1 if isinstance(limit, Symbol) else limit
    attrs = make_attrs(LOOP, times=times, n_carried=len(start), n_sliced=0, tested=True,
                       reverse=False)
    node = own(trace, LOOP, attrs, given, len(params), [body], name)
    return pack_sequence_as(carried, node.outputs[:len(start)])


def scan(trace: Trace, step: Callable[..., Any], carried: Any, rows: Any, times: int,
         reverse: bool, name: str) -> tuple[Any, Any]:
    """What is carried after the last row, and what `step` made of each row, stacked."""
    start, slices = _tensors(trace, carried), _tensors(trace, rows)
    params = [_param(trace, x, f"{name}/{k}") for k, x in enumerate(start)]
    n = len(start)
    params += [_param(trace, x, f"{name}/row {k}", x.known_shape[1:])
               for k, x in enumerate(slices)]
    made: Any = None

    def round(*params: Symbol) -> list[Any]:
        nonlocal made
        result, made = step(pack_sequence_as(carried, params[:n]),
                            pack_sequence_as(rows, params[n:]))
        return [*_tensors(trace, _like(name, carried, result, params[:n])), made]

    body = Body(trace, f"{name}/body", round, params)
    attrs = make_attrs(LOOP, times=times, n_carried=n, n_sliced=len(slices), tested=False,
                       reverse=reverse)
    node = own(trace, LOOP, attrs, [*start, *slices], len(params), [body], name)
    return pack_sequence_as(carried, node.outputs[:n]), _packed(made, node.outputs[n:])


# --- values ---

def _tensors(trace: Trace, structure: Any) -> list[Symbol]:
    return trace.adopt(None, [as_tensor(x) for x in flatten(structure)])


def _param(trace: Trace, x: Symbol, name: str,
           shape: Sequence[int | None] | None = None) -> Symbol:
    """What stands inside a round for something carried like `x`, or of another shape."""
    node = Node(PARAMETER, (), None, (), trace.names.unique(name), trace.line())
    made = (symbol_like(trace, node, 0, x) if shape is None
            else symbol(trace, node, 0, x.dtype, shape, shape))
    node.outputs = (made,)
    return made


def _truth(trace: Trace, x: Any, name: str) -> Symbol:
    found = trace.adopt(None, [as_tensor(x)])[0]
    if found.ndim or found.dtype.name != "bool":
        raise InvalidArgumentError(f"{name}: the test gave {found!r}, want a bool of shape ()")
    return found


def _like(name: str, carried: Any, result: Any, params: Sequence[Symbol]) -> Any:
    """What a round returns, if it may be carried into the next one."""
    if not isinstance(carried, list | tuple) and isinstance(result, list | tuple):
        result = result[0] if len(result) == 1 else result
    try:
        assert_same_structure(carried, result)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{name}: a round is given {carried!r} and returns {result!r}; "
                                   f"want the same structure: {error}") from error
    flat = [as_tensor(x, params[k].dtype if not isinstance(x, TensorBase) else None)
            for k, x in enumerate(flatten(result))]
    for k, (x, param) in enumerate(zip(flat, params, strict=True)):
        if x.dtype is not param.dtype:
            raise DTypeError(f"{name}: carried value {k} begins as {param.dtype} and is {x.dtype} "
                             "after a round; cast one of them")
        fits = x.ndim == param.ndim and all(
            [n is None or n == m for n, m in zip(param.known_shape, x.shape, strict=True)])
        if not fits:
            raise ShapeError(f"{name}: carried value {k} begins with shape {param.known_shape} and "
                             f"has {x.shape} after a round; give shape_invariants with None where "
                             "it changes")
    return pack_sequence_as(result, flat)


def _packed(structure: Any, values: Sequence[Symbol]) -> Any:
    """A structure of values, where it has no None."""
    left = iter(values)
    return pack_sequence_as(structure, [None if x is None else next(left)
                                        for x in flatten(structure)])
