"""Gradients of rows that a loop of unknown length reads are added to the memory of a carry, with
the bits of eager mode."""

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import dualflow as df
from dualflow import _core
from dualflow._core import Executable, Program
from dualflow.graph.program.spec import ProgramSpec, SlotKind
from tests.graph.build import assert_same

SPECIAL = np.array([0., -0., 1., -1., np.inf, np.nan, 1e-45, 3e38, .1])
SHAPE = 6, 5, 4


def of_range(step, total, n, most):
    for t in range(n):
        total = step(total, t)
    return total


def of_while(step, total, n, most):
    t = df.constant(0)
    while t < n:
        total = step(total, t)
        t = t + 1
    return total


def with_last_break(step, total, n, most):
    """Ends after n iterations, at least one."""
    for t in df.range(most):
        total = step(total, t)
        if t + 1 >= n:
            break
    return total


def with_first_break(step, total, n, most):
    for t in df.range(most):
        if t >= n:
            break
        total = step(total, t)
    return total


def with_gaps(step, total, n, most):
    """Every other iteration of n adds nothing."""
    for t in range(n):
        if df.equal(t % 2, 1):
            total = step(total, t)
    return total


def nested(step, total, n, most):
    """An inner loop of another length in each iteration."""
    for t in range(n):
        for k in range(t):
            total = step(total, k)
    return total


def in_branches(step, total, n, most):
    for t in range(n):
        if df.equal(t % 3, 1):
            total = step(step(total, t), n - 1 - t)
        elif df.equal(t % 3, 2):
            k = df.constant(0)
            while k < t:
                total = step(total, k)
                k = k + 2
    return total


LOOPS = [of_range, of_while, with_last_break, with_first_break, with_gaps, nested, in_branches]
def pick(x, *index):
    return df.gather_nd(x, df.stack(index))


# The reads of traced code, and of eager mode by the same ops: an index that is known there reads a
# slice, whose gradient has zeros of other signs.
READS = {
    "row": (lambda x, t: x[t, 0], lambda x, t: df.gather(x[:, 0], t)),
    "rows": (lambda x, t: x[t], df.gather),
    "column": (lambda x, t: x[:, t], lambda x, t: df.gather(x, t, axis=1)),
    "last": (lambda x, t: x[..., t], lambda x, t: df.gather(x, t, axis=-1)),
    "slice": (lambda x, t: x[t, 1:3], lambda x, t: df.gather(x[:, 1:3], t)),
    "reversed": (lambda x, t: x[::-1, t, 1::2],
                 lambda x, t: df.gather(x[::-1, :, 1::2], t, axis=1)),
    "element": (lambda x, t: x[t, t], lambda x, t: pick(x, t, t)),
    "element of a slice": (lambda x, t: x[t, t, :3], lambda x, t: pick(x[..., :3], t, t)),
}
SIZES = {"last": 4, "element": 5, "element of a slice": 5, "column": 5, "reversed": 5}


def gradient(loop, reads, use=0):
    """Return the gradient of x read in a loop, traced and in eager mode; `use`: x is also read
    after it (1) or before it (2), so that its gradient has a first term, or a last one, of zeros of
    both signs."""
    def f(x, w, g, v, n, kind):
        with df.GradientTape() as tape:
            tape.watch(x)
            total = df.zeros_like(reads[0][kind](x, 0))
            before = x * v if use == 2 else None

            def step(total, t):
                for k, read in enumerate(reads):
                    total = total * (k + 1.) + read[kind](x, t) * df.gather(w, t + k)
                return total

            total = loop(step, total, n, w.shape[0] - len(reads))
            after = x * v if use == 1 else before
            values = [total] if after is None else [total, after]
        return tape.gradient(values, x, output_gradients=[g, df.ones_like(x)][:len(values)],
                             unconnected_gradients="zero")
    return [functools.partial(f, kind=kind) for kind in (0, 1)]


def arguments(seed, reads, most, dtype, special=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=SHAPE).astype(dtype)
    row = reads[0][1](df.constant(x), 0).shape

    def drawn(shape):
        with np.errstate(over="ignore"):
            return (rng.choice(SPECIAL, shape) if special else rng.normal(size=shape)).astype(dtype)

    return [df.constant(a) for a in (x, drawn((most + len(reads), *row)), drawn(row),
                                     rng.choice([0., -0., 1.], SHAPE).astype(dtype))]


def check(f, *args, eager=None):
    """Assert that eager mode and both kinds of graphs agree."""
    want = df.convert_to_tensor((f if eager is None else eager)(*args))
    for passes in (False, True):
        assert_same(df.convert_to_tensor(df.function(f, passes=passes)(*args)), want)


