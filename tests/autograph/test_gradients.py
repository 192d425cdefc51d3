"""Gradients through converted control flow have the bits of eager mode."""

import numpy as np
import pytest

import dualflow as df


def branches(x):
    y = x * x if x > 0. else -x
    if y > 2.:
        y = y * 3.
    return y


def left_early(x, n):
    for i in range(n):
        if x > 50.:
            break
        x = x * x + 0.5 if i % 2 == 0 else x * 1.5
    return x


def recurrent(xs, w):
    s, out = w * 0., []
    for x in xs:
        s = df.tanh(s * w + x)
        out.append(s)
    return df.reduce_sum(df.stack(out))


def until(x):
    while x < 10.:
        x = x * x
    return x


def gradients(f, *args):
    floats = [x for x in args if x.dtype.is_floating]
    with df.GradientTape() as tape:
        for x in floats:
            tape.watch(x)
        y = f(*args)
    return tape.gradient(y, floats, unconnected_gradients="zero")


@pytest.mark.parametrize("f, args", [
    (branches, (2.,)), (branches, (1.,)), (branches, (-1.,)), (branches, (-4.,)),
    (left_early, (1.5, 4)), (left_early, (2., 0)), (left_early, (.3, 5)),
    (recurrent, ([.1, .2, .3], .7)), (until, (1.5,)), (until, (20.,)),
])
def test_tapes_inside_and_around(f, args):
    given = [df.constant(x) for x in args]
    want = [x.tolist() for x in gradients(f, *given)]
    inside = df.function(lambda *a: gradients(f, *a))(*given)
    around = gradients(df.function(f), *given)
    assert [x.tolist() for x in inside] == [x.tolist() for x in around] == want


def used_twice(xs, w):
    """An appended value is used several times in the next iteration, so the order of sums
    matters."""
    s, out = w * 0.3, []
    for x in xs:
        s = df.tanh(s * w + x) * 0.7 + s * 0.9 + df.sin(s)
        out.append(s)
    return df.stack(out)


def gated(xs, w):
    h, out = xs[0] * 0.1, []
    for x in xs:
        keep = df.sigmoid(h * w + x)
        h = keep * h + (1. - keep) * df.tanh(h * x + w)
        out.append(h)
    return df.stack(out)


def until_large(xs, w):
    k, s, out = 0, w * 0.9, []
    while df.reduce_sum(s) < 90.:
        s = s * 1.2 + df.sin(s) * w + xs[k % 3]
        out.append(s)
        k = k + 1
    return df.stack(out)


def two_steps(xs, w):
    a, b, out = w * 0.9, w * 0.5, []
    for x in xs:
        a, b = b, df.tanh(a * b + x) + b * b * 0.3 + a
        out.append(b)
    return df.stack(out)


def appended_at_first(xs, w):
    s, out = w * 0.9, []
    for x in reversed(xs):
        out.append(s)
        s = df.tanh(s * w + x) * 0.7 + s * 0.9 + df.sin(s)
    return df.stack(out) * s


def rows_and_the_whole(xs, w):
    for x, y in zip(xs, reversed(xs), strict=True):
        w = df.tanh(w + (x - y)) * xs[1] + x
    for x in reversed(xs):
        w = df.tanh(w * x)
    return w


@pytest.mark.parametrize("f", [used_twice, gated, until_large, two_steps, appended_at_first,
                               rows_and_the_whole])
@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_appended_carries(f, seed):
    """Check bits of order 1 and, unless two carries are one tensor, order 2."""
    rng = np.random.default_rng(seed)
    xs = df.constant(rng.normal(size=(5, 16)).astype("float32"))
    w = df.constant(rng.uniform(.1, .9, size=16).astype("float32"))

    def first(f, xs, w):
        return gradients(lambda xs, w: df.reduce_sum(df.sin(f(xs, w)) * df.cos(w)), xs, w)

    def second(f, xs, w):
        return gradients(lambda xs, w: df.add_n([
            df.reduce_sum(df.sin(g)) for g in first(f, xs, w)]), xs, w)

    for order in (first, second)[:1 if f is two_steps else 2]:
        want = [x.tolist() for x in order(f, xs, w)]
        inside = df.function(lambda *a, order=order: order(f, *a))
        assert [x.tolist() for x in inside(xs, w)] == want
        if order is first:
            assert [x.tolist() for x in order(df.function(f), xs, w)] == want


def test_sequences_of_unknown_size():
    """Abandoned attempts to trace a backward iteration leave no state behind."""
    w = df.Variable(np.linspace(-.5, .7, 9, dtype=np.float32).reshape(3, 3))

    def f(codes, lengths):
        with df.GradientTape() as tape:
            h = df.zeros([codes.shape[0], 3])
            for t in range(df.reduce_max(lengths)):
                after = df.tanh(h @ w + df.cast(codes[:, t], df.float32)[:, None])
                h = df.where((t < lengths)[:, None], after, h)
            loss = df.reduce_sum(h * h)
        return loss, tape.gradient(loss, w)

    g = df.function(f, input_signature=[df.TensorSpec([None, None], df.int32),
                                        df.TensorSpec([None], df.int32)])
    for codes, lengths in [([[1, 2, 3], [1, 2, 0]], [3, 2]), ([[3]], [1]), ([[1, 2]] * 3, [2] * 3)]:
        given = df.constant(codes), df.constant(lengths)
        assert [x.tolist() for x in g(*given)] == [x.tolist() for x in f(*given)]
    assert g.experimental_get_tracing_count() == 1


def test_variable_written_in_a_branch_and_read_in_a_loop():
    """The new value of the variable belongs to the branch and is not used in the loop body."""
    def f(v, x):
        if x > 0.:
            v.assign(df.tanh(v * x))
        k, y = 0, x
        while k < 3 and y < 9.:
            k += 1
            y = y * v + 1.
        return y

    def run(wrap):
        v = df.Variable(0.7)
        g = wrap(lambda x: gradients_of(lambda x: f(v, x), x, v))
        return [[y.item() for y in g(df.constant(x))] for x in (2., -1., .5)]

    def gradients_of(f, *sources):
        with df.GradientTape() as tape:
            tape.watch(sources[0])
            y = f(sources[0])
        return tape.gradient(y, sources, unconnected_gradients="zero")

    assert run(df.function) == run(lambda f: f)


def test_rows_after_a_break():
    """Rows of iterations that did not run get no cotangent."""
    def f(xs, limit):
        with df.GradientTape() as tape:
            tape.watch(xs)
            y = xs[0] * 0.5
            for x in xs:
                if df.reduce_sum(y) > limit:
                    break
                y = df.tanh(y + x) * x
            loss = df.reduce_sum(y * y)
        return tape.gradient(loss, xs)

    g = df.function(f)
    xs = df.constant(np.random.default_rng(3).normal(size=(5, 3)).astype("float32"))
    for limit in (-9., 0., .3, 9.):
        given = xs, df.constant(limit)
        assert g(*given).tolist() == f(*given).tolist()
