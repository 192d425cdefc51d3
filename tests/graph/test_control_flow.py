"""Branches and loops, forward: a traced function gives the results of plain Python, with and
without passes."""

import contextlib

import numpy as np
import pytest

import dualflow as df
from tests.graph.build import assert_same


def compare(make, *calls):
    """Compare results of calls, and variables after each call, in three modes. ``make()`` returns a
    new function and its variables."""
    def run(wrap):
        f, variables = make()
        f = wrap(f)
        seen = []
        for args in calls:
            seen += df.nest.flatten(f(*args))
            seen += [v.value() for v in variables]
        return seen

    want = run(lambda f: f)
    for passes in (True, False):
        got = run(lambda f, passes=passes: df.function(f, passes=passes))
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)


def c(x, dtype=None):
    return df.constant(x, dtype)


# --- variables ---

def test_value_read_before_a_loop_is_unchanged_by_it():
    """The loop updates the variable in each iteration."""
    def make():
        v, u = df.Variable([1., 2.]), df.Variable(3.)

        def f(n):
            old = v.value()

            def body(i, x):
                v.assign_add(old)
                return i + 1, x + v.value() * old + u

            a = df.while_loop(lambda i, x: i < n, body, (0, old))

            def inner(carry, _):
                mid = v.value()

                def then():
                    v.assign(mid * .5 + old)
                    u.assign_add(1.)
                    return mid

                r = df.cond(u < 6., then, lambda: old)
                _, s = df.scan(lambda c, _: (c + v, (u.assign_add(.5), mid + c)[1]), carry, None, 2)
                return carry + r, s

            return a, df.scan(inner, old, None, 3), old

        return f, [v, u]

    compare(make, [c(2)], [c(0)], [c(3)])


def test_one_branch_writes_a_variable_that_the_other_returns():
    def make():
        v, w = df.Variable([1., 2.]), df.Variable(0)

        def f(k):
            def first():
                v.assign(v * 3.)
                return v.value()

            def second():
                w.assign_add(k)
                v.assign_add([1., 1.])
                return v * 2.

            return df.switch_case(k, [first, second, lambda: v.value()])

        return f, [v, w]

    compare(make, [c(0)], [c(1)], [c(2)], [c(9)])


# --- random numbers ---

def test_random_numbers_in_bodies_match_eager_mode():
    """The number of draws depends on the run; draws around and inside loops share one stream."""
    def run(wrap):
        g = df.random.Generator(3)

        def f(x):
            a = g.normal([2])
            b = df.while_loop(lambda i, s: df.reduce_sum(s) < 3., lambda i, s: (
                i + 1, s + df.abs(g.normal([2]))), (0, x))
            d = df.cond(x[0] > 0., lambda: g.uniform([2]), lambda: x)
            return a, b, d, g.uniform([2]), df.scan(lambda c, _: (c, g.normal([])), 0., None, 3)

        f = wrap(f)
        return [(df.nest.map_structure(df.Tensor.tolist, f(c([s, 0.]))), g.counter)
                for s in (1., -4., 0., 9.)] + [g.uniform([2]).tolist()]

    want = run(lambda f: f)
    assert run(df.function) == want
    assert run(lambda f: df.function(f, passes=False)) == want


def test_set_seed_resets_random_numbers_in_loops():
    f = df.function(lambda n: df.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, s + df.random.normal([])), (0, 0.))[1])
    df.random.set_seed(5)
    a = f(c(3)).item()
    df.random.set_seed(5)
    assert f(c(3)).item() == a
    df.random.set_seed(5)
    assert sum([df.random.normal([]) for _ in range(3)], c(0.)).item() == a


def test_loop_draws_from_a_local_generator_raise():
    @df.function
    def f(x):
        g = df.random.Generator(3)
        return df.map_fn(lambda r: r + g.normal([]), x)

    with pytest.raises(df.errors.InvalidArgumentError, match="create it before the function"):
        f(df.ones([3]))


# --- effects and failures ---

def test_host_calls_run_in_order(capsys):
    def f(x, n):
        def body(i, s):
            df.print("round", i)
            s = df.cond(i % 2 == 0, lambda: (df.print("even"), s + 1.)[1],
                        lambda: (df.print("odd", s), s)[1])
            return i + 1, s

        df.print("begin")
        y = df.while_loop(lambda i, s: i < n, body, (0, x))[1]
        df.print("end", y)
        return y

    f(c(1.), c(3))
    want = capsys.readouterr().out
    df.function(f)(c(1.), c(3))
    assert capsys.readouterr().out == want
    assert want.count("odd") == 1


