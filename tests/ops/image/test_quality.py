"""Differences of images, edges and selected boxes against formulas in NumPy."""

import math

import numpy as np
import pytest

import dualflow as df

RNG = np.random.default_rng(0)
A, B = RNG.uniform(size=(2, 2, 14, 17, 3))
BYTES = [(x * 255).astype("u1") for x in (A, B)]


def np_psnr(a, b, top):
    return 10 * np.log10(top**2 / ((a - b) ** 2).mean((-3, -2, -1)))


def np_ssim(a, b, top, size=11, sigma=1.5, k1=0.01, k2=0.03):
    """Return the similarity of each window and channel, window by window."""
    at = np.arange(size) - (size - 1) / 2
    w = np.exp(-(at[:, None] ** 2 + at ** 2) / (2 * sigma**2))
    w = (w / w.sum())[..., None]
    n, height, width, channels = a.shape
    made = np.empty((n, height - size + 1, width - size + 1, channels))
    for i, y, x in np.ndindex(made.shape[:3]):
        p, q = (t[i, y:y + size, x:x + size] for t in (a, b))
        mp, mq = (w * p).sum((0, 1)), (w * q).sum((0, 1))
        vp, vq = (w * (p - mp) ** 2).sum((0, 1)), (w * (q - mq) ** 2).sum((0, 1))
        both = (w * (p - mp) * (q - mq)).sum((0, 1))
        c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
        made[i, y, x] = (2 * mp * mq + c1) * (2 * both + c2) / (
            (mp**2 + mq**2 + c1) * (vp + vq + c2))
    return made


def np_nms(boxes, scores, limit, iou=0.5, least=-np.inf):
    chosen = []
    ends = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]),
                           np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
    for k in sorted(range(len(scores)), key=lambda k: -scores[k]):
        def overlap(j, k=k):
            sides = np.minimum(ends[k, 2:], ends[j, 2:]) - np.maximum(ends[k, :2], ends[j, :2])
            common = np.maximum(sides, 0).prod()
            areas = [(ends[i, 2:] - ends[i, :2]).prod() for i in (j, k)]
            return common / (sum(areas) - common) if min(areas) > 0 else 0
        if scores[k] > least and len(chosen) < limit and all(overlap(j) <= iou for j in chosen):
            chosen.append(k)
    return chosen


def same_when_traced(f, *args):
    got = f(*args)
    assert df.function(f)(*map(df.constant, args)).numpy().tobytes() == got.numpy().tobytes()
    return got.numpy()


@pytest.mark.parametrize("dtype, close", [("float64", 1e-10), ("float32", 1e-4),
                                          ("float16", 1e-2)])
def test_psnr_and_ssim(dtype, close):
    a, b = A.astype(dtype), B.astype(dtype)
    wide = [x.astype("f8") for x in (a, b)]
    made = same_when_traced(lambda a, b: df.image.psnr(a, b, 1.0), a, b)
    np.testing.assert_allclose(made, np_psnr(*wide, 1), close)
    made = same_when_traced(lambda a, b: df.image.ssim(a, b, 1.0), a, b)
    np.testing.assert_allclose(made, np_ssim(*wide, 1).mean((1, 2, 3)), close, 1e-5)
    made = df.image.ssim(a, b, 1.0, 5, 0.8, 0.02, 0.05, return_index_map=True).numpy()
    np.testing.assert_allclose(made, np_ssim(*wide, 1, 5, 0.8, 0.02, 0.05).mean(3), close, 1e-4)


def test_psnr_and_ssim_of_bytes():
    a, b = (x.astype("f8") for x in BYTES)
    made = same_when_traced(lambda a, b: df.image.psnr(a, b, 255), *BYTES)
    np.testing.assert_allclose(made, np_psnr(a, b, 255), 1e-5)
    made = same_when_traced(lambda a, b: df.image.ssim(a, b, 255), *BYTES)
    np.testing.assert_allclose(made, np_ssim(a, b, 255).mean((1, 2, 3)), 1e-4)
    assert df.image.psnr(*[df.constant(BYTES[0])] * 2, 255).tolist() == [math.inf] * 2
    assert df.image.ssim(A[0], A[0], 1.0).shape == ()


def test_total_variation():
    want = [abs(np.diff(x, axis=0)).sum() + abs(np.diff(x, axis=1)).sum() for x in A]
    np.testing.assert_allclose(same_when_traced(df.image.total_variation, A), want)
    np.testing.assert_allclose(df.image.total_variation(A[0]).item(), want[0])
    bytes_ = BYTES[0].astype(int)
    assert df.image.total_variation(BYTES[0][0]).item() == (
        abs(np.diff(bytes_[0], axis=0)).sum() + abs(np.diff(bytes_[0], axis=1)).sum())


