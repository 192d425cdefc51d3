"""The memory plan: views are offsets, dead inputs are reused, updates happen in place."""

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.program.spec import SlotKind


def plan_of(f, *args, passes=False):
    return df.function(f, passes=passes).compiled_for(*args).plan


def ops(plan):
    return [s.node.op.name for s in plan.instructions]


X = df.reshape(df.range(12.), [3, 4])


def test_views_become_offsets():
    plan = plan_of(lambda x: df.reduce_sum(df.reshape(df.exp(x), [4, 3])[1:3]), X)
    assert ops(plan) == ["exp", "reduce_sum"]
    exp, total = plan.instructions
    assert plan.where[total.inputs[0]] == (plan.where[exp.outputs[0]][0], 3 * 4)


def test_views_of_arguments_and_constants():
    assert ops(plan_of(lambda x: x[1:] + 1., X)) == ["add"]
    c = df.ones([6, 4])
    got = df.function(lambda x: c[2:5] + x, passes=False)(X)
    np.testing.assert_array_equal(got.numpy(), X.numpy() + 1.)


def test_dying_inputs_are_reused():
    """Two buffers suffice for any length: ops run in place, but not in the argument."""
    def chain(x):
        for _ in range(10):
            x = df.exp(x) * .5
        return df.reduce_sum(x)

    with_passes = df.function(chain).compiled_for(X).plan
    assert with_passes.arena_bytes <= 64 * 2
    plan = plan_of(chain, X)
    assert plan.arena_bytes <= 64 * 2
    assert plan.arena_bytes >= plan.lower_bound


def test_input_with_a_later_reader_is_not_reused():
    def f(x):
        y = df.exp(x)
        z = df.tanh(y)
        return df.reduce_sum(y) + df.reduce_sum(z)

    for passes in (False, True):
        assert df.function(f, passes=passes)(X).numpy() == f(X).numpy()


def test_broadcast_operand_is_not_overwritten():
    def f(x):
        row = df.exp(x[0] * .1)
        return df.reduce_sum(x * row + row)

    for passes in (False, True):
        np.testing.assert_array_equal(df.function(f, passes=passes)(X).numpy(), f(X).numpy())


@pytest.mark.parametrize("passes", [False, True])
def test_updates_are_computed_in_place(passes):
    v = df.Variable(X)
    plan = plan_of(lambda x: [v.assign(v * .5 + x), None][1], X, passes=passes)
    assert "assign" not in ops(plan)
    buffer = plan.where[plan.instructions[-1].outputs[0]][0]
    assert buffer.variable is v
    assert plan.variables == [v] and plan.written == [True]


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("method", ["update", "add", "sub", "min", "max"])
def test_rows_are_scattered_in_place(method, passes):
    v = df.Variable(X)
    scatter = getattr(v, f"scatter_nd_{method}")
    plan = plan_of(lambda k, x: [scatter(df.reshape(k, [1, 1]), x[:1]), None][1], df.constant(1),
                   X, passes=passes)
    assert "assign" not in ops(plan)
    assert plan.where[plan.instructions[-1].outputs[0]][0].variable is v


@pytest.mark.parametrize("passes", [False, True])
def test_scattered_variable_that_is_needed_later_is_not_overwritten(passes):
    v = df.Variable(X)

    @df.function(passes=passes)
    def f(k):
        old, at = v.value(), df.reshape(k, [1, 1])
        v.scatter_nd_update(at, old[2:])
        v.scatter_nd_add(df.reverse(at, [0]), v[:1])
        return old

    for k in (0, 1):
        want = v.numpy().copy()
        np.testing.assert_array_equal(f(df.constant(k)).numpy(), want)
        want[k] = want[2]
        want[k] += want[0]
        np.testing.assert_array_equal(v.numpy(), want)


