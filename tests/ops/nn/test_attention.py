"""Attention beyond the rows of the table: tile boundaries, masks that hide everything, dropout,
memory, threads, and invalid arguments."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import _core
from dualflow.errors import DTypeError, DualflowError, InvalidArgumentError, ShapeError
from dualflow.ops.nn import attention as ops
from tests.ops import harness
from tests.ops.nn.attention import attention, turned, weights

attend = df.nn.scaled_dot_product_attention
LENGTHS = st.sampled_from([0, 1, 2, 7, 31, 47, 48, 49, 97, 127, 128, 129, 257])
WIDTHS = st.sampled_from([0, 1, 3, 8, 16, 17, 33, 64, 70])
MASKS = {"none": None, "bool": bool, "float": float}


def draw(seed, batch, heads, groups, queries, keys, d, e, dtype="float32"):
    rng = np.random.default_rng(seed)
    shapes = ((batch, heads, queries, d), (batch, groups, keys, d), (batch, groups, keys, e))
    return [rng.uniform(-2, 2, s).astype(dtype) for s in shapes]


def draw_mask(seed, kind, shape):
    rng = np.random.default_rng(seed)
    return {"none": None, "bool": rng.random(shape) < 0.6, "float": rng.normal(size=shape)}[kind]


def grads_of(g, q, k, v, mask, causal):
    """Return gradients by NumPy in float64; several heads may share keys and values."""
    g, q, k, v = (x.astype("f8") for x in (g, q, k, v))
    p = weights(q, k, mask, causal)
    times = q.shape[1] // k.shape[1]
    k_all, v_all = np.repeat(k, times, 1), np.repeat(v, times, 1)
    dp = g @ np.swapaxes(v_all, -1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / max(q.shape[-1], 1) ** 0.5

    def shared(x):
        return x.reshape(*k.shape[:2], times, *x.shape[2:]).sum(2)

    return (ds @ k_all, shared(np.swapaxes(ds, -1, -2) @ q), shared(np.swapaxes(p, -1, -2) @ g))


def flow(q, k, v, g, **kwargs):
    """Return the result, and the gradients for the output cotangent `g`."""
    q, k, v = (df.constant(x) for x in (q, k, v))
    with df.GradientTape() as tape:
        tape.watch([q, k, v])
        y = attend(q, k, v, **kwargs)
    return [y, *tape.gradient(y, [q, k, v], output_gradients=df.constant(g))]


def near(got, want, limit):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=limit * (1 + np.abs(want).max(initial=0)))


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2), st.sampled_from([(1, 1), (2, 1), (4, 2), (3, 3)]), LENGTHS, LENGTHS,
       WIDTHS, WIDTHS, st.booleans(), st.sampled_from(sorted(MASKS)), st.booleans(), st.data())
def test_any_shape(batch, heads, queries, keys, d, e, causal, kind, inner, data):
    q, k, v = draw(queries + keys, batch, *heads, queries, keys, d, e)
    g = np.random.default_rng(1).uniform(-1, 1, (batch, heads[0], queries, e)).astype("f4")
    full = (batch, heads[0], queries, keys)
    kept = data.draw(st.integers(0, 4))
    shape = tuple(1 if data.draw(st.booleans()) else n for n in full)[4 - kept:]
    mask = draw_mask(3, kind, shape)
    form = "BTHD" if inner else "BHTD"
    got = flow(*(turned(x, form).copy() for x in (q, k, v, g)), attn_mask=mask, is_causal=causal,
               data_format=form)
    want = [attention(*(x.astype("f8") for x in (q, k, v)), mask, causal),
            *grads_of(g, q, k, v, mask, causal)]
    for x, w in zip(got, want, strict=True):
        near(turned(x.numpy(), form), w, 2e-5)


@pytest.mark.parametrize("dtype, limit", [("float32", 2e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch, heads, groups, queries, keys", [
    (1, 1, 1, 300, 700), (1, 4, 2, 521, 389), (3, 4, 4, 130, 131), (2, 4, 2, 1, 389)])
def test_many_tiles(batch, heads, groups, queries, keys, causal, dtype, limit):
    """Cover fewer heads than tasks, where keys are split into ranges, and more heads than tasks."""
    q, k, v = draw(0, batch, heads, groups, queries, keys, 20, 24, dtype)
    g = np.random.default_rng(1).uniform(-1, 1, (batch, heads, queries, 24)).astype(dtype)
    got = flow(q, k, v, g, is_causal=causal)
    want = [attention(*(x.astype("f8") for x in (q, k, v)), None, causal),
            *grads_of(g, q, k, v, None, causal)]
    for x, w in zip(got, want, strict=True):
        near(x.numpy(), w, limit)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("groups", [1, 2])
def test_threads(dtype, groups):
    q, k, v = (df.cast(x, dtype) for x in draw(0, 2, 4, groups, 301, 500, 24, 20))
    g = df.cast(np.random.default_rng(1).normal(size=(2, 4, 301, 20)), dtype)

    def bits(n):
        with harness.threads(n):
            return [df.cast(x, "float64").numpy().tobytes()
                    for x in flow(q, k, v, g, is_causal=True, dropout_p=0.2, seed=1)]

    one = bits(1)
    assert all(bits(n) == one for n in (2, 3, 8))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_reduced_precision_rounds_once(half):
    q, k, v = (df.cast(x, half) for x in draw(0, 1, 2, 1, 150, 300, 20, 24))
    got = attend(q, k, v, is_causal=True)
    want = attend(*(df.cast(x, "float32") for x in (q, k, v)), is_causal=True)
    assert got.dtype == half
    assert df.cast(got, "float32").tolist() == df.cast(df.cast(want, half), "float32").tolist()


@pytest.mark.parametrize("half, unit", [("float16", 2**-11), ("bfloat16", 2**-8)])
def test_gradients_of_reduced_precision_are_accurate(half, unit):
    """A query with one visible key has gradient zero, however its result was rounded."""
    q, k, v = (df.cast(x, half) for x in draw(0, 1, 2, 2, 60, 60, 16, 16))
    g = df.cast(np.random.default_rng(1).normal(size=(1, 2, 60, 16)), half)
    got = flow(q, k, v, g, is_causal=True)[1:]
    want = flow(*(df.cast(x, "float32") for x in (q, k, v, g)), is_causal=True)[1:]
    for x, w in zip(got, want, strict=True):
        near(df.cast(x, "float64").numpy(), w.numpy(), unit)
    assert np.abs(df.cast(got[0], "float64").numpy()[:, :, 0]).max() < 1e-3 * unit ** 0.5


# --- masks ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("hide", ["bool", "float", "rows"])
def test_queries_without_visible_keys_give_zeros(hide):
    q, k, v = draw(0, 1, 2, 2, 60, 140, 16, 16)
    mask = np.ones((60, 140), bool)
    mask[[3, 50]] = False
    if hide == "float":
        mask = np.where(mask, 0, -np.inf)
    if hide == "rows":
        mask = mask[:, :1]
    y, dq, dk, dv = (x.numpy() for x in flow(q, k, v, np.ones((1, 2, 60, 16), "f4"),
                                             attn_mask=mask))
    assert not y[:, :, [3, 50]].any() and not dq[:, :, [3, 50]].any()
    for x in (y, dq, dk, dv):
        assert np.isfinite(x).all()
    others = np.delete(q, [3, 50], axis=2)
    near(np.delete(y, [3, 50], axis=2), attend(others, k, v).numpy(), 1e-6)
    want = flow(others, k, v, np.ones((1, 2, 58, 16), "f4"))[2:]
    for x, w in zip((dk, dv), want, strict=True):
        near(x, w.numpy(), 1e-6)


def test_second_order_for_a_query_without_visible_keys():
    q, k, v = (df.constant(x.astype("f8")) for x in draw(0, 1, 1, 1, 3, 4, 2, 2))
    for mask in (np.array([[True], [False], [True]]), np.array([[0.0], [-np.inf], [1.0]])):
        with df.GradientTape() as outer:
            outer.watch(q)
            with df.GradientTape() as tape:
                tape.watch(q)
                y = df.reduce_sum(df.square(attend(q, k, v, mask)))
            first = tape.gradient(y, q)
        second = outer.gradient(first, q).numpy()
        assert np.isfinite(second).all() and not second[0, 0, 1].any() and second[0, 0, 0].any()


def test_very_negative_mask_values_hide_keys():
    """A mask value of -1e9 makes a weight exactly 0; the same value on all keys of a query changes
    nothing."""
    q, k, v = draw(0, 1, 1, 1, 5, 200, 8, 8)
    seen = np.arange(200) < 70
    low = np.where(seen, 0, -1e9)
    assert attend(q, k, v, low).tolist() == attend(q, k, v, seen).tolist()
    near(attend(q, k, v, np.full(200, -50.0)).numpy(), attend(q, k, v).numpy(), 1e-5)


def test_large_scores_do_not_overflow():
    q, k, v = draw(0, 1, 1, 1, 50, 300, 8, 8)
    y = attend(q * 1e6, k, v).numpy()
    best = np.argmax(q.astype("f8") @ np.swapaxes(k.astype("f8"), -1, -2), -1)
    near(y[0, 0], v[0, 0][best[0, 0]], 1e-6)


def test_nan_keys_affect_only_queries_that_see_them():
    q, k, v = draw(0, 1, 1, 1, 140, 140, 8, 8)
    k[0, 0, 130] = np.nan
    y = attend(q, k, v, is_causal=True).numpy()[0, 0]
    assert np.isfinite(y[:96]).all() and np.isnan(y[130:]).all()


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_masks_of_any_floating_dtype(kind):
    q, k, v = draw(0, 2, 2, 2, 9, 130, 8, 8)
    mask = df.cast(np.random.default_rng(1).integers(-2, 3, (2, 1, 9, 130)), kind)
    want = attend(q, k, v, df.cast(mask, "float32"))
    assert attend(q, k, v, mask).tolist() == want.tolist()
    with df.GradientTape() as tape:
        tape.watch(mask)
        y = attend(q, k, v, mask)
    assert tape.gradient(y, mask).dtype == kind


# --- dropout --------------------------------------------------------------------------------------

def plain(q, k, v, drawn, rate, causal):
    """Compute attention with composed ops, using the kernel's random numbers."""
    scores = df.matmul(q, k, transpose_b=True) / float(q.shape[-1]) ** 0.5
    if causal:
        scores = scores + np.where(np.tri(*scores.shape[-2:]), 0, -np.inf)
    p = df.nn.softmax(scores)
    return df.matmul(p * ops._dropout_mask(p, drawn, rate), v)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("causal", [False, True])
