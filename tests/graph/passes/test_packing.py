"""An operand that several products read transposed is transposed once."""

import numpy as np

import dualflow as df
from dualflow.graph.passes import packing
from tests.graph.build import assert_same, is_block, ops, passed, traced, variable, x


def products(*flags):
    def f(w, *rows):
        return tuple(df.matmul(a, w, flag, True) for a, flag in zip(rows, flags, strict=True))
    return f


def test_three_readers():
    is_block("""
        %4 = transpose(%0, perm=(1, 0))
        %5 = matmul(%1, %4, transpose_a=False, transpose_b=False)
        %6 = matmul(%2, %4, transpose_a=True, transpose_b=False)
        %7 = matmul(%3, %4, transpose_a=False, transpose_b=False)
        return %5, %6, %7
    """, passed(packing, traced(products(False, True, False), x(65, 130), x(6, 130), x(130, 5),
                                x(2, 3, 130))))


def test_two_readers_vectors_or_many_rows_are_not_packed():
    for *rows, n in [(x(6, 7), x(6, 7), 5), (x(1, 7), x(1, 7), x(1, 7), 5),
                     (x(6, 7), x(6, 7), x(6, 7), 1), (x(300, 7), x(300, 7), x(300, 7), 5)]:
        graph = traced(products(*[False] * len(rows)), x(n, 7), *rows)
        assert ops(passed(packing, graph)) == ["matmul"] * len(rows)


def test_each_version_of_a_variable_is_packed():
    w = variable(40, 30, name="w")

    def f(a):
        found = [df.matmul(a, w, transpose_b=True) for _ in range(3)]
        w.assign(w * 2)
        return found + [df.matmul(a * 2, w, transpose_b=True) for _ in range(3)]

    after = passed(packing, traced(f, x(3, 30)))
    assert ops(after).count("transpose") == 2


def test_composed_recurrence_matches_eager():
    rng = np.random.default_rng(1)
    w, xs = (df.constant(rng.normal(size=s).astype("float32")) for s in ((24, 96), (5, 3, 24)))

    def gradients(w, xs):
        with df.GradientTape() as tape:
            tape.watch(w)
            h = df.zeros([3, 24])
            for x in df.unstack(xs, 5):
                i, f, g, o = df.split(df.matmul(x + h, w), 4, axis=1)
                h = df.sigmoid(o) * df.tanh(df.sigmoid(i) * df.tanh(g) + df.sigmoid(f) * h)
            loss = df.reduce_sum(h * h)
        return tape.gradient(loss, w)

    traced_ = df.function(gradients)
    assert traced_(w, xs).numpy().tobytes() == gradients(w, xs).numpy().tobytes()
    assert ops(traced_.graph_for(w, xs)).count("transpose") == 1


def looped(x, h, w, u):
    return df.scan(lambda h, r: (df.tanh(r @ w + df.matmul(h, u, transpose_b=True)), h), h, x)


def test_loop_invariant_operand_is_packed_before_the_loop():
    args = [df.random.normal(s, seed=k) for k, s in enumerate([(5, 3, 4), (3, 6), (4, 6), (6, 6)])]
    f = df.function(looped)
    graph = f.graph_for(*args)
    loop = next(node for node in graph.nodes if node.type == "loop")
    inside = [node.type for node in loop.bodies[0].nodes]
    assert [node.type for node in graph.nodes].count("pack_matrix") == 2
    assert "pack_matrix" not in inside
    assert sum(name.startswith("matmul_packed") for name in inside) == 2
    assert not {*graph.inputs[2:]} & {*loop.inputs}
    for got, want in zip(f(*args), looped(*args), strict=True):
        assert_same(got, want)


def test_carried_operand_is_not_packed_before_the_loop():
    def f(x, w):
        return df.scan(lambda w, r: (df.tanh(w * 2.), r @ w), w, x)[1]
    args = df.random.normal([5, 3, 4], seed=1), df.random.normal([4, 4], seed=2)
    assert "pack_matrix" not in df.function(f).graph_for(*args).text()
    assert_same(df.function(f)(*args), f(*args))


def test_variable_written_by_a_loop_is_not_packed_before_it():
    v, x = df.Variable(df.random.normal([4, 4], seed=2)), df.random.normal([5, 3, 4], seed=1)

    def f(x):
        def step(c, r):
            y = c + r @ v
            v.assign(v * .5)
            return y, y
        return df.scan(step, df.zeros([3, 4]), x)[1]
    traced, start = df.function(f), v.value()
    assert "pack_matrix" not in traced.graph_for(x).text()
    got = traced(x)
    v.assign(start)
    assert_same(got, f(x))