def test_branch_not_taken_raises_nothing():
    table = c([1., 2.])

    @df.function
    def f(k):
        return df.cond(k < 2, lambda: df.gather(table, k), lambda: table[0] * 0.)

    assert [f(c(k)).item() for k in (1, 5)] == [2., 0.]


def test_failure_names_body_iteration_and_line():
    v = df.Variable(0)

    def body(i):
        v.assign_add(1)
        df.gather(c([1., 2.]), i)       # the line
        v.assign_add(10)
        return i + 1

    @df.function
    def f():
        return df.while_loop(lambda i: i < 5, body, [0])

    for _ in range(2):
        v.assign(0)
        with pytest.raises(df.errors.OutOfRangeError, match=r"gather.*iteration 2.*body") as info:
            f()
        line = body.__code__.co_firstlineno + 2
        assert f"test_control_flow.py:{line}" in str(info.value)
        assert "in gather of while_loop/body of f, made at" in info.value.__notes__[0]
        assert v.numpy() == 23


def test_assertions_in_bodies_run_in_order():
    def make():
        def f(x):
            def body(carry, row):
                df.debugging.assert_less(carry, 5.)
                return carry + row, carry

            return df.scan(body, 0., x)
        return f, []

    compare(make, [c([1., 2., 1.])])
    with pytest.raises(df.errors.InvalidArgumentError, match="x < y"):
        df.function(make()[0])(c([3., 3., 1.]))


# --- sizes ---

def test_changing_and_data_dependent_sizes():
    def make():
        def f(x, n):
            grown = df.while_loop(
                lambda i, a: i < n,
                lambda i, a: (i + 1, df.concat([a, [df.cast(i, "float32")]], 0)),
                (0, x[:0]), shape_invariants=((), (None,)))[1]
            kept = df.boolean_mask(x, x > 0.)
            rows = df.scan(lambda a, r: (a + r, a * r), 0., kept)
            chosen = df.cond(n > 2, lambda: x, lambda: x[1:])
            again = df.scan(lambda a, _: (a * 2., a), x, None, n)
            return grown, rows, df.foldl(lambda a, r: a - r, kept, 1.), chosen * 2., again

        return f, []

    compare(make, [c([1., -2., 3.]), c(2)], [c([4., 5., 6.]), c(5)], [c([1., -1., 2.]), c(1)])


def test_sizes_that_differ_between_calls():
    f = df.function(lambda x: (df.scan(lambda a, r: (a + r, a), df.zeros([3]), x),
                               df.while_loop(lambda y: df.reduce_sum(y) < 50., lambda y: y * 2.,
                                             [x])), input_signature=[df.TensorSpec([None, 3])])
    for n in (2, 5, 1):
        x = df.constant(np.arange(3. * n).reshape(n, 3) + 1., "float32")
        (last, made), (y,) = f(x)
        assert last.tolist() == np.sum(x.numpy(), 0).tolist()
        assert made.shape == (n, 3)
        assert y.shape == (n, 3)
    assert len(f.trace_report().splitlines()) <= 3


def test_trip_count_argument_shares_one_trace():
    f = df.function(lambda x, n: df.scan(lambda a, _: (a * 2., None), x, None, n)[0])
    assert [f(c(1.), n).item() for n in (1, 2, 5, 10)] == [2., 4., 32., 1024.]


@pytest.mark.parametrize("f", [
    lambda x, v: df.map_fn(lambda r: (r * 2., df.reduce_sum(r) > 0.), x),
    lambda x, v: df.map_fn(lambda r: {"a": r[:2], "b": ()}, x),
    lambda x, v: df.vectorized_map(lambda r: df.cast(r, "int32"), x),
    lambda x, v: df.scan(lambda c, r: (c + df.reduce_sum(r), (c, df.tile(r, [2]))), 1., x),
    lambda x, v: df.scan(lambda c, r: (c, (c, v.assign_add(1.))), 1., x),
    lambda x, v: df.scan(lambda c, _: (c + 1., [c, df.random.normal([2])]), 1., None, 0),
    lambda x, v: df.scan(lambda a, r: a + df.reduce_sum(r), x, initializer=2.),
    lambda x, v: df.foldr(lambda a, r: a + df.reduce_sum(r), x, 2.),
    lambda x, v: df.map_fn(lambda r: df.map_fn(lambda q: q * v, r), x),
])
def test_loops_over_zero_rows(f):
    """The types of stacked outputs are inferred without running the body."""
    def make():
        v = df.Variable(1.)
        return (lambda x: f(x, v)), [v]

    before = df.random.get_global_generator().counter
    compare(make, [df.zeros([0, 3])])
    assert df.random.get_global_generator().counter == before


