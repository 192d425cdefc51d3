"""Gradients of branches and loops: eager = graph = graph without passes, bit for bit."""

import numpy as np
import pytest

import dualflow as df
from tests import sampling
from tests.graph.control.programs import program

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def gradients(f, order):
    """Return the gradients of f of an order, zeros for unconnected arguments."""
    def g(*args):
        with df.GradientTape() as tape:
            for x in args:
                tape.watch(x)
            y = f(*args)
            if order > 1:
                y = sum([df.reduce_sum(x * x) for x in gradients(f, order - 1)(*args)])
        return tape.gradient(y, list(args), unconnected_gradients="zero")

    return g


def same_bits(got, want):
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = df.convert_to_tensor(a).numpy(), df.convert_to_tensor(b).numpy()
        np.testing.assert_array_equal(a, b, str(k))
        assert a.tobytes() == b.tobytes(), (k, a, b)


def check(f, args, order, turn=None):
    """Compare eager mode with traces, with and without passes; given a turn, one of the two."""
    g = gradients(f, order)
    want = g(*args)
    for passes in (True, False) if turn is None else sampling.passes(turn):
        same_bits(df.function(g, passes=passes)(*args), want)
    return want


def inputs(seed, shape=(3,)):
    rng = np.random.default_rng(seed)
    return [df.constant(rng.standard_normal(shape).astype("f")) for _ in range(3)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(18))
