"""Autocast: matrix products in 16 bits, in eager mode, in traces, and in their gradients."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError

HALVES = [df.bfloat16, df.float16]


def floats(*shape, seed=0):
    return df.constant(np.random.default_rng(seed).normal(size=shape) / 2, df.float32)


A, B, X = floats(5, 7), floats(7, 3, seed=1), floats(2, 6, 6, 4, seed=2)
Q = floats(2, 3, 8, 4, seed=3)
MASK = df.constant(np.triu(np.full((8, 8), -4.0), 1), df.float32)


def recurrent(layer, gates):
    def run(x, kernel, inner):
        return layer(x, kernel, inner)[0]

    return run, [floats(2, 5, 3), floats(3, 4 * gates, seed=1), floats(4, 4 * gates, seed=2)]


# Functions of float32 operands, all of which are cast.
LOWERED = {
    "matmul": (df.matmul, [A, B]),
    "transposed": (lambda a, b: df.matmul(b, a, transpose_a=True, transpose_b=True), [A, B]),
    "operator": (lambda a, b: a @ b, [A, B]),
    "vector": (lambda a, b: a @ b, [A, B[:, 0]]),
    "matvec": (df.linalg.matvec, [A, B[:, 0]]),
    "tensordot": (lambda a, b: df.tensordot(a, b, 1), [A, B]),
    "outer": (lambda a, b: df.tensordot(a, b, 0), [A, B]),
    "einsum": (lambda a, b: df.einsum("ij,jk->ki", a, b), [A, B]),
    "einsum of three": (lambda a, b, c: df.einsum("ij,jk,k->i", a, b, c), [A, B, B[0]]),
    "einsum without sum": (lambda a, b: df.einsum("ij,jk->ijk", a, b), [A, B]),
    "conv1d": (lambda x, w: df.nn.conv1d(x, w, 1, "SAME"), [X[0], floats(3, 4, 5)]),
    "conv2d": (lambda x, w: df.nn.conv2d(x, w, 1, "SAME"), [X, floats(3, 3, 4, 5)]),
    "conv3d": (lambda x, w: df.nn.conv3d(x, w, [1] * 5, "SAME"),
               [X[None], floats(1, 3, 3, 4, 5)]),
    "depthwise": (lambda x, w: df.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
                  [X, floats(3, 3, 4, 2)]),
    "separable": (lambda x, w, v: df.nn.separable_conv2d(x, w, v, [1] * 4, "SAME"),
                  [X, floats(3, 3, 4, 2), floats(1, 1, 8, 5)]),
    "conv2d_transpose": (lambda x, w: df.nn.conv2d_transpose(x, w, [2, 12, 12, 5], 2),
                         [X, floats(3, 3, 5, 4)]),
    "attention": (lambda q, k, v: df.nn.scaled_dot_product_attention(q, k, v, is_causal=True),
                  [Q, Q, Q]),
    "masked attention": (lambda q, k, v: df.nn.scaled_dot_product_attention(
        q, k, v, df.cast(MASK, q.dtype)), [Q, Q, Q]),
    "simple_rnn": recurrent(df.nn.simple_rnn, 1),
    "lstm": recurrent(df.nn.lstm, 4),
    "gru": recurrent(df.nn.gru, 3),
}


def bits(x):
    return np.asarray(x.numpy()).view(f"u{x.dtype.itemsize}")


def same(found, want):
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(bits(found), bits(want))


@pytest.mark.parametrize("name", LOWERED)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_operands_are_cast(name, dtype):
    f, operands = LOWERED[name]
    want = f(*[df.cast(x, dtype) for x in operands])
    assert want.dtype == dtype
    traced = df.function(f)
    with df.autocast(dtype):
        same(f(*operands), want)
        same(f(*map(df.Variable, operands)), want)
        same(traced(*operands), want)
    plain = f(*operands)
    same(traced(*operands), plain)
    assert plain.dtype == df.float32


@pytest.mark.parametrize("name", LOWERED)
def test_gradients_are_those_of_explicit_casts(name):
    f, operands = LOWERED[name]

    def loss(y):
        return df.reduce_sum(df.square(df.cast(y, df.float32)))

    def inside(variables):
        with df.GradientTape() as tape:
            with df.autocast():
                y = f(*variables)
            value = loss(y)
        return tape.gradient(value, variables)

    def around(variables):
        with df.autocast(), df.GradientTape() as tape:
            value = loss(f(*variables))
            return tape.gradient(value, variables)

    def explicit(variables):
        with df.GradientTape() as tape:
            value = loss(f(*[df.cast(v, df.bfloat16) for v in variables]))
        return tape.gradient(value, variables)

    variables = [df.Variable(x) for x in operands]
    want = explicit(variables)
    for g in (inside, around):
        for found in (g(variables), df.function(g)(variables)):
            for a, b in zip(found, want, strict=True):
                assert a.dtype == df.float32
                same(a, b)


@pytest.mark.parametrize("name", LOWERED)
def test_gradients_equal_finite_differences_at_16_bit_tolerance(name):
    f, operands = LOWERED[name]
    variables = [df.Variable(x) for x in operands]
    directions = [floats(*x.shape, seed=9 + k) for k, x in enumerate(operands)]
    with df.GradientTape() as tape, df.autocast():
        y = f(*variables)
        value = df.reduce_mean(df.square(df.cast(y, df.float32)))
    grads = tape.gradient(value, variables)
    slope = sum(df.reduce_sum(g * d).item() for g, d in zip(grads, directions, strict=True))

    def at(step):
        moved = [df.cast(x, df.float64) + step * df.cast(d, df.float64)
                 for x, d in zip(operands, directions, strict=True)]
        return df.reduce_mean(df.square(f(*moved))).item() if name != "masked attention" else (
            df.reduce_mean(df.square(df.nn.scaled_dot_product_attention(
                *moved, df.cast(MASK, df.float64)))).item())

    scale = sum(df.reduce_sum(df.abs(g * d)).item()
                for g, d in zip(grads, directions, strict=True))
    assert abs(slope - (at(1e-5) - at(-1e-5)) / 2e-5) < 0.02 * scale


def test_losses_compute_in_float32():
    logits = df.cast(A, df.bfloat16)
    labels = df.nn.softmax(logits)
    ids = df.constant([0, 1, 2, 3, 4])
    with df.autocast():
        for f, given in [
                (lambda x: df.nn.softmax_cross_entropy_with_logits(labels, x), logits),
                (lambda x: df.nn.sigmoid_cross_entropy_with_logits(labels, x), logits),
                (lambda x: df.nn.sparse_softmax_cross_entropy_with_logits(ids, x), logits),
                (lambda x: df.nn.ctc_loss([[1], [2]], x, [1, 1], [3, 3], logits_time_major=False,
                                          blank_index=0),
                 df.cast(floats(2, 3, 4), df.bfloat16))]:
            for g in (f, df.function(f)):
                assert g(given).dtype == df.float32
                assert g(df.cast(given, df.float64)).dtype == df.float64
    assert df.nn.softmax_cross_entropy_with_logits(labels, logits).dtype == df.bfloat16


def test_other_ops_and_dtypes_are_not_cast():
    half = df.cast(A, df.float16)
    with df.autocast():
        for f in (df.exp, df.nn.softmax, df.reduce_sum, lambda x: x + x, df.transpose,
                  lambda x: df.nn.moments(x, 1)[0], df.linalg.norm, lambda x: x * 2.0):
            assert f(A).dtype == df.float32
            assert f(half).dtype == df.float16
        assert (df.cast(A, df.float64) @ df.cast(B, df.float64)).dtype == df.float64
        assert (df.cast(A, df.float64) @ B).dtype == df.float64
        assert (half @ df.cast(B, df.float16)).dtype == df.float16
        assert (half @ B).dtype == df.bfloat16
        assert (df.cast(A, df.int32) @ df.cast(B, df.int32)).dtype == df.int32
        assert df.linalg.lstsq(B, floats(7, 1)).dtype == df.float32


def test_regions_nest_and_end():
    def now():
        return (A @ B).dtype

    with df.autocast():
        with df.autocast(df.float16):
            assert now() == df.float16
            with df.autocast(enabled=False):
                assert now() == df.float32
        assert now() == df.bfloat16
        with pytest.raises(ZeroDivisionError), df.autocast("float16"):
            assert 1 / 0
        assert now() == df.bfloat16
        with pytest.raises(df.errors.ShapeError):
            _ = A @ A
        assert now() == df.bfloat16
    assert now() == df.float32
    region = df.autocast()
    with region, df.autocast(enabled=False), region:
        assert now() == df.bfloat16
    assert now() == df.float32


def test_decorator():
    @df.autocast(df.float16)
    def product(a, b, times=1):
        """Doc."""
        for _ in range(times):
            y = a @ b
        return y

    assert product(A, B, times=2).dtype == df.float16
    assert product.__doc__ == "Doc." and (A @ B).dtype == df.float32
    assert df.function(product)(A, B).dtype == df.float16


def test_decorated_functions_are_converted():
    @df.function
    @df.autocast()
    def f(x, w):
        if df.reduce_sum(x) > 0:
            return x @ w
        y = x @ w
        return -y

    found = f(-df.abs(A), B)
    with df.autocast():
        same(found, -(-df.abs(A) @ B))
        same(f(df.abs(A), B), df.abs(A) @ B)


def test_threads_have_regions_of_their_own():
    found, entered, left = {}, threading.Barrier(2), threading.Barrier(2)

    def work(k, region):
        with region:
            entered.wait()
            found[k] = (A @ B).dtype
            left.wait()
        found[k, "after"] = (A @ B).dtype

    shared = df.autocast()
    for regions in ([df.autocast(), df.autocast(enabled=False)], [shared, shared]):
        threads = [threading.Thread(target=work, args=x) for x in enumerate(regions)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert found[0] == df.bfloat16
        assert found[1] == (df.bfloat16 if regions[1] is shared else df.float32)
        assert found[0, "after"] == found[1, "after"] == df.float32


def test_one_function_has_a_trace_for_each_region():
    @df.function
    def f(a, b):
        return df.nn.softmax(a @ b)

    for _ in range(4):
        assert f(A, B).dtype == df.float32
        with df.autocast():
            assert f(A, B).dtype == df.bfloat16
            with df.autocast(enabled=False):
                assert f(A, B).dtype == df.float32
        with df.autocast(df.float16):
            assert f(A, B).dtype == df.float16
            with df.GradientTape() as tape:
                tape.watch(A)
                assert f(A, B).dtype == df.float16
    assert f.experimental_get_tracing_count() == 3
    assert "autocast: None -> bfloat16" in f.trace_report()
    with df.autocast():
        assert f.get_concrete_function(A, B)(A, B).dtype == df.bfloat16
    concrete = f.get_concrete_function(A, B)
    with df.autocast():
        assert concrete(A, B).dtype == df.float32


def test_functions_called_by_functions():
    inner = df.function(lambda a, b: a @ b)
    concrete = inner.get_concrete_function(A, B)

    @df.function
    def outer(a, b):
        first = inner(a, b)
        with df.autocast():
            second, third = inner(a, b), concrete(a, b)
            with df.autocast(enabled=False):
                fourth = inner(a, b)
        return first, second, third, fourth, inner(a, b)

    found = outer(A, B)
    assert [x.dtype.name for x in found] == ["float32", "bfloat16", "float32", "float32",
                                             "float32"]


def test_control_flow():
    @df.function
    def f(x, w, n):
        with df.autocast():
            for _ in range(n):
                x = df.cast(x @ w, df.float32)
        i = df.constant(0)
        while i < n:
            with df.autocast(df.float16):
                y = x @ w
            x = df.tanh(df.cast(y, df.float32))
            i += 1
        if df.reduce_sum(x) > 1e9:
            with df.autocast():
                return x @ w
        return df.cast(x, df.bfloat16)

    w = floats(5, 5)
    x, steps = w, 3
    with df.autocast():
        for _ in range(steps):
            x = df.cast(x @ w, df.float32)
    with df.autocast("float16"):
        for _ in range(steps):
            x = df.tanh(df.cast(x @ w, df.float32))
    same(f(w, w, df.constant(steps)), df.cast(x, df.bfloat16))


def test_exceptions_in_a_trace_leave_the_region():
    @df.function
    def f(a):
        with df.autocast():
            return a @ a

    with pytest.raises(df.errors.ShapeError):
        f(A)
    assert (A @ B).dtype == df.float32


def test_a_trace_casts_a_weight_once():
    w = df.Variable(floats(7, 7))

    @df.function
    def f(x):
        with df.autocast():
            for _ in range(3):
                x = df.nn.relu(df.cast(x @ w, df.float32))
        return x

    nodes = f.compiled_for(A).graph.nodes
    assert [n.op.name for n in nodes].count("matmul_cluster") == 3
    assert len([n for n in nodes if n.outputs[0].shape == (7, 7)]) == 2     # the weight, the cast


def test_vmap():
    xs = floats(4, 5, 7)

    def f(x):
        with df.autocast(enabled=False):
            plain = x @ B
        return x @ B, plain

    with df.autocast():
        found = df.vmap(f)(xs)
        want = [df.stack(y) for y in zip(*[f(x) for x in df.unstack(xs)], strict=True)]
    for a, b in zip(found, want, strict=True):
        same(a, b)
    assert found[1].dtype == df.float32


@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_recomputed_gradients(wrap):
    @wrap
    def grads(f, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            with df.autocast():
                y = f(x)
            loss = df.reduce_sum(df.square(df.cast(y, df.float32)))
        return tape.gradient(loss, x)

    def f(x):
        return df.tanh(x @ B) @ df.transpose(B)

    same(grads(df.recompute_grad(f), A), grads(f, A))


def test_second_derivatives():
    def loss(x):
        with df.autocast():
            return df.reduce_sum(df.cast(df.tanh(x @ B), df.float32))

    found, = df.hvp(loss, (A,), (A,))
    want, = df.hvp(lambda x: df.reduce_sum(df.tanh(x @ B)), (A,), (A,))
    assert found.dtype == df.float32
    np.testing.assert_allclose(found.numpy(), want.numpy(), atol=0.05)


def test_callbacks_of_programs_are_outside():
    @df.function
    def f(x):
        with df.autocast():
            return df.py_function(lambda x: df.cast(x @ B, df.float32), [x], df.float32)

    want = A @ B
    with df.autocast():
        same(f(A), want)


def test_bad_dtypes():
    for dtype in ("float32", "int8", df.float64):
        with pytest.raises(DTypeError, match=r"autocast: dtype is .*expected bfloat16 or float16"):
            df.autocast(dtype)
    with pytest.raises(DTypeError):
        df.autocast(lambda x: x)
