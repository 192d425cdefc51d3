"""vmap: applies a function of one example to a batch of examples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.errors import DTypeError, DualflowError, InvalidArgumentError, ShapeError
from dualflow.nest import (
    flatten,
    flatten_with_path,
    is_nested,
    is_numbers,
    level,
    pack_sequence_as,
    rebuild,
)
from dualflow.ops.array.shape import broadcast_to, same_size, transpose
from dualflow.ops.control_flow import state
from dualflow.ops.control_flow.scan import map_fn
from dualflow.tracebacks import filtered
from dualflow.transforms.batch_interpreter import BatchInterpreter
from dualflow.transforms.batched_value import BatchedValue

Axes = Any      # an int, None, or nested ints and None


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0,
         axis_size: int | None = None) -> Callable[..., Any]:
    """Return a function that applies `fn` to every slice of its arguments at once.

    Parameters
    ----------
    fn : callable
        Takes and returns nested Tensors of one example, without the mapped dimension.
    in_axes : int, None, or nested ints and None, default 0
        The dimension of each argument to map over; None passes the whole argument to all examples.
        A tuple or list has an item per positional argument; an item is an int or None for the whole
        argument, or has its structure. Keyword arguments are mapped along dimension 0.
    out_axes : int, None, or nested ints and None, default 0
        The dimension of the examples in the results; None for a result that does not depend on the
        example.
    axis_size : int, optional
        The batch size, if no argument is mapped.

    Returns
    -------
    callable
        Takes the arguments of `fn`, with one more dimension in each mapped tensor.

    Raises
    ------
        If there is no such dimension, or batch sizes differ; if the size of a tensor of an example
        depends on data.
        size of a tensor in a lane.
    InvalidArgumentError
        If `in_axes` or `out_axes` does not match the structure, nothing is mapped, or `fn` assigns
        a variable or draws from a generator that is shared by all examples.
    TracedValueError
        If Python reads the values of an example.

    Notes
    -----
    Each call traces `fn` for one example and applies its ops to the batch, in eager mode or in the
    graph that is being traced; `df.function(df.vmap(fn))` traces once. vmap nests, has gradients of
    any order, and maps gradients. If a branch depends on the example, all branches run and the
    results are selected; a loop runs until all examples have finished. A random op with a shared
    key (or seed) draws the same numbers for each example; map over keys for different ones.

    See Also
    --------
    vectorized_map : the form of TensorFlow, which falls back to a loop if this raises.
    map_fn

    Examples
    --------
    >>> import dualflow as df
    >>> dot = df.vmap(lambda a, b: df.reduce_sum(a * b))
    >>> dot([[1., 2.], [3., 4.]], [[1., 1.], [10., 1.]]).tolist()
    [3.0, 34.0]
    >>> df.vmap(df.grad(lambda w, x: w * x * x), in_axes=(None, 0))(2., [1., 2., 3.]).tolist()
    [1.0, 4.0, 9.0]
    """
    if not callable(fn):
        raise InvalidArgumentError(f"vmap: fn is {shown(fn)}, expected a function")

    @filtered
    @functools.wraps(fn)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        wanted = [*per_argument(in_axes, len(args)), *[0] * len(kwargs)]
        items = [numbers_joined(x, a)
                 for x, a in zip([*args, *kwargs.values()], wanted, strict=True)]
        given = (items[:len(args)], dict(zip(kwargs, items[len(args):], strict=True)))
        axes = [*axes_of(wanted[:len(args)], given[0], "in_axes", ""),
                *axes_of(0, given[1], "in_axes", "")]
        paths = [("argument " + path[3:].lstrip("[").replace("]", "", 1)) if path.startswith("[0]")
                 else path[3:] for path, _ in flatten_with_path(given)]
        leaves = [moved_to_front(x, a, path) for x, a, path in
                  zip(flatten(given), axes, paths, strict=True)]
        n = size_of([(x, p) for x, a, p in zip(leaves, axes, paths, strict=True) if a is not None],
                    axis_size)

        def example(*rows: Any) -> Any:
            left = iter(rows)
            inside = [x if a is None else next(left) for x, a in zip(leaves, axes, strict=True)]
            positional, named = pack_sequence_as(given, inside)
            return fn(*positional, **named)

        result, made = BatchInterpreter("vmap", n).map(
            example,
            [BatchedValue(x, True) for x, a in zip(leaves, axes, strict=True) if a is not None])
        return arranged(result, made, out_axes, n)

    return mapped


@filtered
def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True,
                   warn: bool = True) -> Any:
    """Apply `fn` to each row, for all rows at once: TensorFlow's name for `vmap`.

    Parameters
    ----------
    fn : callable
        Takes a row, in the structure of `elems`; returns any nested Tensors. It is traced, and runs
        row by row only if that fails.
    elems : nested Tensors
    fallback_to_while_loop : bool, default True
        Whether to use `map_fn` if `vmap` raises: for rows that assign variables, draw from a
        generator, have data-dependent sizes, or whose values Python reads.
    warn : bool
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    nested Tensors

    See Also
    --------
    vmap : has axes, and several arguments.
    map_fn : runs row by row.

    Examples
    --------
    >>> import dualflow as df
    >>> df.vectorized_map(lambda x: x * x, df.constant([1., 2., 3.])).tolist()
    [1.0, 4.0, 9.0]
    """
    try:
        return vmap(fn)(elems)
    except DualflowError:
        if not fallback_to_while_loop:
            raise
    return map_fn(fn, elems)


def per_argument(in_axes: Axes, n: int) -> list[Axes]:
    """Return the item of `in_axes` for each of n positional arguments."""
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * n
    if len(in_axes) != n:
        raise InvalidArgumentError(f"vmap: in_axes has {len(in_axes)} items, the function got {n} "
                                   "positional arguments")
    return list(in_axes)


def numbers_joined(x: Any, axes: Axes) -> Any:
    """Convert nested lists of numbers in a mapped argument to tensors."""
    return x if axes is None else rebuild(
        x, lambda leaf: as_tensor(leaf) if is_nested(leaf) else leaf, is_numbers)


def axes_of(axes: Axes, structure: Any, what: str, path: str) -> list[int | None]:
    """Return the axis of each leaf; `axes` is an axis or a prefix of the structure."""
    if axes is None or not is_nested(axes):
        axis = None if axes is None else integer(axes, f"vmap: {what}{path}")
        return [axis] * len(flatten(structure))
    if not is_nested(structure):
        raise InvalidArgumentError(f"vmap: {what}{path} is {shown(axes)}, and the value is "
                                   f"{state.described(structure)}: expected one axis")
    names, parts = level(axes)
    inside, values = level(structure)
    if list(names) != list(inside):
        raise InvalidArgumentError(f"vmap: {what}{path} has the parts {list(names)}, the value "
                                   f"has {list(inside)}: expected an axis, or the same parts")
    return [a for name, x, y in zip(names, parts, values, strict=True)
            for a in axes_of(x, y, what, f"{path}[{name!r}]")]


def moved_to_front(leaf: Any, axis: int | None, path: str) -> Any:
    """Move the mapped dimension of an argument to the front; return others unchanged."""
    if axis is None:
        return leaf
    if leaf is None:
        raise InvalidArgumentError(f"vmap: {path} is None, which cannot be mapped: give it the "
                                   "axis None")
    try:
        x = as_tensor(leaf, None, "vmap")
    except (TypeError, ValueError) as error:
        raise DTypeError(f"vmap: {path} is {shown(leaf)}, expected a tensor, or None for it in "
                         f"in_axes: {error}") from None
    at = axis_in(axis, x.ndim, lambda: f"{path} is {state.described(x)}", "in_axes")
    return x if at == 0 else transpose(x, [at, *[d for d in range(x.ndim) if d != at]])


def axis_in(axis: int, rank: int, what: Callable[[], str], name: str) -> int:
    if not -rank <= axis < rank:
        raise ShapeError(f"vmap: {name} is {axis}, and {what()}: expected "
                         + (f"{-rank} to {rank - 1}" if rank else "None, as it has no dimensions"))
    return axis % rank


def size_of(mapped: Sequence[tuple[TensorBase, str]], axis_size: int | None) -> Any:
    """Return the batch size."""
    if not mapped:
        if axis_size is None:
            raise InvalidArgumentError("vmap: no argument is mapped; give one an axis in in_axes, "
                                       "or give axis_size")
        return state.count(axis_size, "vmap: axis_size")
    (first, path), *others = mapped
    n = first.shape[0]
    for x, other in others:
        if not same_size(x.shape[0], n):
            raise ShapeError(f"vmap: {path} has batch size {n}, {other} {x.shape[0]}: expected "
                             "equal sizes")
    if axis_size is not None and not same_size(n, axis_size):
        raise ShapeError(f"vmap: {path} has batch size {n}, axis_size is {axis_size}")
    return n


def arranged(result: Any, made: list[BatchedValue], out_axes: Axes, n: Any) -> Any:
    """Return the results of `fn` with the batch dimension at `out_axes`."""
    left = iter(made)
    axes = axes_of(out_axes, result, "out_axes", "")
    values = [None if x is None else placed(next(left), axis, path, n)
              for (path, x), axis in zip(flatten_with_path(result), axes, strict=True)]
    return pack_sequence_as(result, values)


def placed(y: BatchedValue, axis: int | None, path: str, n: Any) -> Any:
    """Return one result with the batch dimension at `axis`."""
    if axis is None:
        if y.batched:
            raise InvalidArgumentError(f"vmap: out_axes{path} is None, but the result depends on "
                                       "the example")
        return as_tensor(y.value)
    x = as_tensor(y.value)
    rank = x.ndim + (not y.batched)
    at = axis_in(axis, rank, lambda: f"the result{path} has {rank} dimensions including the batch",
                 "out_axes")
    if not y.batched:
        x = broadcast_to(x, (n, *x.shape))
    return x if at == 0 else transpose(x, [*range(1, at + 1), 0, *range(at + 1, rank)])
