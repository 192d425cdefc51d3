import numpy as np
import pytest

import dualflow as df
from dualflow import testing


@df.custom_gradient
def wrong(x):
    return x * x, lambda g: g * x * 2.001


@df.custom_gradient
def wrong_twice(x):
    @df.custom_gradient
    def slope(x):
        return 2. * x, lambda g: g * 2.1

    return x * x, lambda g: g * slope(x)


def test_check_gradients_accepts_right_gradients():
    testing.check_gradients(lambda x: x * x * x, [[1., -2., 3.]], order=2)
    testing.check_gradients(lambda a, b: df.matmul(a, b), [np.ones((3, 4)), np.ones((4, 5))])
    testing.check_gradients(lambda a: [a * 2., {"x": a * a}], [np.ones((9, 9), "float32")])


def test_check_gradients_rejects_wrong_gradients():
    with pytest.raises(AssertionError, match=r"random direction|argument 0 at \(0,\)"):
        testing.check_gradients(wrong, [[1., 2.]])
    with pytest.raises(AssertionError):
        testing.check_gradients(wrong, [np.ones((20, 20))])


def test_check_gradients_rejects_wrong_second_gradients():
    testing.check_gradients(wrong_twice, [[1., 2.]])
    with pytest.raises(AssertionError) as caught:
        testing.check_gradients(wrong_twice, [[1., 2.]], order=2)
    assert "gradient of the gradient" in caught.value.__notes__[0]


def test_check_gradients_passes_integers_unchanged():
    testing.check_gradients(lambda x, n: x * df.cast(n, df.float64), [[1., 2.], [3, 4]])


@pytest.mark.parametrize("check", [testing.numeric_gradient, testing.check_gradients])
def test_steps_are_positive_numbers(check):
    with pytest.raises(df.errors.DTypeError, match=rf"{check.__name__}: eps is 'a', expected"):
        check(lambda x: x, [1.], eps="a")
    with pytest.raises(df.errors.InvalidArgumentError, match="eps is 0, expected a number > 0"):
        check(lambda x: x, [1.], eps=0)


def test_check_gradients_rejects_orders_that_are_no_integers():
    with pytest.raises(df.errors.DTypeError, match="order is array"):
        testing.check_gradients(lambda x: x, [1.], order=np.array(["a"]))


def test_check_gradients_rejects_order_0():
    with pytest.raises(ValueError, match="order is 0"):
        testing.check_gradients(lambda x: x, [1.], order=0)


def test_numeric_gradient():
    a, n = testing.numeric_gradient(lambda x, n: df.reduce_sum(x * x) if hasattr(df, "reduce_sum")
                                    else df.add_n(list(df.unstack(x * x))), [[1., 2.], 3])
    np.testing.assert_allclose(a, [2., 4.], rtol=1e-8)
    assert n is None


def test_assert_ulp():
    one = np.float32(1)
    up = np.nextafter(one, np.float32(2))
    testing.assert_ulp(df.constant([1.]), [1.], ulp=0)
    testing.assert_ulp(np.array([up]), np.array([1.]), ulp=1)
    with pytest.raises(AssertionError, match=r"worst at \(1,\)"):
        testing.assert_ulp(np.array([one, up]), np.array([1., 1.]), ulp=0.5)
    with pytest.raises(AssertionError, match="shape"):
        testing.assert_ulp(np.array([one]), np.array(1.), ulp=1)
    testing.assert_ulp(np.array([np.nan, np.inf], "float32"), np.array([np.nan, np.inf]), ulp=0)
    for got, want in ((np.nan, 1.), (1., np.nan), (np.inf, 1.), (np.inf, -np.inf)):
        with pytest.raises(AssertionError):
            testing.assert_ulp(np.array([got], "float32"), np.array([want]), ulp=4)


def test_assert_close():
    testing.assert_close(df.constant([1.]), [1.0000001])
    with pytest.raises(AssertionError):
        testing.assert_close(df.constant([1.]), [1.00001])
    with pytest.raises(AssertionError, match="shape"):
        testing.assert_close(df.constant([1.]), 1.)
