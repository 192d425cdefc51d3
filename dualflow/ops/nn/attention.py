"""Scaled dot-product attention, computed in tiles, and its gradients."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Dim, Tensor, TensorBase, apply, as_tensor, constant, larger
from dualflow._util.arguments import LESS_THAN_ALL, not_floating, number, shown
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones
from dualflow.ops.array.diagonal import band_part
from dualflow.ops.array.shape import broadcast_to, expand_dims, reshape, transpose
from dualflow.ops.array.slicing import slice as cut_out
from dualflow.ops.elementwise.bitwise import logical_and
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater_equal, not_equal, where
from dualflow.ops.elementwise.exponential import rsqrt
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.nn.softmax import softmax
from dualflow.ops.random import random_generator
from dualflow.ops.random.random import stateless_uniform
from dualflow.ops.reduction.reduce import reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["attention_grads", "scaled_dot_product_attention"]

EVERYTHING = constant(True)             # the default mask
NO_KEY = constant([0, 0], dtypes.int64)
LOWEST = {dtypes.float32: -3e38, dtypes.float64: -1.7e308}  # finite, for rows of only -inf
WORDS = 32                              # block size of the random generator: csrc/simd/rng.h


def scaled_dot_product_attention(query: TensorLike, key: TensorLike, value: TensorLike,
                                 attn_mask: TensorLike | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 data_format: str = "BHTD", seed: int | None = None,
                                 name: str | None = None) -> Tensor:
    """Return softmax(query keyᵀ · scale + mask) value, for each head.

    Parameters
    ----------
    query : Tensor, floating, shape (batch, heads, queries, d)
    key : Tensor, shape (batch, groups, keys, d)
    value : Tensor, shape (batch, groups, keys, e)
        Each head of `key` and `value` serves heads / groups consecutive heads of `query`:
        grouped-query attention, or multi-query attention if groups is 1.
    attn_mask : Tensor, optional
        Broadcasts to (batch, heads, queries, keys). Bool: True where a key takes part. Floating:
        added to the scores.
    dropout_p : float, from 0 to below 1
        The fraction of weights set to 0; the others are scaled by 1 / (1 - dropout_p).
    is_causal : bool
        Whether query i attends only to keys 0 to i, in addition to `attn_mask`.
    scale : float, optional
        Default 1 / sqrt(d).
    data_format : "BHTD" or "BTHD"
        Order of dimensions of `query`, `key`, `value` and the result: heads before length, as
        above, or after it, as (batch, queries, heads, d).
    seed : int, optional
        The same seed drops the same weights.

    Returns
    -------
    Tensor, shape (batch, heads, queries, e), or (batch, queries, heads, e)

    Raises
    ------
    ShapeError
        If the shapes are incompatible.
    InvalidArgumentError
        If `dropout_p` is not in [0, 1).

    Notes
    -----
    The scores are computed in tiles (Dao, "FlashAttention-2", 2023) and recomputed for the
    gradient: memory grows with queries + keys, not with their product. The gradient draws the same
    dropout mask again. 16-bit floats are computed in float32, tile by tile, and rounded
    once. A query without any key gives 0.

    The gradient of a floating mask and second-order gradients are composed of plain ops, which
    store one value per query and key.

    Examples
    --------
    >>> import dualflow as df
    >>> q = k = df.ones([1, 1, 3, 2])
    >>> v = df.reshape([1., 2., 6.], [1, 1, 3, 1])
    >>> df.nn.scaled_dot_product_attention(q, k, v).numpy().ravel().tolist()
    [3.0, 3.0, 3.0]
    >>> df.nn.scaled_dot_product_attention(q, k, v, is_causal=True).numpy().ravel().tolist()
    [1.0, 1.5, 3.0]
    """
    op = "scaled_dot_product_attention"
    if data_format not in ("BHTD", "BTHD"):
        raise InvalidArgumentError(
            f"{op}: data_format is {shown(data_format)}, expected 'BHTD' or 'BTHD'")
    number(dropout_p, f"{op}: dropout_p", LESS_THAN_ALL)
    mask = EVERYTHING if attn_mask is None else as_tensor(attn_mask)
    if mask.dtype.is_integer:
        raise DTypeError(f"{op}: attn_mask is {mask.dtype} {mask.shape}, expected bool (True: the "
                         "key takes part) or a floating dtype (added to the scores)")
    drawn = random_generator.draw_key(seed, op) if dropout_p else NO_KEY
    out, _, _ = apply("scaled_dot_product_attention", query, key, value, mask, drawn, name=name,
                   is_causal=is_causal, scale=1.0 if scale is None else scale,
                   over_root=scale is None, rate=dropout_p, heads_inner=data_format == "BTHD")
    return out


@gradient("scaled_dot_product_attention", saves="both")
def _(g, y, query, key, value, mask, drawn, **attrs):
    dq, dk, dv = apply("scaled_dot_product_attention_grad", query, key, value, mask, drawn, *y,
                       g[0], **attrs)
    if not mask.dtype.is_floating:
        return dq, dk, dv, None, None
    return dq, dk, dv, lambda: mask_gradient(g[0], query, key, value, mask, drawn, attrs), None


def attention_grads(g: TensorLike, query: TensorLike, key: TensorLike, value: TensorLike,
                    mask: TensorLike = EVERYTHING, drawn: TensorLike = NO_KEY,
                    is_causal: bool = False, scale: float = 1.0, over_root: bool = True,
                    rate: float = 0.0, heads_inner: bool = False) -> tuple[Tensor, ...]:
    """Return the gradients of query, key and value, given the gradient `g` of the result."""
    attrs: dict[str, Any] = {"is_causal": is_causal, "scale": scale, "over_root": over_root,
                             "rate": rate, "heads_inner": heads_inner}
    for x in (query, key, value):
        if not as_tensor(x).dtype.is_floating:
            raise not_floating("attention_grads: an argument", as_tensor(x).dtype)
    made = apply("scaled_dot_product_attention", query, key, value, mask, drawn, **attrs)
    return apply("scaled_dot_product_attention_grad", query, key, value, mask, drawn, *made, g,
                 **attrs)


# --- composed of plain ops --------------------------------------------------------------------

# Per head, with M = 1 / (1 - rate) or 0 by dropout, r the scale and sum() over rows:
#
#     S = r q kᵀ + mask    P = softmax(S)    dP = (g vᵀ) M    dS = P (dP - sum(P dP))
#     dv = (P M)ᵀ g        dq = r dS k       dk = r dSᵀ q


class _Layout:
    """Converts tensors of a call to and from (batch, heads, length, width) of at least 32 bits."""

    def __init__(self, heads_inner: bool, heads: Any, groups: Any) -> None:
        self.heads_inner, self.heads, self.groups = heads_inner, heads, groups

    def _turned(self, x: TensorBase) -> TensorBase:
        return transpose(x, [0, 2, 1, 3]) if self.heads_inner else x

    def of_queries(self, x: TensorBase) -> TensorBase:
        return self._turned(cast(x, dtypes.float32) if x.dtype.itemsize == 2 else x)

    def of_keys(self, x: TensorBase) -> TensorBase:
        """As `of_queries`, with each head repeated for the query heads that share it."""
        x = self.of_queries(x)
        batch, _, length, width = x.shape
        copies = (batch, self.groups, self.heads // larger(self.groups, 1), length, width)
        return reshape(broadcast_to(expand_dims(x, 2), copies), (batch, self.heads, length, width))

    def to_queries(self, x: TensorBase, dtype: dtypes.DType) -> TensorBase:
        return cast(self._turned(x), dtype) if x.dtype != dtype else self._turned(x)

    def to_keys(self, x: TensorBase, dtype: dtypes.DType) -> TensorBase:
        """As `to_queries`, summed over the query heads that share a head."""
        batch, _, length, width = x.shape
        copies = (batch, self.groups, self.heads // larger(self.groups, 1), length, width)
        return self.to_queries(reduce_sum(reshape(x, copies), 2), dtype)


def _layout(query: TensorBase, key: TensorBase, heads_inner: bool) -> _Layout:
    axis = 2 if heads_inner else 1
    return _Layout(heads_inner, query.shape[axis], key.shape[axis])


def _scale(q: TensorBase, scale: float, over_root: bool) -> TensorLike:
    if not over_root:
        return scale
    width = q.shape[-1]
    if isinstance(width, Dim):
        return scale * rsqrt(cast(as_tensor(larger(width, 1)), q.dtype))
    return scale / max(width, 1) ** 0.5


def _weights(q: TensorBase, k: TensorBase, scale: TensorLike, mask: TensorBase,
             is_causal: bool) -> Tensor:
    """Return P, with zeros for masked keys."""
    scores = matmul(q, k, transpose_b=True) * scale
    if mask.dtype.is_floating:
        scores = scores + cast(mask, q.dtype)
        seen = not_equal(scores, -float("inf"))
    else:
        seen = broadcast_to(mask, scores.shape)
    if is_causal:
        seen = logical_and(seen, cast(band_part(ones(scores.shape[-2:]), -1, 0), dtypes.bool_))
    return where(seen, softmax(where(seen, scores, LOWEST[q.dtype])), 0.0)


def _dropout_mask(p: TensorBase, drawn: TensorBase, rate: float) -> TensorLike:
    """Return M, from the same random numbers as the kernel."""
    if not rate:
        return 1.0
    *rows, n = p.shape
    numbers = stateless_uniform((*rows, (n + WORDS - 1) // WORDS * WORDS), drawn)
    numbers = cut_out(numbers, [0, 0, 0, 0], [-1, -1, -1, n])
    return cast(greater_equal(numbers, rate), p.dtype) * (1 / (1 - rate))


def mask_gradient(g: TensorBase, query: TensorBase, key: TensorBase, value: TensorBase,
                  mask: TensorBase, drawn: TensorBase, attrs: dict[str, Any]) -> Tensor:
    """Return the gradient of a floating mask: dS."""
    form = _layout(query, key, attrs["heads_inner"])
    q, k, v, g = (form.of_queries(query), form.of_keys(key), form.of_keys(value),
                  form.of_queries(g))
    scale = _scale(q, attrs["scale"], attrs["over_root"])
    p = _weights(q, k, scale, mask, attrs["is_causal"])
    dp = matmul(g, v, transpose_b=True) * _dropout_mask(p, drawn, attrs["rate"])
    return cast(p * (dp - reduce_sum(p * dp, -1, keepdims=True)), mask.dtype)


# With the gradients a, b, c of dq, dk, dv, the results are the gradients of
# sum(X dS) + sum(Y P), where X = r (a kᵀ + q bᵀ) and Y = (g cᵀ) M.
@gradient("scaled_dot_product_attention_grad", saves=(0, 1, 2, 3, 4, 8))
def _(gg, y, query, key, value, mask, drawn, out, rest, lse, g, is_causal, scale, over_root,
      rate, heads_inner):
    form = _layout(query, key, heads_inner)
    q, a, g_ = (form.of_queries(x) for x in (query, gg[0], g))
    k, b, v, c = (form.of_keys(x) for x in (key, gg[1], value, gg[2]))
    r = _scale(q, scale, over_root)
    p = _weights(q, k, r, mask, is_causal)
    m = _dropout_mask(p, drawn, rate)
    dp = matmul(g_, v, transpose_b=True) * m
    less = dp - reduce_sum(p * dp, -1, keepdims=True)
    ds = p * less
    x = (matmul(a, k, transpose_b=True) + matmul(q, b, transpose_b=True)) * r
    x_mean = reduce_sum(p * x, -1, keepdims=True)
    to_dp = p * (x - x_mean) * m
    to_p = x * less - x_mean * dp + matmul(g_, c, transpose_b=True) * m
    to_s = p * (to_p - reduce_sum(p * to_p, -1, keepdims=True))
    to_q = (matmul(to_s, k) + matmul(ds, b)) * r
    to_k = (matmul(to_s, q, transpose_a=True) + matmul(ds, a, transpose_a=True)) * r
    to_v = matmul(to_dp, g_, transpose_a=True)
    to_g = matmul(to_dp, v) + matmul(p * m, c)
    return (form.to_queries(to_q, query.dtype), form.to_keys(to_k, key.dtype),
            form.to_keys(to_v, value.dtype),
            cast(to_s, mask.dtype) if mask.dtype.is_floating else None,
            None, None, None, None, form.to_queries(to_g, g.dtype))
