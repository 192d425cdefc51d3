"""Classes with typed fields: conversion, checks, immutability, and use in traced functions."""

import copy
import gc
import inspect
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


class Titled(df.experimental.ExtensionType):
    title: df.Tensor
    scores: typing.Mapping[str, df.Tensor]


def test_constructors_have_a_signature():
    assert list(inspect.signature(Titled.__init__).parameters) == ["self", "title", "scores"]


def test_text_is_a_tensor():
    """Calls with other text are not traced again; the spec has the dtype and shape of text."""
    a = Titled("a", {"x": 1.})
    spec = df.type_spec_from_value(a)
    assert spec.title == df.TensorSpec([], df.string) and spec.scores["x"] == df.TensorSpec([])
    f = df.function(lambda t: (Titled("new", t.scores), t.title))
    for text in ("a", "b"):
        made, title = f(Titled(text, {"x": 2.}))
        assert made.title.numpy() == b"new" and made.scores["x"].item() == 2.
        assert title.numpy() == text.encode()
    assert f.experimental_get_tracing_count() == 1
    assert a == Titled("a", {"x": 1.}) and a != Titled("b", {"x": 1.})
    assert Titled(["a", "b"], {}) != Titled(["a", "c"], {})


class Grid(df.experimental.BatchableExtensionType):
    shape: df.TensorShape
    cells: df.Tensor
    limit: df.Tensor

    def __init__(self, cells, limit):
        self.cells, self.limit = df.convert_to_tensor(cells), df.convert_to_tensor(limit)
        self.shape = self.cells.shape[:-2].merge_with(self.limit.shape)


def test_shapes_follow_batches():
    one = Grid(df.ones([2, 3]), 4.)
    assert type(one.shape) is df.TensorShape and one.shape == []
    batch = Grid(df.ones([5, 2, 3]), df.range(5.))
    ds = df.data.Dataset.from_tensor_slices(batch)
    assert ds.element_spec.shape == [] and ds.batch(2).element_spec.shape.rank == 1
    assert [x.shape.as_list() for x in ds] == [[]] * 5
    assert [x.shape.as_list() for x in ds.batch(2)] == [[2], [2], [1]]
    assert [x.limit.item() for x in ds.batch(3).unbatch()] == [0., 1., 2., 3., 4.]
    assert ds.batch(2).unbatch().element_spec.shape == []
    for f in (df.map_fn, df.function(df.map_fn)):
        made = f(lambda g: Grid(g.cells * g.limit, g.limit), batch)
        assert made.shape == [5] and made.cells.numpy()[:, 1, 2].tolist() == [0., 1., 2., 3., 4.]
    made = df.function(lambda g: Grid(g.cells + 1., g.limit))(batch)
    assert made.shape == [5] and made.cells.shape == (5, 2, 3)


class WithSpec(df.experimental.ExtensionType):
    values: df.Tensor
    mask: df.Tensor
    shape = property(lambda self: self.values.shape)

    class Spec:
        def __init__(self, shape, dtype=df.float32):
            self.values, self.mask = df.TensorSpec(shape, dtype), df.TensorSpec(shape, df.bool)

        shape = property(lambda self: self.values.shape)


def test_spec_of_its_own():
    spec = WithSpec.Spec([2], df.int32)
    assert spec.shape == (2,) and spec == df.type_spec_from_value(WithSpec([1, 2], [True, False]))
    double = df.function(lambda x: WithSpec(x.values * 2., x.mask),
                         input_signature=[WithSpec.Spec(None)])
    assert double(WithSpec([1.], [True])).values.tolist() == [2.]
    assert double(WithSpec([[1.]], [[True]])).values.tolist() == [[2.]]

    def rows():
        for k in range(4):
            yield WithSpec([k, k], [True, False])

    ds = df.data.Dataset.from_generator(rows, output_signature=spec).batch(3)
    assert [x.values.tolist() for x in ds] == [[[0, 0], [1, 1], [2, 2]], [[3, 3]]]

    class Unset(df.experimental.ExtensionType):
        a: df.Tensor

        class Spec:
            def __init__(self):
                pass

    with pytest.raises(AttributeError, match="has not set 'a'"):
        Unset.Spec()


class Sized(df.experimental.ExtensionType):
    x: df.Tensor
    n: int
    scale: float = 2.


class Around(df.experimental.ExtensionType):
    inner: Sized
    parts: tuple[int, ...]
    sparse: df.SparseTensor


class Open(df.experimental.ExtensionType):
    x: df.Tensor
    n: typing.Any
    m: int


def test_unchanged_static_fields_stay_numbers_in_loops():
    kinds = []

    def note(*numbers):
        kinds.extend([type(n) for n in numbers])

    def step(p):
        note(p.n, p.scale)
        return Sized(p.x * p.scale + df.zeros([p.n]), p.n, p.scale)

    def for_statement(p):
        for _ in df.range(2):
            p = step(p)
        return p

    def while_statement(p):
        while df.reduce_sum(p.x) < 50.:
            p = step(p)
            if p.x[0] > 20.:
                break
        return p

    def in_a_structure(p):
        d = {"p": [p], "k": 0}
        for _ in df.range(2):
            d = {"p": [step(d["p"][0])], "k": d["k"] + 1}
        return d["p"][0]

    def around(p):
        a = Around(p, [1, 2], df.sparse.from_dense([[0., 3.]]))
        for _ in df.range(2):
            note(*a.parts)
            a = Around(df.function(step)(a.inner), a.parts, a.sparse * 2.)
        note(*a.parts)
        return Sized(a.inner.x * df.sparse.reduce_sum(a.sparse), a.inner.n)

    p = Sized(df.constant([1., 2.]), 2)
    for f in (for_statement, while_statement, in_a_structure, around):
        want = f(p)
        for passes in (False, True):
            made = df.function(f, passes=passes)(p)
            assert made.x.tolist() == want.x.tolist()
            assert type(made.n) is int and made.n == 2 and type(made.scale) is float
    assert not {kind for kind in kinds if kind not in (int, float)}


def test_changed_static_fields():
    """A field that a loop changes becomes a tensor, if its type allows one."""
    @df.function
    def f(p):
        for _ in df.range(3):
            p = Open(p.x + 1., p.n * 2, p.m)
        return p

    made = f(Open([1.], 1, 5))
    assert made.n.item() == 8 and made.x.tolist() == [4.] and made.m == 5

    @df.function
    def refused(p):
        for _ in df.range(3):
            p = Sized(p.x, p.n + 1)
        return p

    with pytest.raises(TypeError, match=r"field 'n' is .*Symbol.*, expected int"):
        refused(Sized([1.], 1))


class Written(df.experimental.ExtensionType):
    x: df.Tensor
    text: df.strings.StringTensor


def test_text_in_loops_and_branches():
    def step(i, w):
        return i + 1, Written(w.x * 2., w.text + "!")

    def f(w):
        _, w = df.while_loop(lambda i, w: i < 2, step, (0, w))
        w = df.cond(w.x > 3., lambda: Written(w.x, w.text + "?"), lambda: w)
        return w.x, w.text

    w = Written(1., df.constant(["a", "bc"]))
    for g in (f, df.function(f), df.function(f, passes=False)):
        x, text = g(w)
        assert x.item() == 4. and text.tolist() == [b"a!!?", b"bc!!?"]
