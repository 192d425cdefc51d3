"""Attention of every kind; test_attention.py has larger shapes and invalid arguments."""

import numpy as np

from tests.ops.case import case, normal, sample

# Relative to the largest result: scores of up to 16,387 terms (test_blocks.py), and their exp.
REL = 5e-6


def turned(x, data_format):
    return np.swapaxes(x, 1, 2) if data_format == "BTHD" else x


def weights(q, k, mask=None, is_causal=False, scale=None):
    """Return the softmax of the scores, zeros for queries with no visible key; (batch, heads, T,
    d)."""
    k = np.repeat(k, q.shape[1] // max(k.shape[1], 1), 1)
    scores = q @ np.swapaxes(k, -1, -2) * (max(q.shape[-1], 1)**-0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = np.max(scores, -1, keepdims=True, initial=-1e300)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def attention(query, key, value, attn_mask=None, is_causal=False, scale=None, data_format="BHTD"):
    q, k, v = (turned(x, data_format) for x in (query, key, value))
    v = np.repeat(v, q.shape[1] // max(v.shape[1], 1), 1)
    return turned(weights(q, k, attn_mask, is_causal, scale) @ v, data_format)


def attention_grads(g, query, key, value, mask=None, is_causal=False, scale=1.0):
    """Return the gradients of queries, keys and values that have equally many heads."""
    scale = scale / query.shape[-1]**0.5
    p = weights(query, key, mask, is_causal, scale)
    dp = g @ np.swapaxes(value, -1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    return ds @ key, np.swapaxes(ds, -1, -2) @ query, np.swapaxes(p, -1, -2) @ g


def seen(*shape):
    """Return a bool mask in which most keys are visible."""
    return lambda rng, dtype: rng.random(shape) < 0.7


def add(name, q, k, v, *mask, large=None, **kwargs):
    floating = bool(mask) and isinstance(mask[0], sample)
    case("scaled_dot_product_attention", name=name, kwargs=kwargs, ref=attention,
         args=[normal(*q), normal(*k), normal(*v), *mask], rel=REL, signed_zero=False,
         function="nn.scaled_dot_product_attention", grad=(0, 1, 2, 3) if floating else (0, 1, 2),
         large=large and [normal(*x) for x in large])


add("attention", (2, 2, 5, 3), (2, 2, 4, 3), (2, 2, 4, 6),
    large=[(2, 2, 300, 20), (2, 2, 270, 20), (2, 2, 270, 24)])
add("attention-causal", (1, 2, 7, 4), (1, 2, 9, 4), (1, 2, 9, 4), is_causal=True,
    large=[(1, 2, 500, 8), (1, 2, 300, 8), (1, 2, 300, 8)])
add("attention-grouped", (1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 2), scale=0.3)
add("attention-heads-inner", (2, 6, 2, 3), (2, 5, 1, 3), (2, 5, 1, 3), is_causal=True,
    data_format="BTHD")
# A row of a head is half an AVX-512 vector; the other half is the next head's row.
add("attention-heads-beside", (1, 3, 2, 8), (1, 5, 2, 8), (1, 5, 2, 8), data_format="BTHD")
add("attention-bool", (2, 2, 5, 3), (2, 2, 4, 3), (2, 2, 4, 3), seen(2, 1, 5, 4))
add("attention-keys-hidden", (2, 2, 5, 3), (2, 2, 4, 3), (2, 2, 4, 3), seen(2, 1, 1, 4),
    is_causal=True)
add("attention-float", (2, 2, 5, 3), (2, 2, 4, 3), (2, 2, 4, 3), normal(2, 5, 4))
add("attention-float-row", (2, 2, 5, 3), (2, 1, 4, 3), (2, 1, 4, 3), normal(4), is_causal=True)

case("scaled_dot_product_attention_grad", name="attention-grads",
     args=[normal(1, 2, 5, 6), normal(1, 2, 5, 3), normal(1, 2, 4, 3), normal(1, 2, 4, 6)],
     ref=attention_grads, function="ops.nn.attention.attention_grads", rel=REL, grad=(0, 1, 2, 3),
     signed_zero=False,
     large=[normal(1, 2, 300, 24), normal(1, 2, 300, 20), normal(1, 2, 270, 20),
            normal(1, 2, 270, 24)])
case("scaled_dot_product_attention_grad", name="attention-grads-masked",
     args=[normal(1, 2, 5, 3), normal(1, 2, 5, 3), normal(1, 2, 4, 3), normal(1, 2, 4, 3),
           normal(2, 5, 4)],
     kwargs={"is_causal": True, "scale": 0.8}, ref=attention_grads,
     function="ops.nn.attention.attention_grads", rel=REL, grad=(0, 1, 2, 3, 4), signed_zero=False)
