"""Random programs of up to 60 ops with gradients: traced, without passes and in fast math, they
match eager mode; no two live buffers of their plans overlap."""

import functools
import itertools
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

import dualflow as df
from dualflow.graph import ir, passes
from dualflow.graph.ir.tile_code import ROW, disassemble
from dualflow.graph.program.spec import SlotKind
from tests.graph.bodies import leaves_first, outlined
from tests.graph.build import assert_same, text
from tests.programs.steps import STEPS

warnings.filterwarnings("ignore", category=df.errors.GradientWarning)

VARIABLE_STEPS = ["read", "assign", "assign_add", "assign_sub", "row", "swap", "part", "scatter"]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
LARGEST = 4096       # elements; larger results are skipped
SLOW = {"split", "incomplete", "sorted", "hot", "logarithms"}       # slow for large tensors

name = st.one_of(st.sampled_from(sorted(STEPS)), st.sampled_from(VARIABLE_STEPS))
step = st.tuples(name, st.integers(0, 60), st.integers(0, 60), st.integers(0, 11))
programs = st.lists(step, min_size=3, max_size=60)
SHAPES = [(3, 4), (4, 3), (4,), (3, 1), ()]


class Program:
    """The steps as a Python function of two tensors that owns two variables."""

    def __init__(self, steps, dtype, seed, scale=1):
        rng = np.random.default_rng(seed)
        draw = lambda shape: df.constant(rng.normal(size=shape), dtype)  # noqa: E731
        self.steps = steps
        grown = lambda shape: [n if n == 1 else n * scale for n in shape]  # noqa: E731
        self.variables = [df.Variable(draw(grown((3, 4)))) for _ in range(2)]
        self.args = [draw(grown(shape)) for shape in SHAPES]
        self.largest = LARGEST * scale * scale

    def __call__(self, *args):
        with df.GradientTape() as tape:
            tape.watch(list(args))
            made = list(args)
            for kind, i, j, k in self.steps:
                a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
                try:
                    y = self.apply(kind, a, b, k)
                except (df.errors.DualflowError, ZeroDivisionError, IndexError):  # incompatible
                    continue
                if y is not None and y.size <= self.largest:
                    made.append(y)
            tail = made[-4:]
            loss = df.add_n([df.reduce_mean(df.sin(y)) for y in made[-6:]])
        sources = [*args, *self.variables]
        return [*tail, loss, *tape.gradient(loss, sources, unconnected_gradients="zero")]

    def apply(self, kind, a, b, k):
        v, w = self.variables if k % 2 else self.variables[::-1]
        if kind == "read":
            return v.value()
        if kind == "row" and k > 5:
            return v[k % 3:]
        if kind == "swap":
            before, other = v.value(), w.value()
            v.assign(other)
            w.assign(before)
            return before
        if kind == "part":
            v[k % 3:, ::1 + k % 2].assign(df.tanh(a)[:1])
            return None
        if kind == "scatter":
            at = [[0], [k % 3]] if k % 2 else [[k % 3]]
            [v.scatter_nd_update, v.scatter_nd_add, v.scatter_nd_sub][k % 3](
                at, df.broadcast_to(df.tanh(a)[-1:], (len(at), *v.shape[1:])))
            return None
        if kind.startswith("assign"):
            getattr(v, kind)(df.tanh(a))
            return None
        n, f = STEPS[kind]
        return f(a, k) if n == 1 else f(a, b, k)


def run(steps, dtype, seed, wrap, scale=1):
    """Return the outputs of three runs, and the variables after each."""
    program = Program(steps, dtype, seed, scale)
    f = wrap(program.__call__)
    seen = []
    for _ in range(3):
        seen += f(*program.args)
        seen += [v.value() for v in program.variables]
    return seen, f, program.args


def check_calls(compiled, seed):
    """Assert that replacing parts of the trace by (nested) calls does not change the results."""
    options = compiled.options._replace(check=True)
    plain = leaves_first(ir.copy(compiled.traced))
    calls = outlined(plain, np.random.default_rng(seed))
    want, got = [passes.optimize(graph, options) for graph in (plain, calls)]
    assert text(got) == text(want)