def test_gradient_uses_the_dropout_of_the_forward_pass(causal, dtype):
    arrays = draw(0, 2, 2, 2, 101, 203, 16, 8, dtype)
    g = np.random.default_rng(1).normal(size=(2, 2, 101, 8)).astype(dtype)
    got = flow(*arrays, g, dropout_p=0.3, seed=5, is_causal=causal)
    key = df.random.Generator(5).next_key()
    q, k, v = (df.constant(x) for x in arrays)
    with df.GradientTape() as tape:
        tape.watch([q, k, v])
        y = plain(q, k, v, key, 0.3, causal)
    want = [y, *tape.gradient(y, [q, k, v], output_gradients=df.constant(g))]
    for x, w in zip(got, want, strict=True):
        near(x.numpy(), w.numpy(), 5e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("n", [5, 64])       # 64 is a multiple of the generator's block
def test_second_order_with_dropout(n):
    q, k, v = (df.constant(x) for x in draw(0, 1, 2, 2, 3, n, 4, 4, "float64"))

    def second(f):
        with df.GradientTape() as outer:
            outer.watch([q, k, v])
            with df.GradientTape() as tape:
                tape.watch([q, k, v])
                y = df.reduce_sum(df.square(f(q, k, v)))
            first = tape.gradient(y, [q, k, v])
            total = df.add_n([df.reduce_sum(df.sin(x)) for x in first])
        return outer.gradient(total, [q, k, v])

    key = df.random.Generator(5).next_key()
    got = second(lambda q, k, v: attend(q, k, v, dropout_p=0.4, seed=5))
    want = second(lambda q, k, v: plain(q, k, v, key, 0.4, False))
    for x, w in zip(got, want, strict=True):
        near(x.numpy(), w.numpy(), 1e-12)


def test_dropout_rate():
    ones = np.ones((1, 1, 300, 1), "f4")
    eye = np.eye(300, dtype="f4")[None, None]
    y = attend(ones, ones, eye, dropout_p=0.25).numpy() * 300
    assert abs((y == 0).mean() - 0.25) < 0.01
    np.testing.assert_allclose(y[y != 0], 1 / 0.75, rtol=1e-6)


def test_dropout_in_a_graph():
    """Each call draws new numbers, with the bits of eager mode."""
    q, k, v = draw(0, 1, 2, 2, 20, 40, 8, 8)
    g = np.ones((1, 2, 20, 8), "f4")

    def step(q, k, v):
        return flow(q, k, v, g, dropout_p=0.5)

    traced = df.function(step)
    runs = []
    for f in (step, traced):
        df.random.set_seed(3)
        runs.append([[x.numpy().tobytes() for x in f(*map(df.constant, (q, k, v)))]
                     for _ in range(3)])
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]


