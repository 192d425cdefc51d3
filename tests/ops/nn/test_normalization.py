"""Normalizations beyond the rows of the table: random shapes, threads, invalid input, large means,
unknown batches."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from tests.ops import harness
from tests.ops.nn import batch_norm as channels, local_response, normalization as rows

FORMATS = ("NHWC", "NCHW")


def numbers(*shape, seed=0, mean=0.0):
    return np.random.default_rng(seed).normal(mean, 1, shape)


def with_gradients(f, arrays):
    """Return results of f, and the gradients of all arguments for random cotangents."""
    tensors = [df.constant(a) for a in arrays]
    with df.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    g = df.constant(numbers(*y.shape, seed=7).astype(arrays[0].dtype))
    return [v.numpy() for v in (y, *tape.gradient(y, tensors, output_gradients=g))], g.numpy()


def agree(got, want):
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * (1 + np.abs(b).max(initial=0)))


sizes = st.integers(1, 21)


@settings(max_examples=30)
@given(st.lists(sizes, min_size=1, max_size=3), st.integers(1, 3), st.integers(0, 9))
def test_rows_of_any_shape(shape, ndim, seed):
    ndim = min(ndim, len(shape))
    x, tail = numbers(*shape, seed=seed), shape[len(shape) - ndim:]
    scale, offset = numbers(*tail, seed=seed + 1), numbers(*tail, seed=seed + 2)
    axis = tuple(range(-ndim, 0))
    got, g = with_gradients(lambda *a: df.nn.layer_norm(*a, axis=axis, epsilon=.1),
                            [x, scale, offset])
    agree(got, [rows.layer_norm(x, scale, offset, .1, axis),
                *rows.layer_norm_grad(g, x, scale, ndim=ndim, epsilon=.1)])
    got, g = with_gradients(lambda *a: df.nn.rms_norm(*a, axis=axis, epsilon=.1), [x, scale])
    agree(got, [rows.rms_norm(x, scale, .1, axis),
                *rows.rms_norm_grad(g, x, scale, ndim=ndim, epsilon=.1)])
    got, g = with_gradients(lambda a: df.nn.l2_normalize(a, axis), [x])
    agree(got, [rows.l2_normalize(x, axis), rows.l2_normalize_grad(g, x, ndim=ndim)])


@settings(max_examples=30)
@given(sizes, st.lists(sizes, max_size=2), st.sampled_from((1, 2, 3, 5, 7, 13, 16, 31, 64, 67)),
       st.sampled_from(FORMATS), st.integers(0, 9))
def test_channels_of_any_shape(n, places, c, data_format, seed):
    first = data_format == "NCHW"
    shape = (n, c, *places) if first else (n, *places, c)
    x = numbers(*shape, seed=seed)
    scale, offset = numbers(c, seed=seed + 1), numbers(c, seed=seed + 2)
    got, g = with_gradients(
        lambda *a: df.nn.fused_batch_norm(*a, epsilon=.1, data_format=data_format)[0],
        [x, scale, offset])
    agree(got, [channels.fused_batch_norm(x, scale, offset, epsilon=.1, data_format=data_format)[0],
                *channels.fused_batch_norm_grad(g, x, scale, channels_first=first, epsilon=.1)])
    for groups in [k for k in (-1, 1, 2, 8) if c % k == 0]:
        got, g = with_gradients(
            lambda *a, k=groups: df.nn.group_norm(a[0], k, *a[1:], .1, data_format),
            [x, scale, offset])
        agree(got, [channels.group_norm(x, groups, scale, offset, .1, data_format),
                    *channels.group_norm_grad(g, x, scale, groups=groups, channels_first=first,
                                              epsilon=.1)])


BIG = {
    "layer_norm": (lambda *a: df.nn.layer_norm(*a), [(1000, 37), (37,), (37,)]),
    "layer_norm of long rows": (lambda *a: df.nn.layer_norm(*a), [(3, 50_001), (50_001,),
                                                                  (50_001,)]),
    "rms_norm": (lambda *a: df.nn.rms_norm(*a), [(700, 64), (64,)]),
    "l2_normalize": (df.nn.l2_normalize, [(400, 300)]),
    "softmax": (df.nn.softmax, [(300, 301)]),
    "softmax of columns": (lambda x: df.nn.softmax(x, 0), [(300, 301)]),
    "log_softmax": (df.nn.log_softmax, [(300, 301)]),
    "cross entropy": (lambda *a: df.nn.softmax_cross_entropy_with_logits(*a),
                      [(300, 301), (300, 301)]),
    "local response": (df.nn.local_response_normalization, [(4, 15, 15, 20)]),
    "few channels": (lambda *a: df.nn.fused_batch_norm(*a)[0], [(4, 99, 101, 3), (3,), (3,)]),
    "many channels": (lambda *a: df.nn.fused_batch_norm(*a)[0], [(500, 530), (530,), (530,)]),
    "channels first": (lambda *a: df.nn.fused_batch_norm(*a, data_format="NCHW")[0],
                       [(5, 7, 150, 151), (7,), (7,)]),
    "groups": (lambda *a: df.nn.group_norm(a[0], 4, *a[1:]), [(3, 77, 55, 12), (12,), (12,)]),
    "groups first": (lambda *a: df.nn.group_norm(a[0], 4, *a[1:], data_format="NCHW"),
                     [(3, 12, 77, 55), (12,), (12,)]),
}


@pytest.mark.parametrize("name", BIG)
def test_threads_give_the_same_bits(name):
    """Check forward and backward, also traced with an unknown batch."""
    f, shapes = BIG[name]
    arrays = [numbers(*s, seed=i).astype("f4") for i, s in enumerate(shapes)]
    with harness.threads(1):
        want = [a.tobytes() for a in with_gradients(f, arrays)[0]]
    for n in (2, 3, 8):
        with harness.threads(n):
            assert [a.tobytes() for a in with_gradients(f, arrays)[0]] == want, n
    unknown = [df.TensorSpec([None, *s[1:]] if i == 0 else s, df.float32)
               for i, s in enumerate(shapes)]
    if name == "cross entropy":
        unknown[1] = unknown[0]
    g = df.function(f, input_signature=unknown)
    assert [a.tobytes() for a in with_gradients(lambda *a: g(*a), arrays)[0]] == want


@pytest.mark.parametrize("dtype, mean, error", [("float32", 1e3, 2e-3), ("float64", 1e6, 1e-8)])
def test_values_with_a_large_mean(dtype, mean, error):
    """Two passes: the squares of the values do not enter the variance."""
    x = numbers(40, 7, 5, 6, mean=mean).astype(dtype)
    exact, one, zero = x.astype("f8"), np.ones(6), np.zeros(6)
    for got, want in [
            (df.nn.layer_norm(x, axis=(1, 2, 3)), rows.layer_norm(exact, axis=(1, 2, 3))),
            (df.nn.fused_batch_norm(x, one.astype(dtype), zero.astype(dtype))[0],
             channels.fused_batch_norm(exact, one, zero)[0]),
            (df.nn.group_norm(x, 2), channels.group_norm(exact, 2)),
            (df.nn.instance_norm(x, data_format="NCHW"),
             channels.instance_norm(exact, data_format="NCHW"))]:
        np.testing.assert_allclose(got.numpy(), want, atol=error)


def test_batch_norm_training_loop():
    """Moving averages match TensorFlow's, and are then used for inference."""
    x, mean, variance = numbers(3, 8, 4), np.zeros(4), np.ones(4)
    for batch in x:
        y, mean, variance = df.nn.fused_batch_norm(
            batch, np.ones(4), np.zeros(4), mean, variance, exponential_avg_factor=.1)
        assert abs(y.numpy().mean()) < 1e-12
    want_mean, want_variance = np.zeros(4), np.ones(4)
    for batch in x:
        want_mean = .9 * want_mean + .1 * batch.mean(0)
        want_variance = .9 * want_variance + .1 * batch.var(0, ddof=1)
    np.testing.assert_allclose(mean.numpy(), want_mean, rtol=1e-12)
    np.testing.assert_allclose(variance.numpy(), want_variance, rtol=1e-12)
    y, *same = df.nn.fused_batch_norm(x[0], np.ones(4), np.zeros(4), mean, variance,
                                      is_training=False)
    assert [s.numpy().tolist() for s in same] == [mean.numpy().tolist(), variance.numpy().tolist()]
    want = (x[0] - want_mean) / np.sqrt(want_variance + .001)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-12)


