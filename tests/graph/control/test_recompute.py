"""Gradient checkpointing of loops: less memory, equal bits."""


import numpy as np
import pytest

import dualflow as df
from dualflow.graph.passes import optimize
from dualflow.graph.program.plan import make_plan
from tests.graph.control.test_gradients import inputs, same_bits

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def stacked(graph):
    """Return the number of values that the loops of a graph, nested ones included, stack."""
    return sum([len(node.outputs) - node.attrs.as_dict()["n_carried"]
                for one in df.graph.ir.graphs(graph) for node in one.nodes if node.type == "loop"])


def kept(f, *args):
    """Return `stacked` of a traced function; its graph is checked after each pass."""
    compiled = f.compiled_for(*args)
    return stacked(optimize(compiled.traced, compiled.options._replace(check=True)))


def check(make, args, less=True):
    """Check that ``make(recompute)``, with and without, returns the bits of eager mode, and that it
    stacks fewer values with."""
    want = make(False)(*args)
    fs = [df.function(make(again)) for again in (False, True)]
    for f in fs:
        same_bits(df.nest.flatten(f(*args)), df.nest.flatten(want))
    same_bits(df.nest.flatten(make(True)(*args)), df.nest.flatten(want))
    plain, again = [kept(f, *args) for f in fs]
    assert (again < plain) if less else again == plain, (plain, again)


def gradients(f, order=1):
    def g(*args):
        with df.GradientTape() as tape:
            tape.watch(args)
            y = f(*args) if order == 1 else sum(
                [df.reduce_sum(x * x) for x in gradients(f, order - 1)(*args)])
        return tape.gradient(y, list(args), unconnected_gradients="zero")

    return g


def soft(x):
    """A function that is too expensive to be recomputed unless requested."""
    return df.nn.softmax(df.sin(x) * 2.)


def cell(c, w, r):
    a, b = c
    d = soft(df.sin(a * r + b) * w)
    return df.exp(-d * d) * w + d, df.sigmoid(b * d) + a


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(order, reverse):
    def make(again):
        def f(x, w, rows):
            def step(c, r):
                c = cell(c, w, r)
                return c, c[0] * r

            c, ys = df.scan(step, (x, w), rows, reverse=reverse, recompute=again)
            return df.reduce_sum(c[0] * c[1]) + df.reduce_sum(df.sin(ys))

        return gradients(f, order)

    check(make, [*inputs(1)[:2], inputs(1, (5, 3))[2]])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("limit", [None, 3, 0])
def test_while_loop(order, limit):
    def make(again):
        def f(x, w, bound):
            c = df.while_loop(lambda a, b: df.reduce_sum(a * a) < df.reduce_max(bound),
                              lambda a, b: (a * 1.5 + cell((a, b), w, a)[0], df.sin(b * a)),
                              (x, w),
                              maximum_iterations=limit, recompute=again)
            return df.reduce_sum(c[0] * c[1])

        return gradients(f, order)

    check(make, [*inputs(2)[:2], df.constant([30.])])


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_loops_in_loops(order, outer):
    def make(again):
        def f(x, w, rows):
            def step(c, r):
                c, _ = df.scan(lambda c, q: ((df.sin(c[0] * w + r), soft(c[0] * c[1])), None),
                               c, None, 3, recompute=again)
                return (c[0] * w, c[1]), c[0] * r

            c, ys = df.scan(step, (x, w), rows, recompute=again and outer)
            return df.reduce_sum(c[0] * c[1]) + df.reduce_sum(df.sin(ys))

        return gradients(f, order)

    check(make, [*inputs(3)[:2], inputs(3, (4, 3))[2]])


@pytest.mark.parametrize("order", [1, 2])
def test_inner_loops_of_different_lengths_and_sizes(order):
    def make(again):
        def f(x, w, rows):
            def step(c, r):
                c = df.while_loop(lambda c: df.reduce_sum(c * c) < df.reduce_sum(r),
                                  lambda c: (df.sin(c * w) + c * 1.5,), (c,), recompute=again)[0]
                some = df.boolean_mask(c, c > 0.)
                return soft(c * df.reduce_sum(df.exp(some * some))), df.sin(c)

            c, ys = df.scan(step, x, rows, recompute=again)
            return df.reduce_sum(c) + df.reduce_sum(ys)

        return gradients(f, order)

    rows = df.constant([[.1, .2, .3], [9., 9., 9.], [-1., -1., -1.], [30., 1., 2.]])
    check(make, [*inputs(4)[:2], rows])


