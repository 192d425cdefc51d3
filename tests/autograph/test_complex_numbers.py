"""Python's complex numbers in traced control flow."""

import pytest

import dualflow as df
from dualflow.errors import DTypeError

Z = df.constant([1 + 2j, 3 - 4j])


def repeated(x, n):
    w = 1j
    for _ in df.range(n):
        w = w * 1j
    return x * w


def total(x):
    y = 0j
    for v in x:
        y += v
    return y


def from_a_float(x):
    y = 0.
    for v in x:
        y = y + v
    return y


def chosen(x):
    c = 1j if df.abs(x[0]) > 1 else 2.
    return c * x


def grown(x):
    c = 1j
    while df.abs(c) < 10:
        c = c * 2
    return c * x


@pytest.mark.parametrize("f, args", [
    (repeated, (Z, df.constant(3))), (total, (Z,)), (from_a_float, (Z,)), (chosen, (Z,)),
    (chosen, (Z * 0,)), (grown, (Z,))], ids=lambda x: getattr(x, "__name__", ""))
def test_traced_is_eager(f, args):
    got, want = df.function(f)(*args), f(*args)
    assert got.dtype is want.dtype and got.tolist() == want.tolist()


def test_arguments():
    f = df.function(lambda x, c=2j: x * c)
    for c in (1j, 2j, 3, 0.5, 1 + 1j):
        assert f(Z, c).tolist() == (Z * c).tolist()
    assert f(Z).tolist() == (Z * 2j).tolist()
    assert f(df.cast(Z, df.complex64), 1j).dtype is df.complex64


def times_int(x):
    return x * int(x[0])


def times_float(x):
    return x * float(x[0])


@pytest.mark.parametrize("f", [times_int, times_float])
def test_numbers_of_a_complex_tensor_raise(f):
    for call in (f, df.function(f)):
        with pytest.raises(DTypeError, match=r"math\.real"):
            call(Z)


def loss_of_loop(x):
    for _ in df.range(3):
        x = x * x * (0.5 + 0.1j)
    return df.reduce_sum(df.abs(x))


def loss_of_branch(x):
    if df.abs(x[0]) > 1:
        x = df.math.conj(x) * x[0] * 1j
    return df.reduce_sum(df.abs(x + 1))


@pytest.mark.parametrize("f", [loss_of_loop, loss_of_branch])
def test_gradients(f):
    df.testing.check_gradients(f, [Z])
    traced = df.function(f)
    df.testing.check_gradients(traced, [Z])
    assert df.grad(traced)(Z).tolist() == df.grad(f)(Z).tolist()