def test_moving_averages_have_no_gradient():
    x = df.constant(numbers(5, 3))
    with df.GradientTape() as tape:
        tape.watch(x)
        _, mean, variance = df.nn.fused_batch_norm(x, np.ones(3), np.zeros(3))
    with pytest.warns(df.errors.GradientWarning):
        assert tape.gradient([mean, variance], x) is None


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_reduced_precision_with_float32_moments(half):
    x, one, zero = df.cast(numbers(6, 4), half), df.ones([4]), df.zeros([4])
    y, mean, variance = df.nn.fused_batch_norm(x, one, zero)
    assert (y.dtype, mean.dtype, variance.dtype) == (half, "float32", "float32")
    wide = df.nn.fused_batch_norm(df.cast(x, "float32"), one, zero)[0]
    assert df.reduce_all(df.cast(wide, half) == y).numpy()
    assert df.nn.fused_batch_norm(x, one, zero, zero, one, is_training=False)[0].dtype == half


def test_variance_of_zero():
    x = df.constant(np.full((3, 4), 2.5, "f4"))
    assert not df.nn.layer_norm(x).numpy().any()
    assert not df.nn.group_norm(x, 2).numpy().any()
    assert not df.nn.fused_batch_norm(x, df.ones([4]), df.zeros([4]))[0].numpy().any()
    assert not df.nn.l2_normalize(np.zeros(3)).numpy().any()
    (_, d), _ = with_gradients(df.nn.l2_normalize, [np.zeros(3)])
    assert np.isfinite(d).all()


