"""Composite tensors as arguments of a tape: their floating parts are watched and have gradients,
other parts, such as the indices of a sparse tensor, are constants of its gradient."""

from __future__ import annotations

from dualflow._core import TensorBase
from dualflow._util.frames import warn
from dualflow.errors import DTypeError, GradientWarning
from dualflow.nest import (
    Composite,
    flatten,
    flatten_tensors,
    is_composite,
    pack_sequence_as,
    rebuild,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_differentiable(x: Any) -> bool:
    return isinstance(x, TensorBase) and x.dtype.is_inexact


def watchable(structure: Any) -> list[Any]:
    """Return the floating tensors and variables of a structure; warn about tensors and composites
    that have none."""
    found: list[Any] = []

    def take(x: Any) -> None:
        parts = flatten_tensors(x)
        floating = [part for part in parts if is_differentiable(part)]
        found.extend(floating)
        if floating:
            return
        if isinstance(x, Composite):
            warn(f"GradientTape.watch: a {type(x).__name__} without floating parts has no gradient "
                 "and is not watched", GradientWarning)
        elif not isinstance(parts[0], TensorBase):
            raise DTypeError(f"GradientTape.watch: got a {type(parts[0]).__name__}, expected a "
                             "Tensor or Variable")
        else:
            warn(f"GradientTape.watch: a tensor of dtype {parts[0].dtype} has no gradient and is "
                 "not watched; cast it to a floating dtype first", GradientWarning)

    rebuild(structure, take, is_composite)
    return found


def source_tensors(sources: Any) -> list[Any]:
    """Return the leaves of sources, of composites the floating tensors only."""
    wanted: list[Any] = []

    def take(x: Any) -> None:
        parts = flatten_tensors(x)
        wanted.extend(filter(is_differentiable, parts) if isinstance(x, Composite) else parts)

    rebuild(sources, take, is_composite)
    return wanted


def pack_gradients(sources: Any, gradients: list[Any]) -> Any:
    """Return the structure of `sources` with the gradients of `source_tensors`. A composite without
    any gradient is None."""
    if len(flatten(sources)) == len(gradients):
        return pack_sequence_as(sources, gradients)
    rest = iter(gradients)

    def put(x: Any) -> Any:
        if not isinstance(x, Composite):
            return next(rest)
        flat = flatten(x)
        parts = [next(rest) if is_differentiable(part) else part for part in flat]
        known = [g is not None for g, part in zip(parts, flat, strict=True)
                 if is_differentiable(part)]
        return pack_sequence_as(x, parts) if any(known) else None

    return rebuild(sources, put, is_composite)
