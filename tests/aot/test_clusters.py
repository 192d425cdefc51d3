"""Compiled clusters give the bits of the interpreter."""

import itertools
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dualflow as df
from dualflow._core import Program
from dualflow.aot.clusters import compiler
from dualflow.aot.clusters.request import written
from dualflow.aot.clusters.worker import WORKER
from tests import sampling
from tests.aot.compiled import check_compiled, program_of
from tests.aot.random_clusters import check_clusters
from tests.graph import test_cluster as interpreted
from tests.graph.build import assert_same, values
from tests.graph.test_cluster import normal
from tests.graph.test_random_programs import FLOATS, SETTINGS, VARIABLE_STEPS, programs, run
from tests.graph.tile_code import Cluster
from tests.programs.steps import STEPS
from tests.soak import soak
from tests.tables import DTYPES, OPS, attrs_of, dtypes_of

pytestmark = [pytest.mark.usefixtures("cache"),
              pytest.mark.skipif(compiler.command() is None, reason="no C compiler")]


@pytest.fixture
def unoptimised(shared, cache, monkeypatch):
    """Compile clusters without optimisation, which takes most of the compiler's time. Faults of the
    generated code, such as a wrong formula, do not depend on it; other tests here compile with the
    usual flags."""
    if not sampling.every:
        monkeypatch.setattr(compiler, "FLAGS", compiler.FLAGS.replace("-O3", "-O0"))
        monkeypatch.setattr(WORKER, "addresses", {})
        monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "unoptimised"))
    yield
    assert WORKER.wait(600)


SHAPE = (3, 37)         # whole strips and a partial one, at every level


