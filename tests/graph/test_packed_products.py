"""`matmul_packed` of `pack_matrix` returns the bits of `matmul`, `conv_transformed` of
`conv_transform` and `conv_packed` of `conv_pack` those of `conv`; passes use them for operands that
persist between runs."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.graph.passes import cache_invariants
from tests import levels
from tests.graph.passes.test_cache_invariants import cached
from tests.graph.test_conv_epilogue import CONVOLUTIONS, attributes
from tests.ops import harness

DTYPES = ["float32", "float64", "int32", "int64", "float16", "bfloat16"]
# Shapes with remainders of panels and blocks, partial tiles, several passes over k.
PLAIN = {"strides": (1, 1), "dilations": (1, 1), "same": True, "pads": (), "exact": False}
SIZES = [(2, 1, 2), (2, 7, 5), (9, 33, 49), (40, 70, 64), (17, 1100, 33), (200, 130, 130)]


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(cache_invariants, "LEAST_BYTES", 0)
    monkeypatch.setattr(cache_invariants, "MOST_GROWTH", 100)


def drawn(dtype, *shape, seed=0):
    x = np.random.default_rng(seed).normal(size=shape) * 8
    return df.cast(df.constant(x), dtype)


def bits(x):
    return df.cast(x, "float64").numpy().tobytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits(dtype, transpose, threads):
    before = df.config.num_threads()
    df.config.set_num_threads(threads)
    try:
        for m, k, n in SIZES:
            a, b = drawn(dtype, m, k), drawn(dtype, *((n, k) if transpose else (k, n)), seed=1)
            packed = _core.apply("pack_matrix", b, transpose=transpose, rows=m)
            got = _core.apply("matmul_packed", a, packed, columns=n)
            assert bits(got) == bits(df.matmul(a, b, transpose_b=transpose))
    finally:
        df.config.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(5, 40), (2, 3, 40), (130, 40)])
def test_traced(dtype, shape):
    """Cover epilogues, batches and updates of the packed variable."""
    w, c = df.Variable(drawn(dtype, 60, 40)), drawn(dtype, 40, 60, seed=2)
    bias, x = df.Variable(drawn(dtype, 60)), drawn(dtype, *shape, seed=3)

    def python(x):
        y = df.nn.relu(df.matmul(x, w, transpose_b=True) + bias)
        return y * df.tanh(x @ c)

    f = df.function(python)
    for _ in range(2):
        for _ in range(2):
            assert bits(f(x)) == bits(python(x))
        w.assign(w * df.cast(0.5, dtype))
    assert cached(f, x) == ["pack_matrix", "pack_matrix"]


def test_which_operands_are_packed():
    w, x = df.Variable(drawn("float32", 40, 60)), drawn("float32", 5, 40)
    half = df.function(lambda x: df.cast(x, "bfloat16") @ df.cast(w, "bfloat16"))
    for f, args, want in [
            (half, x, ["pack_matrix"]),
            (half, x[:1], ["cast"]),                                            # a vector
            (df.function(lambda x: x @ w), x, []),                              # used unpacked
            (df.function(lambda x: df.matmul(w, x, True, True)), x, []),        # left operand
            (df.function(lambda x: df.matmul(x, w, True)), df.ones([40, 5]), [])]:
        assert cached(f, args) == want


def test_one_packed_matrix_serves_several_products():
    w, x = df.Variable(drawn("float32", 60, 40)), drawn("float32", 5, 40)
    f = df.function(lambda x: df.matmul(x, w, transpose_b=True)
                    + df.matmul(x * 2., w, transpose_b=True))
    assert cached(f, x) == ["pack_matrix"]


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transformed_filters(size, format, padding):
    """Cover conv alone, and conv followed by bias and activation."""
    w, bias = df.Variable(drawn("float32", size, size, 20, 17)), df.Variable(drawn("float32", 17))
    x = drawn("float32", *((2, 24, 25, 20) if format == "NHWC" else (2, 20, 24, 25)), seed=4)

    def plain(x):
        return df.nn.conv2d(x, w, 1, padding, format)

    for python in [plain, lambda x: df.nn.relu(df.nn.bias_add(plain(x), bias, format))]:
        f = df.function(python)
        for _ in range(2):
            assert bits(f(x)) == bits(python(x))
            assert bits(f(x)) == bits(python(x))
            w.assign(w * 0.5)
        assert cached(f, x) == ["conv_transform"]


def test_filters_that_are_not_transformed():
    w = df.Variable(drawn("float32", 3, 3, 20, 17))
    x = drawn("float32", 2, 24, 25, 20)
    for f, args in [(lambda x: df.nn.conv2d(x, w, 2, "SAME"), x),
                    (lambda x: df.nn.conv2d(x, w, 1, "SAME", dilations=2), x),
                    (lambda x: df.nn.conv2d(x, w, 1, "SAME"), x[:, :5, :5]),        # too few pixels
                    (lambda x: df.nn.conv2d(x, w[:1], 1, "SAME"), x),
                    (lambda x: df.nn.conv2d(x, df.cast(w, "bfloat16"), 1, "SAME"),
                     df.cast(x, "bfloat16"))]:
        traced = df.function(f)
        assert bits(traced(args)) == bits(f(args))
        assert "conv_transform" not in cached(traced, args)
    df.config.set_exact_convolutions(True)
    try:
        assert cached(df.function(lambda x: df.nn.conv2d(x, w, 1, "SAME")), x) == []
    finally:
        df.config.set_exact_convolutions(False)


# Depthwise and Winograd convolutions and empty ones have kernels that read filters as they are.
WINOGRAD = (3, 3, 16, 33)
PACKED = [(x, w, given) for x, w, given in CONVOLUTIONS
          if 0 not in (*x, *w) and w[-2] > 1 and w != WINOGRAD]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("x, w, given", PACKED)
def test_packed_filters(x, w, given, n_threads):
    images, filters = drawn("float32", *x), drawn("float32", *w, seed=1)
    given = attributes(w, **given)
    before = df.config.num_threads()
    df.config.set_num_threads(n_threads)
    try:
        packed = _core.apply("conv_pack", filters, groups=x[-1] // w[-2])
        got = _core.apply("conv_packed", images, packed, filters=w, **given)
        assert bits(got) == bits(_core.apply("conv", images, filters, **given))
    finally:
        df.config.set_num_threads(before)


@pytest.mark.parametrize("x, w, given", [case for case in CONVOLUTIONS if case not in PACKED])
def test_convolutions_that_read_no_packed_filters(x, w, given):
    images, filters = drawn("float32", *x), drawn("float32", *w)
    f = df.function(lambda x: _core.apply("conv", x, filters, **attributes(w, **given)))
    assert bits(f(images)) == bits(_core.apply("conv", images, filters, **attributes(w, **given)))
    assert "conv_pack" not in cached(f, images)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_filters_are_packed(dtype, groups):
    """Those of variables, which may change before a run, are not."""
    w, bias = drawn(dtype, 3, 3, 8, 24, seed=1), drawn(dtype, 24)
    x = drawn(dtype, 2, 5, 6, 8 * groups)

    def twice(w):
        def f(x):
            first, second = [df.nn.conv2d(x * k, w, 2, "SAME") for k in (1., 2.)]
            return df.nn.relu(df.nn.bias_add(first, bias)) + second
        return f

    for filters in w, df.Variable(w):
        f = df.function(twice(filters))
        for _ in range(2):
            assert bits(f(x)) == bits(twice(w)(x))
        packs = filters is w and dtype == "float32"
        assert cached(f, x) == ["conv_pack"] * packs
        assert "conv_packed_cluster" in f.graph_for(x).text() or not packs


SCALED = [((1, 28, 28, 40), 24), ((2, 14, 13, 112), 40), ((1, 7, 7, 160), 960), ((3, 5, 4, 17), 33),
          ((1, 7, 7, 960), 160), ((2, 3, 5, 4, 20), 40), ((2, 9, 24), 70), ((1, 40, 40, 3), 5)]


@pytest.mark.parametrize("activation", [None, df.nn.relu, df.nn.silu, df.nn.gelu])
@pytest.mark.parametrize("shape, outputs", SCALED)
def test_a_scale_of_channels_is_applied_by_the_convolution(shape, outputs, activation):
    """As in squeeze-and-excitation. With few weights, jobs scale the pixels that they multiply."""
    n = len(shape) - 2
    w = drawn("float32", *[1] * n, shape[-1], outputs, seed=1)
    bias = drawn("float32", outputs, seed=2)
    squeeze = drawn("float32", shape[-1], shape[-1], seed=3)
    axes = list(range(1, n + 1))

    def f(x):
        x = df.nn.relu(x)
        scale = df.sigmoid(df.reduce_mean(x, axes, keepdims=True) @ squeeze)
        y = df.nn.convolution(x * scale, w) + bias
        return y if activation is None else activation(y)

    traced, x = df.function(f), drawn("float32", *shape)
    for n_threads in (1, 2, 8):
        with harness.threads(n_threads):
            assert bits(traced(x)) == bits(f(x))
    assert "conv_scaled" in traced.graph_for(x).text()


def test_a_scale_that_the_convolution_cannot_apply():
    """Filters of several pixels, a scale of pixels, and a product that is also returned."""
    w, wide = drawn("float32", 1, 1, 40, 24), drawn("float32", 3, 3, 40, 24)
    scale, of_pixels = drawn("float32", 2, 1, 1, 40), drawn("float32", 1, 9, 9, 40)
    for by, filters, returned in ((scale, wide, False), (of_pixels, w, False), (scale, w, True)):
        def f(x, by=by, filters=filters, returned=returned):
            x = df.nn.relu(x)
            y = x * by
            z = df.nn.conv2d(y, filters, 1, "SAME")
            return x, z, y if returned else z

        traced, x = df.function(f), drawn("float32", 2, 9, 9, 40)
        assert [bits(y) for y in traced(x)] == [bits(y) for y in f(x)]
        assert "conv_scaled" not in traced.graph_for(x).text()


def test_a_scale_needs_outputs_at_their_inputs():
    """With padding and a stride of 2 there may be as many outputs as inputs."""
    w, scale = drawn("float32", 1, 1, 40, 24), drawn("float32", 1, 1, 1, 40)
    given = attributes((1, 1, 40, 24), strides=[2, 2], pads=[2, 1, 2, 1])

    def f(x):
        x = df.nn.relu(x)
        return x, _core.apply("conv", x * scale, w, **given)

    traced, x = df.function(f), drawn("float32", 1, 4, 4, 40)
    assert f(x)[1].shape == (1, 4, 4, 24)
    assert [bits(y) for y in traced(x)] == [bits(y) for y in f(x)]
    assert "conv_scaled" not in traced.graph_for(x).text()
    packed = _core.apply("conv_pack", w, groups=1)
    with pytest.raises(df.errors.ShapeError, match="filters of one pixel and strides of 1"):
        _core.apply("conv_scaled", x, packed, scale, filters=(1, 1, 40, 24), **given)


@pytest.mark.parametrize("scale, message", [
    ((1, 1, 1, 39), "for each of 2 images and 40 channels"), ((80,), None)])
def test_shape_of_a_scale(scale, message):
    x, packed = df.ones([2, 3, 3, 40]), _core.apply("conv_pack", df.ones([1, 1, 40, 24]), groups=1)
    given = {"filters": [1, 1, 40, 24], **PLAIN}
    if message is None:
        assert _core.apply("conv_scaled", x, packed, df.ones(scale), **given).shape == (2, 3, 3, 24)
    else:
        with pytest.raises(df.errors.ShapeError, match=message):
            _core.apply("conv_scaled", x, packed, df.ones(scale), **given)


SIZES_OF_PACKED = """
import dualflow as df
from dualflow import _core
for dtype in "float32", "float64":
    for rows, k, columns in ((2, 3, 1 + 1), (40, 70, 37), (200, 130, 130), (9, 33, 400)):
        w = df.ones([k, columns], dtype)
        print(_core.apply("pack_matrix", w, transpose=False, rows=rows).size)