@pytest.mark.parametrize("variable_first", [False, True])
def test_update_in_the_wave_of_a_reader_is_not_in_place(serial_joins, variable_first):
    n = 200_000
    v = df.Variable(df.zeros([n]))

    @df.function
    def f(a):
        old = v.value()
        joins = [lambda: df.concat([old, old], 0), lambda: df.concat([a, a], 0)]
        first, second = [x() for x in (joins if variable_first else joins[::-1])]
        read, value = (first, second) if variable_first else (second, first)
        v.assign(value)
        return read, df.reduce_max(value)

    compiled = f.compiled_for(df.ones([n // 2]))
    assert [node.wave for node in compiled.graph.nodes if node.type == "concat"] == [1, 1]
    assert [compiled.plan.where[i.outputs[0]][0].variable for i in compiled.plan.instructions
            if i.node.wave] == [None, None]
    for k in range(3):
        read, largest = f(df.ones([n // 2]) * k)
        assert set(read.numpy()) == {max(k - 1., 0.)} and largest.item() == k


def test_old_variable_value_with_a_later_reader_is_kept():
    v = df.Variable(X)

    def f(x):
        old = v.value()
        v.assign(x * 2.)
        return old + v

    for passes in (False, True):
        v.assign(X)
        np.testing.assert_array_equal(df.function(f, passes=passes)(X).numpy(), 3. * X.numpy())
        np.testing.assert_array_equal(v.numpy(), 2. * X.numpy())


def test_results_have_separate_memory():
    f = df.function(lambda x: (x, df.reshape(df.exp(x), [12])[2:], df.exp(x)), passes=False)
    plan = f.compiled_for(X).plan
    kinds = [b.kind for b in plan.buffers]
    assert kinds.count(SlotKind.RESULT) == 2
    same, _, _ = f(X)
    assert same is X


def test_variables_only_read():
    v = df.Variable(X)
    plan = plan_of(lambda: v * 2.)
    assert plan.variables == [v] and plan.written == [False]


def test_data_dependent_sizes_are_not_planned():
    plan = plan_of(lambda x: df.reduce_sum(df.boolean_mask(x, x > 3.) * 2.), X)
    dynamic = [s.node.op.name for s in plan.instructions if s.dynamic]
    assert "multiply" in dynamic and "greater" not in dynamic


def test_deep_network_arena_is_close_to_live_bytes():
    weights = [df.Variable(df.ones([32, 32]) * .01) for _ in range(50)]
    optimizer = df.optimizers.SGD(.1)

    @df.function
    def step(x):
        with df.GradientTape() as tape:
            for w in weights:
                x = df.nn.relu(x @ w)
            loss = df.reduce_mean(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    plan = step.compiled_for(df.ones([64, 32])).plan
    assert plan.lower_bound <= plan.arena_bytes <= 1.05 * plan.lower_bound


def live_ranges(plan):
    """Return the arena buffers with the first and last instruction during which each is live. The
    instructions of a wave run in any order, so a buffer is live during the whole wave."""
    ranges = {}
    waves = [i.node.wave for i in plan.instructions]
    for k, instruction in enumerate(plan.instructions):
        wave_of_k = [i for i, wave in enumerate(waves) if i == k or (wave == waves[k] != 0)]
        for x in (*instruction.inputs, *instruction.outputs):
            buffer = plan.where[x][0]
            if buffer.kind is SlotKind.ARENA:
                first, last = ranges.get(buffer, (wave_of_k[0], wave_of_k[-1]))
                ranges[buffer] = min(first, wave_of_k[0]), max(last, wave_of_k[-1])
    return ranges


def counts(a, b):
    x = df.math.confusion_matrix(a + 1, b + 1, num_classes=400)
    y = df.math.confusion_matrix(b + 2, a + 2, num_classes=400)
    return df.reduce_max(x), df.reduce_max(y)


def joined_and_split(a, b):
    c, d = df.concat([a * 3, b], 0), df.concat([b * 5, a], 0)
    return df.reduce_max(df.split(c, 2)[1] * df.split(d, 2)[0]), df.reduce_max(c)


@pytest.mark.parametrize("f", [counts, joined_and_split])
def test_live_buffers_of_a_wave_do_not_overlap(f, request):
    if f is joined_and_split:
        request.getfixturevalue("serial_joins")
    args = [df.cast(df.range(400_000) % k, df.int32) for k in (7, 11)]
    plan = df.function(f).compiled_for(*args).plan
    assert any(i.node.wave for i in plan.instructions)
    ranges = list(live_ranges(plan).items())
    for i, (a, (start, end)) in enumerate(ranges):
        for b, (other, last) in ranges[:i]:
            if a.size and b.size and start <= last and other <= end:
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


@pytest.mark.parametrize("f", [
    lambda v: df.reverse(v, [0]), lambda v: df.cumsum(v), lambda v: df.roll(v, 1, 0),
    lambda v: df.sort(v), lambda v: df.matmul(v, v), lambda v: df.transpose(v),
    lambda v: df.gather(v, [2, 0, 1]), lambda v: df.nn.softmax(v), lambda v: df.tanh(v) + v,
    lambda v: df.math.cumprod(v, reverse=True)])
def test_variable_is_not_overwritten_while_it_is_read(f):
    """An op that does not read its input once and in order writes its result to another buffer."""
    start = np.random.default_rng(0).normal(size=(3, 3)).astype("float32")
    v, w = df.Variable(start), df.Variable(start)
    traced = df.function(lambda: v.assign(f(v)))
    for _ in range(3):
        traced()
        w.assign(f(w))
        assert v.tolist() == w.tolist()


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("view", [False, True])
def test_value_stored_in_a_variable_is_kept_until_its_last_reader(passes, view):
    """The variable's next value does not overwrite it early."""
    def f(v, x, i):
        y = x + x
        v.assign(y)
        checked = df.gather(x, i)               # prevents moving the assignment
        seen = df.reshape(y, [4]) if view else y
        z = df.exp(x)
        w = -seen
        v.assign(z)
        return w, checked

    v, u, x, i = df.Variable([0.] * 4), df.Variable([0.] * 4), X[0], df.constant(2)
    traced = df.function(lambda x, i: f(v, x, i), passes=passes)
    for _ in range(2):
        got, want = traced(x, i), f(u, x, i)
        assert [t.tolist() for t in (*got, v)] == [t.tolist() for t in (*want, u)]


def test_reduced_row_does_not_reuse_a_scalar_operand():
    """The cluster still reads the scalar after the row has been reduced."""
    rng = np.random.default_rng(5)
    a, b, c = [df.constant(rng.normal(size=s).astype("float32"))
               for s in ((1, 4), (4, 120), (4, 1))]

    def f(a, b, c):
        x, number = df.reshape(a @ b, [120]), a @ c
        wave = df.cos(x)
        total = df.reduce_sum(df.sin(x))
        y = df.exp(df.reshape(x, [1, 120]) / number)
        return (df.cumsum(wave), df.matmul(df.reshape(total, [1, 1]), c[:1]),
                df.matmul(y, y, transpose_b=True))

    for got, want in zip(df.function(f)(a, b, c), f(a, b, c), strict=True):
        assert got.numpy().tobytes() == want.numpy().tobytes()


CHAINS = {
    "two ops": (lambda c, t: df.exp(-c) * df.cast(t, c.dtype), True),
    "operand that dies": (lambda c, t: df.tanh(c * 2.) + df.exp(df.cast(t, c.dtype) + X), True),
    "carry read later": (lambda c, t: df.exp(-c) + df.sin(c), False),
    "carry read last": (lambda c, t: df.subtract(df.exp(-c), c), True),
    "value read twice": (lambda c, t: (lambda y: y * df.sin(y))(df.exp(-c)), False),
    "view of the carry": (lambda c, t: df.exp((c - c[0]) * .5), False),
    "copy of a part": (lambda c, t: df.exp(c[:, :1] - c) * .5, True),
    "view between": (lambda c, t: df.reshape(df.exp(df.reshape(-c, [12])) * .5, [3, 4]), False),
    "broadcast": (lambda c, t: df.exp(c[:1] - 1.) + df.exp(-c), None),
    "rows": (lambda c, t: df.tensor_scatter_nd_add(
        df.tensor_scatter_nd_add(c, [[t % 3]], X[:1]), [[2 - t % 3]], X[1:2]), True),
}


@pytest.mark.parametrize("name", CHAINS)
def test_carry_is_overwritten_by_a_chain_of_ops(name):
    """The last op of a chain continues in the memory of the carry whenever the first began there.
    """
    step, in_place = CHAINS[name]

    def f(c):
        for t in df.range(5):
            c = step(c, t)
        return c

    c = want = X * .1
    for t in range(5):
        want = step(want, df.constant(t))
    for passes in (False, True):
        got = df.function(f, passes=passes)(c)
        assert got.numpy().tobytes() == want.numpy().tobytes()
    np.testing.assert_array_equal(c.numpy(), (X * .1).numpy())      # the start is not overwritten
    plan = plan_of(f, c)
    loop, = [x for x in plan.instructions if x.node.op.name == "loop"]
    body, = loop.bodies
    carry, y = loop.node.bodies[0].inputs[0], body.results[0]
    if in_place is not None:
        assert (body.where[y] == body.where[carry]) == in_place


@pytest.mark.parametrize("passes", [False, True])
def test_long_chain_from_a_carry(passes):
    def f(c):
        for _ in df.range(2):
            for _ in range(1500):
                c = df.tanh(c) + X
        return c

    want = X
    for _ in range(3000):
        want = df.tanh(want) + X
    assert df.function(f, passes=passes)(X).numpy().tobytes() == want.numpy().tobytes()


def test_carries_that_swap_are_not_overwritten():
    def f(a, b):
        for _ in df.range(3):
            a, b = df.exp(-b) * .5, df.exp(-a) * 2.
        return a, b

    a = b = X * .1
    c, d = a, b
    for _ in range(3):
        c, d = df.exp(-d) * .5, df.exp(-c) * 2.
    for passes in (False, True):
        for got, want in zip(df.function(f, passes=passes)(a, b), (c, d), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("passes", [True, False])
def test_value_of_more_bytes_than_64_bits_count(passes):
    f = df.function(lambda: df.reduce_sum(df.zeros([2**62]) + 1.), passes=passes)
    with pytest.raises(MemoryError, match=r"no memory for float32 \(4611686018427387904,\), "
                                          "18446744073709551616 bytes .made at"):
        f()


# --- parts of a concat or stack ---

ROWS = df.reshape(df.range(32.), [2, 16])      # aligned


def places(plan, join):
    """Return the buffers and offsets of the inputs of the op `join`, and the buffer of its
    output."""
    (found,) = [s for s in plan.instructions if s.node.op.name == join]
    return [plan.where[x] for x in found.inputs], plan.where[found.outputs[0]][0]


@pytest.mark.parametrize(("join", "offsets"), [
    (lambda *xs: df.concat(xs, 0), [0, 128, 256]),
    (lambda *xs: df.stack(xs), [0, 128, 256]),
    (lambda *xs: df.concat([x[None] for x in xs], 1), [0, 128, 256]),
    (lambda *xs: df.concat([df.reshape(x, [32]) for x in xs], 0), [0, 128, 256]),
    (lambda *xs: df.stack([df.reduce_sum(x, 0, keepdims=True) for x in xs], -3), [0, 64, 128])])
def test_parts_are_computed_in_their_join(join, offsets):
    def f(x):
        return join(df.exp(x), df.tanh(x), x * 2.)

    plan = plan_of(f, ROWS)
    at, whole = places(plan, "concat" if "concat" in ops(plan) else "stack")
    assert at == [(whole, n) for n in offsets]
    for passes in (False, True):
        np.testing.assert_array_equal(df.function(f, passes=passes)(ROWS), f(ROWS))


def test_parts_that_need_memory_of_their_own():
    """Results, arguments, views, values that are joined twice or not aligned, other axes."""
    def f(x, v):
        e, t = df.exp(x), df.tanh(x)
        short = df.sin(x[0, :3])
        return (e, df.concat([e, t, t], 0), df.concat([short, short * 2.], 0),
                df.stack([df.cos(x), df.sin(x)], 1), df.stack([x, v]))

    v = df.Variable(ROWS * 3.)
    plan = df.function(f, passes=False).compiled_for(ROWS, v).plan
    for instruction in plan.instructions:
        if instruction.node.op.joins:
            whole = plan.where[instruction.outputs[0]][0]
            inside = [plan.where[x][1] for x in instruction.inputs if plan.where[x][0] is whole]
            assert inside in ([], [0])
    for got, want in zip(df.function(f)(ROWS, v), f(ROWS, v), strict=True):
        np.testing.assert_array_equal(got, want)


def test_parts_are_read_after_their_join():
    def f(x):
        parts = [df.exp(x), df.tanh(x), x + 1.]
        whole = df.stack(parts)
        return df.reduce_sum(whole, 0) * parts[1] - df.reshape(parts[0], [2, 16]) + parts[2][1]

    for passes in (False, True):
        np.testing.assert_array_equal(df.function(f, passes=passes)(ROWS), f(ROWS))


def test_rows_of_an_unrolled_recurrence_are_computed_in_their_stack():
    def f(x, w):
        h, rows = x, []
        for _ in range(4):
            h = df.tanh(h @ w)
            rows.append(h)
        return df.reduce_sum(df.square(df.stack(rows)))

    w = df.reshape(df.sin(df.range(256.)), [16, 16])
    plan = plan_of(f, ROWS, w)
    at, whole = places(plan, "stack")
    assert at == [(whole, n) for n in (0, 128, 256, 384)]
    step = df.function(df.grad(f, (0, 1)))
    for got, want in zip(step(ROWS, w), df.grad(f, (0, 1))(ROWS, w), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("joined", [
    lambda y: df.concat([y[1:], y], 0), lambda y: df.concat([y, y[:1], y], 0),
    lambda y: df.concat([y, df.reshape(y, [2, 16])], 0), lambda y: df.stack([y[1], y[0]]),
    lambda y: df.pad(y, [[1, 1], [1, 2]], "SYMMETRIC")])
def test_views_of_a_part_are_read_from_memory_that_the_join_does_not_write(joined):
    def f(x):
        return df.reduce_sum(joined(df.exp(x)) * 2., 1)

    for passes in (False, True):
        np.testing.assert_array_equal(df.function(f, passes=passes)(ROWS), f(ROWS))