def operands(op, dtype, seed):
    """Return operands that an op accepts, with special values."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(op.n_in):
        is_condition = op.n_in == 3 and op.key == 1 and k == 0
        drawn = values(rng, SHAPE, "bool" if is_condition else dtype)
        x = df.constant(drawn)
        if k == op.checked_input and op.may_raise(x.dtype):
            x = df.constant(np.where(drawn % 7 == 0, 1, drawn % 7).astype(drawn.dtype))
        found.append(x if x.dtype.name == dtype or is_condition else df.cast(x, dtype))
    return found


def cluster_of(op, dtype, attrs, seed=0):
    """Return a cluster of an op between two others, with operands in memory, computed, and
    scalar."""
    given = operands(op, dtype, seed)
    c = Cluster(*given, *[df.reshape(x, (-1,))[5] for x in given], shape=SHAPE)
    n = op.n_in
    y = c.step(op.name, *range(n), **attrs)
    made = [y, c.step(op.name, *range(n - 1), 2 * n - 1, **attrs),
            c.step(op.name, n, *range(1, n), **attrs)]
    like = c.run(y)[0].dtype
    if like.name == dtype and n == 1:
        made.append(c.step(op.name, y, **attrs))
    made.append(c.step("equal", y, y))
    return c, made


def all_cases():
    return [(op, dtype, attrs) for op in OPS for dtype in dtypes_of(op)
            for attrs in attrs_of(op, dtype)]


def check_ops(cases):
    refused = check_compiled([cluster_of(*case, seed=k) for k, case in enumerate(cases)])
    assert [x for x in refused if "interpreted" not in x[1]] == []


def test_ops(unoptimised):
    """Test each op with one dtype."""
    cases = all_cases()
    of_each = [[x for x in cases if x[0] is op] for op in OPS]
    check_ops([found[k % len(found)] for k, found in enumerate(of_each)])


@pytest.mark.soak
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_ops(dtype):
    check_ops([x for x in all_cases() if x[1] == dtype])


# --- the clusters of the interpreter's tests ---

def clusters_of(monkeypatch, calls):
    """Return the clusters that tests of tests/graph/test_cluster.py check with these arguments."""
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(interpreted, "check",
                      lambda cluster, *outputs, threads=None: found.append((cluster, outputs)))
        for call, args in calls:
            call(*args)
    return found


FEW = [
    *[(interpreted.test_gelu, [s]) for s in [(), (1,), (1000,), (100_003,), (0,), (3, 0)]],
    *[(interpreted.test_softmax, [s]) for s in [(1, 1), (100, 3), (700, 100), (40, 1024), (0, 4)]],
    *[(interpreted.test_layer_norm, [s]) for s in [(5, 3), (7, 17), (700, 100), (2, 8193)]],
    *[(test, [(30, n)]) for n in (255, 1000)
      for test in (interpreted.test_softmax, interpreted.test_layer_norm)],
    (interpreted.test_column_reductions, ["reduce_sum", np.float32]),
    (interpreted.test_column_reductions_of_inputs_outputs_and_broadcasts, []),
    (interpreted.test_column_and_row_reductions_in_one_cluster, []),
    (interpreted.test_rows_of_several_dimensions, []),
    (interpreted.test_many_outputs_and_a_repeated_output, []),
    (interpreted.test_mixed_dtypes, []),
    (interpreted.test_broadcasts_with_row_reductions, [(30, 2000)]),
    (interpreted.test_scalar_and_per_row_operands, ["subtract", np.float32]),
    (interpreted.test_unused_step, []),
]
MANY = [
    *[(interpreted.test_softmax, [s]) for s in interpreted.ROWS],
    *[(interpreted.test_layer_norm, [s]) for s in interpreted.ROWS],
    *[(interpreted.test_column_reductions, [name, dtype]) for name in interpreted.FOLDED
      for dtype in (np.float32, np.float64)],
    *[(interpreted.test_scalar_and_per_row_operands, [name, dtype])
      for name in interpreted.WITH_ONE for dtype in (np.float32, np.float64, np.float16)],
    *[(interpreted.test_broadcasts, pair)
      for pair in itertools.product(interpreted.SHAPES, interpreted.SHAPES)],
    (interpreted.test_attributes, []), (interpreted.test_many_scalars, []),
    (interpreted.test_scalar_operand_of_a_unary_step, []),
    (interpreted.test_random_programs, []),
]


def test_clusters(monkeypatch):
    assert check_compiled(clusters_of(monkeypatch, FEW), threads=(1, 3)) == []


@pytest.mark.soak
def test_many_clusters(monkeypatch):
    found = clusters_of(monkeypatch, MANY)
    for k in range(0, len(found), 40):
        assert check_compiled(found[k:k + 40]) == []


# --- reduced rows ---

ALONE = ("reduce_sum_of_squares", "reduce_mean_of_squares")
REDUCED = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean",
           "reduce_euclidean_norm", "reduce_variance", "reduce_std", "reduce_logsumexp", *ALONE]
LENGTHS = [1, 3, 16, 17, 63, 64, 127, 128, 255, 300, 1000, 8192]
LONG = [16_384, 16_385, 40_000]         # the library reduces all but the first in chunks


def rows_cluster(name, dtype, length, n_rows=5, seed=0):
    """Return reductions of an input, of a step, and of values that need a row's result; every other
    row has special values."""
    rng = np.random.default_rng(seed)
    drawn = values(rng, (n_rows, length), dtype)
    drawn[1::2] = rng.standard_normal((n_rows // 2, length)).astype(drawn.dtype)
    x, y = [z if z.dtype.name == dtype else df.cast(z, dtype)
            for z in (df.constant(drawn), normal(1, length))]
    c = Cluster(x, y, shape=x.shape, row_dims=1)
    product = c.step("multiply", 0, 1)
    first, other = c.reduce(name, product), c.reduce("reduce_max", 0)
    c.reduce("reduce_min", product)     # unused
    apart = c.step("subtract", product, first)
    second = c.reduce(name, c.step("tanh", apart))
    scale = c.step("multiply", second, other, space=interpreted.ROW)
    return c, (c.step("multiply", apart, scale), first, second, product)


def rows_cases(lengths):
    """Return triples (op, dtype, length)."""
    return [(name, dtype, n) for name, dtype, n in itertools.product(REDUCED, FLOATS, lengths)
            if dtype in ("float32", "float64") or (n <= 8192 and name not in ALONE)]


def test_reduced_rows(unoptimised):
    cases = rows_cases([0])
    cases = [(*case[:2], LENGTHS[k % len(LENGTHS)]) for k, case in enumerate(cases)]
    found = [rows_cluster(*case, seed=k) for k, case in enumerate(cases)]
    found += [rows_cluster("reduce_sum", "float32", n) for n in LENGTHS + LONG]
    found += [rows_cluster("reduce_mean", "float32", 100, n_rows) for n_rows in (0, 1, 2, 700)]
    assert check_compiled(found) == []


@pytest.mark.soak
@pytest.mark.parametrize("length", LENGTHS + LONG)
def test_all_reduced_rows(length):
    assert check_compiled([rows_cluster(*case, seed=k)
                           for k, case in enumerate(rows_cases([length]))]) == []


@pytest.mark.parametrize("length, reduces", [(63, False), (64, True), (16_384, True),
                                             (16_385, False)])
def test_rows_are_reduced_in_the_loop_that_computes_them(length, reduces):
    c, outputs = rows_cluster("reduce_mean", "float32", length)
    spec = program_of(c, outputs, c.run(*outputs))
    text = written(spec, spec.instructions[0]).text
    assert ("STRIP_REDUCE" in text, "calls[0]" in text) == (reduces, not reduces)


def test_rows_of_several_widths():
    """Values wider than the reduced rows are computed in another loop."""
    x = normal(9, 300)
    c = Cluster(x, shape=x.shape, row_dims=1)
    wide = c.step("square", c.step("cast", 0, dtype=df.float64))
    narrow = c.step("cast", wide, dtype=df.float32)
    sums = [c.reduce("reduce_sum", v) for v in (0, wide, narrow)]
    is_above = c.step("greater", wide, sums[1])
    chosen = c.step("where", is_above, 0, narrow)
    outputs = [*sums, c.reduce("reduce_max", chosen), c.step("subtract", narrow, sums[2])]
    assert check_compiled([(c, outputs)]) == []


# --- programs ---

def check_program(steps, dtype, seed, scale=1):
    """Run a random program; the first run starts compiling its clusters."""
    def waiting(f):
        compiled = df.function(f, jit_compile=True)

        def call(*args):
            outputs = compiled(*args)
            assert "not compiled" not in str(compiled.clusters_for(*args, wait=True))
            return outputs

        return call

    want, _, _ = run(steps, dtype, seed, lambda f: f, scale)
    got, _, _ = run(steps, dtype, seed, waiting, scale)
    for g, w in zip(got, want, strict=True):
        assert_same(g, w)


@pytest.mark.parametrize("seed, dtype, scale", [(0, "float32", 1), (1, "float32", 40),
                                                (2, "float64", 1), (3, "bfloat16", 1)])
def test_random_programs(seed, dtype, scale):
    rng = np.random.default_rng(seed)
    kinds = sorted(STEPS.keys() - {"split"}) + VARIABLE_STEPS
    steps = [(kinds[rng.integers(len(kinds))], *map(int, rng.integers(0, 60, 2)),
              int(rng.integers(12))) for _ in range(30)]
    check_program(steps, dtype, seed, scale)


@pytest.mark.soak
@settings(max_examples=200, **SETTINGS)
@given(programs, st.sampled_from(FLOATS), st.integers(0, 99))
def test_many_random_programs(steps, dtype, seed):
    check_program(steps, dtype, seed)


# --- outputs in the memory of inputs ---

def halves(v):
    """A later loop reads the old value."""
    old = v.value()
    half = old // 2
    v.assign(half)
    return half * 3 - old


def largest(v):
    """A loop after a reduction reads the old value."""
    old = v.value()
    half = old // 2
    v.assign(half)
    return (half - df.reduce_max(half, -1, keepdims=True)) * old


def quotient(v, w):
    """The variable has one element per row of another tensor."""
    old = v.value()
    ratio = df.reduce_max(w * 2, -1, keepdims=True) // old
    v.assign(ratio)
    return ratio * 3 - old


def with_values(function, variables):
    return lambda: [function(*variables), *[v.value() for v in variables]]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_values_before_an_update(dtype):
    """An output written to a variable's memory does not overwrite values that are read later: a
    scalar, a single row, or one value per row."""
    def variable(*shape):
        n = int(np.prod(shape))
        return df.Variable(df.reshape(df.cast(df.range(n) % 40 + 7, dtype), shape),
                           trainable=False)

    shapes = [(), (1,), (1, 1), (1, 37), (1, 100), (2, 100), (100, 1), (0,), (1, 0)]
    cases = [(halves, (variable(*shape),)) for shape in shapes]
    cases += [(largest, (variable(*shape),)) for shape in shapes[1:7]]
    cases += [(quotient, (variable(n, 1), variable(n, length)))
              for n in (1, 3) for length in (1, 20, 100)]
    started = []
    for function, variables in cases:
        call = with_values(function, variables)
        start = [df.identity(v) for v in variables]
        want = [y for _ in range(3) for y in call()]
        for v, x in zip(variables, start, strict=True):
            v.assign(x)
        f = df.function(call, jit_compile=True)
        started.append((f, want, f()))
    for f, want, got in started:
        assert "not compiled" not in f.clusters_for(wait=True)
        for g, w in zip([*got, *f(), *f()], want, strict=True):
            assert_same(g, w)


def test_random_clusters():
    assert check_clusters(range(40)) > 20


@pytest.mark.soak
def test_many_random_clusters(request):
    soak(request, lambda seed: check_clusters(range(seed, seed + 40)), 40)


def test_runs_while_a_cluster_is_swapped():
    """Threads run a function while its compiled cluster is installed."""
    x = normal(40, 100)
    f = df.function(lambda x: df.tanh(x) * x - df.reduce_max(df.sin(x), 1, keepdims=True),
                    jit_compile=True)
    want = f.python_function(x).numpy().tobytes()
    different = []

    def calls():
        for _ in range(300):
            if f(x).numpy().tobytes() != want:
                different.append(1)

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    said = f.clusters_for(x, wait=True)
    calls()
    for thread in threads:
        thread.join()
    assert not different
    assert said.endswith(": compiled")


def test_invalid_layouts_are_rejected():
    """Any layout is rejected, or refers only to existing memory."""
    c, y, mean, _ = interpreted.layer_norm(normal(8, 6), normal(6), normal(6))
    spec = program_of(c, (y, mean), c.run(y, mean))
    layout = written(spec, spec.instructions[0]).layout
    for n in range(len(layout)):
        with pytest.raises(df.errors.InvalidArgumentError, match="layout"):
            Program(spec).compile(0, layout[:n], 1)
    raised = 0
    for k, bad in itertools.product(range(len(layout)), [-1, 5, 99, 2**31, 2**62, -2**63]):
        try:
            Program(spec).compile(0, [*layout[:k], bad, *layout[k + 1:]], 1)
        except df.errors.InvalidArgumentError:
            raised += 1
    assert raised > 4 * len(layout)
    for instruction in (-1, 1):
        with pytest.raises(df.errors.InvalidArgumentError, match="does not run a cluster"):
            Program(spec).compile(instruction, layout, 1)
