"""Variables first read in a nested body of a loop whose iterations assign them: each iteration and
its gradient read the version of that iteration."""

import pytest

import dualflow as df

scaled = df.function(lambda v, x: v * x)


def in_a_branch(v, x, n):
    y = x
    for _ in df.range(n):
        if n > 0:
            y = v * x
        v.assign_sub(.1)
    return y


def in_a_loop(v, x, n):
    y = x
    for _ in df.range(n):
        for _ in df.range(1):
            y = v * x
        v.assign_sub(.1)
    return y


def in_a_call(v, x, n):
    y = x
    for _ in df.range(n):
        y = scaled(v, x)
        v.assign_sub(.1)
    return y


def written_at_two_depths(v, x, n):
    y = x
    for i in df.range(n):
        for _ in df.range(i + 1):
            if n > 0:
                y = y * v
            v.assign_sub(.1)
        v.assign(v * 2.)
    return y * v


def in_functions(v, x, n):
    def step(i, y):
        z = df.cond(i > 0, lambda: df.scan(lambda c, _: (c * v, None), y, length=2)[0], lambda: y)
        v.assign_sub(.1)
        return i + 1, z * v
    return df.while_loop(lambda i, y: i < n, step, (df.constant(0), x))[1]


CASES = [in_a_branch, in_a_loop, in_a_call, written_at_two_depths, in_functions]


def gradients(f, x):
    """Return gradients by a tape around f with respect to a new variable and x."""
    v = df.Variable(1., dtype=df.float64)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(v, x)
    return [g.item() for g in tape.gradient(y, [v, x], unconnected_gradients="zero")], v.item()


def traced_inside(f, n):
    """Return the gradient of f by a tape inside a traced function."""
    def g(v, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(v, x, df.constant(n))
        return tape.gradient(y, [v, x], unconnected_gradients="zero")

    v = df.Variable(1., dtype=df.float64)
    made = df.function(g)(v, df.constant(2., df.float64))
    return [y.item() for y in made], v.item()


@pytest.mark.parametrize("f", CASES)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_each_iteration_reads_its_version(f, n):
    x, times = df.constant(2., df.float64), df.constant(n)
    want = gradients(lambda v, x: f(v, x, times), x)
    traced = df.function(f)
    assert gradients(lambda v, x: traced(v, x, times), x) == want
    assert traced_inside(f, n) == want
