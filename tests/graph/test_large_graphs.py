"""Long and branching graphs as functions are traced, differentiated and run without recursion, in
time linear in the number of nodes."""

import sys

import numpy as np
import pytest

import dualflow as df


def chain(n):
    def f(x):
        for _ in range(n):
            x = df.sin(x)
        return x

    return f


@pytest.mark.parametrize("passes", [True, False])
def test_long_chain(passes, request):
    """The chain is far longer than the stacks of Python and C are deep."""
    n = 100_000 if request.config.getoption("exhaustive") else 30_000
    x = df.constant([.5, 1.])
    got = df.function(chain(n), passes=passes)(x)
    np.testing.assert_array_equal(got.numpy(), chain(n)(x).numpy())


def test_gradient_of_a_long_chain():
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = chain(10_000)(x)
        return y, tape.gradient(y, x)

    x = df.constant([.5, 1.])
    for got, want in zip(df.function(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_gradient_of_60_stacked_diamonds():
    """Each level uses the previous one twice: 2**60 paths, 60 nodes."""
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(60):
                y = df.sin(y) + df.cos(y)
        return y, tape.gradient(y, x)

    x = df.constant([.5, 1., 2.], df.float64)
    traced = df.function(f)
    for got, want in zip(traced(x), f(x), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert len(traced.get_concrete_function(x).trace.nodes) < 60 * 12


def profile_events(work):
    """Return the number of calls and returns, of Python and C functions, while `work` runs. Unlike
    time, the number does not depend on the load of the machine."""
    n = 0

    def count(frame, event, arg):
        nonlocal n
        n += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return n


PROGRAMS = {
    "chain": lambda n: chain(n),
    "wide": lambda n: lambda x: df.add_n([x * float(k) for k in range(n)]),
    "shared": lambda n: lambda x: [x := x + df.exp(x) for _ in range(n)][-1],
    "gradient": lambda n: lambda x: df.grad(lambda y: df.reduce_sum(chain(n)(y)))(x),
    "reshapes": lambda n: lambda x: [x := df.reshape(df.tanh(x), [[4], [2, 2]][k % 2])
                                     for k in range(n)][-1],
    "reductions": lambda n: lambda x: [x := x - df.reduce_mean(x) for _ in range(n)][-1],
    "products": lambda n: lambda x: [x := df.reshape(df.reshape(x, [2, 2]) @ df.ones([2, 2]), [4])
                                     for _ in range(n)][-1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_is_linear(name):
    x = df.constant([.1, .2, .3, .4])

    def work(n):
        return profile_events(lambda: df.function(PROGRAMS[name](n))(x))

    work(10)
    small, large = work(100), work(1000)
    assert large < 13 * small, (small, large)


@pytest.mark.parametrize("passes", [True, False])
def test_many_assignments_of_one_variable(passes):
    v = df.Variable(0.)

    @df.function(passes=passes)
    def f(x):
        for _ in range(2000):
            v.assign(v + x)
            v.assign_add(1.)
        return v.value()

    assert f(df.constant(1.)).numpy() == v.numpy() == 4000.


def test_many_variables():
    variables = [df.Variable(float(k)) for k in range(500)]

    @df.function
    def f(x):
        for v in variables:
            v.assign_add(x)
        return df.add_n([v.value() for v in variables])

    assert f(df.constant(1.)).numpy() == sum(range(500)) + 500
    assert [v.numpy() for v in variables] == [k + 1. for k in range(500)]
