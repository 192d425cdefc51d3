"""Regions in which matrix products and similar ops compute in a 16-bit float dtype.

The record of an op (`autocast` in csrc/op/op.h) states how its operands are cast; the cast is part
of promotion. Code that applies recorded ops again, such as the backward pass, leaves the region.
"""

from __future__ import annotations

import functools

from dualflow._core import AutocastRegion, TensorBase, current_autocast
from dualflow.dtypes import as_dtype, bfloat16, float32
from dualflow.errors import DTypeError
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    from dualflow.ops.types import DTypeLike

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["autocast"]


class autocast(AutocastRegion):
    """A context, or a decorator, in which matrix products compute in a 16-bit float dtype.

    Variables stay float32, and so do their gradients. The 16-bit results are accumulated in float32
    and rounded once.

    Parameters
    ----------
    dtype : bfloat16 or float16, default bfloat16
    enabled : bool, default True
        If False, ops in the region compute in the dtypes of their operands.

    Raises
    ------
    DTypeError
        If dtype is not bfloat16 or float16.

    Notes
    -----
    float32 operands of these ops are cast to `dtype`: `matmul` and ``@``, `einsum`, `tensordot`,
    `linalg.matvec`, convolutions and transposed convolutions, `scaled_dot_product_attention`, and
    the recurrent layers of `nn`. The result has the dtype `dtype`. 16-bit operands of these losses
    are cast to float32: `softmax_cross_entropy_with_logits`,
    `sparse_softmax_cross_entropy_with_logits`, `sigmoid_cross_entropy_with_logits`, `ctc_loss`.
    All other ops follow the dtypes of their operands; sums, norms and softmax of 16-bit floats
    accumulate in float32, as matrix factorizations and solvers compute in float32. float64 is never
    cast.

    The region belongs to the thread. It ends at the end of the block, also by an exception. A
    gradient is computed in the dtypes of the recorded ops, inside and outside a region. A traced
    function has different traces for calls inside and outside a region; in a trace, a variable that
    several ops read is cast once. Callbacks such as `py_function` are outside all regions when a
    traced function runs them.

    Examples
    --------
    >>> import dualflow as df
    >>> w = df.Variable(df.ones([3, 2]))
    >>> with df.GradientTape() as tape, df.autocast():
    ...     y = df.ones([4, 3]) @ w
    ...     loss = df.reduce_sum(df.cast(y, df.float32))
    >>> y.dtype, tape.gradient(loss, w).dtype
    (dualflow.bfloat16, dualflow.float32)
    """

    def __init__(self, dtype: DTypeLike = bfloat16, enabled: bool = True) -> None:
        self.dtype = as_dtype(dtype)
        if not self.dtype.is_reduced_float:
            raise DTypeError(f"autocast: dtype is {self.dtype}, expected bfloat16 or float16")
        self.enabled = bool(enabled)
        super().__init__(self.dtype if self.enabled else None)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function whose calls run in such a region."""
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return call


def lowered(*operands: Any) -> tuple[Any, ...]:
    """Return float32 tensors in the dtype of the region of this thread, if there is one; for
    functions that are composed of ops which are not cast."""
    dtype = current_autocast()
    if dtype is None:
        return operands
    return tuple([cast(x, dtype) if isinstance(x, TensorBase) and x.dtype is float32 else x
                  for x in operands])
