"""Loops over the rows of tensors: Python loops in eager mode, loop nodes while a function is
traced. All functions use `_scan`, which has both modes. Names are TensorFlow's.
"""

from __future__ import annotations

from dualflow._core import current_graph
from dualflow._util.arguments import shown
from dualflow.dtypes import as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, TracedValueError
from dualflow.nest import flatten, map_structure
from dualflow.ops import ragged
from dualflow.ops.array.creation import zeros
from dualflow.ops.array.join import concat, stack, unstack
from dualflow.ops.array.shape import expand_dims, same_size
from dualflow.ops.composite_rows import map_shapes
from dualflow.ops.control_flow import state
from dualflow.ops.control_flow.fresh_identity import fresh_identities
from dualflow.ops.tensor_shape import TensorShape
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["foldl", "foldr", "map_fn", "scan"]


@filtered
def scan(f: Callable[[Any, Any], Any] | None = None, init: Any = None, xs: Any = None,
         length: TensorLike | None = None, reverse: bool = False, *,
         fn: Callable[[Any, Any], Any] | None = None, elems: Any = None, initializer: Any = None,
         parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
         infer_shape: bool = True, recompute: bool = False, name: str | None = None) -> Any:
    """Loop over rows with a carry, and stack the outputs of the iterations.

    There are two forms. ``scan(f, init, xs, length=None, reverse=False)`` calls ``carry, y =
    f(carry, x)`` for each row x of `xs` and returns the last carry and the stack of all y.
    ``scan(fn, elems, initializer=None, reverse=False)``, the form of TensorFlow, calls ``a = fn(a,
    x)`` for each row of `elems` and returns the stack of all a.

    Parameters
    ----------
    f : callable
        Takes the carry and a row; returns the next carry and the output to stack.
    init : nested Tensors
        The initial carry.
    xs : nested Tensors, optional
        All with the same number of rows. If None, `f` is called with None, `length` times.
    length : int or integer Tensor of shape (), optional
        The number of iterations.
    reverse : bool, default False
        Whether to begin with the last row; outputs are stacked in the order of the rows.
    fn, elems, initializer
        The arguments of TensorFlow's form. By default the initializer is the first row.
    parallel_iterations, swap_memory, infer_shape
        Ignored; accepted for compatibility with TensorFlow.
    back_prop : bool, default True
        If False, the loop has no gradient.
    recompute : bool, default False
        If True, the gradient of a traced loop stores only the initial carry of each iteration and
        recomputes the other residuals, bit-identically. This takes less memory and more time.
    name : str, optional

    Returns
    -------
    (carry, ys), or in TensorFlow's form the stacked results of `fn`

    Raises
    ------
    InvalidArgumentError, DTypeError, ShapeError
        If structure, dtype or shape of the carry changes, or numbers of rows differ.

    Examples
    --------
    >>> import dualflow as df
    >>> carry, ys = df.scan(lambda c, x: (c + x, c * x), 0., df.constant([1., 2., 3.]))
    >>> carry.item(), ys.tolist()
    (6.0, [0.0, 2.0, 9.0])
    >>> df.scan(lambda a, x: a + x, df.constant([1., 2., 3.])).tolist()
    [1.0, 3.0, 6.0]
    >>> df.scan(lambda a, x: a + x, df.constant([1., 2., 3.]), initializer=10.).tolist()
    [11.0, 13.0, 16.0]
    """
    step = f if fn is None else fn
    if not callable(step):
        raise InvalidArgumentError(f"scan: f is {shown(step)}, expected a function")
    if xs is None and length is None:
        rows = init if elems is None else elems
        made = _scan_all(step, rows, initializer, reverse, name, recompute)
    elif fn is not None or elems is not None or initializer is not None:
        raise InvalidArgumentError("scan: got arguments of two forms; write scan(f, init, xs) or "
                                   "scan(fn, elems, initializer=...)")
    else:
        made = _scan("scan", _pairs(step), init, xs, length, reverse, name, "carry", recompute)
    return made if back_prop else state.stopped(made)


