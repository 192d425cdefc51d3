"""Loops over the rows of tensors: Python's own in eager mode, nodes that own graphs while a
function is traced. All are one loop, `_scan`, in both modes. Names follow TensorFlow's.
"""

from __future__ import annotations

from dualflow._core import current_graph
from dualflow.arguments import shown
from dualflow.dtypes import as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, TracedValueError
from dualflow.nest import flatten, map_structure
from dualflow.ops import state
from dualflow.ops.anew import anew
from dualflow.ops.array import expand_dims, same_size
from dualflow.ops.creation import zeros
from dualflow.ops.join import concat, stack, unstack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def scan(f: Callable[[Any, Any], Any] | None = None, init: Any = None, xs: Any = None,
         length: TensorLike | None = None, reverse: bool = False, *,
         fn: Callable[[Any, Any], Any] | None = None, elems: Any = None, initializer: Any = None,
         parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
         infer_shape: bool = True, recompute: bool = False, name: str | None = None) -> Any:
    """A loop that carries something from row to row and stacks what it makes of each.

    There are two forms. ``scan(f, init, xs, length=None, reverse=False)`` calls ``carry, y =
    f(carry, x)`` for each row x of `xs` and returns the last carry and all y, stacked.
    ``scan(fn, elems, initializer=None, reverse=False)``, TensorFlow's, calls ``a = fn(a, x)`` for
    each row of `elems` and returns all a, stacked.

    Parameters
    ----------
    f : callable
        Takes what is carried and a row; returns what is carried on, and what is stacked.
    init : nested Tensors
        What is carried into the first round.
    xs : nested Tensors, optional
        All with the same number of rows. None: `f` is given None, and `length` says how often.
    length : int or integer Tensor of shape (), optional
        The number of rounds.
    reverse : bool, default False
        Whether to begin with the last row; what is stacked stays beside its row.
    fn, elems, initializer
        The same in TensorFlow's form. The first row is the initializer if there is none.
    parallel_iterations, swap_memory, infer_shape
        Accepted as TensorFlow has them, and ignored.
    back_prop : bool, default True
        False: no gradient flows back through the loop.
    recompute : bool, default False
        True: while a function is traced, the gradient keeps no more of the rounds than what they
        began with, and computes the rest again, with the same bits. So it takes less memory and
        more time.
    name : str, optional

    Returns
    -------
    (carry, ys), or in TensorFlow's form all that `fn` returned, stacked

    Raises
    ------
    InvalidArgumentError, DTypeError, ShapeError
        If structure, dtype or shape of what is carried changes, or numbers of rows differ.

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
        raise InvalidArgumentError(f"scan: f is {shown(step)}, want a function")
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
    """`f`, with a complaint where it does not return two things."""
    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        made = f(carry, x)
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise InvalidArgumentError(
                f"scan: f returned {shown(made)}, want (carry, y); for a function that returns "
                "what is carried alone, write scan(fn, elems, initializer=...)")
        return made[0], made[1]

    return step


def _scan(who: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: Any,
          reverse: bool, name: str | None, what: str,
          recompute: bool = False) -> tuple[Any, Any]:
    """The loop that all of these are."""
    init, xs = anew(state.tensors(init, who)), state.tensors(xs, who)
    rows = state.n_rows(who, xs, "xs" if who == "scan" else "elems")
    times = rows if length is None else state.count(length, f"{who}: length")
    if times is None:
        raise InvalidArgumentError(f"{who}: there are no rows, and no length")
    if rows is not None and not hasattr(times, "dtype") and not same_size(rows, times):
        raise ShapeError(f"{who}: there are {rows} rows, and length is {times}")
    graph = current_graph()
    if graph is not None:
        return graph.scan(f, init, anew(xs), times, reverse, who, name, what, bool(recompute))
    return _scan_now(who, f, init, xs, times, reverse, what)


def _scan_now(who: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, times: int,
              reverse: bool, what: str) -> tuple[Any, Any]:
    """The loop of eager mode. Rows are taken apart at once, as the gradient puts them together."""
    columns = [unstack(x) for x in state.leaves(xs)]
    carry, first = init, None
    made: list[list[Any]] = []
    for k in reversed(range(times)) if reverse else range(times):
        result, y = f(carry, state.packed(xs, [column[k] for column in columns]))
        carry = anew(state.carried(who, what, init, result))
        y = anew(state.tensors(y, who))
        if made:
            state.alike(who, first, y, lambda path: f"what is stacked{path} changes its structure",
                        "return the same structure in each round")
        else:
            first = y
        made.append(state.leaves(y))
    if not made:
        return carry, _no_rows(who, f, init, xs, what)
    if reverse:
        made.reverse()
    return carry, state.packed(first, [stack(list(column)) for column in zip(*made, strict=True)])


def _no_rows(who: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any,
             what: str) -> Any:
    """Stacks of no rows like what the loop would stack if there were any."""
    def round(row: Any, carry: Any) -> Any:
        result, y = f(carry, row)
        state.carried(who, what, carry, result)
        return state.tensors(y, who)

    try:
        like = state.would_make(round, (map_structure(
            lambda x: None if x is None else zeros(x.shape[1:], x.dtype), xs), init))
    except TracedValueError as error:
        raise InvalidArgumentError(
            f"{who}: there are no rows, and what would be stacked cannot be told without: {error}"
        ) from None
    return state.packed(like, [zeros([0, *[n or 0 for n in x.known_shape]], x.dtype)
                               for x in state.leaves(like)])


def _fold(who: str, fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool,
          stacked: bool, name: str | None, recompute: bool = False) -> tuple[Any, Any]:
    """What `fn` makes of all rows, one after the other, and all that on the way, if asked for; the
    first row is the initializer if there is none."""
    elems = state.tensors(elems, who)
    n = state.n_rows(who, elems, "elems")
    if n is None:
        raise InvalidArgumentError(f"{who}: elems has no tensors")
    first = initializer is None
    if first:
        if type(n) is int and n == 0:
            raise InvalidArgumentError(f"{who}: elems has no rows, and there is no initializer")
        initializer = map_structure(lambda x: x[-1 if reverse else 0], elems)
        elems = map_structure(lambda x: x[:-1] if reverse else x[1:], elems)
    begin = state.tensors(initializer, who)

    def step(a: Any, x: Any) -> tuple[Any, Any]:
        a = state.carried(who, "initializer", begin, fn(a, x))
        return a, a if stacked else None

    if type(n) is int and n == first:           # no rounds
        return begin, map_structure(lambda x: expand_dims(x, 0) if first else zeros(
            (0, *x.shape), x.dtype), begin) if stacked else None
    last, made = _scan(who, step, begin, elems, None, reverse, name, "initializer",
                       recompute)
    if first and stacked:
        made = map_structure(lambda x, rest: concat(
            [rest, expand_dims(x, 0)] if reverse else [expand_dims(x, 0), rest], 0), begin, made)
    return last, made


def _scan_all(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool,
              name: str | None, recompute: bool) -> Any:
    return _fold("scan", fn, elems, initializer, reverse, True, name, recompute)[1]


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None,
          parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """``fn(...fn(fn(initializer, elems[0]), elems[1])..., elems[-1])``

    Parameters
    ----------
    fn : callable
        Takes what has been made so far, and a row; returns the same structure, dtypes and shapes.
    elems : nested Tensors
        All with the same number of rows.
    initializer : nested Tensors, optional
        The first row if not given.
    parallel_iterations, swap_memory
        Accepted as TensorFlow has them, and ignored.
    back_prop : bool, default True
        False: no gradient flows back through the loop.
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


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None,
          parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """``fn(...fn(fn(initializer, elems[-1]), elems[-2])..., elems[0])``

    Parameters
    ----------
    fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name
        As `foldl` has them; the last row if there is no initializer.

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


def map_fn(fn: Callable[[Any], Any], elems: Any, dtype: Any = None,
           parallel_iterations: int | None = None, back_prop: bool = True,
           swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
           fn_output_signature: Any = None) -> Any:
    """What `fn` makes of each row, stacked.

    Parameters
    ----------
    fn : callable
        Takes a row, in the structure of `elems`; returns any nested Tensors.
    elems : nested Tensors
        All with the same number of rows.
    dtype, fn_output_signature : nested dtypes or TensorSpecs, optional
        What `fn` returns, to be checked.
    parallel_iterations, swap_memory, infer_shape
        Accepted as TensorFlow has them, and ignored.
    back_prop : bool, default True
        False: no gradient flows back through the loop.
    name : str, optional

    Returns
    -------
    nested Tensors

    Raises
    ------
    DTypeError
        If `fn` returns other dtypes than it should.

    Examples
    --------
    >>> import dualflow as df
    >>> df.map_fn(lambda x: df.reduce_sum(x * x), df.constant([[1., 2.], [3., 4.]])).tolist()
    [5.0, 25.0]
    """
    wanted = dtype if fn_output_signature is None else fn_output_signature

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        y = state.tensors(fn(x), "map_fn")
        if wanted is not None:
            _check_dtypes(y, wanted)
        return carry, y

    _, made = _scan("map_fn", step, None, elems, None, False, name, "carry")
    return made if back_prop else state.stopped(made)


def _check_dtypes(made: Any, wanted: Any) -> None:
    """Raises unless tensors have the dtypes of a structure of dtypes or specs."""
    names = [as_dtype(getattr(w, "dtype", w)).name for w in flatten(wanted)]
    found = [x.dtype.name for x in state.leaves(made)]
    if names != found:
        raise DTypeError(f"map_fn: fn returned {', '.join(found)}, want {', '.join(names)}: "
                         "give fn_output_signature the dtypes that it returns, or use cast")
