"""Assertions take effect at their position in the program, in both modes."""

import re

import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError


def both(f, *args):
    """Run f eagerly and traced; return the exceptions, None without one."""
    caught = []
    for call in (f, df.function(f)):
        try:
            call(*args)
            caught.append(None)
        except Exception as error:
            caught.append(error)
    return caught


VALUES = [
    ("assert_equal", ([1, 2], [1, 2]), ([1, 2], [1, 3])),
    ("assert_none_equal", ([1, 2], 3), ([1, 2], 2)),
    ("assert_less", ([1, 2], 3), ([1, 2], 2)),
    ("assert_less_equal", ([1, 2], 2), ([1, 2], 1)),
    ("assert_greater", ([1, 2], 0), ([1, 2], 1)),
    ("assert_greater_equal", ([1, 2], 1), ([1, 2], 2)),
    ("assert_near", ([1., 2.], [1., 2.0000002]), ([1., 2.], [1., 2.1])),
    ("assert_positive", ([1, 2],), ([1, 0],)),
    ("assert_negative", ([-1, -2],), ([-1, 0],)),
    ("assert_non_negative", ([1, 0],), ([1, -1],)),
    ("assert_non_positive", ([-1, 0],), ([-1, 1],)),
    ("assert_true", ([True, True],), ([True, False],)),
]


@pytest.mark.parametrize("name, good, bad", VALUES)
def test_assertions_about_values(name, good, bad):
    check = getattr(df.debugging, name)
    assert both(check, *map(df.constant, good)) == [None, None]
    for error in both(check, *map(df.constant, bad)):
        assert isinstance(error, InvalidArgumentError)
        assert re.search(r"expected .* fails for \d of 2 elements", str(error)), str(error)


def test_message_and_values_are_shown():
    with pytest.raises(InvalidArgumentError, match=(
            r"^sizes: expected x == y, which fails for 1 of 2 elements: "
            r"x = \[1 2\]; y = \[1 3\]$")):
        df.debugging.assert_equal([1, 2], [1, 3], message="sizes")


def test_failed_assertion_stops_later_steps():
    v = df.Variable(1.)

    @df.function
    def f(x):
        df.debugging.assert_positive(x)
        v.assign_add(x)

    with pytest.raises(InvalidArgumentError):
        f(df.constant(-1.))
    assert v.numpy() == 1.
    f(df.constant(2.))
    assert v.numpy() == 3.


def test_assertions_about_shapes():
    x, w = df.zeros([5, 3]), df.zeros([3, 2])
    for shapes in ([(x, ("n", "k")), (w, ("k", 2))], [(x, (None, 3)), (w, "kn")], [(x, (5, "."))]):
        df.debugging.assert_shapes(shapes)
    with pytest.raises(ShapeError, match=r"tensor 1 .* dimension 1 is 2, 'n' is 5 in tensor 0"):
        df.debugging.assert_shapes([(x, ("n", "k")), (w, ("k", "n"))])
    with pytest.raises(ShapeError, match="dimension 0 is 5, expected 4"):
        df.debugging.assert_shapes([(x, (4, None))])
    with pytest.raises(ShapeError, match="expected 1 dimensions"):
        df.debugging.assert_shapes([(x, ("n",))])
    df.debugging.assert_rank(x, 2)
    df.debugging.assert_type(x, "float32")
    with pytest.raises(ShapeError, match="expected 1 dimensions"):
        df.debugging.assert_rank(x, 1)
    with pytest.raises(DTypeError, match="got float32, expected float64"):
        df.debugging.assert_type(x, df.float64)


def test_assertions_about_unknown_sizes():
    @df.function(input_signature=[df.TensorSpec([None, 3]), df.TensorSpec([None])])
    def f(x, y):
        df.debugging.assert_shapes([(x, ("n", 3)), (y, ("n",))])
        return df.reduce_sum(x)

    assert f(df.ones([2, 3]), df.ones([2])).item() == 6.
    assert f(df.ones([4, 3]), df.ones([4])).item() == 12.
    with pytest.raises(ShapeError):
        f(df.ones([4, 3]), df.ones([5]))