for w, groups in (((3, 3, 5, 7), 1), ((1, 1, 40, 24), 1), ((3, 3, 8, 48), 4)):
    print(_core.apply("conv_pack", df.ones(w), groups=groups).size)
"""


def test_packed_sizes_are_those_of_every_level():
    """Exports contain them, and run at other levels."""
    found = {}
    for level in "baseline", "avx2", "avx512":
        if levels.is_available(level):
            run = subprocess.run([sys.executable, "-c", SIZES_OF_PACKED], check=True, text=True,
                                 env=os.environ | {"DUALFLOW_ISA": level}, capture_output=True)
            found[level] = run.stdout.split()
    assert len(set(map(tuple, found.values()))) == 1, found


def test_filters_of_unknown_sizes_are_packed():
    f = df.function(lambda w: _core.apply("conv_pack", w, groups=2),
                    input_signature=[df.TensorSpec([3, None, 4])])
    assert f(df.ones([3, 2, 4])).ndim == 1 and f(df.zeros([3, 0, 4])).shape == (0,)


def test_filters_of_unknown_and_too_many_channels():
    f = df.function(lambda w: _core.apply("conv_transform", w),
                    input_signature=[df.TensorSpec([3, 3, None, 4])])
    assert [f(df.ones([3, 3, n, 4])).shape for n in (2, 5)] == [(73, 4), (181, 4)]
    with pytest.raises(df.errors.SizeOverflowError, match=r"conv_transform: .*\(3, 3, "):
        _core.apply("conv_transform", df.zeros([3, 3, 1 << 58, 0]))


@pytest.mark.parametrize("op, inputs, attrs, message", [
    ("pack_matrix", [(3, 4)], {"rows": 1, "transpose": False}, "expected a matrix and 2 or more"),
    ("pack_matrix", [(3,)], {"rows": 2, "transpose": False}, "expected a matrix and 2 or more"),
    ("pack_matrix", [(3, 1)], {"rows": 2, "transpose": False}, "cannot use a packed"),
    ("conv_transform", [(3, 4, 5, 6)], {}, "expected float32 of 3 x 3 or 5 x 5"),
    ("conv_transformed", [(1, 9, 9, 4), (145, 5)], {"kernel": 3, **PLAIN}, "which transformed"),
    ("conv_transformed", [(9, 9, 9, 40), (1445, 40)], {"kernel": 3, **PLAIN}, "which transformed"),
    ("conv_transformed", [(1, 9, 9, 4), (36, 4, 5)], {"kernel": 3, **PLAIN}, "4 dimensions and 2"),
    ("conv_transformed", [(1, 9, 9, 4), (145, 5)], {"kernel": -3, **PLAIN}, "of -3 x -3"),
    ("conv_pack", [(3, 4)], {"groups": 1}, "3, 4 or 5 dimensions"),
    ("conv_pack", [(3, 3, 4, 6)], {"groups": 4}, "with outputs for each group"),
    ("conv_packed", [(1, 9, 9, 4), (8,)], {"filters": (1, 1, 4, 8), **PLAIN}, "which packed"),
    ("conv_packed", [(1, 9, 9, 4), (8,)], {"filters": (1, 4, 8), **PLAIN}, "of 3 dimensions"),
    ("conv_packed", [(1, 9, 9, 4), (8,)], {"filters": (1, 1, 4, -1), **PLAIN}, "with elements"),
    ("conv_packed", [(1, 9, 9, 4), (8, 1)], {"filters": (1, 1, 4, 8), **PLAIN}, "and packed"),
    ("matmul_packed", [(3, 4), (4, 5)], {"columns": 5}, "expected a matrix and a packed one"),
])
def test_invalid_operands_raise(op, inputs, attrs, message):
    with pytest.raises(df.errors.ShapeError, match=f"{op}: .*{message}"):
        _core.apply(op, *[df.ones(shape) for shape in inputs], **attrs)
    with pytest.raises(df.errors.ShapeError, match=r"matmul_packed: .*expected a b packed"):
        _core.apply("matmul_packed", df.ones([3, 4]), df.zeros([7], "uint8"), columns=5)
