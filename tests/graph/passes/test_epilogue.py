"""Ops that follow a product become its epilogue; fusion changes no bit."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dualflow as df
from dualflow.graph.passes import cluster, epilogue, versions
from tests.graph.build import is_block, ops, passed, traced, variable, x


def fused(f, *parameters):
    graph = traced(f, *parameters)
    after = passed(epilogue, graph)
    passed(cluster, after)
    return after


LAYER = x(4, 3), x(3, 5), x(5)


def test_bias_and_activation():
    is_block("""
        %3 = matmul_cluster(%0, %1, %2, transpose_a=False, transpose_b=False, \
{$2 = add($0, $1); $3 = relu($2); return $3})
        return %3
    """, fused(lambda a, w, b: df.nn.relu(a @ w + b), *LAYER))


def test_bias_residual_and_activation_of_a_convolution():
    def block(a, w, b):
        return df.nn.relu(df.nn.bias_add(df.nn.conv2d(a, w, 1, "SAME"), b) + a)

    is_block("""
        %3 = conv_cluster(%0, %1, %2, %0, strides=(1, 1), dilations=(1, 1), same=True, pads=(), \
exact=False, {$3 = add($0, $1); $4 = add($3, $2); $5 = relu($4); return $5})
        return %3
    """, fused(block, x(2, 5, 5, 3), x(3, 3, 3, 3), x(3)))


@pytest.mark.parametrize("f", [df.tanh, df.nn.gelu, df.nn.silu,
                               lambda z: 0.5 * z * (1.0 + df.math.erf(z / 1.4))])
def test_activations(f):
    assert ops(fused(lambda a, w, b: f(a @ w + b), *LAYER)) == ["matmul_cluster"]


@pytest.mark.parametrize("shape", [(5,), (4, 1), (), (4, 5), (1, 1)])
def test_operands_of_every_kind(shape):
    assert ops(fused(lambda a, w, b: b - a @ w, x(4, 3), x(3, 5), x(*shape))) == ["matmul_cluster"]


def test_value_with_other_readers_is_a_second_output():
    def f(a, w, b):
        z = a @ w + b
        return df.nn.gelu(z), z

    is_block("""
        %3, %4 = matmul_cluster(%0, %1, %2, transpose_a=False, transpose_b=False, \
{$2 = add($0, $1); $3 = gelu($2, approximate=False); return $2, $3})
        return %4, %3
    """, fused(f, *LAYER))


def test_product_with_other_readers_is_a_second_output():
    def f(a, w):
        z = a @ w
        return df.tanh(z), z

    is_block("""
        %2, %3 = matmul_cluster(%0, %1, transpose_a=False, transpose_b=False, \
{$1 = tanh($0); $2 = cast($0, dtype=float32); return $2, $1})
        return %3, %2
    """, fused(f, *LAYER[:2]))


def test_epilogue_has_at_most_two_outputs():
    def f(a, w, b):
        z = a @ w + b
        y = df.tanh(z)
        return df.exp(y), y, z

    assert ops(fused(f, *LAYER)) == ["matmul_cluster", "tanh", "exp"]


def test_values_needed_by_a_larger_cluster_stay_in_it():
    def f(a, w, y):
        difference = a @ w - y
        return df.reduce_mean(df.square(difference), -1), df.exp(difference)

    assert ops(passed(epilogue, traced(f, x(4, 3), x(3, 5), x(4, 5)))) == [
        "matmul_cluster", "square", "reduce_mean", "exp"]


def test_outside_reader_on_a_path_back_ends_the_epilogue():
    """A consumer of a column's mean cannot be computed together with the column's product."""
    def f(a, w, b):
        z = a @ w + b
        return df.tanh(z - df.reduce_mean(z, 0, keepdims=True))

    after = ops(passed(epilogue, traced(f, *LAYER)))
    assert after == ["matmul_cluster", "subtract", "tanh"]


@pytest.mark.parametrize("axes, joins", [
    (0, True), ([0, 1], False), (1, False), ([], False), (-2, True)])
def test_reductions_of_output_rows_join_the_epilogue(axes, joins):
    def f(a, w, b):
        z = df.tanh(a @ w + b)
        return z, df.reduce_sum(z, axes), df.reduce_max(z, axes)

    after = ops(passed(epilogue, traced(f, *LAYER)))
    assert [op for op in after if op != "reshape"] == [
        "matmul_cluster", *["reduce_sum", "reduce_max"] * (not joins)]


def test_bias_gradient_is_reduced_in_the_product_before_it():
    def step(x, w, b, v, dy):
        with df.GradientTape() as tape:
            tape.watch([w, b, v])
            y = df.tanh(x @ w + b) @ v
        return tape.gradient(y, [w, b, v], output_gradients=dy)

    x, w, b = [df.random.normal(shape) for shape in ((24, 10), (10, 16), (16,))]
    v, dy = df.random.normal([16, 12]), df.random.normal([24, 12])
    f = df.function(step)
    for got, want in zip(f(x, w, b, v, dy), step(x, w, b, v, dy), strict=True):
        assert got.numpy().tobytes() == want.numpy().tobytes()
    made = [node.type for node in f.compiled_for(x, w, b, v, dy).graph.nodes]
    assert made.count("matmul_cluster") == 2 and "reduce_sum" not in made


@pytest.mark.parametrize("transpose_b", [False, True])
def test_gradient_of_a_shared_matrix_is_one_product(transpose_b):
    def step(x, w):
        with df.GradientTape() as tape:
            tape.watch(w)
            y = df.matmul(x, w, transpose_b=transpose_b)
        return tape.gradient(y, w)

    x = df.random.normal([3, 2, 4, 6])
    w = df.random.normal([5, 6] if transpose_b else [6, 5])
    f = df.function(step)
    assert f(x, w).numpy().tobytes() == step(x, w).numpy().tobytes()
    assert [node.type for node in f.compiled_for(x, w).graph.nodes].count("reduce_sum") == 0
    want = np.ones([5, 24], "float32") @ x.numpy().reshape(24, 6)
    np.testing.assert_allclose(step(x, w).numpy(), want if transpose_b else want.T, rtol=1e-5)


def test_layer_gradient_stores_the_pre_activation():
    def f(a, w, b):
        with df.GradientTape() as tape:
            tape.watch([w, b])
            loss = df.reduce_sum(df.nn.gelu(a @ w + b) @ df.transpose(w))
        return tape.gradient(loss, [w, b])

    after = passed(epilogue, traced(f, *LAYER))
    first = next(node for node in after.nodes if node.op.name == "matmul_cluster")
    assert len(first.outputs) == 2
    assert "gelu" not in ops(after)


def test_relu_gradient_needs_only_its_output():
    def f(a, w, b):
        with df.GradientTape() as tape:
            tape.watch([w, b])
            loss = df.reduce_sum(df.nn.relu(a @ w + b) @ df.transpose(w))
        return tape.gradient(loss, [w, b])

    after = ops(fused(f, *LAYER))
    assert after[0] == "matmul_cluster"
    assert "relu" not in after


def test_activation_gradients_are_fused_into_products():
    def f(g, w, y):
        return df._core.apply("relu_grad", g @ w, y)

    assert ops(fused(f, x(4, 3), x(3, 5), x(4, 5))) == ["matmul_cluster"]


def test_op_with_a_wider_shape_is_not_fused():
    assert ops(fused(lambda a, w, b: a @ w + b, x(4, 3), x(3, 5), x(2, 4, 5))) == [
        "matmul", "add"]


def test_sum_of_products_is_fused_into_the_later_one():
    is_block("""
        %2 = matmul(%0, %1, transpose_a=False, transpose_b=False)
        %3 = matmul_cluster(%1, %0, %2, transpose_a=False, transpose_b=False, \
{$2 = add($1, $0); return $2})
        return %3
    """, fused(lambda a, b: a @ b + b @ a, x(3, 3), x(3, 3)))


def test_product_whose_operand_is_an_epilogue_operand():
    def f(a):
        y = a @ a
        return y + df.exp(y) @ a

    after = passed(epilogue, traced(f, x(3, 3)))
    assert ops(after) == ["matmul_cluster", "matmul_cluster"]
    assert [len(node.outputs) for node in after.nodes if node.inputs] == [2, 1]


def test_product_is_not_moved_past_a_write():
    w = variable(3, 5)

    def f(a):
        y = df.matmul(a, w, transpose_b=True)
        w.assign(a)
        return df.exp(y)

    after = passed(epilogue, versions.run(traced(f, x(3, 5)), None))
    assert ops(after) == ["matmul", "assign", "exp"]


def test_batches_and_transposes():
    def f(a, b):
        return df.tanh(df.matmul(a, b, transpose_a=True, transpose_b=True) * 2.0)

    assert ops(fused(f, x(2, 3, 4), x(5, 3))) == ["matmul_cluster"]


STEPS = [lambda z, b, a: z + b, lambda z, b, a: df.nn.relu(z), lambda z, b, a: z * a,
         lambda z, b, a: df.cast(df.cast(z, df.float64), df.float32),
         lambda z, b, a: z @ a, lambda z, b, a: df.where(z > b, z, a)]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(1, 4), st.booleans()),
                min_size=1, max_size=15))
def test_random_programs(steps):
    def f(a, b):
        values, outputs = [a @ a], []
        for which, back, is_output in steps:
            z = values[-min(back, len(values))]
            values.append(STEPS[which](z, b, values[0]))
            if is_output:
                outputs.append(values[-1])
        return [*outputs, values[-1]]

    fused(f, x(4, 4), x(4))