def test_random_numbers_are_drawn_once():
    def run(again, wrap):
        generator = df.random.Generator(7)

        def f(x, w, rows):
            def step(c, r):
                noise = generator.normal([3])
                return soft(df.sin(c * w * noise) * df.exp(noise * r)), None

            return df.reduce_sum(df.scan(step, x, rows, recompute=again)[0])

        g = wrap(gradients(f))
        args = [*inputs(5)[:2], inputs(5, (4, 3))[2]]
        return [y for _ in range(2) for y in (*g(*args), df.constant(generator.counter))]

    want = run(False, lambda f: f)
    for again in (False, True):
        same_bits(run(again, df.function), want)


def test_effects_happen_once(capsys):
    def run(again, wrap):
        v = df.Variable([1., 2., 3.])

        def f(x, w, rows):
            def step(c, r):
                v.assign_add(df.sin(c))
                df.print("round", df.reduce_sum(r) > 0.)
                return df.cond(df.reduce_sum(c) > 0., lambda: df.sin(soft(c * v) * w),
                               lambda: df.exp(df.sin(c) * v)), v * c

            c, ys = df.scan(step, x, rows, recompute=again)
            return df.reduce_sum(c) + df.reduce_sum(ys * ys)

        args = [*inputs(6)[:2], inputs(6, (4, 3))[2]]
        made = [*wrap(gradients(f))(*args), v.value()]
        return made, capsys.readouterr().out

    want, out = run(False, lambda f: f)
    for again in (False, True):
        made, output = run(again, df.function)
        same_bits(made, want)
        assert output == out


def test_variable_assigned_after_the_loop():
    """The value that the iterations read is overwritten before the gradient runs."""
    def make(again):
        v = df.Variable([1., 2., 3.])

        def g(x, rows):
            v.assign([1., 2., 3.])
            with df.GradientTape() as tape:
                c, _ = df.scan(lambda c, r: (soft(df.sin(c * v) * df.exp(r * v)), None), x, rows,
                               recompute=again)
                y = df.reduce_sum(c)
            v.assign(v * 2.)
            return tape.gradient(y, v), v.value()

        return g

    check(make, [inputs(7)[0], inputs(7, (4, 3))[2]])


def test_recompute_without_savings_is_ignored():
    def make(again):
        def f(x, w, rows):
            c, _ = df.scan(lambda c, r: (soft(c * w + r), None), x, rows, recompute=again)
            return df.reduce_sum(c * c)

        return gradients(f)

    check(make, [*inputs(8)[:2], inputs(8, (4, 3))[2]])

    def make_wide(again):
        def f(x, w, rows):
            def step(c, r):
                return c + df.sin(df.reduce_sum(c) * r), None

            c, _ = df.scan(step, df.concat([x] * 9, 0), rows, recompute=again)
            return df.reduce_sum(c * df.reduce_sum(w))

        return gradients(f)

    check(make_wide, [*inputs(9)[:2], df.constant([1., .5, .25])], less=False)


def test_forms_of_scan():
    def make(again):
        def f(x, w, rows):
            a = df.scan(lambda a, r: soft(df.sin(a * w) * df.exp(r)), rows, recompute=again)
            b = df.scan(fn=lambda a, r: soft(df.sin(a * w) * df.exp(r)), elems=rows,
                        initializer=x, recompute=again)
            return df.reduce_sum(a * b)

        return gradients(f)

    check(make, [*inputs(10)[:2], inputs(10, (4, 3))[2]])


def test_memory_of_a_long_loop():
    """Only the carry is stored: 16 KB per iteration."""
    def make(again):
        w = df.constant(np.eye(64, 256, dtype="f") * .5)

        @df.function
        def g(xs):
            def cell(carry, x):
                h, c = carry
                i, f, g, o = df.split(df.matmul(h + x, w), 4, 1)
                c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
                return (df.sigmoid(o) * df.tanh(c), c), None

            with df.GradientTape() as tape:
                tape.watch(xs)
                (h, _), _ = df.scan(cell, (df.zeros([32, 64]), df.zeros([32, 64])), xs,
                                    recompute=again)
                y = df.reduce_sum(h)
            return tape.gradient(y, xs)

        return g

    arenas = []
    for again in (False, True):
        g, sizes = make(again), []
        for n in (50, 100):
            compiled = g.compiled_for(df.constant(np.ones((n, 32, 64), "f")))
            sizes.append(make_plan(optimize(compiled.traced, compiled.options)).arena_bytes)
        arenas.append((sizes[1] - sizes[0]) / 50)
    assert arenas[1] == 2 * 32 * 64 * 4
    assert arenas[0] > 2 * arenas[1]
