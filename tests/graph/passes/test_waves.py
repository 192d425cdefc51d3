"""Waves: which nodes run concurrently, and that results have the bits of sequential runs."""

import numpy as np
import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes import waves as module
from dualflow.graph.program import lower
from tests.graph.build import is_block, passed, traced, x
from tests.ops import harness

N = 200_000


def two_counts(a, b):
    x, y = df.math.confusion_matrix(a, b, num_classes=10), a + 1
    return x, y, df.math.confusion_matrix(b, a, num_classes=10)


def arguments(n):
    rng = np.random.default_rng(1)
    return [df.constant(rng.integers(0, 10, n).astype(np.int32)) for _ in range(2)]


def test_independent_serial_nodes_are_one_wave():
    args = arguments(N)
    f = df.function(two_counts)
    waves = [i.node.wave for i in f.compiled_for(*args).plan.instructions]
    assert sorted(waves)[-2:] == [1, 1]
    first = waves.index(1)
    assert waves[first:first + 2] == [1, 1]
    for got, want in zip(f(*args), two_counts(*args), strict=True):
        assert got.tolist() == want.tolist()


def joined(a, b):
    return df.concat([a, a], 0), a * b, df.concat([b, b], 0)


def test_waves_are_consecutive_and_printed(serial_joins):
    after = passed(module, traced(joined, x(N), x(N)))
    is_block("""
        %2 = concat(%0, %0, axis=0)
        %3 = concat(%1, %1, axis=0)
        %4 = multiply(%0, %1)
        return %2, %4, %3
        """, after)
    assert [line.partition(" : ")[2] for line in after.text(lines=False).splitlines()[3:6]] == [
        "float32 (400000,) in wave 1"] * 2 + ["float32 (200000,)"]
    assert [node.wave for node in ir.copy(after).nodes] == [0, 0, 1, 1, 0]


def between(f):
    """Return the waves of two counts, which reject labels out of range, around the ops of `f`."""
    def counts(a, b):
        first = df.math.confusion_matrix(a, b, num_classes=10)
        return first, f(a), df.math.confusion_matrix(b, a, num_classes=10)

    after = passed(module, traced(counts, x(N, dtype="int32"), x(N, dtype="int32")), exact=False)
    return [node.wave for node in after.nodes if node.type == "confusion_matrix"]


def test_nodes_that_may_raise_are_not_reordered():
    v, i = df.Variable([1]), df.constant([0])
    assert between(lambda a: a + 1) == [1, 1]
    assert between(lambda a: df.gather(a, i)) == [0, 0]
    assert between(lambda a: [v.assign(a[:1]), a][1]) == [0, 0]