def test_infinities_and_nan_affect_only_their_rows():
    x = numbers(4, 5).astype("f4")
    x[1, 2], x[2, 0] = np.inf, np.nan
    for f in (df.nn.layer_norm, df.nn.rms_norm, lambda x: df.nn.l2_normalize(x, 1),
              lambda x: df.nn.instance_norm(x[:, :, None], data_format="NCW")):
        finite = np.isfinite(f(df.constant(x)).numpy().reshape(4, 5)).all(1)
        assert finite[[0, 3]].all() and not finite[2]


def test_no_elements():
    for shape in ((0, 4), (3, 0), (0, 2, 4), (2, 0, 4)):
        x, c = df.zeros(shape), shape[-1]
        scale, offset = df.ones([c]), df.zeros([c])
        for f in (df.nn.layer_norm, lambda *a: df.nn.group_norm(a[0], 1, *a[1:]),
                  lambda *a: df.nn.fused_batch_norm(*a)[0]):
            with df.GradientTape() as tape:
                tape.watch([x, scale, offset])
                y = f(x, scale, offset)
            assert y.shape == shape
            dx, *sums = tape.gradient(y, [x, scale, offset])
            assert dx.shape == shape
            assert all(s.shape == (c,) and not s.numpy().any() for s in sums)
        assert df.nn.rms_norm(x).shape == df.nn.l2_normalize(x).shape == shape
    assert np.isnan(df.nn.fused_batch_norm(df.zeros([0, 2]), [1., 1.], [0., 0.])[1].numpy()).all()
    x = df.zeros([0, 1, 2, 3])
    assert df.nn.local_response_normalization(x).shape == x.shape