def wholes(f, *args, shape=SHAPE):
    """Return the ops in loops that make a tensor of a shape elsewhere than in an argument."""
    found = []

    def visit(program, is_body):
        for one in program.instructions:
            made = [program.slots[k] for k in one.outputs]
            found.extend([one.op.name for slot in made if is_body and slot.shape == shape
                          and slot.kind is not SlotKind.ARG])
            for body in one.bodies:
                visit(body, is_body or one.op.name == "loop")

    visit(df.function(f).compiled_for(*args).spec, False)
    return found


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_bits(loop, read):
    """Zeros of both signs, infinities and NaN; no iteration, one, and all."""
    most, use = SIZES.get(read, 4), ([*READS].index(read) + LOOPS.index(loop)) % 3
    for dtype, lengths in (("float32", (0, 1, most)), ("float64", (2,))):
        f, eager = gradient(loop, [READS[read]], use)
        args = arguments(use, [READS[read]], most, dtype)
        for n in lengths:
            check(f, *args, df.constant(n), eager=eager)
    assert not wholes(f, *args, df.constant(2))


SEVERAL = {
    "slices": [(lambda x, t: x[t, :2], lambda x, t: df.gather(x[:, :2], t)),
               (lambda x, t: x[t, 2:4], lambda x, t: df.gather(x[:, 2:4], t)),
               (lambda x, t: x[t, 1:3], lambda x, t: df.gather(x[:, 1:3], t))],
    "neighbours": [READS["rows"], (lambda x, t: x[t - 1], lambda x, t: df.gather(x, t - 1))],
    "columns": [READS["column"], READS["column"],
                (lambda x, t: x[:, 4 - t], lambda x, t: df.gather(x, 4 - t, axis=1))],
    "both": [(lambda x, t: x[t, 1:5], lambda x, t: df.gather(x[:, 1:5], t)),
             (lambda x, t: x[1:5, t], lambda x, t: df.gather(x[1:5], t, axis=1)),
             (lambda x, t: x[2:, t], lambda x, t: df.gather(x[2:], t, axis=1))],
}


@pytest.mark.parametrize("several", SEVERAL)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_several_rows_of_an_iteration(loop, several):
    """Slices that overlap, rows that an earlier iteration has read, and different axes."""
    reads, use = SEVERAL[several], ([*SEVERAL].index(several) + LOOPS.index(loop)) % 3
    (f, eager), args = gradient(loop, reads, use), arguments(3, reads, 5, "float32")
    for n in (0, 1, 4):
        check(f, *args, df.constant(n), eager=eager)
    assert not wholes(f, *args, df.constant(2))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), loop=st.sampled_from(LOOPS), n=st.integers(0, 4),
       use=st.integers(0, 2), names=st.lists(st.sampled_from(sorted(READS)), min_size=1,
                                             max_size=3))
def test_random_loops(seed, loop, n, use, names):
    x = df.zeros(SHAPE)
    shapes = {tuple(READS[name][1](x, 0).shape) for name in names}
    reads = [READS[name] for name in names] if len(shapes) == 1 else [READS[names[0]]] * len(names)
    f, eager = gradient(loop, reads, use)
    check(f, *arguments(seed, reads, 4, "float32"), df.constant(n), eager=eager)


