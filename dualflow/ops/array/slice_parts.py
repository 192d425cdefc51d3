"""Slices as parts of a tensor: their keys, their limits, and sums of gradients of slices without a
tensor of zeros per slice."""

from __future__ import annotations

import builtins
import math

from dualflow._core import Tensor, apply, current_graph, current_tape
from dualflow.dtypes import float32, float64
from dualflow.ops.indexing.indexed_slices import plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from dualflow.dtypes import DType

MISSING = -(2**63)      # an omitted begin or end, as in x[::2]; as in csrc/op/slices.h
# Kinds: begin:end:stride, one element, a new dimension, a block of `end` elements (-1: the rest)
SLICE, INDEX, NEW, BLOCK = 0, 1, 2, 3
KEYS = ("begin", "end", "strides", "kind")
PART_ATTRS = ("shape", *KEYS)       # of strided_slice_grad

LARGE = 8192            # elements: gradients of slices of smaller tensors are added as tensors
PART = 4                # so are those of slices with more than 1 / PART of the elements

Keys: TypeAlias = "Sequence[Sequence[int]]"
Limits: TypeAlias = "Sequence[tuple[int, int]]"


class SliceSum:
    """A sum of gradients of slices of one tensor, which is computed when an op or the caller of the
    backward pass reads it. It takes time in proportion to the slices, and to the tensor once.

    Parameters
    ----------
    first : Tensor
        The first term: a tensor of the whole shape, or the gradient of a slice.
    shape : sequence of int
    keys : sequences of int, one for each name of `KEYS`, optional
        The keys of the slice.
    """

    __slots__ = ("_terms", "dtype", "shape")
    is_deferred = True      # read by the core

    def __init__(self, first: Tensor, shape: Sequence[int], keys: Keys | None = None) -> None:
        self.shape = shape
        self.dtype: DType = first.dtype
        self._terms = [(first, keys)]

    def plus(self, other: SliceSum) -> SliceSum:
        """Add the terms of another sum, which must not be used afterwards, and return self."""
        if other._terms[0][1] is None:
            self._terms = [(self.__df_tensor__() + other._terms[0][0], None), *other._terms[1:]]
        else:
            self._terms += other._terms
        return self

    def __df_tensor__(self) -> Tensor:
        """Return the sum of all terms from first to last, rounded after each addition.

        `sum_of_slices` starts from 0.0. This is exact if no element is in all slices: a sum that
        has 0.0 as a term is not -0.0."""
        if self._is_exact():
            keys = [keys or ((), (), (), ()) for _, keys in self._terms]
            begin, end, strides, kind = [[n for part in keys for n in part[k]] for k in range(4)]
            made: Tensor = apply(
                "sum_of_slices", *[g for g, _ in self._terms], shape=self.shape,
                counts=[len(part[0]) for part in keys], begin=begin, end=end, strides=strides,
                kind=kind)
        else:
            made, *others = [self._dense(g, keys) for g, keys in self._terms]
            for g in others:
                made = made + g
        self._terms = [(made, None)]
        return made

    def _is_exact(self) -> bool:
        """Return True if no element is in all slices."""
        shared: Limits = [(0, n) for n in self.shape]
        for _, keys in self._terms:
            if keys is not None:
                shared = common(shared, limits(self.shape, *keys))
                if is_empty(shared):
                    return True
        return False

    def _dense(self, g: Tensor, keys: Keys | None) -> Tensor:
        return g if keys is None else _whole(g, self.shape, keys)


def _whole(g: Any, shape: Sequence[Any], keys: Keys) -> Any:
    """Return zeros of a shape with `g` in a slice."""
    begin, end, strides, kind = keys
    return apply("strided_slice_grad", g, shape=shape, begin=begin, end=end, strides=strides,
                 kind=kind)


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum from left to right of tensors, `IndexedSlices` and `SliceSum` objects."""
    total = parts[0]
    for g in parts[1:]:
        if type(g) is SliceSum and type(total) in (SliceSum, Tensor):
            start = total if type(total) is SliceSum else SliceSum(total, g.shape)
            total = start.plus(g)
        else:
            total = plus(*[x.__df_tensor__() if type(x) is SliceSum else x for x in (total, g)])
    return total


def gradient_of_slice(g: Any, shape: Sequence[Any], *keys: Sequence[int]) -> Any:
    """Return the gradient of a tensor of a shape that was read in a slice: zeros with `g` in the
    slice; as a `SliceSum` in a backward pass that nothing records."""
    if (type(g) is Tensor and g.dtype in (float32, float64) and current_graph() is None
            and current_tape() is None):
        size = math.prod(shape)
        if size >= LARGE and size >= PART * g.size:
            return SliceSum(g, shape, keys)
    return _whole(g, shape, keys)


def common(some: Limits, others: Limits) -> Limits:
    """Return the limits of the elements that are within both limits."""
    return [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(some, others, strict=True)]


def is_empty(found: Limits) -> bool:
    """Return True if no element is within limits."""
    return any([low >= high for low, high in found])


def limits(shape: Sequence[int], begin: Sequence[int], end: Sequence[int], strides: Sequence[int],
           kind: Sequence[int]) -> Limits:
    """Return the first position of a slice in each dimension, and the one after the last."""
    found: list[tuple[int, int]] = []
    for first, last, stride, one in zip(begin, end, strides, kind, strict=True):
        if one == NEW:
            continue
        n = shape[len(found)]
        if one == INDEX:
            found.append((first % n, first % n + 1))
            continue
        if one == BLOCK:
            found.append((first, n if last == -1 else first + last))
            continue
        taken = range(n)[builtins.slice(None if first == MISSING else first,
                                        None if last == MISSING else last, stride)]
        found.append((min(taken), max(taken) + 1) if taken else (0, 0))
    return found + [(0, n) for n in shape[len(found):]]
