"""Jacobians and Hessians, with all rows or columns computed at once by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualflow._core import as_tensor
from dualflow.autodiff import grad, jvp, vjp
from dualflow.autodiff.batched_vjp import directions
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.nest import flatten, is_numbers, pack_sequence_as, rebuild
from dualflow.ops.array.creation import zeros_like
from dualflow.ops.array.shape import reshape, static_shape
from dualflow.tracebacks import filtered
from dualflow.transforms.mapping import vmap

Argnums = int | tuple[int, ...]


def jacfwd(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` in forward mode, by columns.

    Preferable if `f` returns more elements than it takes.

    Parameters
    ----------
    f : callable
        Returns nested tensors; its arguments may be nested tensors, too.
    argnums : int or tuple of int, default 0
        Which positional arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes the arguments of `f`. For a result of shape (t...) and an argument of shape (s...),
        returns a tensor of shape (t..., s...), in the structure of the result and, nested in it,
        the structure of the argument; or a tuple of arguments if `argnums` is a tuple.

    Notes
    -----
    `jvp`, mapped over the directions; values that do not depend on them are computed once.
    Arguments are real: the derivatives along real directions do not determine the derivative by a
    complex number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.jacfwd(lambda x: x * x)([1., 2.]).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    @filtered
    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places, taken = chosen("jacfwd", argnums, args)
        leaves = flatten(taken)

        def along(k: int) -> Callable[[Any], Any]:
            def column(direction: Any) -> Any:
                tangents = [direction if i == k else zeros_like(x) for i, x in enumerate(leaves)]
                return jvp(of_chosen(f, places, args, kwargs), (taken,),
                           (pack_sequence_as(taken, tangents),))[1]
            return column

        check_parts("jacfwd", "an argument", leaves)
        columns = [vmap(along(k), out_axes=-1)(directions(static_shape(x), x.dtype))
                   for k, x in enumerate(leaves)]
        parts = [flatten(c) for c in columns]
        blocks = []
        for i in range(len(parts[0]) if parts else 0):
            shaped = [reshape(part[i], (*static_shape(part[i])[:-1], *static_shape(x)))
                      for part, x in zip(parts, leaves, strict=True)]
            blocks.append(of_places(argnums, pack_sequence_as(taken, shaped)))
        return nested(columns[0] if columns else (), blocks)

    return jacobian_of


def jacrev(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` in reverse mode, by rows.

    Preferable if `f` takes more elements than it returns.

    Parameters
    ----------
    f, argnums
        As in `jacfwd`.

    Returns
    -------
    callable
        As in `jacfwd`.

    Notes
    -----
    The backward function of `vjp`, mapped over the elements of the result. Results are real: a row
    would be the gradient of the real part of a complex number only.

    Examples
    --------
    >>> import dualflow as df
    >>> df.jacrev(lambda x: x * x)([1., 2.]).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    @filtered
    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places, taken = chosen("jacrev", argnums, args)
        out, back = vjp(of_chosen(f, places, args, kwargs), taken)
        leaves = flatten(out)
        check_parts("jacrev", "a result", leaves)
        blocks = []
        for k, y in enumerate(leaves):
            def row(direction: Any, k: int = k) -> Any:
                return back(pack_sequence_as(out, [
                    direction if i == k else zeros_like(x) for i, x in enumerate(leaves)]))[0]

            rows = vmap(row)(directions(static_shape(y), y.dtype))
            shaped = [reshape(r, (*static_shape(y), *static_shape(r)[1:])) for r in flatten(rows)]
            blocks.append(of_places(argnums, pack_sequence_as(rows, shaped)))
        return nested(out, blocks)

    return jacobian_of


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `f`.

    Parameters
    ----------
    f : callable
        Returns a tensor with one element.
    argnums : int, default 0
        The positional argument to differentiate with respect to.

    Returns
    -------
    callable
        Takes the arguments of `f`. For a real argument of shape (s...), returns a tensor of shape
        (s..., s...).

    Notes
    -----
    `jacrev` of `grad`; symmetric up to rounding.

    Examples
    --------
    >>> import dualflow as df
    >>> df.hessian(lambda x: df.reduce_sum(x * x * x))([1., 2.]).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacrev(grad(f, argnums), argnums)


def check_parts(caller: str, what: str, leaves: list[Any]) -> None:
    """Raise if a tensor is complex."""
    for x in leaves:
        if x.dtype.is_complex:
            raise DTypeError(f"{caller}: {what} is {x.dtype}, expected a real dtype; df.math.real "
                             "and df.math.imag return the parts, which df.complex joins")


def chosen(caller: str, argnums: Argnums, args: tuple[Any, ...]) -> tuple[tuple[int, ...], Any]:
    """Return the positions of the arguments `argnums`, and these arguments as tensors."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    for i in places:
        if not -len(args) <= i < len(args):
            raise InvalidArgumentError(f"{caller}: argnums names argument {i}, the function got "
                                       f"{len(args)}")
    return places, tuple([rebuild(args[i], as_tensor, is_numbers) for i in places])


def of_chosen(f: Callable[..., Any], places: tuple[int, ...], args: tuple[Any, ...],
              kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """Return `f` as a function of the arguments at `places`."""
    def function(taken: tuple[Any, ...]) -> Any:
        given = list(args)
        for i, x in zip(places, taken, strict=True):
            given[i] = x
        return f(*given, **kwargs)

    return function


def of_places(argnums: Argnums, parts: tuple[Any, ...]) -> Any:
    return parts if isinstance(argnums, tuple) else parts[0]


def nested(structure: Any, blocks: list[Any]) -> Any:
    """Replace each leaf of a structure by a structure."""
    left = iter(blocks)
    return rebuild(structure, lambda _: next(left))
