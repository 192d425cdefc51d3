"""tf.image: TensorFlow 1's resizing, random changes per run, formats in graphs."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

X = np.random.default_rng(0).uniform(size=(2, 4, 5, 3)).astype("f4")
BYTES = (X[0] * 255).astype("u1")


def run(build, *args):
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(build(*map(tf.constant, args)))


def np_resize(x, size, align, nearest):
    for axis, n in zip((-3, -2), size, strict=True):
        m = x.shape[axis]
        at = np.arange(n) * ((m - 1) / (n - 1) if align and n > 1 else m / n)
        if nearest:
            x = np.take(x, np.minimum(np.floor(at + 0.5 * align), m - 1).astype(int), axis)
            continue
        low = np.minimum(np.floor(at), m - 1).astype(int)
        share = (at - low).reshape(-1, *[1] * (-1 - axis))
        x = np.take(x, low, axis) * (1 - share) + np.take(x, np.minimum(low + 1, m - 1),
                                                          axis) * share
    return x


@pytest.mark.parametrize("size", [(8, 3), (1, 1), (7, 11), (4, 2)])
@pytest.mark.parametrize("align", [False, True])
def test_resize_images(size, align):
    tools = tf.image
    for method, nearest in ((tools.ResizeMethod.BILINEAR, False),
                            (tools.ResizeMethod.NEAREST_NEIGHBOR, True)):
        got = run(lambda x, m=method: tools.resize_images(x, size, m, align), X)
        np.testing.assert_allclose(got, np_resize(X, size, align, nearest), 1e-5, 1e-6)
    assert run(lambda x: tools.resize_bilinear(x, size, align), X).shape == (2, *size, 3)
    assert run(lambda x: tools.resize_nearest_neighbor(x, size, align), BYTES[None]).dtype == "u1"


def test_methods_of_resizing():
    np.testing.assert_allclose(run(lambda x: tf.image.resize_images(x, [2, 5], 3), X),
                               (X[:, ::2] + X[:, 1::2]) / 2, rtol=1e-6)
    assert run(lambda x: tf.image.resize(x, [4, 5]), BYTES).dtype == "u1"    # unchanged
    with pytest.raises(df.errors.UnimplementedError):
        run(lambda x: tf.image.resize_images(x, [2, 2], tf.image.ResizeMethod.BICUBIC), X)
    with pytest.raises(df.errors.InvalidArgumentError, match="method is 9"):
        run(lambda x: tf.image.resize_images(x, [2, 2], 9), X)


@pytest.mark.parametrize("name, args", [
    ("adjust_brightness", (0.1,)), ("adjust_contrast", (2.,)), ("adjust_gamma", (2.,)),
    ("adjust_hue", (0.1,)), ("adjust_saturation", (2.,)), ("central_crop", (0.5,)),
    ("convert_image_dtype", ("uint8",)), ("crop_to_bounding_box", (1, 1, 2, 2)),
    ("flip_left_right", ()), ("flip_up_down", ()), ("pad_to_bounding_box", (1, 1, 9, 9)),
    ("per_image_standardization", ()), ("rgb_to_grayscale", ()), ("rgb_to_hsv", ()),
    ("hsv_to_rgb", ()), ("rot90", ()), ("sobel_edges", ()), ("total_variation", ())])
def test_functions_of_dualflow(name, args):
    got = run(lambda x: getattr(tf.image, name)(x, *args), X)
    assert got.tolist() == getattr(df.image, name)(X, *args).tolist()


def test_renamed_functions():
    got = run(lambda x: tf.image.resize_image_with_crop_or_pad(x, 2, 9), X)
    assert got.tolist() == df.image.resize_with_crop_or_pad(X, 2, 9).tolist()
    assert run(lambda x: tf.image.resize_image_with_pad(x, 8, 8), X).shape == (2, 8, 8, 3)
    assert run(tf.image.transpose_image, X).shape == (2, 5, 4, 3)
    assert run(tf.image.grayscale_to_rgb, X[..., :1]).shape == X.shape
    assert run(lambda x: tf.image.psnr(x, x + 0.5, 1.), X).shape == (2,)
    assert run(lambda x: tf.image.ssim(x, x, 1., 3), X).tolist() == [1, 1]
    assert run(lambda b: tf.image.non_max_suppression(b, [1.], 1), [[0., 0., 1., 1.]]) == [0]


@pytest.mark.parametrize("name, args", [
    ("random_brightness", (0.5,)), ("random_contrast", (0.2, 1.8)), ("random_hue", (0.3,)),
    ("random_saturation", (0.2, 1.8)), ("random_flip_left_right", ()),
    ("random_flip_up_down", ())])
def test_random_changes_in_each_run(name, args):
    function = getattr(tf.image, name)
    with tf.Graph().as_default():
        y, z = function(X, *args), function(X, *args, seed=3)
        again = function(X, *args, 3)
        with tf.Session() as sess, tf.Session() as other:
            assert len({sess.run(y).tobytes() for _ in range(20)}) > 1
            first = sess.run([z, again])
            assert first[0].tolist() == other.run(z).tolist() == first[1].tolist()


def test_formats():
    pytest.importorskip("PIL.Image")
    png = df.io.encode_png(BYTES).numpy()
    assert run(lambda x: tf.cast(tf.image.decode_png(png), tf.int32) + x, 1).tolist() == (
        BYTES.astype(int) + 1).tolist()
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.image.decode_image(tf.constant(png))).tolist() == BYTES.tolist()
        given = tf.placeholder(tf.string)
        assert sess.run(tf.image.decode_png(given, channels=3),
                        {given: png}).tolist() == BYTES.tolist()
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        made = sess.run(tf.image.encode_png(pixels), {pixels: BYTES})
        assert df.io.decode_png(made).tolist() == BYTES.tolist()
        jpeg = sess.run(tf.image.encode_jpeg(pixels, quality=90), {pixels: BYTES})
        assert sess.run(tf.image.decode_jpeg(given), {given: jpeg}).shape == (4, 5, 3)
    assert tf.image.decode_bmp and tf.image.decode_gif
