"""Python scalars combined with tensors of any dtype take the dtype of the tensor, as in eager
mode."""

# ruff: noqa: SIM108, B905

import pytest

import dualflow as df

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64",
          "uint16", "uint32", "uint64"]
FLOATS = DTYPES[:4]


def same(f, *args):
    """Compare eager and traced results in dtype and bits."""
    want, got = [df.nest.flatten(g(*args)) for g in (f, df.function(f))]
    for a, b in zip(want, got, strict=True):
        assert b.dtype is df.convert_to_tensor(a).dtype, f"{b}, expected {a}"
        assert b.tolist() == df.convert_to_tensor(a).tolist()


def total(xs):
    s = 0
    for x in xs:
        s = s + x
    return s


def total_in_while(xs):
    s, k = 0, 0
    while s < 5 and k < 3:
        s = s + xs[k] * 2
        k += 1
    return s


def total_of_some(xs):
    s = 0
    for x in xs:
        if x > 1:
            s = s + x
        else:
            s = s + 2
    return s


def twice(xs):
    s = 0
    for x in xs:
        for y in xs:
            s = s + x * y
    return s


def in_a_structure(xs):
    state = {"s": 0, "n": (1, 2)}
    for x in xs:
        state = {"s": state["s"] + x, "n": (state["n"][1] * x, state["n"][0] + x)}
    return state


def attribute(xs):
    class Sums:
        s = 0

    for x in xs:
        Sums.s = Sums.s + x
    return Sums.s


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [total, total_in_while, total_of_some, twice, in_a_structure,
                               attribute])
def test_accumulators_that_start_as_a_number(f, dtype):
    same(f, df.constant([1, 2, 3], dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_accumulators_that_start_as_a_float(dtype):
    def f(xs):
        s, t, m = 0., 1., 0.
        for x in xs:
            s, t = s + x / 3., t * 0.7 * x
            m = x if x > m else m
        return s, t, m

    same(f, df.constant([1.1, 2.2, 3.3], dtype))


def test_number_combined_with_two_dtypes():
    def f(xs, ys):
        a, b, n = 0, 0., 0
        for x, y in zip(xs, ys):
            a, b = a + y, b + df.cast(x, "float64")
            n = n + 1
        return a, b, n

    same(f, df.constant([.1, .2], "float16"), df.constant([1, 2], "int8"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_number_in_one_branch(dtype):
    def f(x):
        y = 1
        if x > 2:
            y = x * 2
        z = x if x < 3 else 5
        return y * x, z + x

    for x in (1, 3):
        same(f, df.constant(x, dtype))