def test_zero_rows_with_an_untraceable_body_raise():
    with pytest.raises(df.errors.InvalidArgumentError, match=r"there are no rows.*float32"):
        df.map_fn(lambda r: r if float(r[0]) > 0. else -r, df.zeros([0, 3]))


@pytest.mark.parametrize("size", [lambda x: df.shape(x)[0], lambda x: x.shape[0], df.size])
def test_tensor_arrays_sized_like_others(size):
    def f(x):
        return df.while_loop(
            lambda i, a: i < df.shape(x)[0], lambda i, a: (i + 1, a.write(i, x[i] * 2.)),
            (0, df.TensorArray(df.float32, size(x), element_shape=[])))[1].stack()

    compare(lambda: (f, []), [c([1., 2., 3.])], [c([4., 5.])])
    g = df.function(f, input_signature=[df.TensorSpec([None])])
    assert [g(df.ones([n])).tolist() for n in (3, 1)] == [[2.] * 3, [2.]]


# --- invalid input ---

@pytest.mark.parametrize(("f", "error", "match"), [
    (lambda x: df.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, df.cast(a, "float64")),
                             (0, x)), "DTypeError",
     r"while_loop: loop_vars\[1\] is float32 \(2,\).* before an iteration and float64 \(2,\)"),
    (lambda x: df.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, df.concat([a, a], 0)),
                             (0, x)), "ShapeError", r"loop_vars\[1\] is .*give shape_invariants"),
    (lambda x: df.while_loop(lambda s: s["i"] < 3, lambda s: {"i": s["i"] + 1}, {"i": 0, "x": x}),
     "InvalidArgumentError", "while_loop: loop_vars.* changes its structure"),
    (lambda x: df.while_loop(lambda a: a, lambda a: a, [x]), "InvalidArgumentError",
     r"while_loop: what cond returned is float32 \(2,\).*expected a bool of shape \(\)"),
    (lambda x: df.scan(lambda a, r: a + r, 0., x), "InvalidArgumentError",
     r"scan: f returned .*scan\(fn, elems, initializer="),
    (lambda x: df.scan(lambda a, r: (x, r), 0., x), "ShapeError", "scan: carry is"),
    (lambda x: df.foldl(lambda a, r: df.cast(a, "float64"), x), "DTypeError",
     "foldl: initializer is"),
    (lambda x: df.map_fn(lambda r: r, x[0]), "ShapeError", "map_fn: elems is .*rows"),
    (lambda x: df.map_fn(lambda r: r[0], (x, x[:1])), "ShapeError", "expected equal numbers"),
    (lambda x: df.map_fn(lambda r: r, x, dtype=df.int32), "DTypeError", "fn returned float32"),
    (lambda x: df.scan(lambda a, r: (a, r), 0., x, 5), "ShapeError", "length is 5"),
    (lambda x: df.cond(x, lambda: 1, lambda: 2), "InvalidArgumentError", r"cond: pred is float32"),
    (lambda x: df.cond(True, 1, lambda: 2), "InvalidArgumentError", "true_fn is 1"),
    (lambda x: df.switch_case(x, [lambda: 1]), "InvalidArgumentError", "branch_index is float32"),
    (lambda x: df.case([x]), "InvalidArgumentError", "pred_fn_pairs"),
    (lambda x: df.case([(x[0] > 5., lambda: 1)]), "InvalidArgumentError", "no condition holds"),
    (lambda x: df.case([(x[0] > 0., lambda: 1), (x[1] > 0., lambda: 2)], exclusive=True),
     "InvalidArgumentError", r"conditions \[0, 1\] hold"),
])
def test_invalid_input_raises(f, error, match):
    for g in (f, df.function(f)):
        with pytest.raises(getattr(df.errors, error), match=match):
            g(df.constant([1., 2.]))


@pytest.mark.parametrize(("f", "error", "match"), [
    (lambda p, x: df.cond(p, lambda: x, lambda: df.cast(x, "float64")), "DTypeError",
     r"cond: false_fn returns float64 \(2,\) .*true_fn float32 \(2,\)"),
    (lambda p, x: df.cond(p, lambda: x, lambda: x[0]), "ShapeError", "same rank"),
    (lambda p, x: df.cond(p, lambda: (x, x), lambda: x), "InvalidArgumentError",
     "false_fn and true_fn differ.*same structure"),
    (lambda p, x: df.cond(p, lambda: {"a": x}, lambda: {"a": None}), "InvalidArgumentError",
     r"differ at \['a'\]"),
])
def test_incompatible_branches_raise(f, error, match):
    """Only a traced function raises, since it traces both branches."""
    with pytest.raises(getattr(df.errors, error), match=match):
        df.function(f)(df.constant(True), df.constant([1., 2.]))


