"""Export rules of matrix products, convolutions, pooling, resizing, normalisation, attention."""

from __future__ import annotations

import math
from typing import Any

from dualflow._core import constant
from dualflow.dtypes import float32, int32
from dualflow.onnx.exporters.registry import RULES, formula, refuse, rule
from dualflow.onnx.writer import Refused
from dualflow.ops.array.shape import broadcast_to
from dualflow.ops.conv.windows import SAME, SPREAD

METHODS: dict[int, tuple[str, dict[str, float]]] = {
    0: ("linear", {}), 1: ("cubic", {"cubic_coeff_a": -0.5})}


def _turned(w, x, symbol):
    n = symbol.ndim
    return w.transpose(x, [*range(n - 2), n - 1, n - 2])


@rule("matmul")
def _(w, node, a, b):
    a = _turned(w, a, node.inputs[0]) if node["transpose_a"] else a
    b = _turned(w, b, node.inputs[1]) if node["transpose_b"] else b
    return w.op("MatMul", a, b)


@formula("det")
def _(w, node, x):
    return w.op("Det", x)


@rule("matmul_int32")
def _(w, node, a, b):
    a = _turned(w, a, node.inputs[0]) if node["transpose_a"] else a
    b = _turned(w, b, node.inputs[1]) if node["transpose_b"] else b
    return w.op("MatMulInteger", a, b, dtype=int32)


# --- channels ---------------------------------------------------------------------------------


def first(w: Any, x: Any, n: Any) -> Any:
    """Transpose to channels first, for n spatial dimensions."""
    return w.transpose(x, [0, n + 1, *range(1, n + 1)])


def last(w: Any, x: Any, n: Any) -> Any:
    return w.transpose(x, [0, *range(2, n + 2), 1])


def filters_first(w: Any, x: Any, n: Any) -> Any:
    """Transpose (space..., in, out) to (out, in, space...)."""
    return w.transpose(x, [n + 1, n, *range(n)])


def groups(node: Any, images: Any, filters: Any) -> Any:
    n = filters.ndim - 2
    channels, each = node.fixed("channels", [images.known_shape[-1], filters.known_shape[n]])
    return channels // each if each else 1


def pads(numbers: Any) -> Any:
    """Reorder (before, after) pairs to all before, then all after."""
    return [*numbers[0::2], *numbers[1::2]]


def padding(node: Any, windows: Any, same: Any, given: Any) -> Any:
    """Return the padding attributes: explicit pads if sizes allow, as some runtimes require."""
    strides, dilations, sizes = node["strides"], node["dilations"], node.x.known_shape[1:-1]
    if not same:
        return {"pads": pads(given)}
    if all([s == 1 or n is not None for s, n in zip(strides, sizes, strict=True)]):
        found = _same_pads([n or 1 for n in sizes], windows, strides, dilations)
        return {"pads": pads(found)}
    return {"auto_pad": "SAME_UPPER"}


@rule("conv")
def _(w, node, x, filters):
    n = node.inputs[1].ndim - 2
    y = w.op("Conv", first(w, x, n), filters_first(w, filters, n), **_convolution(node, n))
    return last(w, y, n)


@rule("conv_int32")
def _(w, node, x, filters, zero):
    """Write ConvInteger, which subtracts the zero point, and add what it subtracts."""
    n = node.inputs[1].ndim - 2
    y = w.op("ConvInteger", first(w, x, n), filters_first(w, filters, n), zero, dtype=int32,
             **_convolution(node, n))
    sums = w.reduce("ReduceSum", w.cast(filters, int32), range(n + 1), keepdims=False)
    return last(w, y, n) + w.cast(zero, int32) * sums


def _convolution(node: Any, n: int) -> dict[str, Any]:
    """Return the attributes of a convolution over n dimensions."""
    windows = node.fixed("sizes of filters", node.inputs[1].known_shape[:n])
    return {"group": groups(node, *node.inputs[:2]), "strides": list(node["strides"]),
            "dilations": list(node["dilations"]),
            **padding(node, windows, node["same"], node["pads"])}