@pytest.mark.parametrize("read", ["rows", "reversed", "element of a slice"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_differences(loop, read):
    """The gradient and its gradient, in float64."""
    reads, h = [READS[read]], 1e-6
    x, w, g, _ = arguments(5, reads, 4, "float64", special=False)
    n = df.constant(3)

    def value(x):
        def step(total, t):
            return df.tanh(total * .5 + reads[0][0](x, t) * df.gather(w, t))

        return df.reduce_sum(g * loop(step, df.zeros_like(g), n, w.shape[0]))

    def of_slope(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = value(x)
        return df.reduce_sum(df.sin(tape.gradient(y, x)))

    rng = np.random.default_rng(6)
    for f in (value, of_slope):
        check(df.grad(f), x)
        got = df.convert_to_tensor(df.function(df.grad(f))(x)).numpy()
        direction = rng.normal(size=x.shape)
        up, down = (df.function(f)(x + s * h * direction).item() for s in (1, -1))
        np.testing.assert_allclose((got * direction).sum(), (up - down) / (2 * h), rtol=1e-6,
                                   atol=1e-9)


def test_rows_of_unknown_size():
    """The tensor, or the rows that a loop visits, have a size that depends on data."""
    def of_rows(x, keep):
        with df.GradientTape() as tape:
            tape.watch(x)
            total, t = df.zeros([3]), df.constant(0)
            for row in df.boolean_mask(x, keep):
                total = df.tanh(total + row * x[t])
                t = t + 1
        return tape.gradient(total, x, unconnected_gradients="zero")

    def of_tensor(x, keep):
        with df.GradientTape() as tape:
            tape.watch(x)
            some, total = df.boolean_mask(x, keep), df.zeros([3])
            for t in df.range(some.shape[0]):
                total = df.tanh(total + some[t] * some[t - 1])
        return tape.gradient(total, x, unconnected_gradients="zero")

    x = df.constant(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"))
    for f in (of_rows, of_tensor):
        for keep in ([0, 1, 1, 0, 1], [1, 1, 1, 1, 1], [0, 0, 1, 0, 0]):
            check(f, x, df.constant(np.array(keep, bool)))


def test_first_dimension_of_a_signature():
    """A loop over a tensor whose first dimension differs from call to call."""
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch(x)
            total, t = df.zeros([3]), df.constant(0)
            for row in w:
                total = df.tanh(total + row * x[t, :3])
                t = t + 1
                if df.reduce_sum(total) > 2.:
                    break
        return tape.gradient(total, x, unconnected_gradients="zero")

    g = df.function(f, input_signature=[df.TensorSpec([None, 4]), df.TensorSpec([None, 3])])
    rng = np.random.default_rng(1)
    for n in (4, 9, 1):
        x = df.constant(rng.normal(size=(n, 4)).astype("float32"))
        w = df.constant(rng.normal(size=(n, 3)).astype("float32"))
        assert_same(g(x, w), f(x, w))


def test_index_out_of_range():
    """The error names the index."""
    def f(x, n):
        return df.grad(lambda x: df.reduce_sum(of_range(
            lambda total, t: total + x[:, t], df.zeros([2]), n, 3)))(x)

    with pytest.raises(df.errors.OutOfRangeError, match="3"):
        df.function(f)(df.ones([2, 3]), df.constant(4))


def test_carries_in_branches():
    """A tensor that a branch updates stays in its memory; other readers of it get their values."""
    def f(x, n, twice):
        total = df.zeros([])
        for t in range(n):
            if df.equal(t % 2, 0):
                before = x
                x = df.tensor_scatter_nd_update(x, [[t]], df.ones([1, 3]) * 2.)
                if twice:
                    total = total + df.reduce_sum(before) * df.reduce_sum(x)
            else:
                total = total + df.reduce_sum(x[t])
        return x, total

    x = df.constant(np.arange(15.).reshape(5, 3).astype("float32"))
    for twice in (False, True):
        for n in (0, 1, 2, 5):
            want = f(x, df.constant(n), twice)
            for passes in (False, True):
                got = df.function(f, passes=passes)(x, df.constant(n), twice)
                for a, b in zip(got, want, strict=True):
                    assert_same(a, b)
        assert bool(wholes(lambda x, n: f(x, n, twice), x, df.constant(3),  # noqa: B023
                           shape=(5, 3))) == twice


# --- add_rows ---

@pytest.mark.parametrize(("axis", "nested", "index"), [
    (0, False, 1), (1, False, -2), (2, False, [0, 3, -2]), (0, True, [2, -1]), (1, True, [[4, 0]]),
    (0, True, [1, 2, 3]),
])
def test_add_rows(axis, nested, index):
    rng = np.random.default_rng(axis)
    at = np.array(index)
    for dtype in ("float32", "float64", "int32"):
        x = (rng.normal(size=SHAPE) * 9).astype(dtype)
        want = x.copy()
        where = (slice(None),) * axis + (tuple(at.T) if nested else (at,))
        rows = (rng.normal(size=want[where].shape) * 9).astype(dtype)
        want[where] += rows
        for kind in ("int32", "int64"):
            got = _core.apply("add_rows", df.constant(x), df.constant(at.astype(kind)),
                              df.constant(rows), axis=axis, nested=nested)
            assert_same(got, df.constant(want))
        assert got.dtype.name == dtype


@pytest.mark.parametrize(("axis", "nested", "index", "rows", "message"), [
    (3, False, 0, (6, 5, 4), "axis is 3 of 3 dimensions"), (-1, True, [0], (5, 4), "axis is -1"),
    (1, False, 0, (5, 4), "updates has shape"), (1, True, [0, 0, 0], (6,), r"depth|indices"),
    (0, False, 6, (5, 4), "6"),
])
def test_add_rows_refuses(axis, nested, index, rows, message):
    with pytest.raises(df.errors.DualflowError, match=message):
        _core.apply("add_rows", df.zeros(SHAPE), df.constant(index), df.zeros(rows), axis=axis,
                    nested=nested)


# --- memory of inputs ---

@pytest.mark.parametrize("kind", ["cond", "loop"])
def test_outputs_in_the_memory_of_other_values(kind):
    """A program whose output is elsewhere than its bodies compute it is refused when it runs."""
    def branch(a, n):
        y = df.tanh(a)
        return df.cond(n > 0, lambda: df.tensor_scatter_nd_update(y, [[0]], [1.]), lambda: y)

    def loop(a, n):
        y = df.tanh(a)
        for _ in range(n):
            y = df.reverse(y, [0])
        return y

    args = df.ones([4]), df.constant(2)
    f = {"cond": branch, "loop": loop}[kind]
    spec = df.function(f).compiled_for(*args).spec
    one, = [i for i in spec.instructions if i.op.name == kind]
    given, made = [spec.slots[k] for k in (one.inputs[1], one.outputs[0])]
    assert ((given.kind, given.number) == (made.kind, made.number)) == (kind == "cond")
    slots = [*spec.slots]
    slots[one.inputs[1]] = (given._replace(kind=SlotKind.ARENA, offset=spec.arena_bytes)
                            if kind == "cond" else made)
    bad = ProgramSpec(**{**vars(spec), "slots": tuple(slots),
                         "arena_bytes": spec.arena_bytes + 64})
    with pytest.raises(df.errors.DualflowError, match=r"memory|overlap"):
        Executable(Program(bad), [0, 1], [], []).run(list(args))
