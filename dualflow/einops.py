"""einops on tensors: importing this module registers a backend of dualflow with einops.

The functions of einops find a backend by the classes derived from `AbstractBackend`. They then
accept tensors, variables and traced tensors, also when they are imported from einops itself.

Examples
--------
>>> import dualflow as df
>>> from dualflow.einops import rearrange, reduce                           # doctest: +SKIP
>>> x = df.ones([2, 4, 4, 3])
>>> rearrange(x, "batch (h a) (w b) c -> batch h w (a b c)", a=2, b=2).shape   # doctest: +SKIP
(2, 2, 2, 12)
>>> reduce(x, "batch h w c -> batch c", "mean").shape                       # doctest: +SKIP
(2, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einops import (
    asnumpy as asnumpy,
    einsum as einsum,
    pack as pack,
    parse_shape as parse_shape,
    rearrange as rearrange,
    reduce as reduce,
    repeat as repeat,
    unpack as unpack,
)
from einops._backends import AbstractBackend

import dualflow as df
from dualflow._core import Tensor, TensorBase, as_tensor

__all__ = ["asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


class Backend(AbstractBackend):
    """The operations of einops on tensors. Sizes of traced tensors may be symbolic."""

    framework_name = "dualflow"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, TensorBase)

    def from_numpy(self, x: Any) -> Tensor:
        return as_tensor(x)

    def to_numpy(self, x: Any) -> Any:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return df.range(start, stop)

    def shape(self, x: Any) -> tuple[Any, ...]:
        return tuple(x.shape)

    def reshape(self, x: Any, shape: Sequence[Any]) -> Tensor:
        return df.reshape(x, shape)

    def transpose(self, x: Any, axes: Sequence[int]) -> Tensor:
        return df.transpose(x, axes)

    def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Tensor:
        reduction: Any = getattr(df.math, f"reduce_{operation}")
        return reduction(x, list(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Tensor:
        return df.stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Tensor:
        return df.expand_dims(x, new_position)

    def tile(self, x: Any, repeats: Sequence[Any]) -> Tensor:
        return df.tile(x, list(repeats))

    def concat(self, tensors: Sequence[Any], axis: int) -> Tensor:
        return df.concat(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        return bool(x.dtype.is_inexact)

    def einsum(self, pattern: str, *x: Any) -> Tensor:
        return df.einsum(pattern, *x)