def _pairs(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Wrap `f` to raise unless it returns a pair."""
    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        made = f(carry, x)
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise InvalidArgumentError(
                f"scan: f returned {shown(made)}, expected (carry, y); for a function that returns "
                "only the carry, write scan(fn, elems, initializer=...)")
        return made[0], made[1]

    return step


def _scan(caller: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: Any,
          reverse: bool, name: str | None, what: str,
          recompute: bool = False) -> tuple[Any, Any]:
    """Run the loop; all public functions call this one."""
    init, xs = fresh_identities(state.tensors(init, caller)), state.tensors(xs, caller)
    rows = state.n_rows(caller, xs, "xs" if caller == "scan" else "elems")
    times = rows if length is None else state.count(length, f"{caller}: length")
    if times is None:
        raise InvalidArgumentError(f"{caller}: there are no rows, and no length")
    if rows is not None and not hasattr(times, "dtype") and not same_size(rows, times):
        raise ShapeError(f"{caller}: there are {rows} rows, and length is {times}")
    graph = current_graph()
    if graph is not None:
        return graph.scan(f, init, fresh_identities(xs), times, reverse, caller, name, what,
                          bool(recompute))
    return _scan_now(caller, f, init, xs, times, reverse, what)


def _scan_now(caller: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, times: int,
              reverse: bool, what: str) -> tuple[Any, Any]:
    """Run the loop in eager mode. Rows are unstacked at once, as the gradient stacks them."""
    columns = [unstack(x) for x in state.leaves(xs)]
    carry, first = init, None
    made: list[list[Any]] = []
    for k in reversed(range(times)) if reverse else range(times):
        result, y = f(carry, state.packed(xs, [column[k] for column in columns]))
        carry = fresh_identities(state.carried(caller, what, init, result))
        y = fresh_identities(state.tensors(y, caller))
        if made:
            state.check_structure(caller, first, y,
                                  lambda path: f"the output y{path} changes its structure",
                                  "return the same structure in each iteration")
        else:
            first = y
        made.append(state.leaves(y))
    if not made:
        return carry, _no_rows(caller, f, init, xs, what)
    if reverse:
        made.reverse()
    return carry, state.packed(first, [stack(list(column)) for column in zip(*made, strict=True)])


def _no_rows(caller: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any,
             what: str) -> Any:
    """Return empty stacks with the structure, dtypes and shapes of the outputs of an iteration."""
    def round(row: Any, carry: Any) -> Any:
        result, y = f(carry, row)
        state.carried(caller, what, carry, result)
        return state.tensors(y, caller)

    try:
        like = state.eval_shape(round, (map_structure(
            lambda x: None if x is None else zeros(x.shape[1:], x.dtype), xs), init))
    except TracedValueError as error:
        raise InvalidArgumentError(
            f"{caller}: there are no rows, and the types of the outputs are unknown: {error}"
        ) from None
    return state.packed(like, [zeros([0, *[n or 0 for n in x.known_shape]], x.dtype)
                               for x in state.leaves(like)])


def _fold(caller: str, fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool,
          stacked: bool, name: str | None, recompute: bool = False) -> tuple[Any, Any]:
    """Return the last result of `fn` over all rows, and the stack of all results if `stacked`. By
    default the initializer is the first row."""
    elems = state.tensors(elems, caller)
    n = state.n_rows(caller, elems, "elems")
    if n is None:
        raise InvalidArgumentError(f"{caller}: elems has no tensors")
    first = initializer is None
    if first:
        if type(n) is int and n == 0:
            raise InvalidArgumentError(f"{caller}: elems has no rows, and there is no initializer")
        initializer = map_structure(lambda x: x[-1 if reverse else 0], elems)
        elems = map_structure(lambda x: x[:-1] if reverse else x[1:], elems)
    begin = state.tensors(initializer, caller)

    def step(a: Any, x: Any) -> tuple[Any, Any]:
        a = state.carried(caller, "initializer", begin, fn(a, x))
        return a, a if stacked else None

    if type(n) is int and n == first:           # no iterations
        return begin, map_structure(lambda x: expand_dims(x, 0) if first else zeros(
            (0, *x.shape), x.dtype), begin) if stacked else None
    last, made = _scan(caller, step, begin, elems, None, reverse, name, "initializer",
                       recompute)
    if first and stacked:
        made = map_structure(lambda x, rest: concat(
            [rest, expand_dims(x, 0)] if reverse else [expand_dims(x, 0), rest], 0), begin, made)
    return last, made


def _scan_all(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool,
              name: str | None, recompute: bool) -> Any:
    return _fold("scan", fn, elems, initializer, reverse, True, name, recompute)[1]


@filtered
def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None,
          parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """Return ``fn(...fn(fn(initializer, elems[0]), elems[1])..., elems[-1])``.

    Parameters
    ----------
    fn : callable
        Takes the accumulated result and a row; returns the same structure, dtypes and shapes.
    elems : nested Tensors
        All with the same number of rows.
    initializer : nested Tensors, optional
        By default the first row.
    parallel_iterations, swap_memory
        Ignored; accepted for compatibility with TensorFlow.
    back_prop : bool, default True
        If False, the loop has no gradient.
    name : str, optional

    Returns
    -------
    like `initializer`

    Examples
    --------
    >>> import dualflow as df
    >>> df.foldl(lambda a, x: a * 10 + x, df.constant([1, 2, 3])).item()
    123
    """
    made, _ = _fold("foldl", fn, elems, initializer, False, False, name)
    return made if back_prop else state.stopped(made)


@filtered
def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None,
          parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """Return ``fn(...fn(fn(initializer, elems[-1]), elems[-2])..., elems[0])``.

    Parameters
    ----------
    fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name
        As in `foldl`; the initializer is by default the last row.

    Returns
    -------
    like `initializer`

    Examples
    --------
    >>> import dualflow as df
    >>> df.foldr(lambda a, x: a * 10 + x, df.constant([1, 2, 3])).item()
    321
    """
    made, _ = _fold("foldr", fn, elems, initializer, True, False, name)
    return made if back_prop else state.stopped(made)


@filtered
def map_fn(fn: Callable[[Any], Any], elems: Any, dtype: Any = None,
           parallel_iterations: int | None = None, back_prop: bool = True,
           swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
           fn_output_signature: Any = None) -> Any:
    """Apply `fn` to each row and stack the results.

    Parameters
    ----------
    fn : callable
        Takes a row, in the structure of `elems`; returns any nested Tensors.
    elems : nested Tensors
        All with the same number of rows.
    dtype, fn_output_signature : nested dtypes or TensorSpecs, optional
        The expected dtypes of the results of `fn`.
    parallel_iterations, swap_memory, infer_shape
        Ignored; accepted for compatibility with TensorFlow.
    back_prop : bool, default True
        If False, the loop has no gradient.
    name : str, optional

    Returns
    -------
    nested Tensors

    Raises
    ------
    DTypeError
        If `fn` returns other dtypes than expected.

    Examples
    --------
    >>> import dualflow as df
    >>> df.map_fn(lambda x: df.reduce_sum(x * x), df.constant([[1., 2.], [3., 4.]])).tolist()
    [5.0, 25.0]
    """
    wanted = dtype if fn_output_signature is None else fn_output_signature
    if hasattr(elems, "ragged_rank") or hasattr(wanted, "ragged_rank"):
        return ragged.dispatch.map_fn(elems, fn, wanted)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        y = state.tensors(fn(map_shapes(x, lambda shape: shape[1:])), "map_fn")
        if wanted is not None:
            _check_dtypes(y, wanted)
        return carry, y

    _, made = _scan("map_fn", step, None, elems, None, False, name, "carry")
    made = map_shapes(made, lambda shape: TensorShape([state.leaves(made)[0].shape[0], *shape]))
    return made if back_prop else state.stopped(made)


def _check_dtypes(made: Any, wanted: Any) -> None:
    """Raise unless tensors have the dtypes of a structure of dtypes or specs."""
    names = [as_dtype(getattr(w, "dtype", w)).name for w in flatten(wanted)]
    found = [x.dtype.name for x in state.leaves(made)]
    if names != found:
        raise DTypeError(f"map_fn: fn returned {', '.join(found)}, expected {', '.join(names)}: "
                         "give fn_output_signature the dtypes that it returns, or use cast")