X = np.ones((2, 3, 4), "f4")
ONES = np.ones(4, "f4")
REFUSED = [
    (lambda: df.nn.layer_norm(X, np.ones(3, "f4"), ONES),
     r"layer_norm: scale has shape \(3,\), expected \(4,\), the last of x's \(2, 3, 4\)"),
    (lambda: df.nn.layer_norm(X, ONES, np.ones(3, "f4")), r"layer_norm: offset has shape \(3,\)"),
    (lambda: df.nn.layer_norm(X, axis=3), r"layer_norm: axis 3 of 3 dimensions, expected -3 to 2"),
    (lambda: df.nn.layer_norm(X, axis=(1, -2)), r"layer_norm: axis is \(1, -2\), expected each"),
    (lambda: df.nn.layer_norm(X, axis="last"), r"layer_norm: axis is 'last', expected integers"),
    (lambda: df.nn.layer_norm(X.astype("i4")), r"layer_norm: input 0 is int32"),
    (lambda: df.nn.rms_norm(X, np.ones(5, "f4")), r"rms_norm: scale has shape \(5,\)"),
    (lambda: df.nn.l2_normalize(X, -4), r"l2_normalize: axis -4 of 3"),
    (lambda: df.nn.group_norm(X, 3), r"group_norm: 3 groups of 4 channels, expected a div"),
    (lambda: df.nn.group_norm(X, 0), r"group_norm: 0 groups"),
    (lambda: df.nn.group_norm(X, -2), r"group_norm: -2 groups"),
    (lambda: df.nn.group_norm(X, 2**40), r"group_norm: 1099511627776 groups"),
    (lambda: df.nn.group_norm(X, 1.5), r"group_norm: groups is 1.5, expected an integer"),
    (lambda: df.nn.group_norm(ONES, 1), r"group_norm: x has shape \(4,\), expected two dim"),
    (lambda: df.nn.group_norm(X, 2, data_format="CHWN"), r"group_norm: data_format is 'CHWN'"),
    (lambda: df.nn.instance_norm(X, ONES, data_format="NCW"),
     r"instance_norm: scale has shape \(4,\), expected \(3,\), a number per channel"),
    (lambda: df.nn.fused_batch_norm(X, ONES, np.ones((1, 4), "f4")),
     r"fused_batch_norm: offset has shape \(1, 4\), expected \(4,\)"),
    (lambda: df.nn.fused_batch_norm(X, ONES, ONES, is_training=False),
     r"fused_batch_norm: mean and variance are required"),
    (lambda: df.nn.fused_batch_norm(X, ONES, ONES, ONES, exponential_avg_factor=.5),
     r"fused_batch_norm: mean and variance are required"),
    (lambda: df.nn.fused_batch_norm(X, ONES, ONES, data_format=None), r"data_format is None"),
    (lambda: df.nn.local_response_normalization(X), r"expected 4 dimensions"),
    (lambda: df.nn.local_response_normalization(X[None], -1), r"depth_radius is -1"),
    (lambda: df.nn.softmax_cross_entropy_with_logits(X[0], X[0, :2]),
     r"softmax_cross_entropy: inputs are float32 \(3, 4\) and float32 \(2, 4\)"),
    (lambda: df.nn.softmax_cross_entropy_with_logits(X, X, axis=3), r"axis 3 of 3 dimensions"),
    (lambda: df.ops.nn.softmax.softmax_grad(X, X[0]), r"softmax_grad: inputs are"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=range(len(REFUSED)))
def test_bad_input(call, words):
    with pytest.raises(df.errors.DualflowError, match=words):
        call()
    with pytest.raises(df.errors.DualflowError, match=words):
        df.function(call)()


@pytest.mark.parametrize("op, n_in", [
    ("layer_norm", 2), ("layer_norm", 4), ("layer_norm_grad", 1), ("layer_norm_grad", 4),
    ("rms_norm", 3), ("rms_norm_grad", 4)])
@pytest.mark.parametrize("ndim", [1, -1, 2**62, -2**62])
def test_invalid_calls_of_row_ops_raise(op, n_in, ndim):
    with pytest.raises(df.errors.DualflowError, match=op):
        df._core.apply(op, *[df.constant(X)] * n_in, ndim=ndim, epsilon=0.0)


@pytest.mark.parametrize("op, n_in", [("group_norm", 2), ("group_norm", 4), ("group_norm_grad", 1),
                                      ("fused_batch_norm", 2), ("fused_batch_norm_grad", 4)])
def test_invalid_calls_of_channel_ops_raise(op, n_in):
    attrs = {"groups": 2} if op.startswith("group") else {}
    with pytest.raises(df.errors.DualflowError, match=op):
        df._core.apply(op, *[df.constant(X)] * n_in, channels_first=True, epsilon=0.0, **attrs)


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(0, 50), st.sampled_from((.5, .75, 1.0)))
def test_local_response_of_any_shape(c, radius, beta):
    x = numbers(1, 2, 2, c)
    attrs = {"depth_radius": radius, "bias": .5, "alpha": .3, "beta": beta}
    got, g = with_gradients(lambda a: df.nn.local_response_normalization(a, **attrs), [x])
    agree(got, [local_response.lrn(x, **attrs), local_response.lrn_grad(g, x, **attrs)])