def test_random_programs(seed, order):
    check(program(seed), inputs(seed), order, seed + order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", [*range(100, 104), 449])
def test_deeply_nested_random_programs(seed, order):
    check(program(seed, depth=3, length=3), inputs(seed), order, seed + order)


@pytest.mark.parametrize("seed", range(300, 306))
def test_random_programs_of_order_3(seed):
    check(program(seed, depth=1, length=3), inputs(seed), 3, seed)


@pytest.mark.parametrize("loop", [
    lambda x, w, rows: df.scan(lambda c, r: (df.sin(c * w * r), c * r), x, rows),
    lambda x, w, rows: whiles(x, w, 30.)])
@pytest.mark.parametrize("order", [3, 4])
def test_loops_of_higher_order(order, loop):
    def f(x, w, rows):
        return sum([df.reduce_sum(y * y * w) for y in df.nest.flatten(loop(x, w, rows))])

    check(f, [*inputs(15)[:2], inputs(15, (3, 3))[2]], order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(200, 208))
def test_tape_around_a_call(seed, order):
    f = program(seed)
    traced = df.function(f)
    want = gradients(f, order)(*inputs(seed))
    for _ in range(2):
        same_bits(gradients(traced, order)(*inputs(seed)), want)


def whiles(x, w, bound):
    return df.while_loop(lambda c: df.reduce_sum(c * c) < bound,
                         lambda c: (c * 1.5 + df.sin(w * c),), (x,))[0]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bound", [-1., 0.5, 30., 1e6])
def test_while_of_unknown_length(order, bound):
    """The trip count may also be zero."""
    check(lambda x, w, b: df.reduce_sum(df.tanh(whiles(x, w, df.reduce_max(b)))),
          [*inputs(1)[:2], df.constant([bound])], order)


@pytest.mark.parametrize("order", [1, 2])
def test_residuals_of_inner_loops_of_different_length(order):
    """The trip count of the inner loop differs in each iteration of the outer loop."""
    def f(x, w, rows):
        def step(c, row):
            c = whiles(c * 0.1 + row, w, df.reduce_sum(row))
            return c, df.sin(c)

        c, ys = df.scan(step, x, rows)
        return df.reduce_sum(c) + df.reduce_sum(ys)

    rows = df.constant([[.1, .2, .3], [9., 9., 9.], [-1., -1., -1.], [99., 1., 2.]])
    check(f, [*inputs(2)[:2], rows], order)


@pytest.mark.parametrize("order", [1, 2])
def test_accumulation_order_of_a_captured_value(order):
    """A captured value is read before, in and after the loop."""
    def f(x, w, _):
        x = x * w * 3.1
        c, ys = df.scan(lambda c, r: (df.tanh(c * w + r) * w, c * w), x, df.stack([w, x, w, w]))
        return df.reduce_sum(df.exp(c * w) * w) + df.reduce_sum(ys * w)

    check(f, inputs(3), order)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_swapped_and_doubled_carries(order, reverse):
    def f(x, w, rows):
        def step(carry, r):
            a, b, c = carry
            d = df.sin(a * r + c)
            return (b, d, d), (d, a, a)

        (a, _, c), ys = df.scan(step, (x, w, x), rows, reverse=reverse)
        return df.reduce_sum(a * 2. + c) + df.reduce_sum(ys[0] * ys[1]) + df.reduce_sum(ys[2])

    check(f, [*inputs(4)[:2], inputs(4, (5, 3))[2]], order)


def test_rules_without_a_cotangent_are_not_called():
    """Eager mode does not call rules of values without a cotangent: 0 times infinity would be
    NaN."""
    def f(x, w, rows):
        def step(carry, r):
            a, b = carry
            return (df.sin(a + r), df.sqrt(a * 0.)), b      # b is read one iteration later

        (a, _), ys = df.scan(step, (x, w), rows)
        return df.reduce_sum(a) + 0. * df.reduce_sum(ys[0])

    want = check(f, [*inputs(5)[:2], inputs(5, (4, 3))[2]], 1)
    assert not np.isnan(want[1].numpy()).any()
    y = df.function(gradients(lambda x, w, _: df.reduce_sum(df.cond(
        df.reduce_sum(x) < 100., lambda: x * 2., lambda: df.sqrt(x * 0.) * w)), 1))(*inputs(6))
    assert [g.tolist() for g in y[:2]] == [[2.] * 3, [0.] * 3]


@pytest.mark.parametrize("make", [
    lambda: df.optimizers.Adam(.1), lambda: df.optimizers.SGD(.1, momentum=.9),
    lambda: df.optimizers.Adam(.1, global_clipnorm=.5)])
def test_variables_of_the_branch_not_taken_are_unchanged(make):
    def run(wrap):
        a, b = df.Variable([1., 2., 3.]), df.Variable([2., -1., .5])
        opt = make()
        opt.build([a, b])           # same slot order, whichever is updated first

        def step(x):
            with df.GradientTape() as tape:
                y = df.cond(df.reduce_sum(x) > 0., lambda: df.reduce_sum(df.tanh(a * x)),
                            lambda: df.reduce_sum(df.sin(b * x)))
            opt.apply_gradients(zip(tape.gradient(y, [a, b]), [a, b], strict=True))
            return y

        f = wrap(step)
        made = [f(df.constant([1., -2., .5]) * s) for s in (1., 2., -3., -1., 3., -2.)]
        return [*made, *[v.value() for v in (a, b, *opt.variables)]]

    same_bits(run(df.function), run(lambda f: f))


def test_update_without_any_gradient_raises():
    """As in eager mode, the error is raised at run time, before any update."""
    def run(wrap):
        v, w = df.Variable([1., 2.]), df.Variable([3., 4.])
        opt = df.optimizers.SGD(.1)

        def step(x):
            with df.GradientTape() as tape:
                y = df.cond(x > 0., lambda: df.reduce_sum(v * w * x), lambda: x * 2.)
            opt.apply_gradients(zip(tape.gradient(y, [v, w]), [v, w], strict=True))
            return y

        f, seen = wrap(step), []
        for x in (1., -1., 2.):
            try:
                seen.append(f(df.constant(x)).item())
            except df.errors.InvalidArgumentError as error:
                seen.append(str(error).partition(" of ")[0])
            seen += [v.numpy().tolist(), w.numpy().tolist(), int(opt.iterations)]
        return seen

    want = run(lambda f: f)
    assert "SGD: no gradient for any" in want
    got = run(df.function)
    assert got == want


@pytest.mark.parametrize("order", [1, 2])
def test_captured_values_are_stacked(order):
    """The cotangent of each stacked row is added in its iteration."""
    def f(x, w, rows):
        c, ys = df.scan(lambda c, r: (df.sin(c * w + r), (w, c, r)), x, rows)
        return df.reduce_sum(c) + sum([df.reduce_sum(df.tanh(y * rows) * k)
                                       for k, y in enumerate(ys, 1)])

    check(f, [*inputs(14)[:2], inputs(14, (5, 3))[2]], order)


@pytest.mark.parametrize("order", [1, 2])
def test_switch_case(order):
    def f(x, w, k):
        index = df.cast(df.reduce_sum(k), "int32")
        return df.reduce_sum(df.switch_case(index, [
            lambda: df.sin(x * w), lambda: x, lambda: df.exp(x) * w * x]))

    for k in (0., 1., 2., 7.):
        check(f, [*inputs(7)[:2], df.constant([k])], order)


def test_embedding_lookup_in_a_loop():
    table = df.Variable(np.arange(12, dtype="f").reshape(4, 3) / 7)

    def g(x, ids):
        with df.GradientTape() as tape:
            c, _ = df.scan(lambda c, k: (df.tanh(c * df.gather(table, k)), ()), x, ids)
            y = df.reduce_sum(c * df.gather(table, [0, 3])[1])
        return tape.gradient(y, table)

    args = inputs(8)[0], df.constant([2, 1, 2, 0])
    same_bits([df.function(g)(*args)], [g(*args)])


def test_variables_written_in_a_loop():
    def make():
        v, w = df.Variable([1., 2., 3.]), df.Variable([.5, .25, .125])

        def g(x):
            with df.GradientTape() as tape:
                def step(c, r):
                    c = df.sin(c * v + r * w)
                    v.assign_add(c * 0.1)
                    return c * v, c

                c, ys = df.scan(step, x, df.stack([x, x * 2., x * 3.]))
                y = df.reduce_sum(c) + df.reduce_sum(ys)
            return [*tape.gradient(y, [v, w]), v.value()]

        return g

    x = inputs(9)[0]
    f, g = df.function(make()), make()
    for _ in range(3):
        same_bits(f(x), g(x))


def test_tape_inside_an_iteration():
    """Gradient descent as a loop, and the gradient through it."""
    def f(x, w, _):
        def step(c):
            with df.GradientTape() as tape:
                tape.watch(c)
                y = df.reduce_sum(df.sin(c * w) * c)
            return (c - 0.1 * tape.gradient(y, c),)

        return df.reduce_sum(df.while_loop(lambda c: df.reduce_sum(c) > -2., step, (x,),
                                           maximum_iterations=5)[0])

    check(f, inputs(10), 1)


def test_custom_gradient_inside_an_iteration():
    @df.custom_gradient
    def twice(x):
        y = df.sin(x)
        return y * 2., lambda g: g * y * 3.

    def f(x, w, _):
        c, ys = df.scan(lambda c, r: (twice(c * w + r), twice(r)), x, df.stack([x, w]))
        return df.reduce_sum(c) + df.reduce_sum(ys * w)

    check(f, inputs(11), 1)


def lstm(scan):
    rng = np.random.default_rng(0)
    w = df.Variable(rng.standard_normal((8, 16)).astype("f") / 3)
    b = df.Variable(np.zeros(16, "f"))

    def cell(carry, x):
        h, c = carry
        i, f, g, o = df.split(df.matmul(df.concat([x, h], 1), w) + b, 4, 1)
        c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
        h = df.sigmoid(o) * df.tanh(c)
        return (h, c), h

    def step(xs):
        with df.GradientTape() as tape:
            carry = df.zeros([2, 4]), df.zeros([2, 4])
            if scan:
                carry, hs = df.scan(cell, carry, xs)
            else:
                hs = []
                for x in df.unstack(xs):
                    carry, h = cell(carry, x)
                    hs.append(h)
                hs = df.stack(hs)
            loss = df.reduce_sum(carry[0]) + df.reduce_sum(hs * hs)
        return tape.gradient(loss, [w, b])

    return step


def test_lstm_matches_the_unrolled_one():
    xs = inputs(12, (7, 2, 4))[0]
    want = lstm(True)(xs)
    same_bits(df.function(lstm(True))(xs), want)
    same_bits(df.function(lstm(False))(xs), want)


def test_which_residuals_are_stacked():
    """Captured values and input rows are read again instead of stacked; values that no gradient
    reads are not stacked."""
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch(w)
            c, _ = df.scan(lambda c, r: (c + df.sin(w) * r, ()), x, df.stack([w, w]))
            y = df.reduce_sum(c)
        return tape.gradient(y, w)

    text = df.function(f).graph_for(*inputs(13)[:2]).text(lines=False)
    first = next(line for line in text.splitlines() if " = loop(" in line)
    assert first.split(" = ")[0].count("%") <= 2, text


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("f", [
    lambda x, t: df.cond(t, lambda: df.tanh(x * df.cast(x > 0., df.float32)), lambda: x * x * 3.),
    lambda x, t: df.cond(t, lambda: x * x * 3., lambda: df.tanh(x * df.cast(x > 0., df.float32))),
    lambda x, t: df.cond(t, lambda: df.cond(df.reduce_sum(x) > 0., lambda: df.tanh(x[1:] * x[:-1]),
                                            lambda: x[1:] * x[1:]), lambda: x[1:] * x[1:])])
def test_branches_with_sizes_that_differ_between_calls(f, order):
    """A residual of one branch has a size that the other branch does not know."""
    def g(x, t, n=order):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(df.sin(f(x, t) if n == 1 else g(x, t, n - 1)))
        return tape.gradient(y, x)

    signature = [df.TensorSpec([None, 4]), df.TensorSpec([], df.bool_)]
    traced = df.function(lambda x, t: g(x, t), signature)
    rng = np.random.default_rng(order)
    for n in (3, 5, 4):
        x = df.constant(rng.normal(size=(n, 4)).astype("float32"))
        for t in (True, False):
            assert traced(x, df.constant(t)).tolist() == g(x, df.constant(t)).tolist()


def one(x):
    return df.cond(df.reduce_sum(x) > 0., lambda: df.exp(x), lambda: -x)


def two(x):
    return df.cond(df.reduce_sum(x) > 9., lambda: x * 2., lambda: one(-x) + one(x))


def around_a_loop(x):
    return df.cond(df.reduce_sum(x) > 0., lambda: df.while_loop(
        lambda k, y: k < 3, lambda k, y: (k + 1, df.exp(-y) * y), (0, x))[1], lambda: -x)


def in_a_loop(x):
    return df.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, one(-y) * y), (0, x))[1]


@pytest.mark.parametrize("f", [one, two, around_a_loop, in_a_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [1, 2])
def test_residuals_of_branches_in_nested_functions(f, order):
    """The gradients read residuals of the branches after the call has ended."""
    x = df.constant([1., -.25, 2.])
    want = gradients(f, order)(x)[0].tolist()
    for called in (df.function(f), df.function(lambda x: df.function(f)(x)),
                   df.function(lambda x: df.function(f)(df.function(f)(x) * 0. + x))):
        got = df.function(gradients(called, order))(x)[0].tolist()
        assert got == want
