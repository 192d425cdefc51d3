"""TfIdfVectorizer: counts of n-grams of integers."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import Node, limit, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@limit("TfIdfVectorizer")
def _(node: Node) -> str | None:
    return "of strings" if node("pool_int64s") is None else None


@operator("TfIdfVectorizer")
def _(node: Node, x):
    """Count in (..., items) the occurrences of each n-gram of the pool, with skips if allowed."""
    x, pool = tensor(x), node("pool_int64s")
    starts, columns = node("ngram_counts"), node("ngram_indexes")
    length, total, first = max(columns) + 1, None, 0
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        grams = [pool[k:k + n] for k in range(start, end, n)]
        own = columns[first:first + len(grams)]
        weights = (node("weights") or [1.0] * len(columns))[first:first + len(grams)]
        first += len(grams)
        if grams and node("min_gram_length") <= n <= node("max_gram_length"):
            skips = range(1 if n == 1 else node("max_skip_count") + 1)
            counts = df.add_n([_counts(x, grams, skip + 1) for skip in skips])
            part = df.matmul(_scored(node("mode"), counts, df.constant(weights)),
                             df.one_hot(df.constant(own, df.int64), length))
            total = part if total is None else total + part
    if total is None:
        return df.zeros([*x.shape[:-1], length])
    return df.reshape(total, [*x.shape[:-1], length])


def _scored(mode: str, counts: Any, weights: Any) -> Any:
    if mode == "TF":
        return counts
    return (counts if mode == "TFIDF" else df.cast(counts > 0, df.float32)) * weights


def _counts(x: Any, grams: list[list[int]], step: int) -> Any:
    """Return (rows, grams): the occurrences of each n-gram whose items are `step` apart."""
    n, size = len(grams[0]), x.shape[-1]
    many = size - (n - 1) * step
    rows = df.reshape(x, [-1, size])
    if many <= 0:
        return df.zeros([rows.shape[0], len(grams)])
    found: Any = None
    for k in range(n):
        items = df.constant([g[k] for g in grams], x.dtype)
        here = df.equal(df.expand_dims(rows[:, k * step:k * step + many], 2), items)
        found = here if found is None else df.logical_and(found, here)
    return df.reduce_sum(df.cast(found, df.float32), 1)
