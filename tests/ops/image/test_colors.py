"""Colours and random changes of images against NumPy and colorsys."""

import colorsys

import numpy as np
import pytest

import dualflow as df

RGB = np.random.default_rng(0).uniform(size=(2, 5, 7, 3))
RGB[0, 0, 0], RGB[0, 0, 1], RGB[0, 0, 2] = 0, 1, 0.25           # without a hue
RGB[0, 1, 0], RGB[0, 1, 1] = (1, 0, 0), (0.5, 0.5, 0.25)        # two largest channels
BYTES = (RGB * 255).astype("u1")
SEED = [3, 4]


def per_pixel(function, x):
    return np.array([function(*pixel) for pixel in x.reshape(-1, 3)]).reshape(x.shape)


def contrast(x, factor):
    mean = x.mean((-3, -2), keepdims=True)
    return (x - mean) * factor + mean


def hue(x, delta):
    h, s, v = np.moveaxis(per_pixel(colorsys.rgb_to_hsv, x), -1, 0)
    return per_pixel(colorsys.hsv_to_rgb, np.stack([(h + delta) % 1, s, v], -1))


def saturation(x, factor):
    h, s, v = np.moveaxis(per_pixel(colorsys.rgb_to_hsv, x), -1, 0)
    return per_pixel(colorsys.hsv_to_rgb, np.stack([h, np.clip(s * factor, 0, 1), v], -1))