# --- graphs and memory ----------------------------------------------------------------------------

def test_unknown_sizes():
    """One trace serves any batch and length, with gradients to order 2, and dropout."""
    spec = [df.TensorSpec((None, 2, None, None), "float64")] * 3

    @df.function(input_signature=spec)
    def traced(q, k, v):
        return both(q, k, v)

    def both(q, k, v):
        with df.GradientTape() as outer:
            outer.watch([q, k, v])
            with df.GradientTape() as tape:
                tape.watch([q, k, v])
                y = attend(q, k, v, is_causal=True, dropout_p=0.3, seed=1)
            first = tape.gradient(y, [q, k, v])
        return [y, *first, *outer.gradient(first, [q, k, v])]

    for shape in ((1, 2, 2, 3, 5, 4, 4), (2, 2, 2, 130, 40, 8, 3)):
        tensors = [df.constant(x) for x in draw(0, *shape, "float64")]
        for x, w in zip(traced(*tensors), both(*tensors), strict=True):
            near(x.numpy(), w.numpy(), 1e-12)


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_not_quadratic_in_the_length():
    n = 2048
    q, k, v = draw(0, 1, 1, 1, n, n, 16, 16)
    g = np.ones_like(q)
    flow(q, k, v, g)
    _core.reset_peak_memory()
    before = _core.memory_stats()["peak"]
    flow(q, k, v, g, is_causal=True, attn_mask=np.ones(n, bool))
    grown = _core.memory_stats()["peak"] - before
    assert 0 < grown < n * n        # bytes; the scores alone would take 4 n^2


