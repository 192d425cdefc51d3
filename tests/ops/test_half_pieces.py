"""Kernels that read 16-bit floats in pieces: the bits are those of float32 operands, rounded.

Each row is an op with inputs and attributes: its results on 16-bit floats are compared with the
rounded results on widened inputs. Sizes are odd, empty, or longer than a piece. test_levels.py runs
these tests at other SIMD levels.
"""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core

HALVES = ["bfloat16", "float16"]
BATCH = {"channels_first": False, "epsilon": 1e-3}
FIRST = {"channels_first": True, "epsilon": 1e-3}
ROW = {"ndim": 1, "epsilon": 1e-5}


def floats(*shape, seed=0, special=False):
    """Return normal numbers; `special`: with NaN, infinities, zeros of both signs, small ones."""
    x = np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")
    if special and x.size:
        x.flat[:: max(x.size // 7, 1)] = np.resize(
            np.float32([np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, 6e4]), x.size)[
                :len(x.flat[:: max(x.size // 7, 1)])]
    return x


def norm_rows():
    for op, n_params in ("layer_norm", 2), ("rms_norm", 1), ("l2_normalize", 0):
        for shape in [(3, 5), (7, 40), (40, 384), (0, 4), (4, 0), (2, 9000), (3, 16385)]:
            x, g = floats(*shape), floats(*shape, seed=1)
            params = [floats(shape[-1], seed=2 + k) for k in range(n_params)]
            yield op, [x, *params], ROW
            yield op + "_grad", [g, x, *params[:1]], ROW
        yield op, [floats(6, 33, special=True)], ROW
        yield op + "_grad", [floats(6, 33), floats(6, 33, special=True)], ROW


def channel_rows():
    for shape in [(2, 5, 7, 3), (4, 16, 16, 64), (3, 7, 9, 40), (2, 3, 600), (4097, 8), (5, 6),
                  (0, 4, 3), (3, 129, 131, 1)]:
        for attrs in BATCH, FIRST:
            c = shape[1 if attrs is FIRST else -1]
            x, g = floats(*shape), floats(*shape, seed=1)
            params = [floats(c, seed=2), floats(c, seed=3)]
            yield "fused_batch_norm", [x, *params], attrs
            yield "fused_batch_norm_grad", [g, x, params[0]], attrs
            yield "fused_batch_norm_grad", [g, x], attrs
            for groups in {-1, 1, c // 2} if c % 2 == 0 else {-1}:
                yield "group_norm", [x, *params], {**attrs, "groups": groups}
                yield "group_norm_grad", [g, x, params[0]], {**attrs, "groups": groups}
    x = floats(2, 9, 9, 5, special=True)
    yield "fused_batch_norm", [x], BATCH
    yield "fused_batch_norm_grad", [floats(2, 9, 9, 5), x], BATCH


def windows(window, strides, dilations=None, paddings=None, rule=0):
    n = len(window)
    return {"window": window, "strides": strides, "dilations": dilations or [1] * n,
            "paddings": paddings or [0] * (2 * n), "rule": rule}


def pool_rows():
    for shape, attrs in [
            ((2, 9, 11, 5), windows([2, 2], [2, 2])),
            ((2, 56, 57, 64), windows([3, 3], [2, 2], paddings=[1] * 4)),
            ((3, 12, 13, 7), windows([3, 2], [1, 1], [2, 3], [1] * 4)),
            ((1, 3000, 9), windows([4], [3], [2], [1, 2])),
            ((2, 40, 40, 300), windows([40, 40], [1, 1])),
            ((2, 4, 5, 6, 3), windows([2, 2, 2], [1, 2, 1])),
            ((2, 7, 9, 4), windows([3, 4], [1, 1], rule=2)),
            ((0, 9, 11, 5), windows([2, 2], [2, 2])),
            ((2, 9, 11, 0), windows([2, 2], [2, 2]))]:
        for special in False, True:
            x = floats(*shape, special=special)
            y = _core.apply("avg_pool", df.constant(x), **attrs)
            yield "avg_pool", [x], attrs
            yield "avg_pool_grad", [floats(*y.shape, special=special)], {
                "shape": list(shape), **attrs}
            for places in "uint8", "int32":
                taps = np.prod(attrs["window"])
                if places == "uint8" and (attrs["rule"] == 2 or taps > 256):
                    continue
                y, at = _core.apply("max_pool", df.constant(x), places=places, **attrs)
                yield "max_pool", [x], {"places": places, **attrs}
                yield "max_pool_pick", [floats(*shape, seed=1), at], attrs
                yield "max_pool_grad", [floats(*y.shape, seed=2), at], {
                    "shape": list(shape), **attrs}


def conv_rows():
    for x, w, steps in [
            ((2, 9, 11, 5), (3, 2, 5, 7), {}), ((2, 9, 11, 24), (1, 1, 24, 33), {}),
            ((3, 10, 9, 6), (1, 1, 6, 9), {"strides": [2, 2]}),
            ((3, 20, 20, 32), (3, 3, 32, 40), {}),                     # Winograd
            ((3, 20, 20, 20), (5, 5, 20, 33), {"same": False}),
            ((3, 20, 20, 32), (3, 3, 32, 40), {"exact": True}),
            ((3, 20, 20, 32), (3, 3, 32, 40), {"strides": [2, 2]}),
            ((2, 13, 15, 12), (3, 3, 12, 10), {"dilations": [2, 3]}),
            ((2, 16, 16, 8), (3, 3, 8, 300), {"dilations": [7, 7]}),
            ((2, 12, 12, 8), (3, 3, 2, 12), {}),                       # groups
            ((2, 12, 13, 8), (3, 3, 1, 8), {}), ((2, 12, 13, 8), (3, 3, 1, 16), {}),
            ((9, 60, 60, 40), (3, 3, 1, 40), {}),
            ((5, 30, 9), (4, 9, 6), {"strides": [3], "dilations": [1]}),
            ((2, 5, 6, 7, 3), (2, 2, 2, 3, 4), {"strides": [1] * 3, "dilations": [1] * 3}),
            ((40, 56, 56, 8), (1, 1, 8, 16), {}), ((2, 33, 40, 1100), (1, 1, 1100, 9), {}),
            ((2, 200, 3, 3), (2, 2, 3, 8), {"strides": [2, 1], "same": False}),
            ((0, 9, 11, 5), (3, 2, 5, 7), {}), ((2, 9, 11, 0), (3, 2, 0, 7), {})]:
        attrs = {"strides": [1, 1], "dilations": [1, 1], "same": True, "pads": [], "exact": False,
                 **steps}
        if not attrs["same"]:
            attrs["pads"] = [0] * 4
        for special in False, True:
            image, filters = floats(*x, special=special), floats(*w, seed=1)
            g = floats(*_core.apply("conv", df.constant(image), df.constant(filters),
                                    **attrs).shape, seed=2)
            yield "conv", [image, filters], attrs
            yield "conv_backprop_input", [filters, g], {"shape": list(x), **attrs}
            yield "conv_backprop_filter", [image, g], {"shape": list(w), **attrs}


def softmax_rows():
    for shape, axis in [((5, 7), -1), ((3, 4097), -1), ((2, 50001), -1), ((3, 300, 70), 1),
                        ((2, 2000, 131), 1), ((5, 7, 1), 1), ((4, 0), 1), ((0, 4), 1),
                        ((9, 600), 0)]:
        for special in False, True:
            x, y = floats(*shape, special=special), floats(*shape, seed=1)
            g = floats(*np.delete(shape, axis), seed=2)
            for name, inputs in (("softmax", [x]), ("log_softmax", [x]), ("softmax_grad", [y, x]),
                                 ("log_softmax_grad", [y, x]), ("softmax_cross_entropy", [y, x]),
                                 ("softmax_cross_entropy_grad", [y, x, g])):
                yield name, inputs, {"axis": axis}
    for shape in [(7, 5), (3, 9001), (0, 4)]:
        labels = np.arange(shape[0], dtype="int32") % shape[1]
        for special in False, True:
            x = floats(*shape, special=special)
            yield "sparse_softmax_cross_entropy", [labels, x], {}
            yield "sparse_softmax_cross_entropy_grad", [labels, x, floats(shape[0], seed=1)], {}


def reduction_rows():
    for shape, axes in [((3, 5), [1]), ((7, 40_001), [1]), ((7, 33), [1]), ((1_000_003,), [0]),
                        ((341, 384), [0]), ((2, 513, 1500), [1]), ((9000, 3), [0]),
                        ((2, 4097, 5), [1]), ((5, 300, 70), [0, 2]), ((0, 3), [0]), ((3, 0), [1])]:
        for special in False, True:
            for op in ("sum", "prod", "max", "min", "mean", "euclidean_norm", "variance", "std",
                       "logsumexp"):
                yield f"reduce_{op}", [floats(*shape, special=special)], {
                    "axes": axes, "keepdims": False}


ROWS = {"softmax": softmax_rows, "reductions": reduction_rows, "norms": norm_rows,
        "channels": channel_rows, "pooling": pool_rows, "convolution": conv_rows}


def results(name, tensors, attrs):
    made = _core.apply(name, *tensors, **attrs)
    return list(made) if isinstance(made, tuple | list) else [made]


def bits(x):
    """Return the bytes of a tensor, with one NaN."""
    a = x.numpy()
    return (np.where(a != a, a.dtype.type("nan"), a) if x.dtype.is_floating else a).tobytes()


def check(name, inputs, attrs, half):
    """Compare an op with its float32 kernel, eagerly and traced."""
    given = [df.constant(x) for x in inputs]
    halves = [df.cast(x, half) if x.dtype == "float32" else x for x in given]
    wide = results(name, [df.cast(x, "float32") if x.dtype == half else x for x in halves], attrs)
    got = results(name, halves, attrs)
    traced = df.function(lambda *xs: results(name, xs, attrs))(*halves)
    for g, w, t in zip(got, wide, traced, strict=True):
        want = df.cast(w, half) if w.dtype == "float32" else w
        assert g.dtype == want.dtype and bits(g) == bits(want), (name, attrs)
        assert bits(t) == bits(g), (name, attrs)


def run(family, half):
    before = df.config.num_threads()
    try:
        for k, (name, inputs, attrs) in enumerate(ROWS[family]()):
            df.config.set_num_threads(1 + k % 2)
            check(name, inputs, attrs, half)
    finally:
        df.config.set_num_threads(before)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("family", ROWS)
def test_rows(family, half):
    run(family, half)


@pytest.mark.parametrize("half", HALVES)
def test_results_round_to_even(half):
    """Products of 16-bit floats are exact in float32 and often halfway between two of them."""
    x, y = (df.cast(floats(70_001, seed=k, special=True) * 2.0 ** -k, half) for k in (1, 2))
    for n in [70_001, *range(34)]:          # whole vectors, pairs of them, and remainders
        got = x[:n] * y[:n]
        want = df.cast(df.cast(x[:n], "float32") * df.cast(y[:n], "float32"), half)
        assert bits(got) == bits(want), n


CONVOLVED = {"strides": [1, 1], "dilations": [1, 1], "same": True, "pads": [], "exact": False}
IMAGES, FILTERS = (96, 28, 28, 32), (3, 3, 32, 32)
# Ops with inputs, attributes and the shapes of the inputs of 16-bit floats.
LARGE = [
    ("layer_norm", ROW, [(8192, 384)]), ("layer_norm_grad", ROW, [(8192, 384)] * 2),
    ("fused_batch_norm", BATCH, [IMAGES]), ("fused_batch_norm_grad", BATCH, [IMAGES] * 2),
    ("avg_pool", windows([2, 2], [2, 2]), [IMAGES]),
    ("max_pool", {"places": "uint8", **windows([2, 2], [2, 2])}, [IMAGES]),
    ("softmax", {"axis": 1}, [(8, 1024, 256)]), ("softmax", {"axis": -1}, [(64, 32768)]),
    ("reduce_sum", {"axes": [0], "keepdims": False}, [(8192, 384)]),
    ("conv", CONVOLVED, [IMAGES, FILTERS]), ("conv", CONVOLVED, [IMAGES, (1, 1, 32, 32)]),
    ("conv", CONVOLVED, [IMAGES, (3, 3, 1, 32)]),
    ("conv_backprop_input", {"shape": list(IMAGES), **CONVOLVED}, [FILTERS, IMAGES]),
    ("conv_backprop_filter", {"shape": list(FILTERS), **CONVOLVED}, [IMAGES, IMAGES])]


def scratch_and_copies(name, attrs, shapes, dtype):
    """Return the bytes of memory that a run allocates beside its results, and the bytes that
    float32 copies of its floating operands and results would have."""
    given = [df.cast(df.random.normal(shape, seed=1), dtype) for shape in shapes]
    _core.apply(name, *given, **attrs)
    df.config.trim_memory()
    df.config.reset_peak_memory()
    before = df.config.memory_stats()["live"]
    made = results(name, given, attrs)
    scratch = df.config.memory_stats()["peak"] - before - sum(y.nbytes for y in made)
    return scratch, sum(4 * x.size for x in [*given, *made] if x.dtype.is_floating)


@pytest.mark.parametrize("name, attrs, shapes", LARGE)
def test_memory(name, attrs, shapes):
    """No operand or result has a float32 copy: beyond float32's scratch memory, a run needs pieces,
    or a few images."""
    of_float, _ = scratch_and_copies(name, attrs, shapes, "float32")
    scratch, copies = scratch_and_copies(name, attrs, shapes, "bfloat16")
    assert scratch <= of_float + copies / 4