def test_body_value_used_outside_raises():
    kept = []

    @df.function
    def f(x):
        df.map_fn(lambda r: kept.append(r * 2.) or r, x)
        return kept[0] + 1.

    with pytest.raises(df.errors.TracedValueError, match="made inside map_fn"):
        f(df.ones([3]))


def test_exception_in_a_body_restores_the_trace():
    v = df.Variable(1.)

    @df.function
    def f(x):
        def broken(r):
            v.assign_add(r)
            raise ValueError("mine")

        with contextlib.suppress(ValueError):
            df.map_fn(broken, x)
        return v + x[0]

    assert f(c([1., 2.])).item() == 2.
    assert v.numpy() == 1.


def test_numbers_in_bodies_may_change_between_calls():
    f = df.function(lambda x, n, r: df.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, df.cond(
            df.reduce_sum(a) > r, lambda: a * r, lambda: a + n)), (0, x))[1])

    def plain(x, n, r):
        for _ in range(n):
            x = x * r if sum(x) > r else x + n
        return x.tolist()

    for n, r in ((1, 1.5), (2, 2.5), (3, .5), (4, 3.)):
        assert f(c([1., 2.]), n, r).tolist() == plain(np.array([1., 2.], np.float32), n, r)
    assert f.trace_report().startswith("<lambda>: 2 traces"), f.trace_report()


# --- contents of bodies ---

@df.custom_gradient
def rounded(x):
    return df.round(x), lambda g: g


def calls(x, v, opt):
    inner = df.function(lambda a, k: df.tanh(a) * k)
    return df.map_fn(lambda r: inner(r, 2.) + inner(r * r, 3.), x)


def tapes(x, v, opt):
    def body(c, r):
        with df.GradientTape() as tape:
            tape.watch(r)
            y = df.sin(r) * r
        return c + tape.gradient(y, r), rounded(r)

    return df.scan(body, df.zeros([2]), x)


def training(x, v, opt):
    def body(c, r):
        with df.GradientTape() as tape:
            loss = df.reduce_sum((v - r) ** 2)
        opt.apply_gradients([(tape.gradient(loss, v), v)])
        return c + loss, loss

    return df.scan(body, 0., x), v.value()


def rows_of_tables(x, v, opt):
    a, b = [df.IndexedSlices(x * k, df.constant(at), (5, 2))
            for k, at in ((1., [0, 1, 2]), (2., [2, 1, 0]))]
    return df.cond(x[0, 0] > 0., lambda: a, lambda: b)


def structures(x, v, opt):
    return df.while_loop(lambda s: s["n"] < 3,
                         lambda s: {"n": s["n"] + 1, "h": (s["h"][0] * 2., s["h"][1])},
                         {"n": 0, "h": (x, [x[0]])})


def all_forms(x, v, opt):
    return (df.foldr(lambda a, r: a * .5 + r, x),
            df.scan(lambda a, r: a * .5 + r, x, reverse=True),
            df.scan(lambda a, r: (a[0] + r, a[1] * r), x,
                    initializer=(df.zeros([2]), df.ones([2]))),
            df.while_loop(lambda i: True, lambda i: i + 1, 0, maximum_iterations=7),
            df.while_loop(lambda i, a: df.reduce_any(a > 0.), lambda i, a: (i + 1, a - 1.),
                          (0, x), maximum_iterations=df.constant(2)),
            df.switch_case(df.constant(7, "int64"), {3: lambda: 1., 7: lambda: 2.}, lambda: 3.),
            df.case([(x[0, 0] > 5., lambda: x), (x[0, 0] > 0., lambda: x * 2.)]))


def data_decides(x, v, opt):
    return df.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, df.cond(
        i > 1, lambda: df.reduce_sum(df.boolean_mask(y, y > 0.)) + y, lambda: y)), (0, x))


@pytest.mark.parametrize("f", [calls, tapes, training, rows_of_tables, structures, all_forms,
                               data_decides])
def test_library_functions_in_bodies(f):
    def make():
        v, opt = df.Variable([1., 2.]), df.optimizers.Adam(.1)

        def run(x):
            made = f(x, v, opt)
            return [made.values, made.indices] if isinstance(made, df.IndexedSlices) else made

        return run, [v]

    compare(make, [c([[1., 2.], [3., -4.], [.5, .25]])], [c([[2., 1.], [-3., 4.], [1., 1.]])])
