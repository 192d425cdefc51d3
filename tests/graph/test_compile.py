"""Compilation of a trace to a program: errors name the user's line and leave no other effects."""

import inspect

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import OutOfRangeError, ShapeError


def here(word):
    """Return `file:line` of the line of this file that ends with `# <word>`."""
    lines = inspect.getsource(inspect.getmodule(here)).splitlines()
    return f"{__file__}:{next(k for k, s in enumerate(lines, 1) if s.endswith('# ' + word))}"


def number(x):
    return x.numpy().tolist()


MODES = pytest.mark.parametrize("passes", [True, False])


@MODES
def test_failing_instruction_names_the_line(passes):
    v, w, u = df.Variable([1., 2.]), df.Variable([1., 2.]), df.Variable([1., 2.])
    x = df.constant([[1., 2.], [3., 4.], [5., 6.]])

    @df.function(passes=passes)
    def f(i):
        v.assign_add([1., 1.])
        row = df.gather(x, i)                                                          # the gather
        w.assign(row)
        u.assign_add([1., 1.])
        return row * 2.

    assert number(f(df.constant(1))) == [6., 8.]
    for n in range(3):
        with pytest.raises(OutOfRangeError) as info:
            f(df.constant(7))
        text = str(info.value)
        assert "gather" in text and "7" in text and here("the gather") in text
        # v precedes the failure; passes may move its update behind it, next to the update of u
        assert number(v) == [3. + n, 4. + n] or (passes and number(v) == [2., 3.])
        assert number(w) == [3., 4.] and number(u) == [2., 3.]
    assert number(f(df.constant(0))) == [2., 4.]
    assert number(w) == [1., 2.] and number(u) == [3., 4.]


@MODES
def test_assignment_after_a_failure_is_not_done(passes):
    v = df.Variable([1., 2.])
    x = df.constant([1., 2., 3.])

    @df.function(passes=passes)
    def f(i):
        y = df.exp(v) * 2.
        z = df.gather(x, i)
        v.assign(y)
        return z

    with pytest.raises(OutOfRangeError):
        f(df.constant([0, 9]))
    assert number(v) == [1., 2.]
    f(df.constant([0, 1]))
    np.testing.assert_array_equal(v.numpy(), (df.exp(df.constant([1., 2.])) * 2.).numpy())


@MODES
def test_partial_failure_leaves_the_variable_unchanged(passes):
    v = df.Variable(df.zeros([1000]))
    x = df.ones([2])
    f = df.function(lambda i: v.assign(df.gather(x, i)) and None if False else
                    [v.assign(df.gather(x, i)), None][1], passes=passes)
    bad = np.zeros(1000, "int32")
    bad[-1] = 5
    with pytest.raises(OutOfRangeError):
        f(df.constant(bad))
    assert not v.numpy().any()


@MODES
def test_integer_division_by_zero(passes):
    v = df.Variable([6, 6])
    f = df.function(lambda d: [v.assign(v // d), None][1], passes=passes)
    eager_error = None
    try:
        df.constant([6, 6]) // df.constant([2, 0])
    except df.errors.DualflowError as error:
        eager_error = type(error)
    if eager_error is None:
        f(df.constant([2, 0]))
        np.testing.assert_array_equal(v.numpy(), (df.constant([6, 6]) // df.constant([2, 0])))
        return
    with pytest.raises(eager_error):
        f(df.constant([2, 0]))
    assert number(v) == [6, 6]
    f(df.constant([2, 3]))
    assert number(v) == [3, 2]


def test_errors_while_tracing_match_eager_mode():
    @df.function
    def f(x):
        return x @ df.ones([3, 3])                                                     # the product

    with pytest.raises(ShapeError, match="matmul") as info:
        f(df.ones([2, 2]))
    line = int(here("the product").rpartition(":")[2])
    assert any(str(e.path) == __file__ and e.lineno + 1 == line for e in info.traceback)
    assert f(df.ones([2, 3])).shape == (2, 3)


@MODES
def test_data_dependent_sizes(passes):
    @df.function(passes=passes)
    def f(x):
        kept = df.boolean_mask(x, x > 0.)
        values, index = df.unique(df.cast(kept, df.int32))
        return kept * 2., df.reduce_sum(kept), values, index, df.concat([kept, kept], 0)

    def eager(x):
        kept = df.boolean_mask(x, x > 0.)
        values, index = df.unique(df.cast(kept, df.int32))
        return kept * 2., df.reduce_sum(kept), values, index, df.concat([kept, kept], 0)

    for values in ([1., -1., 2., 2.], [-1.] * 4, [3., 3., 1., 5.]):
        x = df.constant(values)
        for got, want in zip(f(x), eager(x), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


@MODES
def test_incompatible_data_dependent_shapes_raise(passes):
    @df.function(passes=passes)
    def f(x, y):
        return df.boolean_mask(x, x > 0.) + y                                          # the sum

    y = df.constant([1., 2., 3.])
    assert number(f(df.constant([1., -1., 2., 3.]), y)) == [2., 4., 6.]
    with pytest.raises(ShapeError) as info:
        f(df.constant([1., -1., 2., -3.]), y)
    assert here("the sum") in str(info.value) and "(2,)" in str(info.value)
    assert number(f(df.constant([1., 1., -2., 3.]), y)) == [2., 3., 6.]


@MODES
def test_unused_huge_value(passes):
    f = df.function(lambda x: [df.zeros([10**12, 10**12]) + x, x + 1.][1], passes=passes)
    if passes:
        assert number(f(df.constant(1.))) == 2.
    big = df.function(lambda x: df.zeros([10**12, 10**12]) + x, passes=passes)
    for _ in range(2):
        with pytest.raises(MemoryError):
            big(df.constant(1.))
    summed = df.function(lambda x: df.reduce_sum(df.exp(df.zeros([10**12, 10**5]) + x)),
                         passes=passes)
    with pytest.raises(MemoryError):
        summed(df.constant(1.))
    assert number(df.function(lambda x: x + 1.)(df.constant(1.))) == 2.


def test_shape_of_a_huge_value():
    f = df.function(lambda x: df.shape(df.zeros([10**6, 10**5]) + x))
    assert number(f(df.constant(1.))) == [10**6, 10**5]
