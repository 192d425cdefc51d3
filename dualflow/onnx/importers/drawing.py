"""Random operators. They draw from the global generator (`df.random.set_seed`); seeds in files are
ignored, since the standard does not specify a generator."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import DRAWS, Node, operator, tensor
from dualflow.onnx.narrow import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DRAWS.update({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
              "Bernoulli", "Multinomial", "Dropout"})


def _shape_and_dtype(node: Node, like: Any) -> tuple[list[Any], Any]:
    if like is None:
        return node("shape"), node.dtype("dtype") or df.float32
    like = tensor(like)
    return list(like.shape), node.dtype("dtype") or like.dtype


@operator("RandomNormal", "RandomNormalLike")
def _(node: Node, like=None):
    shape, dtype = _shape_and_dtype(node, like)
    return df.random.normal(shape, node("mean", 0.0), node("scale", 1.0), dtype)


@operator("RandomUniform", "RandomUniformLike")
def _(node: Node, like=None):
    shape, dtype = _shape_and_dtype(node, like)
    return df.random.uniform(shape, node("low", 0.0), node("high", 1.0), dtype)


@operator("Bernoulli")
def _(node: Node, p):
    """Return 1 with probability p. The standard's function of this operator would return 0."""
    p = tensor(p)
    return cast(df.random.uniform(list(p.shape)) < df.cast(p, df.float32),
                node.dtype("dtype") or p.dtype)


@operator("Multinomial")
def _(node: Node, logits):
    made = df.random.categorical(logits, node("sample_size", 1))
    return df.cast(made, node.dtype("dtype") or df.int32)


@operator("Dropout")
def _(node: Node, x, ratio=None, training=None):
    """Drop elements at random; return the result and the mask of the retained elements."""
    x = tensor(x)
    share = node("ratio", 0.5) if ratio is None else float(ratio)
    if training is None or not bool(training) or not share:
        return df.identity(x), df.cast(df.ones_like(x), df.bool_)
    mask = df.random.uniform(list(x.shape)) >= share
    return df.where(mask, x / (1 - share), df.zeros_like(x)), mask