def check_plan(plan):
    """Assert that no two live buffers overlap, and that the arena holds them all."""
    blocks = [(b.offset, b.size, b.start, b.end) for b in plan.buffers if b.kind is SlotKind.ARENA]
    blocks += [(s.workspace.offset, s.workspace.size, s.workspace.start, s.workspace.end)
               for s in plan.instructions if s.workspace is not None]
    for (at, size, start, end), (at2, size2, start2, end2) in itertools.combinations(blocks, 2):
        together = start <= end2 and start2 <= end
        assert not together or at + size <= at2 or at2 + size2 <= at, blocks
    assert all(at >= 0 and at + size <= plan.arena_bytes for at, size, *_ in blocks)
    assert plan.arena_bytes >= plan.lower_bound
    for made in plan.instructions:
        if made.node.type == "cluster":
            check_shared(made.node, plan)


def compare(steps, dtype, seed, scale=1):
    want, _, _ = run(steps, dtype, seed, lambda f: f, scale)
    for on in (True, False):
        got, f, args = run(steps, dtype, seed, functools.partial(df.function, passes=on), scale)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
        check_plan(f.compiled_for(*args).plan)


def check_shared(node, plan):
    """Assert that no row shares the memory of an operand that is repeated along rows."""
    code, n = disassemble(node.attr_dict["code"]), len(node.inputs)
    whole = {k for s in code.steps if s.space != ROW for k in s.operands}
    for y, value in zip(node.outputs, code.outputs, strict=True):
        if code.steps[value - n].space == ROW:
            buffer = plan.where[y][0]
            assert not [x for k, x in enumerate(node.inputs)
                        if k in whole and plan.where[x][0] is buffer]


SETTINGS = {"report_multiple_bugs": False,
            "suppress_health_check": list(HealthCheck)}


@settings(max_examples=120, **SETTINGS)
@given(programs, st.sampled_from(["float32", "float32", "float64", "float16", "bfloat16"]),
       st.integers(0, 99))
def test_same_bits(steps, dtype, seed):
    compare(steps, dtype, seed)


@settings(max_examples=30, **SETTINGS)
@given(programs, st.integers(0, 99))
def test_outlined_programs(steps, seed):
    _, f, args = run(steps, "float32", seed, df.function)
    check_calls(f.compiled_for(*args), seed)


@settings(max_examples=40, **SETTINGS)
@given(st.lists(step, min_size=40, max_size=60), st.integers(0, 99))
def test_same_bits_for_long_programs(steps, seed):
    compare(steps, "float32", seed)


# a scalar that a whole cluster reads, and a reduced row of the same shape
ROW_AND_NUMBER = [("add", 0, 0, 0), ("flat", 56, 0, 1), *[("add", 0, 0, 0)] * 3, ("sum", 0, 0, 2),
                  ("add", 0, 0, 0)]


@settings(max_examples=30, **SETTINGS)
@example(ROW_AND_NUMBER, 0)
@given(st.lists(step, min_size=5, max_size=25), st.integers(0, 99))
def test_same_bits_for_large_tensors(steps, seed):
    """Work is split among threads, steps run concurrently, the GIL is released."""
    steps = [s for s in steps if s[0] not in SLOW]
    compare(steps, "float32", seed, scale=40)


@settings(max_examples=30, **SETTINGS)
@given(programs, st.integers(0, 99))
def test_fast_math_is_close(steps, seed):
    smooth = [s for s in steps if s[0] in ("negative", "square", "smooth", "number", "add", "root",
                                           "subtract", "multiply", "softmax", "mean", "reshape",
                                           "transpose", "broadcast", "read", "assign")]
    want, _, _ = run(smooth, "float64", seed, lambda f: f)
    got, _, _ = run(smooth, "float64", seed, functools.partial(df.function, fast_math=True))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-6, atol=1e-9)


@settings(max_examples=50, **SETTINGS)
@given(programs, st.integers(0, 99))
def test_unknown_dimensions(steps, seed):
    """Guards prevent using the trace if Python would have taken another branch."""
    def wrap(f):
        return df.function(lambda *args: f(*args), input_signature=[
            df.TensorSpec([None] * len(s)) for s in SHAPES])

    want, _, _ = run(steps, "float32", seed, lambda f: f)
    got, _, _ = run(steps, "float32", seed, wrap)
    for g, w in zip(got, want, strict=True):
        assert_same(g, w)


def test_many(request):
    if not request.config.getoption("exhaustive"):
        pytest.skip("slow: run with --exhaustive")

    @settings(max_examples=5000, **SETTINGS)
    @given(programs, st.sampled_from(FLOATS), st.integers(0, 10**6))
    def check(steps, dtype, seed):
        compare(steps, dtype, seed)

    check()
