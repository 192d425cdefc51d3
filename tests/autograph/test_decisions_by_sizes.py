"""Python branches on sizes known only at run time: they become branches and loops of the graph or,
if a graph cannot express them, guards checked in each run."""

import numpy as np
import pytest

import dualflow as df

X = df.range(5.0)
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def rounds(x, n):
    y, total = x[:n], df.constant(0.0)
    for i in range(y.shape[0]):
        total = total + y[i] * 2.0
    return total


@program
def early_return(x, n):
    y = x[:n]
    if y.shape[0] > 2:
        return y[2]
    return df.constant(0.0)


@program
def counted(x, n):
    y, i, total = x[:n], 0, df.constant(0.0)
    while i < y.shape[0]:
        total = total + y[i]
        i += 1
    return total


@program
def truth(x, n):
    y = x[:n]
    return y * 2.0 if y.shape[0] else y


@program
def negation(x, n):
    y = x[:n]
    if not y.shape[0]:
        return df.constant(0.0)
    return df.reduce_mean(y)


@program
def both(x, n):
    y = x[:n]
    if (y.shape[0] > 1 and 2 * y.shape[0] <= 7) or y.shape[0] == 0:
        y = y + 1.0
    return df.reduce_sum(y)


@program
def chain(x, n):
    y = x[:n]
    return df.reduce_sum(y) if 1 < y.shape[0] <= 3.5 else df.constant(-1.0)


@program
def larger(x, n):
    y = x[:n]
    return df.reduce_sum(y) / max(y.shape[0], 1)


@program
def kept_flag(x, n):
    y = x[:n]
    many = y.shape[0] != 1
    if many:
        y = y * 3.0
    return df.reduce_sum(y)


@program
def item(x, n):
    y = x[:n]
    return [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][y.shape[0]] * df.reduce_sum(y)


@program
def helper(x, n):
    def rate(y):
        return 0.5 if y.shape[0] % 2 else 0.25

    return df.reduce_sum(x[:n]) * rate(x[:n])


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_one_trace_serves_any_size(f, passes):
    traced = df.function(f, passes=passes)
    for n in (3, 1, 0, 5, 2):
        np.testing.assert_array_equal(traced(X, df.constant(n)), f(X, df.constant(n)))
    assert ": 1 trace\n" in traced.trace_report()


def test_gradients_of_the_branch_taken():
    traced = df.function(negation)
    for n in (3, 0):
        with df.GradientTape() as tape:
            tape.watch(X)
            y = traced(X, df.constant(n))
        found = tape.gradient(y, X, unconnected_gradients="zero")
        np.testing.assert_array_equal(found, np.where(np.arange(5) < n, np.float32(1 / max(n, 1)),
                                                      0))


def test_inexpressible_branch_is_guarded():
    @df.function
    def f(x, n):
        y = x[:n]
        if y.shape[0] == 1:
            y = y[0]                    # another rank
        return y * 2.0

    np.testing.assert_array_equal(f(X, df.constant(3)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(f(X, df.constant(2)), [0.0, 2.0])
    with pytest.raises(df.errors.ShapeError, match="a size that depends on data: 1 == 1 is true"):
        f(X, df.constant(1))


def test_program_error_is_raised_if_the_guard_fails():
    @df.function
    def f(x, n):
        y = x[:n]
        if y.shape[0] == 0:
            raise ValueError("nothing")
        return df.reduce_max(y)

    assert f(X, df.constant(3)).item() == 2.0
    with pytest.raises(df.errors.ShapeError, match="0 == 0"):
        f(X, df.constant(0))


def test_tuple_comparisons_are_guarded():
    @df.function
    def f(x, n):
        y = x[:n]
        return y + 1.0 if tuple(y.shape) == (3,) else y

    np.testing.assert_array_equal(f(X, df.constant(2)), [0.0, 1.0])
    with pytest.raises(df.errors.ShapeError, match="3 == 3"):
        f(X, df.constant(3))


def test_text_of_a_size_raises_or_is_the_text():
    def text(x):
        y = x[x > 0.]
        return y * 2. if str(y.shape[0]) == "3" else y

    with pytest.raises(df.errors.TracedValueError, match="known only when"):
        df.function(text)(df.ones([3]))

    def shown(x):
        return x * 2. if repr(x.shape[0]) == "3" and f"{x.shape[0]}" == "3" else x

    f = df.function(shown, input_signature=[df.TensorSpec([None])])
    for n in (2, 3, 4, 3):
        assert f(df.ones([n])).tolist() == shown(df.ones([n])).tolist()
