"""Gradients of branches and loops whose values are derived by hand, in float64. Each program is the
smallest one that shows a certain fault of the gradient rules."""

import pytest

import dualflow as df

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def number(x):
    return df.constant(x, df.float64)


def gradient(f, chosen=None):
    """The gradient of a function in its floating arguments, or those that are chosen."""
    def g(*args):
        xs = [x for x in args if x.dtype.is_floating]
        with df.GradientTape() as tape:
            tape.watch(xs)
            y = f(*args)
        found = tape.gradient(y, xs, unconnected_gradients="zero")
        return found if chosen is None else found[chosen]

    return g


def check(f, args, want, of=gradient):
    """Compare derivatives by tapes in eager mode, around a traced function and inside it."""
    for g in (of(f), of(df.function(f)), df.function(of(f)), df.function(of(df.function(f)))):
        assert [y.tolist() for y in g(*args)] == want


# --- rows that no iteration reads ---

def until_three(x, rows):
    for r in rows:
        if x > 3.:
            break
        x = x * r
    return x


def test_rows_after_break_have_zeros():
    rows = number([2., 2., 5., 7.])
    check(until_three, [number(1.), rows], [4., [2., 2., 0., 0.]])


def test_rows_after_break_are_read_elsewhere():
    rows = number([2., 2., 5., 7.])
    check(lambda x, rows: until_three(x, rows) + df.reduce_sum(rows * rows), [number(1.), rows],
          [4., [6., 6., 10., 14.]])


def second(f):
    """The gradient of the square of the derivative in the second argument."""
    return gradient(lambda *args: gradient(f, 1)(*args) ** 2)


def roots(v, x, n):
    i = 0
    for r in df.sqrt(v):
        if i >= n:
            break
        x = x * x * r
        i = i + 1
    return x


def test_second_derivative_where_no_row_is_read():
    """Nothing flows into the rows, which are square roots of zero: 0 times infinity is no number.
    """
    check(roots, [number([0., 0.]), number(2.), df.constant(0)], [[0., 0.], 0.], second)


def test_second_derivative_where_the_first_row_is_read():
    """(2 x)^2 v, of which no row but the first has a cotangent."""
    check(roots, [number([4., 1.]), number(2.), df.constant(1)], [[16., 0.], 64.], second)