# --- invalid arguments ----------------------------------------------------------------------------

def zeros(*shapes):
    return [np.zeros(s, "f4") for s in shapes]


@pytest.mark.parametrize("shapes, words", [
    (((2, 3, 4),) * 3, "expected 4 dimensions of each: batch, heads, length, width"),
    (((2, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), "the same batch size"),
    (((1, 1, 3, 4), (1, 1, 3, 5), (1, 1, 3, 5)), "query and key of the same width"),
    (((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 2, 4)), "key and value of the same length"),
    (((1, 2, 3, 4), (1, 2, 3, 4), (1, 1, 3, 4)), "key and value of the same number of heads"),
    (((1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)), "heads that are a multiple of the key"),
    (((1, 3, 3, 4), (1, 0, 3, 4), (1, 0, 3, 4)), "heads that are a multiple of the key"),
])
def test_incompatible_shapes_raise(shapes, words):
    with pytest.raises(ShapeError, match=f"^scaled_dot_product_attention: query has .*{words}"):
        attend(*zeros(*shapes))


@pytest.mark.parametrize("shape", [(3,), (5, 1), (3, 1, 5), (1, 1, 1, 4, 5), (2, 1, 1, 1, 1)])
def test_incompatible_masks_raise(shape):
    q, k, v = zeros((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    with pytest.raises(ShapeError, match=r"the mask has shape .*\(batch, heads, queries, keys\) = "
                                         r"\(1, 2, 4, 5\)"):
        attend(q, k, v, np.ones(shape, bool))


def test_invalid_arguments_raise():
    q, k, v = zeros((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    with pytest.raises(DTypeError, match=r"attn_mask is int64 .*expected bool"):
        attend(q, k, v, np.ones(5, "i8"))
    for rate in (-0.1, 1, float("nan")):
        with pytest.raises(InvalidArgumentError, match="dropout_p is"):
            attend(q, k, v, dropout_p=rate)
    for scale in (float("inf"), float("nan")):
        with pytest.raises(InvalidArgumentError, match="scale is"):
            attend(q, k, v, scale=scale)
    with pytest.raises(InvalidArgumentError, match="data_format is 'NHWC'"):
        attend(q, k, v, data_format="NHWC")
    with pytest.raises(DTypeError, match="input 0 is int32"):
        attend(*(x.astype("i4") for x in (q, k, v)))
    with pytest.raises(ShapeError, match="batch, length, heads, width"):
        attend(q[0], k, v, data_format="BTHD")


ATTRS = {"is_causal": False, "scale": 1.0, "over_root": True, "rate": 0.0, "heads_inner": False}


@pytest.mark.parametrize("name, bad", [("rate", 1.0), ("rate", -1e300), ("rate", float("nan")),
                                       ("scale", float("inf"))])
def test_invalid_attributes_raise(name, bad):
    q, k, v = zeros((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    with pytest.raises(InvalidArgumentError):
        _core.apply("scaled_dot_product_attention", q, k, v, True, ops.NO_KEY,
                    **{**ATTRS, name: bad})


@pytest.mark.parametrize("key", [0, [0], [0, 0, 0], [[0, 0]], [0.0, 0.0]])
def test_invalid_random_keys_raise(key):
    q, k, v = zeros((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    with pytest.raises(DualflowError, match="the random key is"):
        _core.apply("scaled_dot_product_attention", q, k, v, True, df.constant(key), **ATTRS)


@pytest.mark.parametrize("changed", ["out", "rest", "lse", "g"])
def test_invalid_operands_of_the_gradient_op_raise(changed):
    """The gradient op rejects values that the forward op cannot have produced."""
    q, k, v = zeros((1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    made = _core.apply("scaled_dot_product_attention", q, k, v, True, ops.NO_KEY, **ATTRS)
    saved = dict(zip(("out", "rest", "lse", "g"), (*made, made[0]), strict=True))
    for bad in (df.zeros([3]), df.zeros([1, 2, 4, 9]), df.cast(saved[changed], "float64")):
        with pytest.raises(ShapeError, match=f"scaled_dot_product_attention_grad: {changed} is "):
            _core.apply("scaled_dot_product_attention_grad", q, k, v, True, ops.NO_KEY,
                        *{**saved, changed: bad}.values(), **ATTRS)


def test_huge_shapes_without_elements():
    """The call takes no time, although there are many heads."""
    huge = df.zeros([2**28, 2**28, 0, 8])
    assert [x.shape for x in flow(huge, huge, huge, huge)] == [huge.shape] * 4
    none, some = df.zeros([4, 0, 3, 8]), df.ones([4, 2, 3, 8])
    assert not flow(none, some, some, none)[2].numpy().any()
