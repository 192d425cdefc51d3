"""Keras functions implemented by core ops: random values, bits, divisors, aligned sequences."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import ops, random


def since(name):
    """Skip a test of a function that older Keras versions lack."""
    return pytest.mark.skipif(not hasattr(ops, name), reason=f"this Keras has no {name}")


def test_distributions():
    gamma = random.gamma((20_000,), 2., seed=1).numpy()
    beta = random.beta((20_000,), 2., 3., seed=1).numpy()
    heads = random.binomial((20_000,), 10, 0.3, seed=1).numpy()
    assert abs(gamma.mean() - 2) < 0.05 and abs(gamma.var() - 2) < 0.15
    assert abs(beta.mean() - 0.4) < 0.01 and 0 < beta.min() < beta.max() < 1
    assert abs(heads.mean() - 3) < 0.05 and heads.max() <= 10
    np.testing.assert_array_equal(random.beta((20_000,), 2., 3., seed=1), beta)


@since("nextafter")
def test_divisors_nextafter_and_bits():
    a, b = np.array([12, 18, 0]), np.array([8, 27, 5])
    np.testing.assert_array_equal(ops.gcd(a, b), np.gcd(a, b))
    np.testing.assert_array_equal(ops.lcm(a, b), np.lcm(a, b))
    np.testing.assert_array_equal(ops.nextafter([1., -1.], [2., 0.]),
                                  np.nextafter(np.float32([1, -1]), np.float32([2, 0])))
    x = np.arange(8, dtype=np.uint8)
    for dtype in ("uint8", "int16", "uint32", "float32", "uint64"):
        assert ops.view(x, dtype).numpy().tobytes() == x.tobytes()
        assert ops.view(ops.view(x, dtype), "uint8").numpy().tolist() == x.tolist()
    with pytest.raises(ValueError, match="last dimension that 2 divides"):
        ops.view(x[:3], "int16")


def test_unsigned_integers_stay_unsigned():
    assert keras.backend.standardize_dtype(ops.sum(np.ones(3, "uint8")).dtype) == "uint32"
    assert keras.backend.standardize_dtype(
        ops.add(np.ones(2, "uint16"), np.ones(2, "uint8")).dtype) == "uint16"


def test_training_with_ctc_loss():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 6, 3)).astype("float32")
    labels = np.array([[1, 2], [2, 1], [1, 1], [2, 2]])
    model = keras.Sequential([keras.Input((6, 3)), keras.layers.Dense(3)])
    model.compile(keras.optimizers.Adam(0.1), keras.losses.CTC())
    losses = model.fit(x, labels, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0] * 0.7


UNIQUE = {"numbers": (np.array([3, 1, 2, 1, 3]), {}),
          "nothing": (np.zeros((0, 3), "float32"), {"axis": 0}),
          "NaNs": (np.array([1, np.nan, 0, np.nan, 1], "float32"), {}),
          "bools": (np.array([[True, True], [False, True]]), {}),
          "rows": (np.array([[1, 0], [0, 1], [1, 0], [0, 0]]), {"axis": 0}),
          "columns": (np.array([[[1, 2, 1]], [[0, 0, 0]]], "uint8"), {"axis": -1})}


@since("unique")
@pytest.mark.parametrize("name", UNIQUE)
def test_unique(name):
    x, options = UNIQUE[name]
    every = {"return_index": True, "return_inverse": True, "return_counts": True, **options}
    wanted = np.unique(x, equal_nan=False, **every)
    for run in (ops.unique, df.function(ops.unique)):
        for got, want in zip(run(df.constant(x), **every), wanted, strict=True):
            np.testing.assert_array_equal(got.numpy(), want)


@since("unique")
def test_unique_of_a_fixed_size():
    x = df.constant([3, 1, 2, 1])
    for run in (ops.unique, df.function(ops.unique)):
        got = run(x, size=5, fill_value=-1, return_index=True, return_counts=True)
        assert [part.tolist() for part in got] == [[1, 2, 3, -1, -1], [1, 2, 0, 1, 1],
                                                   [2, 1, 1, 0, 0]]
        assert run(x, size=2).tolist() == [1, 2]
        assert run(x, size=4).tolist() == [1, 2, 3, 1]


@since("segment_min")
def test_segments():
    data, ids = df.constant([1., 2., 3., 4.]), df.constant([0, 2, -1, 2])
    for op, want in ((ops.segment_sum, [1, 0, 6]), (ops.segment_max, [1, -np.inf, 4]),
                     (ops.segment_min, [1, np.inf, 2])):
        assert op(data, ids).tolist() == op(data, ids, 3).tolist() == want
    with pytest.raises(df.errors.OutOfRangeError, match="index < 2"):
        ops.segment_max(data, ids, 2)


@pytest.mark.parametrize("strategy", ["greedy", "beam_search"])
def test_ctc_decode(strategy):
    """Confident logits encode 1 1 0 1 2, then 2 2 0 and nothing within the length."""
    best = np.array([[1, 1, 0, 1, 2], [2, 2, 0, 1, 1]])
    logits = 9 * np.eye(3, dtype="float32")[best]
    for run in (ops.ctc_decode, df.function(ops.ctc_decode)):
        decoded, _ = run(df.constant(logits), df.constant([5, 3]), strategy=strategy)
        assert decoded.tolist() == [[[1, 1, 2, -1, -1], [2, -1, -1, -1, -1]]]
    with pytest.raises(ValueError, match="Invalid strategy"):
        ops.ctc_decode(logits, np.array([5, 3]), strategy="best")


ENDS = np.array([0., -0., 1., -3., 8., 1e30, np.inf, -np.inf, np.nan], "float32")


@pytest.mark.parametrize("name", ["signbit", "sign", "cbrt", "log2", "log10"])
@np.errstate(all="ignore")
def test_unary_functions_at_extreme_values(name):
    got, want = getattr(ops, name)(ENDS).numpy(), getattr(np, name)(ENDS)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    signed = ~np.isnan(want)            # the sign of a NaN depends on the CPU
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(want[signed]))


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2"])
@np.errstate(all="ignore")
def test_binary_functions_at_extreme_values(name):
    got, want = [getattr(m, name)(ENDS[:, None], ENDS) for m in (ops, np)]
    np.testing.assert_allclose(got.numpy(), want, rtol=3e-7, atol=1e-7)


def test_promotion_keeps_a_float64_default():
    x = np.full((3, 3), 1 / 3)
    functions = [lambda x: ops.matmul(x, x), lambda x: ops.add(x, x), lambda x: ops.mean(x, 0),
                 lambda x: ops.einsum("ij,jk->ik", x, x), ops.var, ops.exp]

    def dtypes(x):
        return {keras.backend.standardize_dtype(f(x).dtype) for f in functions}

    assert "float32" in dtypes(df.constant(x))
    keras.config.set_floatx("float64")
    try:
        assert dtypes(df.constant(x)) == {"float64"}
        assert dtypes(keras.KerasTensor(x.shape, "float64")) == {"float64"}
        np.testing.assert_allclose(ops.matmul(x, x), x @ x, rtol=1e-15)
        assert keras.backend.result_type("float32", "float64") == "float64"
        assert keras.backend.result_type("int64", "int32") == "int32"
    finally:
        keras.config.set_floatx("float32")
    assert keras.backend.result_type("float32", "float64") == "float32"


@pytest.mark.parametrize("run", [lambda f: f, df.function], ids=["eager", "traced"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_squareplus(dtype, run):
    x = np.array([-100, -1, 0, 1, 100], dtype)
    wide = x.astype("float64")
    got = run(ops.squareplus)(x, b=2)
    assert keras.backend.standardize_dtype(got.dtype) == dtype.replace("int32", "float32")
    np.testing.assert_allclose(got.numpy(), (wide + np.sqrt(wide * wide + 2)) / 2,
                               rtol=2e-3 if dtype == "float16" else 1e-6, atol=0.05)


@pytest.mark.parametrize("mode", [lambda f: f, df.function])
def test_numbers_that_begin_loops_and_leave_branches_become_floats(mode):
    """As in NumPy and JAX: 1 is an int32, and a float once it was multiplied by one."""
    ops = keras.ops

    def check(f, want, *args):
        found = mode(f)(*map(df.constant, args))
        assert [str(x.dtype) for x in keras.tree.flatten(found)] == [
            "int32" if isinstance(x, int) else "float32" for x in keras.tree.flatten(want)]
        np.testing.assert_allclose(keras.tree.flatten(found), keras.tree.flatten(want))

    check(lambda n: ops.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 1.5), (0, 1)),
          (3, 3.375), 3)
    check(lambda n: ops.while_loop(lambda x: x < n, lambda x: x + 0.5, 0), 3., 3)
    check(lambda n: ops.fori_loop(0, n, lambda i, x: x * 1.5, 1), 3.375, 3)
    check(lambda n: ops.fori_loop(0, n, lambda i, x: x * 3, 1), 27, 3)
    check(lambda x: ops.scan(lambda c, x: (c * 1.5 + x, c), 1, x)[0], 5.75, [1., 2.])
    check(lambda p, x: ops.cond(p, lambda: 1, lambda: 2.5) * x, 2., True, 2.)
    check(lambda p, x: ops.cond(p, lambda: x, lambda: 3) * x, 6., False, 2.)
    with pytest.raises(Exception, match="float32"):
        df.function(lambda p, x: ops.cond(p, lambda: x, lambda: ops.cast(x, "int32")))(
            df.constant(True), df.constant(1.))


@pytest.mark.parametrize("equation, a, b", [
    ("ab,bc->ac", (5, 7), (7, 3)), ("abc,cd->abd", (2, 5, 7), (7, 3)),
    ("abc,cde->abde", (2, 3, 4), (4, 5, 6)), ("abcd,cde->abe", (2, 3, 4, 5), (4, 5, 6)),
    ("aecd,abcd->acbe", (2, 3, 4, 5), (2, 6, 4, 5)), ("ab,cb->ca", (5, 7), (3, 7)),
    ("ab,ab->a", (5, 7), (5, 7)), ("a,b->ab", (5,), (7,)), ("ab,bc->c", (5, 7), (7, 3)),
    ("...b,bc->...c", (2, 5, 7), (7, 3)), ("ab,bc", (5, 7), (7, 3)), ("aab,bc->ac", (5, 5, 7),
                                                                       (7, 3))])
def test_einsum_of_int8_is_summed_in_int32(equation, a, b):
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-128, 128, shape).astype("int8") for shape in (a, b))
    expected = np.einsum(equation, a.astype("int64"), b.astype("int64"))
    for made in (ops.einsum(equation, a, b), df.function(lambda a: ops.einsum(equation, a, b))(a)):
        assert keras.backend.standardize_dtype(made.dtype) == "int32"
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("a, b", [((5, 7), (7, 3)), ((2, 5, 7), (7, 3)), ((7,), (7, 3)),
                                  ((2, 5, 7), (2, 7, 3)), ((7,), (7,))])
def test_product_of_int8_is_summed_in_int32(a, b):
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-128, 128, shape).astype("int8") for shape in (a, b))
    made = ops.matmul(a, b)
    assert keras.backend.standardize_dtype(made.dtype) == "int32"
    np.testing.assert_array_equal(made, a.astype("int64") @ b.astype("int64"))


@pytest.mark.parametrize("multiply", [ops.matmul, lambda a, b: ops.einsum("ab,bc->ac", a, b)])
def test_products_of_int8_are_not_widened(multiply):
    a, b = np.ones((2, 9), "int8"), df.constant(np.ones((9, 5), "int8"))
    graph = df.function(lambda a: multiply(a, b)).graph_for(a)
    assert [node.op.name for node in graph.nodes if node.inputs] == ["matmul_int32"]
