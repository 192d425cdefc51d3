"""vmap: a function of one example, applied to many at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import TensorBase, as_tensor
from dualflow.arguments import integer, shown
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
from dualflow.ops import state
from dualflow.ops.array import broadcast_to, same_size, transpose
from dualflow.ops.scan import map_fn
from dualflow.transforms.lane import Lane
from dualflow.transforms.replay import Replay

Axes = Any      # an int, None, or a structure of them


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0,
         axis_size: int | None = None) -> Callable[..., Any]:
    """A function that applies `fn` to every slice of its arguments at once.

    Parameters
    ----------
    fn : callable
        Takes and returns nested Tensors, as one lane sees them: without the mapped dimension.
    in_axes : int, None, or a structure of them, default 0
        Which dimension of each argument the lanes lie along; None: all lanes get the whole
        argument. A tuple or list has an item per positional argument; an item may be an int or None
        for the whole argument, or be built like it. Keyword arguments are mapped along dimension 0.
    out_axes : int, None, or a structure of them, default 0
        Where the lanes are in the results; None: a result that does not differ from lane to lane.
    axis_size : int, optional
        The number of lanes, if no argument tells.

    Returns
    -------
    callable
        Takes what `fn` takes, with one more dimension in each mapped tensor.

    Raises
    ------
    ShapeError
        If there is no such dimension, or sizes along the lanes differ; if data decides about the
        size of a tensor in a lane.
    InvalidArgumentError
        If `in_axes` or `out_axes` does not fit the structure, nothing is mapped, or a lane assigns
        a variable or draws from a generator that all lanes share.
    TracedValueError
        If Python asks for the numbers of a lane.

    Notes
    -----
    `fn` is traced for one lane at each call, and its ops are applied to all lanes at once, eagerly
    or in the graph that is being traced; `df.function(df.vmap(fn))` traces once. It nests, has
    gradients of any order, and maps gradients. Where a lane chooses a branch, all branches run, and
    the results are selected; a loop goes on until all lanes are through. A random op with a key (or
    seed) that lanes share gives each the same numbers; give each lane its own.

    See Also
    --------
    vectorized_map : TensorFlow's, which runs one row after the other where this cannot.
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
        raise InvalidArgumentError(f"vmap: fn is {shown(fn)}, want a function")

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

        def lane(*rows: Any) -> Any:
            left = iter(rows)
            inside = [x if a is None else next(left) for x, a in zip(leaves, axes, strict=True)]
            positional, named = pack_sequence_as(given, inside)
            return fn(*positional, **named)

        result, made = Replay("vmap", n).map(
            lane, [Lane(x, True) for x, a in zip(leaves, axes, strict=True) if a is not None])
        return arranged(result, made, out_axes, n)

    return mapped


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True,
                   warn: bool = True) -> Any:
    """What `fn` makes of each row, for all rows at once: TensorFlow's name for `vmap`.

    Parameters
    ----------
    fn : callable
        Takes a row, in the structure of `elems`; returns any nested Tensors. It is traced, and runs
        row by row only if that fails.
    elems : nested Tensors
    fallback_to_while_loop : bool, default True
        Whether `map_fn` does what `vmap` refuses: rows that assign variables, draw from a
        generator, have sizes by their data, or want numbers in Python.
    warn : bool
        Accepted as TensorFlow has it, and ignored.

    Returns
    -------
    nested Tensors

    See Also
    --------
    vmap : with axes, and several arguments.
    map_fn : one row after the other.

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
    """What `in_axes` says of each of n positional arguments."""
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * n
    if len(in_axes) != n:
        raise InvalidArgumentError(f"vmap: in_axes has {len(in_axes)} items, the function got {n} "
                                   "positional arguments")
    return list(in_axes)


def numbers_joined(x: Any, axes: Axes) -> Any:
    """An argument with nested lists of numbers as the tensors that they stand for, if mapped."""
    return x if axes is None else rebuild(
        x, lambda leaf: as_tensor(leaf) if is_nested(leaf) else leaf, is_numbers)


def axes_of(axes: Axes, structure: Any, what: str, path: str) -> list[int | None]:
    """The axis of each leaf: `axes` is an axis, or built like the structure, as far as it goes."""
    if axes is None or not is_nested(axes):
        axis = None if axes is None else integer(axes, f"vmap: {what}{path}")
        return [axis] * len(flatten(structure))
    if not is_nested(structure):
        raise InvalidArgumentError(f"vmap: {what}{path} is {shown(axes)}, and what it is for is "
                                   f"{state.described(structure)}: want one axis")
    names, parts = level(axes)
    inside, values = level(structure)
    if list(names) != list(inside):
        raise InvalidArgumentError(f"vmap: {what}{path} has the parts {list(names)}, what it is "
                                   f"for {list(inside)}: want an axis, or the same parts")
    return [a for name, x, y in zip(names, parts, values, strict=True)
            for a in axes_of(x, y, what, f"{path}[{name!r}]")]


def moved_to_front(leaf: Any, axis: int | None, path: str) -> Any:
    """An argument with its lanes along the first dimension; one that is not mapped as it is."""
    if axis is None:
        return leaf
    if leaf is None:
        raise InvalidArgumentError(f"vmap: {path} is None, which has no lanes: give it the axis "
                                   "None")
    try:
        x = as_tensor(leaf, None, "vmap")
    except (TypeError, ValueError) as error:
        raise DTypeError(f"vmap: {path} is {shown(leaf)}, want a tensor, or None for it in "
                         f"in_axes: {error}") from None
    at = axis_in(axis, x.ndim, lambda: f"{path} is {state.described(x)}", "in_axes")
    return x if at == 0 else transpose(x, [at, *[d for d in range(x.ndim) if d != at]])


def axis_in(axis: int, rank: int, what: Callable[[], str], name: str) -> int:
    if not -rank <= axis < rank:
        raise ShapeError(f"vmap: {name} is {axis}, and {what()}: want "
                         + (f"{-rank} to {rank - 1}" if rank else "None, as it has no dimensions"))
    return axis % rank


def size_of(mapped: Sequence[tuple[TensorBase, str]], axis_size: int | None) -> Any:
    """The number of lanes."""
    if not mapped:
        if axis_size is None:
            raise InvalidArgumentError("vmap: no argument is mapped; give one an axis in in_axes, "
                                       "or give axis_size")
        return state.count(axis_size, "vmap: axis_size")
    (first, path), *others = mapped
    n = first.shape[0]
    for x, other in others:
        if not same_size(x.shape[0], n):
            raise ShapeError(f"vmap: {path} has {n} lanes, {other} {x.shape[0]}: want as many")
    if axis_size is not None and not same_size(n, axis_size):
        raise ShapeError(f"vmap: {path} has {n} lanes, axis_size is {axis_size}")
    return n


def arranged(result: Any, made: list[Lane], out_axes: Axes, n: Any) -> Any:
    """What `fn` returned, with the lanes where they are wanted."""
    left = iter(made)
    axes = axes_of(out_axes, result, "out_axes", "")
    values = [None if x is None else placed(next(left), axis, path, n)
              for (path, x), axis in zip(flatten_with_path(result), axes, strict=True)]
    return pack_sequence_as(result, values)


def placed(y: Lane, axis: int | None, path: str, n: Any) -> Any:
    """One result with the lanes along a dimension."""
    if axis is None:
        if y.stacked:
            raise InvalidArgumentError(f"vmap: out_axes{path} is None, and the result differs from "
                                       "lane to lane")
        return as_tensor(y.value)
    x = as_tensor(y.value)
    rank = x.ndim + (not y.stacked)
    at = axis_in(axis, rank, lambda: f"the result{path} has {rank} dimensions with the lanes",
                 "out_axes")
    if not y.stacked:
        x = broadcast_to(x, (n, *x.shape))
    return x if at == 0 else transpose(x, [*range(1, at + 1), 0, *range(at + 1, rank)])