def test_edges():
    dy, dx = df.image.image_gradients(A)
    np.testing.assert_allclose(dy.numpy(), np.diff(A, axis=1, append=A[:, -1:]))
    np.testing.assert_allclose(dx.numpy(), np.diff(A, axis=2, append=A[:, :, -1:]))
    around = np.pad(A, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    sums = around[:, :, :-2] + 2 * around[:, :, 1:-1] + around[:, :, 2:]
    down = sums[:, 2:] - sums[:, :-2]
    sums = around[:, :-2] + 2 * around[:, 1:-1] + around[:, 2:]
    right = sums[:, :, 2:] - sums[:, :, :-2]
    np.testing.assert_allclose(same_when_traced(df.image.sobel_edges, A),
                               np.stack([down, right], -1), atol=1e-12)
    assert df.image.sobel_edges(BYTES[0]).dtype is df.float32


@pytest.mark.parametrize("f", [
    lambda x: df.image.psnr(x, B, 1.0), lambda x: df.image.ssim(x, B, 1.0),
    df.image.total_variation, df.image.sobel_edges, lambda x: df.image.image_gradients(x)[1]])
def test_gradients(f):
    x, direction = df.constant(A), RNG.normal(size=A.shape)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_sum(df.sin(f(x)))
    ends = [df.reduce_sum(df.sin(f(A + s * direction))).item() for s in (1e-6, -1e-6)]
    np.testing.assert_allclose((tape.gradient(y, x).numpy() * direction).sum(),
                               (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("iou, least", [(0.5, -math.inf), (0.2, 0.3), (0.0, -1.0), (1.0, 0.5)])
@pytest.mark.parametrize("limit", [0, 1, 5, 100])
def test_selected_boxes(n, iou, least, limit):
    boxes = RNG.uniform(size=(n, 4)).astype("f4")
    scores = (RNG.integers(0, 8, n) / 8).astype("f4")      # with equal scores
    want = np_nms(boxes.astype("f8"), scores, limit, iou, least)
    made = same_when_traced(
        lambda b, s: df.image.non_max_suppression(b, s, limit, iou, least), boxes, scores)
    assert made.dtype == np.int32 and made.tolist() == want


def test_boxes_of_unknown_number():
    @df.function(input_signature=[df.TensorSpec([None, 4]), df.TensorSpec([None]),
                                  df.TensorSpec([], df.int32)])
    def select(boxes, scores, limit):
        return df.image.non_max_suppression(boxes, scores, limit)

    boxes, scores = RNG.uniform(size=(20, 4)).astype("f4"), RNG.uniform(size=20).astype("f4")
    for limit in (0, 3, 50):
        assert select(boxes, scores, limit).tolist() == np_nms(boxes, scores, limit)
    assert select(boxes[:0], scores[:0], 3).tolist() == []


def test_special_boxes():
    boxes = [[0., 0., 1., 1.], [0., 0., 1., 1.], [1., 1., 0., 0.], [0.5, 0.5, 0.5, 0.5]]
    select = df.image.non_max_suppression
    assert select(boxes, [1., 2., 3., 4.], 4).tolist() == [3, 2]        # mirrored; without area
    assert select(boxes, [math.nan, 2., -math.inf, 4.], 4).tolist() == [3, 1]
    assert select(df.zeros([0, 4]), df.zeros([0]), 4).tolist() == []


@pytest.mark.parametrize("call, error", [
    (lambda: df.image.psnr(A, B[:, 1:], 1.0), "the last three equal"),
    (lambda: df.image.psnr(A, BYTES[0], 1.0), "expected one dtype"),
    (lambda: df.image.ssim(A, B, 1.0, filter_size=0), "filter_size is 0"),
    (lambda: df.image.ssim(A, B, 1.0, filter_size=15), "filter"),
    (lambda: df.image.sobel_edges(A[0]), "expected \\(batch"),
    (lambda: df.image.image_gradients(A[0]), "expected \\(batch"),
    (lambda: df.image.total_variation(A[0, 0]), "or one image"),
    (lambda: df.image.non_max_suppression([[1.]], [1.], 1), "expected \\(n, 4\\)"),
    (lambda: df.image.non_max_suppression(df.ones([1, 4]), [1.], -1), "max_output_size is -1"),
    (lambda: df.image.non_max_suppression(df.ones([1, 4]), [1.], 1, 1.5), "threshold 1.5"),
])
def test_bad_arguments(call, error):
    with pytest.raises(df.errors.InvalidArgumentError, match=error):
        call()