def _same_pads(sizes, windows, strides, dilations):
    """Return the pads that "SAME" adds before and after."""
    found = []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations, strict=True):
        total = max((-(-size // stride) - 1) * stride + (window - 1) * dilation + 1 - size, 0)
        found += [total // 2, total - total // 2]
    return found


@rule("conv_backprop_input")
def _(w, node, filters, g):
    n = node.x.ndim - 2
    sizes = node.fixed("sizes of images", node["shape"][1:-1])
    windows = node.fixed("sizes of filters", node.x.known_shape[:n])
    made = node.fixed("sizes of images", node.inputs[1].known_shape[1:-1])
    strides, dilations = node["strides"], node["dilations"]
    each, channels = node.fixed("channels", [node.x.known_shape[n], node["shape"][-1]])
    grown = _same_pads(sizes, windows, strides, dilations) if node["same"] else node["pads"]
    rest = [size - ((m - 1) * s + (k - 1) * d + 1 - grown[2 * i] - grown[2 * i + 1])
            for i, (size, m, s, k, d) in enumerate(zip(sizes, made, strides, windows, dilations,
                                                       strict=True))]
    y = w.op("ConvTranspose", first(w, g, n), filters_first(w, filters, n),
             group=channels // each if each else 1, strides=list(strides),
             dilations=list(dilations), pads=pads(grown), output_padding=rest)
    return last(w, y, n)


@rule("conv_backprop_filter")
def _(w, node, x, g):
    """Write a convolution of the images by the cotangent, with batch and channels exchanged."""
    n = node.x.ndim - 2
    sizes = node.fixed("sizes of images", node.x.known_shape[1:-1])
    windows = node.fixed("sizes of filters", node["shape"][:n])
    each, channels = node.fixed("channels", [node["shape"][n], node.x.known_shape[-1]])
    if each != channels:
        raise Refused("the gradient with respect to the filters of a grouped convolution")
    grown = (_same_pads(sizes, windows, node["strides"], node["dilations"]) if node["same"]
             else node["pads"])
    y = w.op("Conv", w.transpose(x, [n + 1, 0, *range(1, n + 1)]),
             w.transpose(g, [n + 1, 0, *range(1, n + 1)]), strides=list(node["dilations"]),
             dilations=list(node["strides"]), pads=pads(grown))
    y = w.op("Slice", y, w.ints([0] * n), w.ints(windows), w.ints(range(2, n + 2)))
    return w.transpose(y, [*range(2, n + 2), 0, 1])


# --- windows ----------------------------------------------------------------------------------


def _windows(node):
    if node["rule"] == SPREAD:
        raise Refused("adaptive pooling windows")
    attrs = {"kernel_shape": list(node["window"]), "strides": list(node["strides"]),
             "dilations": list(node["dilations"])}
    return attrs | padding(node, node["window"], node["rule"] == SAME, node["paddings"])


@rule("max_pool")
def _(w, node, x):
    """Write the maxima only; their indices, which gradients read, are not exported."""
    n = node.x.ndim - 2
    return [last(w, w.op("MaxPool", first(w, x, n), **_windows(node)), n), None]


@formula("avg_pool")
def _(w, node, x):
    n = node.x.ndim - 2
    y = w.op("AveragePool", first(w, x, n), count_include_pad=0, **_windows(node))
    return last(w, y, n)


@rule("extract_patches")
def _(w, node, x):
    """Write a convolution by filters that select one element each."""
    n, channels = node.x.ndim - 2, node.fixed("channels", node.x.known_shape[-1:])[0]
    if node["rule"] == SPREAD:
        raise Refused("adaptive pooling windows")
    taps = math.prod(node["window"])
    dtype = node.x.dtype
    numbers = w.range(taps * channels)
    eye = w.unsqueeze(numbers, 1).is_(w.unsqueeze(numbers, 0)).cast(dtype)
    filters = w.reshape(eye, w.ints([*node["window"], channels, taps * channels]))
    attrs = _windows(node)
    attrs.pop("kernel_shape")
    y = w.op("Conv", first(w, x, n), filters_first(w, filters, n), **attrs)
    y = last(w, y, n)
    if node.outputs[0].ndim == n + 2:
        return y
    return w.reshape(y, w.ints([*node.fixed("patches", node.outputs[0].known_shape)]))


@formula("resample")
def _(w, node, x):
    if node["method"] not in METHODS:
        raise Refused("the standard has only the resize methods bilinear and bicubic")
    kind, more = METHODS[node["method"]]
    # Bilinear weights outside the image are on the edge pixel, unless antialias widens them.
    outside = kind == "cubic" or node["antialias"]
    axis, n = node.axis(), node.x.ndim
    sizes = [w.ints([node["size"]]) if k == axis else w.shape(node.x, [k]) for k in range(n)]
    return w.op("Resize", x, None, None, w.op("Concat", *sizes, axis=0), mode=kind,
                coordinate_transformation_mode="half_pixel", antialias=int(node["antialias"]),
                exclude_outside=int(outside), **more)


# --- normalisation ----------------------------------------------------------------------------


def normalized(w: Any, x: Any, axes: Any, epsilon: Any) -> Any:
    """Normalise to mean 0 and variance 1 along axes; also return both, with sizes of 1."""
    mean = w.reduce("ReduceMean", x, axes)
    centred = x - mean
    variance = w.reduce("ReduceMean", centred * centred, axes)
    return centred / w.op("Sqrt", variance + epsilon), mean, variance


def scaled(w: Any, y: Any, parameters: Any) -> Any:
    """Multiply by a scale and add an offset if both are given."""
    for kind, p in zip(("Mul", "Add"), parameters, strict=False):
        y = w.op(kind, y, p)
    return y


@formula("layer_norm")
def _(w, node, x, *parameters):
    n = node["ndim"]
    sizes = node.x.known_shape[node.x.ndim - n:]
    if x.dtype is float32 and (parameters or None not in sizes):
        # For float64, runtimes would compute the moments in float32.
        parameters = parameters or (w.constant(broadcast_to(constant(1, float32), sizes)),)
        return w.op("LayerNormalization", x, *parameters, axis=-n, epsilon=node["epsilon"])
    axes = range(node.x.ndim - n, node.x.ndim)
    return scaled(w, normalized(w, x, axes, node["epsilon"])[0], parameters)


@formula("rms_norm")
def _(w, node, x, *parameters):
    axes = range(node.x.ndim - node["ndim"], node.x.ndim)
    mean = w.reduce("ReduceMean", x * x, axes)
    return scaled(w, x / w.op("Sqrt", mean + node["epsilon"]), parameters)


@formula("l2_normalize")
def _(w, node, x):
    axes = range(node.x.ndim - node["ndim"], node.x.ndim)
    total = w.reduce("ReduceSum", x * x, axes)
    return x / w.op("Sqrt", w.op("Max", total, x.number(node["epsilon"])))


def _by_channel(w, node, parameters):
    """Return per-channel parameters in a shape that broadcasts to the images."""
    later = node.x.ndim - 2 if node["channels_first"] else 0
    return [w.unsqueeze(p, *range(1, later + 1)) for p in parameters]


@formula("fused_batch_norm")
def _(w, node, x, *parameters):
    channel = 1 if node["channels_first"] else node.x.ndim - 1
    axes = [k for k in range(node.x.ndim) if k != channel]
    y, mean, variance = normalized(w, x, axes, node["epsilon"])
    return [scaled(w, y, _by_channel(w, node, parameters)), w.squeeze(mean, *axes),
            w.squeeze(variance, *axes)]


@formula("group_norm")
def _(w, node, x, *parameters):
    n, parts = node.x.ndim, w.ints([node["groups"]])
    channel = 1 if node["channels_first"] else n - 1
    shape = w.shape(node.x)
    channels = w.op("Gather", shape, w.ints([channel]), axis=0)
    parts = channels if node["groups"] < 0 else parts
    each = channels / parts
    before = w.op("Slice", shape, w.ints([0]), w.ints([channel]))
    after = w.op("Slice", shape, w.ints([channel + 1]), w.ints([n]))
    split = w.op("Concat", before, parts, each, after, axis=0)
    axes = [k for k in range(1, n + 1) if k != channel]
    y = normalized(w, w.reshape(x, split), axes, node["epsilon"])[0]
    return scaled(w, w.reshape(y, shape), _by_channel(w, node, parameters))


@formula("normalize_by")
def _(w, node, x, mean, factor, offset):
    return (x - mean) * factor + offset


@formula("local_response_normalization")
def _(w, node, x):
    n, channels = node.x.ndim - 2, node.x.known_shape[-1]
    size = 2 * min(node["depth_radius"], channels or 1 << 30) + 1
    y = w.op("LRN", first(w, x, n), size=size, alpha=node["alpha"] * size, beta=node["beta"],
             bias=node["bias"])
    return last(w, y, n)


# --- attention --------------------------------------------------------------------------------


@formula("scaled_dot_product_attention")
def _(w, node, q, k, v, mask, _key):
    if node["rate"]:
        raise Refused("dropout is random")
    q_at, k_at = node.inputs[:2]
    heads = 2 if node["heads_inner"] else 1
    n, parts = node.fixed("heads", [q_at.known_shape[heads], k_at.known_shape[heads]])
    q, k, v = [w.transpose(x, [0, 2, 1, 3]) if heads == 2 else x for x in (q, k, v)]
    if n != parts:                                  # repeat for the heads that share it
        which = w.range(n) / (n // parts)
        k, v = [w.op("Gather", x, which, axis=1) for x in (k, v)]
    scale = w.scalar(node["scale"], q.dtype)
    if node["over_root"]:
        scale = scale / w.op("Sqrt", w.size(q_at, 3).cast(q.dtype))
    scores = w.op("MatMul", q, w.transpose(k, [0, 1, 3, 2])) * scale
    scores = scores + mask.cast(q.dtype) if mask.dtype.is_floating else w.where(
        mask, scores, -math.inf)
    if node["is_causal"]:
        rows, columns = w.range(w.size(q_at, 3 - heads)), w.range(w.size(k_at, 3 - heads))
        scores = w.where(w.unsqueeze(rows, 1) >= w.unsqueeze(columns, 0), scores, -math.inf)
    blind = w.reduce("ReduceMax", scores, [-1]).is_(-math.inf)      # no visible key: zeros
    weights = w.where(blind, 0, w.op("Softmax", w.where(blind, 0, scores), axis=-1))
    y = w.op("MatMul", weights, v)
    return [w.transpose(y, [0, 2, 1, 3]) if heads == 2 else y, None, None]


refuse("gradients of windows, resizing, normalisation and attention are not written; save the "
       "function without them", "max_pool_pick", "max_pool_grad", "avg_pool_grad",
       "resample_grad", "extract_patches_grad", "layer_norm_grad", "rms_norm_grad",
       "l2_normalize_grad", "fused_batch_norm_grad", "group_norm_grad",
       "local_response_normalization_grad", "scaled_dot_product_attention_grad")
refuse("the standard has no operator for it", "ctc_beam_search", "cholesky", "lu", "qr",
       "triangular_solve", "solve", "inv", "slogdet")
refuse("the standard has no product with quantised weights", "matmul_quantized")
refuse("a training loss without an operator", "ctc_loss", "ctc_loss_grad")


def _grid(w: Any, node: Any, low: Any, high: Any) -> Any:
    """Return limits, step and its inverse of a fake quantisation, as fake_quant_formulas.h."""
    least, most = node["least"], node["most"]
    empty = w.op("And", low.is_(0), high.is_(0))
    span = w.where(empty, 1, high - low)
    scale, inverse = span / (most - least), (most - least) / span
    exact = least - low / scale
    whole = RULES["trunc"](w, node, exact)
    nearest = whole + RULES["trunc"](w, node, (exact - whole) * 2)
    zero = w.op("Max", w.op("Min", nearest, low.number(most)), low.number(least))
    return empty, (least - zero) * scale, w.where(empty, 0, (most - zero) * scale), scale, inverse


@formula("fake_quant")
def _(w, node, x, low, high):
    _, low, high, scale, inverse = _grid(w, node, low, high)
    shifted = w.op("Max", w.op("Min", x, high), low) - low
    steps = shifted / scale if node["divide"] else shifted * inverse
    return w.op("Floor", steps - w.op("Floor", -low * inverse + 0.5) + 0.5) * scale


@formula("fake_quant_grad")
def _(w, node, g, x, low, high):
    empty, low, high, *_ = _grid(w, node, low, high)
    if node["side"]:
        beyond = x < low if node["side"] < 0 else x > high
        return w.where(w.op("And", beyond, w.op("Not", empty)), g, 0)
    return w.where(w.op("Or", w.op("And", x >= low, x <= high), empty), g, 0)
