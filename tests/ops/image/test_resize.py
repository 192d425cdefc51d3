"""Images of all sizes against naive references, and invalid arguments."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.image.crop import np_crops
from tests.ops.image.resize import KERNELS, np_patches, np_resize

PIXELS = st.sampled_from([1, 2, 3, 5, 8, 13, 31])


def both(threads, f, x):
    """Return result and gradient for a number of threads."""
    with harness.threads(threads), df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        return y.numpy(), tape.gradient(y, x, output_gradients=df.cos(y)).numpy()


@settings(max_examples=60)
@given(st.tuples(PIXELS, PIXELS), st.tuples(PIXELS, PIXELS),
       st.sampled_from([*KERNELS, "area", "nearest"]), st.booleans(),
       st.sampled_from([(0, 3), (2, 1), (1, 3), (2, 37)]))
@example((200, 150), (2, 1), "area", False, (2, 1))       # many pixels per result
@example((200, 150), (2, 1), "bilinear", True, (1, 3))
def test_resize(before, after, method, antialias, others):
    """Check values, the gradient as the transposed matrix, and equal bits for any thread count."""
    batch, channels = others
    x = np.random.default_rng(0).normal(size=(batch, *before, channels))
    if method == "gaussian":        # its kernel ends with a step, so rounding matters
        before, after = (8, 3), (5, 13)
        x = np.resize(x, (batch, *before, channels))

    def resize(x):
        return df.image.resize(x, after, method, antialias=antialias)

    t = df.constant(x)
    y, dx = both(1, resize, t)
    np.testing.assert_allclose(y, np_resize(x, after, method, antialias=antialias), rtol=1e-10,
                               atol=1e-10)
    np.testing.assert_allclose((dx * x).sum(), (np.cos(y) * y).sum(), rtol=1e-9, atol=1e-9)
    for threads in (2, 3, 8):
        assert [a.tobytes() for a in both(threads, resize, t)] == [y.tobytes(), dx.tobytes()]


@settings(max_examples=40)
@given(st.tuples(PIXELS, PIXELS), st.tuples(*[st.integers(1, 3)] * 2),
       st.tuples(*[st.integers(1, 3)] * 2), st.tuples(*[st.integers(1, 3)] * 2),
       st.sampled_from(["VALID", "SAME"]), st.sampled_from([1, 3, 17]))
def test_patches(size, window, strides, rates, padding, channels):
    reach = [(k - 1) * r + 1 for k, r in zip(window, rates, strict=True)]
    size = [max(n, r) for n, r in zip(size, reach, strict=True)]
    x = np.random.default_rng(0).normal(size=(2, *size, channels))

    def patches(x):
        return df.image.extract_patches(x, window, strides, rates, padding)

    y, dx = both(1, patches, df.constant(x))
    assert (y == np_patches(x, window, strides, rates, padding)).all()
    np.testing.assert_allclose((dx * x).sum(), (np.cos(y) * y).sum(), rtol=1e-9, atol=1e-9)
    for threads in (2, 3, 8):
        again = both(threads, patches, df.constant(x))
        assert [a.tobytes() for a in again] == [y.tobytes(), dx.tobytes()]


def test_resize_to_the_same_size_is_the_identity():
    x = np.random.default_rng(0).normal(size=(2, 5, 7, 3)).astype("f4")
    x[0, 2, 3] = np.inf
    for method in ("bilinear", "bicubic", "area", "nearest"):
        for antialias in (False, True):
            y = df.image.resize(x, [5, 7], method, antialias=antialias).numpy()
            assert (y == x).all()


@pytest.mark.parametrize("shape, size, want", [
    ((4, 8, 1), (10, 10), (5, 10, 1)), ((2, 8, 4, 1), (10, 10), (2, 10, 5, 1)),
    ((100, 3, 1), (10, 10), (10, 1, 1)), ((3, 5, 1), (9, 11), (7, 11, 1))])
def test_preserve_aspect_ratio(shape, size, want):
    y = df.image.resize(np.ones(shape, "f4"), size, preserve_aspect_ratio=True)
    assert y.shape == want and np.allclose(y.numpy(), 1)


def unknown_sizes(f):
    return df.function(f, input_signature=[df.TensorSpec([None, None, 1])])


def test_half_pixels_round_to_even():
    """TensorFlow rounds its scale to float32, so some sizes are no longer halves there."""
    def resize(x):
        return df.image.resize(x, [most, most], preserve_aspect_ratio=True)

    for most in (1, 2, 5, 6):
        traced = unknown_sizes(resize)
        for n in range(1, 25):
            other = max(round(Fraction(most * n, 24)), 1)       # Python rounds to even as well
            for shape, want in (((24, n), (most, other)), ((n, 24), (other, most))):
                x = df.ones((*shape, 1))
                assert resize(x).shape == traced(x).shape == (*want, 1)


def test_resize_with_pad_fills_one_dimension():
    def resize(x):
        return df.image.resize_with_pad(x, *target)

    for target in ((3, 7), (49, 31), (10, 10), (1, 1)):
        traced = unknown_sizes(resize)
        for shape in ((1, 9), (18, 1), (49, 10), (10, 49), (7, 3), (100, 99)):
            scale = min(Fraction(n, old) for n, old in zip(target, shape, strict=True))
            size = [max(int(old * scale), 1) for old in shape]
            start = [int((n - old * scale) / 2) for n, old in zip(target, shape, strict=True)]
            want = np.zeros(target)
            want[tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))] = 1
            x = df.ones((*shape, 1))
            np.testing.assert_allclose(resize(x)[..., 0], want, atol=1e-6)
            np.testing.assert_array_equal(traced(x), resize(x))


def test_dtypes():
    """Integers become float32 unless pixels are only selected; float16 and float64 are
    preserved."""
    x = np.arange(12).reshape(1, 3, 4, 1)
    for dtype in ("uint8", "int64", "float32"):
        assert df.image.resize(x.astype(dtype), [2, 2]).dtype is df.float32
        assert df.image.resize(x.astype(dtype), [2, 2], "nearest").dtype == dtype
        assert df.image.crop_and_resize(x.astype(dtype), [[0, 0, 1, 1]], [0],
                                        [2, 2]).dtype is df.float32
    for dtype in ("float16", "bfloat16", "float64"):
        assert df.image.resize(df.cast(x, dtype), [2, 2]).dtype == dtype


def test_whole_images_cropped():
    """Box corners are pixel centres, and sampling at pixels is exact."""
    x = np.random.default_rng(0).normal(size=(2, 5, 9, 3)).astype("f4")
    boxes, index = [[0.0, 0, 1, 1], [1.0, 0, 0, 1], [0.25, 0.5, 0.25, 0.5]], [1, 0, 1]
    y = df.image.crop_and_resize(x, boxes, index, [5, 9]).numpy()
    assert (y[0] == x[1]).all() and (y[1] == x[0, ::-1]).all() and (y[2] == x[1, 1, 4]).all()
    got = df.image.crop_and_resize(x, boxes, index, [3, 5], "nearest", 2.5).numpy()
    np.testing.assert_array_equal(got, np_crops(x, np.array(boxes), index, (3, 5), "nearest", 2.5))
    outside = df.image.crop_and_resize(x, [[float("nan"), 2, 3, 4]], [0], [2, 2],
                                       extrapolation_value=-1).numpy()
    assert (outside == -1).all()
    assert df.image.crop_and_resize(x, df.zeros([0, 4]), df.zeros([0], "int32"),
                                    [2, 2]).shape == (0, 2, 2, 3)


def test_box_gradient_at_integer_positions():
    x = df.constant(np.arange(9, dtype="f4").reshape(1, 3, 3, 1) ** 2)
    boxes = df.constant([[0.0, 0, 1, 1]])
    with df.GradientTape() as tape:
        tape.watch(boxes)
        y = df.image.crop_and_resize(x, boxes, [0], [3, 3])
    assert (tape.gradient(y, boxes).numpy() == 0).all()


@pytest.mark.parametrize("call", [
    lambda x: df.image.resize(x, [4, 9], "bicubic"),
    lambda x: df.image.resize(x, [4, 9], "nearest"),
    lambda x: df.image.resize(x, [2 * x.shape[1], x.shape[2] // 2], antialias=True),
    lambda x: df.image.resize(x, [9, 9], preserve_aspect_ratio=True),
    lambda x: df.image.extract_patches(x, 2, 1, 1, "SAME"),
    lambda x: df.image.crop_and_resize(x, [[0.1, 0.2, 0.9, 0.7]] * 2, [0, 0], [2, 3]),
    lambda x: df.nn.space_to_depth(x, 2), lambda x: df.nn.depth_to_space(x, 2),
    lambda x: df.space_to_batch(x, [2, 2], [[0, 0], [1, 1]]), df.image.rot90,
], ids=["bicubic", "nearest", "antialias", "proportions", "patches", "crop", "to_depth", "to_space",
        "to_batch", "rot90"])
def test_traced_with_unknown_sizes(call):
    for spec in ([None, 6, 4, 4], [None] * 4):
        traced = df.function(call, input_signature=[df.TensorSpec(spec)])
        for batch in (1, 3):
            x = np.random.default_rng(batch).normal(size=(batch, 6, 4, 4)).astype("f4")
            assert (traced(x).numpy() == call(df.constant(x)).numpy()).all()


X = df.constant(np.ones((1, 4, 6, 2), "f4"))
BOX = [[0.0, 0.0, 1.0, 1.0]]

MESSAGES = [
    (lambda: df.image.resize(X, [0, 3]), r"resize: size is \[0, 3\], expected two positive"),
    (lambda: df.image.resize(X, [3]), r"resize: size is \[3\]"),
    (lambda: df.image.resize(X, 3.5), "resize: size is 3.5, expected integers"),
    (lambda: df.image.resize(X, [3, 3], "cubic"), "resize: method is 'cubic', expected 'nearest'"),
    (lambda: df.image.resize(X, [3, 3], []), r"resize: method is \[\]"),
    (lambda: df.image.resize(X[0, 0], [3, 3]), r"resize: images are float32 \(6, 2\), expected"),
    (lambda: df.image.resize(df.zeros([1, 0, 3, 1]), [3, 3]), "dimension 1 .* no pixels"),
    (lambda: df.image.resize(X, [2**50, 3]), "no memory for float32"),
    (lambda: df.image.extract_patches(X, 5, 1, 1, "VALID"),
     "extract_patches: along spatial dimension 0 the window spans 5 and the padded image 4"),
    (lambda: df.image.extract_patches(X, 1, 0, 1, "SAME"), "extract_patches: .*stride 0"),
    (lambda: df.image.extract_patches(X, 2**40, 1, 1, "SAME"), "extract_patches: "),
    (lambda: df.image.crop_and_resize(X, BOX, [1], [2, 2]), r"indices\[0\] is 1"),
    (lambda: df.image.crop_and_resize(X, BOX, [0, 0], [2, 2]), "crop_and_resize: image has shape"),
    (lambda: df.image.crop_and_resize(X, [[0.0]], [0], [2, 2]), "crop_and_resize: image has shape"),
    (lambda: df.image.crop_and_resize(X, BOX, [0], [2, 0]), r"crop_and_resize: crop_size is \[2"),
    (lambda: df.image.crop_and_resize(X, BOX, [0], [2, 2], "cubic"), "crop_and_resize: method is"),
    (lambda: df.image.rot90(X[0, 0]), "rot90: images are"),
    (lambda: df.nn.space_to_depth(X, 4), r"space_to_depth: width of float32 \(1, 4, 6, 2\) is 6, "
                                         "expected a multiple of 4"),
    (lambda: df.nn.space_to_depth(X, 0), "space_to_depth: .*block_size 0"),
    (lambda: df.nn.space_to_depth(X, 2, "NWC"), "space_to_depth: data_format is 'NWC'"),
    (lambda: df.nn.depth_to_space(X, 2), "depth_to_space: number of channels .* multiple of 4"),
    (lambda: df.space_to_batch(X, [3], [[0, 0]]), "space_to_batch: padded dimension 1 .* is 4"),
    (lambda: df.space_to_batch(X, [2, 2], [[0, 0]]), "space_to_batch: block_shape"),
    (lambda: df.space_to_batch(X, [2], [[-1, 1]]), "space_to_batch: block_shape"),
    (lambda: df.space_to_batch(X, [2], 3), "space_to_batch: block_shape .* paddings 3"),
    (lambda: df.batch_to_space(X, [2], [[0, 0]]), "batch_to_space: batch .* is 1, expected a mul"),
    (lambda: df.batch_to_space(X, [1], [[3, 2]]), "batch_to_space: crops 3 and 2 .* 4 pixels"),
]


@pytest.mark.parametrize("call, message", MESSAGES, ids=range(len(MESSAGES)))
def test_invalid_argument_raises_with_message(call, message):
    with pytest.raises((ValueError, TypeError, IndexError, OverflowError, MemoryError),
                       match=message):
        call()


EDGES = st.sampled_from([-2**63, -4, -1, 0, 1, 2, 3, 4, 7, 2**31, 2**50, 2**63 - 1])
LISTS = st.lists(EDGES, max_size=4)


@settings(max_examples=100)
@given(st.sampled_from(["resample", "resample_grad"]), EDGES, EDGES, EDGES, st.booleans(),
       st.sampled_from([X, df.zeros([0, 3]), df.zeros([2**40, 0])]))
def test_random_resize_attributes_do_not_crash(op, axis, size, method, antialias, x):
    with contextlib.suppress(ValueError, OverflowError, MemoryError):
        _core.apply(op, x, axis=axis, size=size, method=method, antialias=antialias)


@settings(max_examples=100)
@given(LISTS, LISTS, LISTS, LISTS, st.integers(-1, 3), st.lists(EDGES, max_size=4), st.booleans())
def test_random_patch_attributes(window, strides, dilations, paddings, rule, shape, back):
    op, attrs = ("extract_patches_grad", {"shape": shape}) if back else ("extract_patches", {})
    with contextlib.suppress(ValueError, OverflowError, MemoryError):
        _core.apply(op, X, window=window, strides=strides, dilations=dilations, paddings=paddings,
                    rule=rule, **attrs)
