"""Classes with typed fields: conversion, checks, immutability, and use in traced functions."""

import copy
import gc
import typing
import weakref

import numpy as np
import pytest

import dualflow as df


class Masked(df.experimental.ExtensionType):
    values: df.Tensor
    mask: df.Tensor

    def total(self):
        return df.reduce_sum(df.where(self.mask, self.values, 0.))


class Many(df.experimental.ExtensionType):
    parts: tuple[Masked, ...]
    scale: typing.Optional[df.Tensor] = None        # noqa: UP045  a form that programs use
    sizes: typing.Mapping[str, int] = {}
    pair: tuple[int, str] = (1, "a")
    kind: int | str = "x"

    def __validate__(self):
        if not self.parts:
            raise ValueError("no parts")


class Doubled(df.experimental.ExtensionType):
    a: df.Tensor
    b: df.Tensor

    def __init__(self, x):
        self.a, self.b = x, 2. * x


class Named(Masked):
    name: str = "none"


X = Masked([1., 2., 3.], [True, False, True])


def test_fields_are_converted():
    assert isinstance(X.values, df.Tensor) and X.mask.dtype is df.bool
    many = Many([X, X], 2., {"n": 3}, [4, "b"], 5)
    assert type(many.parts) is tuple and many.scale.item() == 2. and many.sizes == {"n": 3}
    assert many.pair == (4, "b") and many.kind == 5 and Many([X]).scale is None
    assert Doubled(df.constant(2.)).b.item() == 4.
    assert Named(X.values, X.mask).name == "none" and Named([1.], [True], name="n").name == "n"
    assert repr(Named([1.], [True])).startswith("Named(values=<dualflow.Tensor")


@pytest.mark.parametrize("make, error, why", [
    (lambda: Masked([1.]), TypeError, "missing a required argument: 'mask'"),
    (lambda: Masked([1.], [True], 3), TypeError, "too many positional"),
    (lambda: Masked([1.], object()), TypeError, "field 'mask'"),
    (lambda: Named([1.], [True], 3), TypeError, "field 'name' is 3, expected str"),
    (lambda: Many([]), ValueError, "no parts"),
    (lambda: Many([3]), TypeError, r"'parts'\[0\] is 3, expected Masked"),
    (lambda: Many([X], pair=(1,)), TypeError, "1 elements, expected 2"),
    (lambda: Many([X], sizes=[1]), TypeError, "expected a mapping"),
    (lambda: Many([X], sizes={"a": True}), TypeError, "expected int"),
    (lambda: Many([X], kind=1.5), TypeError, "expected one of"),
    (lambda: setattr(X, "values", 3), AttributeError, "Cannot mutate attribute `values`"),
    (lambda: delattr(X, "values"), AttributeError, "Cannot mutate"),
])
def test_invalid_values_raise(make, error, why):
    with pytest.raises(error, match=why):
        make()


def test_invalid_classes_raise():
    with pytest.raises(TypeError, match="reserved"):
        class Bad(df.experimental.ExtensionType):
            Spec: df.Tensor
    with pytest.raises(TypeError, match="non-default argument"):
        class Worse(df.experimental.ExtensionType):
            a: int = 1
            b: int

    class Unset(df.experimental.ExtensionType):
        a: df.Tensor

        def __init__(self):
            pass

    with pytest.raises(AttributeError, match="has not set 'a'"):
        Unset()


def test_annotations_as_strings():
    """As with `from __future__ import annotations`: local names are found, and then released."""
    def classes():
        big = df.ones([3])

        class Inner(df.experimental.ExtensionType):
            a: "df.Tensor"

        class Outer(Inner):
            b: "tuple[Inner, ...]"

        return Inner, Outer, weakref.ref(big)

    inner, outer, local = classes()
    made = outer(1., [inner(2.), inner(3.)])
    assert made.b[1].a.item() == 3. and made.a.item() == 1.
    gc.collect()
    assert local() is None


def test_traced_functions():
    n_traces = 0

    @df.function
    def f(m, x):
        nonlocal n_traces
        n_traces += 1
        return {"m": Masked(m.values * x, m.mask), "d": Doubled(x), "t": m.total()}

    for k in (2., 3.):
        made = f(X, df.constant(k))
        assert type(made["m"]) is Masked and made["m"].total().item() == 4. * k
        assert type(made["d"]) is Doubled and made["d"].b.item() == 2. * k
    assert n_traces == 1
    assert df.function(lambda n: n.parts[1].total() * n.scale)(Many([X, X], 2.)).item() == 8.

    @df.function
    def loop(m, n):
        for _ in range(n):
            m = Masked(m.values + 1., m.mask)
        if m.total() > 3.:
            m = Masked(m.values * 10., m.mask)
        return m

    assert loop(X, df.constant(2)).values.tolist() == [30., 40., 50.]
    total = df.function(lambda m: m.total(), input_signature=[
        Masked.Spec(df.TensorSpec([None]), df.TensorSpec([None], df.bool))])
    assert total(X).item() == 4. and total(Masked([5.], [True])).item() == 5.
    assert total.experimental_get_tracing_count() == 1
    spec = Masked.Spec.from_value(X)
    assert spec.values == df.TensorSpec([3]) and spec.mask == df.TensorSpec([3], df.bool)


def test_structures_and_gradients():
    assert len(df.nest.flatten(Many([X, X], 2.))) == 8
    half = df.nest.map_structure(lambda x: x, X)
    assert type(half) is Masked and half == X and copy.deepcopy(X) == X
    assert Masked([1., 2., 4.], [True, False, True]) != X and Masked([1.], [True]) != X
    assert X != 3 and bool(df.function(lambda a, b: a == b)(X, X))
    v = df.Variable([1., 2., 3.])
    with df.GradientTape() as tape:
        y = Masked(v * 2., [True, False, True]).total()
    np.testing.assert_array_equal(tape.gradient(y, v), [2., 0., 2.])
    g = df.grad(lambda d: d.a * d.b ** 2.)(Doubled(df.constant(1.)))
    assert type(g) is Doubled and (g.a.item(), g.b.item()) == (4., 4.)