def test_pass_is_reported_and_can_be_disabled(serial_joins):
    args = df.ones([N]), df.ones([N])
    assert "--- after waves" in df.function(joined).passes_for(*args)
    without = df.function(joined, passes=False)
    assert "after waves" not in without.passes_for(*args)
    nodes = without.compiled_for(*args).graph.nodes
    assert [node.wave for node in nodes] == [0] * len(nodes)
    assert [node.type for node in nodes[2:]] == ["concat", "multiply", "concat"]
    for got, want in zip(without(*args), df.function(joined)(*args), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def broken(*numbers):
    """Return two concats and a reader of one of them, with these wave numbers."""
    graph = traced(lambda a: [df.concat([a, a], 0), df.concat([a, a], 0) * 2.], x(4))
    for node, wave in zip(graph.nodes[1:], numbers, strict=True):
        node.wave = wave
    return graph


def test_invalid_waves_are_detected():
    assert [node.type for node in broken(0, 0, 0, 0).nodes[1:]] == [
        "concat", "concat", "constant", "multiply"]
    ir.check(broken(1, 1, 0, 0))
    for numbers in ((1, 0, 1, 0), (0, 1, 1, 1), (1, 2, 1, 0)):
        with pytest.raises(ir.IRError, match="wave 1"):
            ir.check(broken(*numbers))
    v = df.Variable([1.])
    graph = traced(lambda a: [v.assign(a), a][1], x(1))
    graph.nodes[-1].wave = 1
    with pytest.raises(ir.IRError, match="wave 1"):
        ir.check(graph)


def test_small_nodes_form_no_wave():
    f = df.function(two_counts)
    assert not any(s.node.wave for s in f.compiled_for(*arguments(100)).plan.instructions)


def test_dependent_nodes_form_no_wave(serial_joins):
    @df.function
    def chain(a):
        return df.concat([df.concat([a, a], 0), a], 0)

    assert not any(s.node.wave for s in chain.compiled_for(df.zeros([N])).plan.instructions)


def test_memory_of_a_wave_does_not_overlap(serial_joins):
    @df.function
    def f(a, b):
        x, y = df.concat([a, a], 0), df.concat([b, b], 0)
        return df.reduce_sum(x), df.reduce_sum(y)

    plan = f.compiled_for(df.ones([N]), df.ones([N])).plan
    joined = [plan.where[s.outputs[0]][0] for s in plan.instructions if s.node.wave]
    assert len(joined) == 2
    low, high = sorted(joined, key=lambda b: b.offset)
    assert low.offset + low.size <= high.offset
    assert [y.item() for y in f(df.ones([N]), df.ones([N]))] == [2. * N, 2. * N]


def test_same_bits_on_one_thread():
    args = arguments(N)
    f = df.function(two_counts)
    two = [y.numpy().tobytes() for y in f(*args)]
    before = df.config.num_threads()
    df.config.set_num_threads(1)
    try:
        assert [y.numpy().tobytes() for y in f(*args)] == two
    finally:
        df.config.set_num_threads(before)


@pytest.mark.parametrize("op, gates, n_bias", [("simple_rnn", 1, 1), ("lstm", 4, 1), ("gru", 3, 2)])
@pytest.mark.parametrize("rows", [1, 5, 6])
@pytest.mark.parametrize("kind", [df.constant, df.Variable])
def test_directions_of_few_rows_are_one_wave(kind, rows, op, gates, n_bias):
    """A recurrent layer uses one thread for each few rows, whether its kernels are packed ahead
    (constants) or in each run (variables)."""
    rng = np.random.default_rng(0)

    def both(kind, *shape):
        return [kind(rng.standard_normal(shape, "float32") / 8) for _ in range(2)]

    kernels = [(both(kind, n, gates * 256), both(kind, 256, gates * 256)) for n in (64, 512)]
    bias = both(df.constant, *([2] * (n_bias - 1)), gates * 256)

    def layers(x):
        for k, r in kernels:
            x, _ = getattr(df.nn, op)(x, k, r, bias, bidirectional=True)
        return x

    x = df.constant(rng.standard_normal((rows, 7, 64), "float32"))
    want, f = layers(x).numpy().tobytes(), df.function(layers)
    for n_threads in (1, 2):
        with harness.threads(n_threads):
            assert f(x).numpy().tobytes() == want
    name = f"{op}_packed" if kind is df.constant else op
    waves = [node.wave for node in f.graph_for(x).nodes if node.type == name]
    assert waves == ([1, 1, 2, 2] if rows <= 5 else [0, 0, 0, 0])


def test_estimated_time_of_a_wave_counts_arithmetic():
    """The thread pool compares the time of a job with this estimate."""
    x, kernel, recurrent = df.ones([1, 90, 32]), df.ones([32, 512]), df.ones([128, 512])
    f = df.function(lambda x: df.nn.lstm(x, [kernel] * 2, [recurrent] * 2, bidirectional=True)[0])
    costs = [s.cost_ns for s in f.compiled_for(x).spec.instructions if s.wave]
    assert costs == [lower.FLOP_NS * 2 * 90 * 512 * (32 + 128)] * 2
    counts = df.function(two_counts).compiled_for(*arguments(N)).spec.instructions
    assert all(s.cost_ns > 2 * N * 0.1 for s in counts)     # no arithmetic, time of memory
