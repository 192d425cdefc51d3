"""Clusters: which nodes are fused and which are not; fusion changes no bit."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dualflow as df
from dualflow.graph.passes import assign, cluster, cse, dead_code, versions
from tests.graph.build import is_block, lines, ops, passed, traced, variable, x


def fused(f, *parameters, exact=True):
    return passed(cluster, traced(f, *parameters), exact)


def test_composed_gelu_is_one_cluster():
    is_block("""
        %1 = constant(0.5)
        %2 = constant(1.4142135)
        %3 = constant(1.0)
        %4 = cluster(%1, %0, %2, %3, shape=(4, 3), {$4 = multiply($0, $1); $5 = divide($1, $2); \
$6 = erf($5); $7 = add($3, $6); $8 = multiply($4, $7); return $8})
        return %4
    """, fused(lambda a: 0.5 * a * (1 + df.math.erf(a / math.sqrt(2.0))), x(4, 3)))


def test_sums_become_chains_of_additions():
    is_block("""
        %1 = cluster(%0, shape=(4, 3), {$1 = exp($0); $2 = exp($0); $3 = add($0, $1); \
$4 = add($3, $0); $5 = add($4, $2); $6 = add($5, $0); $7 = sin($6); return $7})
        return %1
    """, fused(lambda a: df.sin(df.add_n([a, df.exp(a), a, df.exp(a), a])), x(4, 3)))


def test_single_or_very_long_sum_is_not_fused():
    assert ops(fused(lambda a, b: df.add_n([a, b, a, b, a]), x(4), x(4))) == ["add_n"]
    many = fused(lambda a: df.exp(df.add_n([a] * 100)), x(4))
    assert ops(many) == ["add_n", "cluster"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_sums_have_the_bits_of_the_op(dtype):
    a = [df.cast([[k * 1.1, 1 / (k + .3), -k]] * 700, dtype) for k in range(7)]
    f = lambda *a: df.add_n([*a, a[0] * a[1]]) * a[2]  # noqa: E731
    assert ops(df.function(f).graph_for(*a)) == ["cluster"]
    assert df.function(f)(*a).numpy().tobytes() == f(*a).numpy().tobytes()


def test_composed_softmax_is_one_cluster():
    def softmax(a):
        e = df.exp(a - df.reduce_max(a, -1, keepdims=True))
        return e / df.reduce_sum(e, -1, keepdims=True)

    is_block("""
        %1 = cluster(%0, shape=(4, 3), {rows of 3: $1' = reduce_max($0); $2 = subtract($0, $1); \
$3 = exp($2); $4' = reduce_sum($3); $5 = divide($3, $4); return $5})
        return %1
    """, fused(softmax, x(4, 3)))


@pytest.mark.parametrize("keepdims", [True, False])
def test_composed_layer_norm_is_one_cluster(keepdims):
    def row(y):
        return y if keepdims else df.expand_dims(y, -1)

    def norm(a, scale, shift):
        d = a - row(df.reduce_mean(a, -1, keepdims=keepdims))
        v = df.reduce_mean(d * d, -1, keepdims=keepdims)
        return d * row(df.math.rsqrt(v + 1e-5)) * scale + shift

    assert ops(fused(norm, x(2, 4, 3), x(3), x(3))) == ["cluster"]


def test_composed_adam_is_one_cluster_besides_its_scalars():
    w, m, v = [variable(4, 3, name=name) for name in "wmv"]

    def step(g, t):
        m.assign(0.9 * m + 0.1 * g)
        v.assign(0.999 * v + 0.001 * df.square(g))
        w.assign_sub(0.01 * (m / (1 - 0.9 ** t)) / (df.sqrt(v / (1 - 0.999 ** t)) + 1e-7))
        return []

    graph = traced(step, x(4, 3), x())
    for simple in (assign, cse, dead_code):
        graph = simple.run(graph, None)
    after = passed(cluster, graph)
    assert ops(after) == ["cluster", "cluster", "assign", "assign", "assign"]
    assert "shape=()" in next(line for line in lines(after) if "= cluster" in line)


def test_every_elementwise_node_is_in_a_cluster():
    assert ops(fused(lambda a, b: (df.exp(a), b + b), x(3), x(4, 2))) == ["cluster", "cluster"]


def test_single_reduction_is_not_fused():
    assert ops(fused(lambda a: df.reduce_sum(a, 1), x(4, 3))) == ["reduce_sum"]


def test_leading_dimensions_are_reduced():
    def f(a):
        y = a * 2.0
        return y, df.exp(df.reduce_sum(y, (0, 1)))

    is_block("""
        %1 = constant(2.0)
        %2, %3 = cluster(%0, %1, shape=(8, 4, 3), {$2 = multiply($0, $1); \
$3'' = reduce_sum($2, outer=1, n=32); return $2, $3})
        %4 = reshape(%3, shape=(3,))
        %5 = cluster(%4, shape=(3,), {$1 = exp($0); return $1})
        return %2, %5
    """, fused(f, x(8, 4, 3)))


def test_column_reductions_are_not_read_in_their_cluster():
    def f(a):
        y = df.exp(a)
        return y - df.reduce_max(y, 0)

    assert ops(fused(f, x(9, 4))) == ["cluster", "reshape", "cluster"]


@pytest.mark.parametrize("axes", [(0, 2), ()])
def test_reductions_of_other_axes_are_not_fused(axes):
    after = fused(lambda a: df.exp(df.reduce_sum(a * 2.0, axes)), x(2, 4, 3))
    assert "reduce_sum" in ops(after) or axes == ()


def test_column_reductions_that_are_not_fused():
    for shape, axis, dtype in [((9, 4, 3), 1, "float32"), ((9, 5000), 0, "float32"),
                               ((9, 4), 0, "float16"), ((9, 4), 0, "int32")]:
        f = lambda a: df.reduce_sum(a + a, axis)  # noqa: B023, E731
        assert ops(fused(f, x(*shape, dtype=dtype))) == ["cluster", "reduce_sum"]

    def torn(a):        # rows of all dimensions but the first
        y = a * 2.0
        return y - df.reduce_max(y, (1, 2), keepdims=True), df.reduce_sum(y, (0, 1))

    assert sorted(ops(fused(torn, x(3, 500, 2)))) == ["cluster", "reduce_sum"]


def test_single_column_reductions_are_not_fused():
    assert ops(fused(lambda a: (df.reduce_sum(a, 0), df.reduce_max(a, 0)), x(40, 9))) == [
        "reduce_sum", "reduce_max"]


def test_long_rows_use_row_reductions_only_if_there_are_many():
    f = lambda a: df.reduce_sum(a * 2.0, 1)  # noqa: E731
    assert "rows of 20000" in fused(f, x(8, 20_000)).text()
    assert "outer=2, n=20000" in fused(f, x(2, 20_000)).text()
    assert "outer=8, n=70000" in fused(f, x(8, 70_000)).text()
    assert "rows of 8192" in fused(f, x(1, 8192)).text()
    assert ops(fused(f, x(8, 8193, dtype="float16"))) == ["cluster", "reduce_sum"]


@pytest.mark.parametrize("shape", [(300, 70), (40, 20_000), (3, 30_000), (2000, 3)])
def test_bits_of_column_reductions_and_long_rows(shape):
    """Check the gradients of a composed layer norm, among others."""
    def f(a, scale, offset):
        with df.GradientTape() as tape:
            tape.watch([a, scale, offset])
            d = a - df.reduce_mean(a, -1, keepdims=True)
            d = d * df.math.rsqrt(df.reduce_mean(d * d, -1, keepdims=True) + 1e-5)
            loss = df.reduce_sum(df.tanh(d * scale + offset))
        centred = a - df.reduce_mean(a, 0)
        return [loss, *tape.gradient(loss, [a, scale, offset]),
                centred / df.sqrt(df.reduce_mean(centred * centred, 0) + 1.),
                df.reduce_max(df.abs(a)), df.reduce_prod(df.tanh(a) + 1., 0)]

    rng = np.random.default_rng(1)
    args = [df.constant(rng.normal(size=s), "float32") for s in (shape, shape[1:], shape[1:])]
    want = f(*args)
    for threads in (1, 2, 3):
        before = df.config.num_threads()
        df.config.set_num_threads(threads)
        try:
            for g, w in zip(df.function(f)(*args), want, strict=True):
                assert g.numpy().tobytes() == w.numpy().tobytes()
        finally:
            df.config.set_num_threads(before)


def test_row_results_broadcast_along_columns_are_not_fused():
    def f(a):
        return a * df.reduce_sum(a * 2.0, 1)

    assert ops(fused(f, x(3, 3))) == ["cluster", "reshape", "cluster"]


def test_values_used_outside_are_outputs():
    def f(a):
        b = df.exp(a)
        c = b * 2.0
        return b, c @ c, c

    after = fused(f, x(3, 3))
    assert ops(after) == ["cluster", "matmul"]
    assert "return $2, $3}" in next(line for line in lines(after) if "= cluster" in line)


def test_path_through_an_unfused_node_separates_clusters():
    assert ops(fused(lambda a: df.exp(a) + df.exp(a) @ a, x(3, 3))) == [
        "cluster", "matmul", "cluster"]


def test_cluster_that_reads_a_product_follows_it():
    assert ops(fused(lambda a, b: df.exp(a) + a @ b, x(3, 3), x(3, 3))) == ["matmul", "cluster"]


def test_nodes_with_a_common_operand_are_fused():
    assert ops(fused(lambda a: (df.exp(a), df.sin(a)), x(3))) == ["cluster"]
    assert ops(fused(lambda a, b: (df.exp(a), df.sin(b)), x(3), x(3))) == ["cluster", "cluster"]


def test_broadcasts_are_fused_into_loads():
    def f(a, b):
        return df.broadcast_to(df.reshape(b, (3, 1)), (2, 3, 4)) * a

    assert ops(fused(f, x(2, 3, 4), x(3))) == ["reshape", "cluster"]
    assert ops(fused(lambda a: df.broadcast_to(a, (2, 3)), x(3))) == ["broadcast_to"]


def test_reshapes_by_dimensions_of_one_are_fused():
    def f(a):
        return df.reshape(df.exp(df.expand_dims(a, 1)), (3, 4, 1)) * 2.0

    assert ops(fused(f, x(3, 4))) == ["reshape", "cluster"]


def test_cluster_precedes_the_next_version_of_its_variable():
    v = variable(3)

    def f(a):
        old = v * 2.0
        v.assign(a)
        return old + v * a

    fused(f, x(3))


def test_view_of_a_variable_is_read_before_it_is_overwritten():
    v = variable(4)

    def f(a):
        old = df.reshape(v, (2, 2))
        v.assign(a)
        return old * 2.0

    fused(f, x(4))


def test_row_result_does_not_reuse_a_repeated_operand():
    def f(a, b):
        return df.reduce_max(df.abs(a) * b, 1, keepdims=True)

    assert "shape=(1, 4, 3)" in lines(fused(f, x(4, 3), x(4, 1)))[2]
    assert "shape=(4, 3)" in lines(fused(f, x(4, 3), x(3)))[2]
    data = df.constant([[float(i * j % 7) for i in range(5000)] for j in range(4)])
    g = df.function(lambda a: f(a, df.cumsum(a, 1)[:, 9:10] + 1.0))
    assert g(data).tolist() == f(data, df.cumsum(data, 1)[:, 9:10] + 1.0).tolist()


def test_updates_precede_nodes_that_may_raise():
    v, w = variable(2, name="v"), variable(2, name="w")

    def f(a, i):
        v.assign(v + a)
        row = df.gather(a, i)
        w.assign(w + a)
        return row

    assert ops(fused(f, x(2), x(dtype="int32"), exact=False)) == [
        "cluster", "assign", "gather", "assign"]


def test_casts_and_many_dtypes():
    def f(a, b):
        return df.cast(df.cast(a, df.int32) + b, df.float64) * 0.5, df.cast(a, df.float16)

    assert ops(fused(f, x(3, 2), x(2, dtype="int32"))) == ["cluster"]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_empty_and_scalar_shapes(shape):
    fused(lambda a: df.exp(a) + df.reduce_sum(a * 2.0, -1, keepdims=True), x(*shape))


def test_data_dependent_sizes_are_not_fused():
    def f(a):
        found = df.where(a > 0.0)
        return df.cast(found, df.int32) * 2

    after = fused(f, x(5), exact=False)
    assert ops(after).count("multiply") == 1


def test_stacked_diamonds_and_a_long_chain():
    def ladder(a):
        for _ in range(60):
            a = df.sin(a) + df.cos(a)
        return a

    def chain(a):
        for _ in range(10_000):
            a = a + 1.0
        return a

    assert ops(fused(ladder, x(4))) == ["cluster"]
    assert len(ops(passed(cluster, traced(chain, x(4)), exact=False))) <= 4


# --- random graphs ---

ONE = [df.exp, df.abs, df.nn.relu, df.identity, lambda a: a * 2.0,
       lambda a: df.expand_dims(a, 0), lambda a: df.expand_dims(a, -1),
       lambda a: df.cast(df.cast(a, df.float64), df.float32),
       lambda a: df.cast(a > 0.0, df.float32), lambda a: df.nn.leaky_relu(a, 0.25),
       lambda a: df.reduce_sum(a, -1) if a.ndim else a,
       lambda a: df.reduce_max(a, -1, keepdims=True) if a.ndim else a,
       lambda a: df.reduce_mean(a, (-2, -1), keepdims=True) if a.ndim > 1 else a,
       lambda a: df.reduce_mean(a, 0) if a.ndim else a,
       df.reduce_sum, df.transpose, df.squeeze,
       lambda a: df.reshape(a, (-1,)), lambda a: df.cumsum(df.reshape(a, (-1,)), 0)]
TWO = [lambda a, b: a + b, lambda a, b: a - b, df.maximum,
       lambda a, b: df.where(a > b, a, b)]
SHAPES = [(3, 4), (4,), (3, 1), (3, 3), (3,), (), (1, 4), (2, 3, 4), (2, 1, 1)]
LETTERS = "abc"


def broadcast(a, b):
    pairs = zip(reversed(a.shape), reversed(b.shape), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


@st.composite
def programs(draw):
    n = draw(st.integers(1, 25))
    number = st.integers(0, 10 ** 6)
    steps = draw(st.lists(st.tuples(number, number, number, number), min_size=n, max_size=n))
    return draw(st.lists(st.sampled_from(SHAPES), min_size=3, max_size=3)), steps


@settings(max_examples=150)
@given(programs())
def test_random_programs(program):
    shapes, steps = program
    v = variable(3, 4)

    def f(*args):
        values = [*args, v.value()]
        outputs = []
        for kind, which, i, j in steps:
            a, b = values[-1 - i % min(len(values), 6)], values[j % len(values)]
            if kind % 9 == 0 and broadcast(a, v) and a.ndim <= 2 and a.size <= 12:
                v.assign(df.broadcast_to(a, (3, 4)) if broadcast(a, v) else v)
                values.append(v.value())
            elif kind % 9 == 1 and b.ndim < 4:
                shape = (2, *b.shape)
                values.append(df.broadcast_to(b, shape))
            elif kind % 3 and broadcast(a, b):
                values.append(TWO[which % len(TWO)](a, b))
            elif a.ndim < 6:
                values.append(ONE[which % len(ONE)](a))
            if kind % 5 == 0:
                outputs.append(values[-1])
        return [*outputs, values[-1]]

    graph = versions.run(traced(f, *[x(*shape) for shape in shapes]), None)
    passed(cluster, graph)
    for simple in (assign, cse, dead_code):
        graph = simple.run(graph, None)
    passed(cluster, graph)