ADJUST = [("adjust_brightness", lambda x, delta: x + delta, (0.3,)),
          ("adjust_contrast", contrast, (1.75,)), ("adjust_contrast", contrast, (0,)),
          ("adjust_hue", hue, (0.3,)), ("adjust_hue", hue, (-0.9,)),
          ("adjust_saturation", saturation, (0.4,)), ("adjust_saturation", saturation, (2,)),
          ("adjust_gamma", lambda x, gamma, gain: gain * x ** gamma, (2.5, 1.5))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name, reference, args", ADJUST)
def test_adjusted_floats(name, reference, args, dtype):
    function, x = getattr(df.image, name), df.constant(RGB.astype(dtype))
    got = function(x, *args)
    close = {"float16": 1e-2, "float32": 2e-6, "float64": 1e-12}[dtype]
    assert got.dtype.name == dtype
    np.testing.assert_allclose(got.numpy(), reference(x.numpy().astype("f8"), *args), close, close)
    traced = df.function(lambda x: function(x, *args))(x)
    assert traced.numpy().tobytes() == got.numpy().tobytes()


@pytest.mark.parametrize("name, reference, args", ADJUST)
def test_adjusted_bytes(name, reference, args):
    function = getattr(df.image, name)
    got = function(df.constant(BYTES), *args)
    want = np.clip(reference(BYTES / 255, *args) * 255.5, 0, 255)
    assert got.dtype is df.uint8
    assert abs(got.numpy() - want).max() < 1.001        # truncated
    traced = df.function(lambda x: function(x, *args))(df.constant(BYTES))
    assert traced.tolist() == got.tolist()


@pytest.mark.parametrize("name, reference, args", ADJUST)
def test_gradients_of_adjusted_images(name, reference, args):
    function, x = getattr(df.image, name), df.constant(RGB[1:])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_sum(df.sin(function(x, *args)))
    direction = np.random.default_rng(1).normal(size=x.shape)
    step = 1e-6 * direction
    ends = [np.sin(reference(x.numpy() + s, *args)).sum() for s in (step, -step)]
    np.testing.assert_allclose((tape.gradient(y, x).numpy() * direction).sum(),
                               (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


def test_factors_may_be_tensors():
    for name in ("adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation",
                 "adjust_gamma"):
        function = getattr(df.image, name)
        traced = df.function(lambda f, x, function=function: function(x, f))
        assert traced(df.constant(0.5), RGB).tolist() == function(RGB, 0.5).tolist()


def test_hsv_and_back():
    hsv = df.image.rgb_to_hsv(RGB)
    np.testing.assert_allclose(hsv.numpy(), per_pixel(colorsys.rgb_to_hsv, RGB), 1e-12, 1e-12)
    np.testing.assert_allclose(df.image.hsv_to_rgb(hsv).numpy(), RGB, 1e-12, 1e-12)
    assert df.image.hsv_to_rgb([1., 1., 1.]).tolist() == [1, 0, 0]      # hue 1 is hue 0
    with df.GradientTape() as tape:             # at pixels without a hue, too
        x = df.zeros([2, 3])
        tape.watch(x)
        y = df.image.rgb_to_hsv(x)
    assert np.isfinite(tape.gradient(y, x).numpy()).all()
    assert df.image.rgb_to_hsv(df.zeros([0, 3])).shape == (0, 3)


@pytest.mark.parametrize("space, yiq", [("yuv", False), ("yiq", True)])
def test_linear_spaces(space, yiq):
    there, back = (getattr(df.image, name) for name in (f"rgb_to_{space}", f"{space}_to_rgb"))
    made = there(RGB).numpy()
    np.testing.assert_allclose(back(made).numpy(), RGB, atol=1e-4 if yiq else 1e-6)
    luminance = RGB @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(made[..., 0], luminance)
    if not yiq:         # scaled differences to the luminance
        np.testing.assert_allclose(made[..., 1], 0.492 * (RGB[..., 2] - luminance), atol=2e-4)
        np.testing.assert_allclose(made[..., 2], 0.877 * (RGB[..., 0] - luminance), atol=2e-4)


def test_standardization():
    x = RGB * 3 + 1
    made = df.image.per_image_standardization(x).numpy()
    want = (x - x.mean((1, 2, 3), keepdims=True)) / x.std((1, 2, 3), keepdims=True)
    np.testing.assert_allclose(made, want, 1e-9, 1e-9)
    one = df.constant(BYTES[0])
    made = df.image.per_image_standardization(one)
    assert made.dtype is df.float32 and abs(made.numpy().std() - 1) < 1e-5
    assert df.image.per_image_standardization(df.ones([2, 2, 1])).numpy().tolist() == [
        [[0], [0]]] * 2


def test_random_changes_depend_on_their_keys():
    x = df.constant(RGB)
    for name, args in [("brightness", [0.5]), ("contrast", [0.2, 2]), ("saturation", [0.2, 2]),
                       ("hue", [0.4])]:
        drawn = getattr(df.image, f"stateless_random_{name}")
        first = drawn(x, *args, seed=SEED).numpy()
        assert first.tolist() == drawn(x, *args, seed=SEED).tolist()
        assert first.tolist() != drawn(x, *args, seed=[3, 5]).tolist()
        seeded = getattr(df.image, f"random_{name}")
        assert seeded(x, *args, seed=1).tolist() == seeded(x, *args, seed=1).tolist()
        assert seeded(x, *args).tolist() != seeded(x, *args).tolist()
        traced = df.function(lambda x, f=seeded, args=args: f(x, *args))
        assert traced(x).tolist() != traced(x).tolist()
    deltas = [(df.image.stateless_random_brightness(0., 0.5, [k, 0])).item() for k in range(200)]
    assert -0.5 <= min(deltas) < -0.4 and 0.4 < max(deltas) < 0.5


def test_random_flips():
    x = df.constant(np.arange(48.).reshape(4, 2, 3, 2))
    for name, axis in [("left_right", 2), ("up_down", 1)]:
        flip = getattr(df.image, f"stateless_random_flip_{name}")
        seen = set()
        for k in range(20):
            made = flip(x, [k, 1]).numpy()
            for before, after in zip(x.numpy(), made, strict=True):
                mirrored = np.flip(before, axis - 1)
                seen.add((after == mirrored).all())
                assert (after == mirrored).all() or (after == before).all()
        assert seen == {True, False}
        assert flip(x[0], SEED).shape == x[0].shape
        assert getattr(df.image, f"random_flip_{name}")(x, seed=2).shape == x.shape


def test_random_crops():
    x = np.arange(60).reshape(4, 5, 3)
    seen = set()
    crop = df.function(lambda key: df.image.stateless_random_crop(x, [3, 2, -1], key))
    for k in range(200):
        made = df.image.stateless_random_crop(x, [3, 2, 3], [k, 0]).numpy()
        first = made[0, 0, 0] // 3
        row, column = int(first // 5), int(first % 5)
        assert (made == x[row:row + 3, column:column + 2]).all()
        assert crop(df.constant([k, 0], df.int64)).tolist() == made.tolist()
        seen.add((row, column))
    assert seen == {(row, column) for row in range(2) for column in range(4)}
    assert df.image.random_crop(x, x.shape).tolist() == x.tolist()
    assert df.image.random_crop(x, [1, 1, 3], seed=5).tolist() == df.image.random_crop(
        x, [1, 1, 3], seed=5).tolist()

    @df.function(input_signature=[df.TensorSpec([None, None, 3])])
    def unknown(x):
        return df.image.random_crop(x, [2, 2, 3])

    assert unknown(df.ones([2, 6, 3])).shape == (2, 2, 3)
    with df.GradientTape() as tape:
        t = df.constant(x * 1.)
        tape.watch(t)
        y = df.image.random_crop(t, [2, 2, 3])
    assert df.reduce_sum(tape.gradient(y, t)).item() == 12


@pytest.mark.parametrize("height", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("width", [1, 4, 5, 6, 9])
def test_crop_or_pad(height, width):
    x = np.arange(1, 2 * 4 * 5 + 1).reshape(2, 4, 5, 1)
    got = df.image.resize_with_crop_or_pad(x, height, width).numpy()
    want = x
    for axis, n in ((1, height), (2, width)):
        have = want.shape[axis]
        if n <= have:
            want = np.take(want, np.arange(n) + (have - n) // 2, axis)
        else:
            before = (n - have) // 2
            want = np.pad(want, [(before, n - have - before) if a == axis else (0, 0)
                                 for a in range(4)])
    assert got.tolist() == want.tolist()
    assert df.image.resize_with_crop_or_pad(x[0], height, width).tolist() == want[0].tolist()

    @df.function(input_signature=[df.TensorSpec([None, None, None, 1], df.int64)])
    def unknown(x):
        return df.image.resize_with_crop_or_pad(x, height, width)

    assert unknown(df.constant(x, df.int64)).tolist() == want.tolist()


@pytest.mark.parametrize("call, error", [
    (lambda: df.image.adjust_contrast([1.], 1.), "at least|height"),
    (lambda: df.image.adjust_hue(RGB, 1.5), "delta is 1.5"),
    (lambda: df.image.adjust_hue(RGB[..., :2], 0.5), "expected 3 channels"),
    (lambda: df.image.adjust_gamma(RGB, -1), "gamma is -1"),
    (lambda: df.image.rgb_to_hsv(RGB[..., :2]), "expected 3 channels"),
    (lambda: df.image.random_hue(RGB, 0.75), "max_delta is 0.75, expected 0 to 0.5"),
    (lambda: df.image.random_brightness(RGB, -1), "max_delta is -1"),
    (lambda: df.image.random_contrast(RGB, 2, 1), "expected 0 <= lower < upper"),
    (lambda: df.image.random_saturation(RGB, -1, 1), "expected 0 <= lower < upper"),
    (lambda: df.image.random_crop(RGB, [1, 1]), "one int for each dimension"),
    (lambda: df.image.random_crop(RGB, [3, 1, 1, 1]), "at most the shape"),
    (lambda: df.image.resize_with_crop_or_pad(RGB, 0, 1), "at least 1 x 1"),
    (lambda: df.image.per_image_standardization([1.]), "height"),
])
def test_bad_arguments(call, error):
    with pytest.raises(df.errors.InvalidArgumentError, match=error):
        call()


def test_hsv_of_integers():
    with pytest.raises(df.errors.DTypeError, match="uint8, expected a floating dtype"):
        df.image.rgb_to_hsv(df.constant(BYTES))
