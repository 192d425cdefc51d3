"""Constructs that docs/control_flow.md lists as rejected raise the documented errors."""

import math

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

X = df.constant(np.arange(12.0).reshape(4, 3))


def unassigned(x, n):
    if n > 1:
        y = x
    return y


def two_dtypes(x, n):
    y = x if n > 1 else df.cast(x, df.int32)
    return y


def two_ranks(x, n):
    y = x if n > 1 else x[0]
    return y


def number_in_python(x, n):
    return math.sin(x[0, 0])


def key_of_a_dict(x, n):
    return {2: x}[int(n)]


def array(x, n):
    return x.numpy()


def list_of_rows(x, n):
    return list(x[:n])


def unpacked(x, n):
    a, b = x[:n]
    return a + b


def number_of_parts(x, n):
    return df.split(x, n)


def parts_along_an_axis(x, n):
    return df.unstack(x, axis=n % 2)


def groups(x, n):
    return df.nn.group_norm(x, n)


def generator(x, n):
    def rows():
        if x[0, 0] > n:
            yield x
    return [*rows()]


REFUSED = {
    unassigned: errors.InvalidArgumentError,
    two_dtypes: errors.DTypeError,
    two_ranks: errors.ShapeError,
    number_in_python: errors.TracedValueError,
    key_of_a_dict: errors.TracedValueError,
    array: errors.TracedValueError,
    list_of_rows: errors.TracedValueError,
    unpacked: errors.TracedValueError,
    number_of_parts: errors.TracedValueError,
    parts_along_an_axis: errors.InvalidArgumentError,
    groups: errors.TracedValueError,
    generator: errors.TracedValueError,
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_documented_error_is_raised(f):
    with pytest.raises(REFUSED[f]) as caught:
        df.function(f)(X, df.constant(2))
    assert str(caught.value)
