"""Graphs built by hand: scopes, names, lookup, sizes."""

import threading

import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError, ShapeError, TracedValueError
from dualflow.graph.ir import check


def test_ops_are_recorded_inside_and_run_outside():
    g = df.Graph()
    with g.as_default() as entered:
        assert entered is g
        y = df.constant(1.) + 2.
        assert len(g.get_operations()) == 3
    assert (df.constant(1.) + 2.).item() == 3.
    with pytest.raises(TracedValueError, match="add:0"):
        y.numpy()
    check(g)


def test_graphs_nest():
    outer, inner = df.Graph("outer"), df.Graph("inner")
    with outer.as_default():
        a = df.constant(1.) + 2.
        with inner.as_default():
            b = df.constant(1.) * 2.
        c = a - 3.
    assert (a.graph, b.graph, c.graph) == (outer, inner, outer)


def test_another_threads_ops_run():
    g, found = df.Graph(), []
    with g.as_default():
        thread = threading.Thread(target=lambda: found.append((df.constant(1.) + 1.).item()))
        thread.start()
        thread.join()
    assert found == [2.]
    assert g.get_operations() == []


def test_names_are_given_and_made_different():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([], name="x")
        names = [df.square(x, name="y").name, df.square(x, name="y").name, df.square(x).name,
                 df.square(x, name="y_1").name]
    assert names == ["y:0", "y_1:0", "square:0", "y_1_1:0"]


def test_scopes():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([], name="x")
        with df.name_scope("a") as a:
            with df.name_scope("b") as b:
                y = df.square(x)
            z = df.square(x, name="z")
        with df.name_scope("a") as again:
            w = df.square(x)
    assert (a, b, again) == ("a/", "a/b/", "a_1/")
    assert [t.name for t in (y, z, w)] == ["a/b/square:0", "a/z:0", "a_1/square:0"]


def test_a_scope_ends_with_an_exception():
    g = df.Graph()
    with g.as_default():
        with pytest.raises(KeyError), df.name_scope("a"):
            raise KeyError
        assert df.zeros([], name="z").name == "z:0"


def test_a_scope_does_nothing_eagerly():
    with df.name_scope("a") as scope:
        assert scope == "a/"
        assert (df.constant(1.) + 1.).item() == 2.


def test_looking_up():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([4], name="x")
        values, _ = df.nn.top_k(x, 2, name="top")
    top = g.get_operation_by_name("top")
    assert top.type == "top_k"
    assert g.get_tensor_by_name("top:0") is values
    assert g.get_tensor_by_name("x:0") is x
    with g.as_default():
        later = df.identity(x, name="later")
    assert g.get_tensor_by_name("later:0") is later


@pytest.mark.parametrize("name, says", [
    ("nothing", "no operation of graph is called 'nothing'"), ("x:0", "name of a tensor")])
def test_no_such_operation(name, says):
    g = df.Graph()
    with pytest.raises(InvalidArgumentError, match=says):
        g.get_operation_by_name(name)


@pytest.mark.parametrize("name, says", [
    ("x", "operation:index"), ("x:one", "operation:index"), ("x:1", "x has 1 outputs")])
def test_no_such_tensor(name, says):
    g = df.Graph()
    with g.as_default():
        g.placeholder([], name="x")
    with pytest.raises(InvalidArgumentError, match=says):
        g.get_tensor_by_name(name)


def test_placeholder_of_unknown_size():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([None, 3], df.int32)
        y = x + x
    assert (y.dtype, y.known_shape) == (df.int32, (None, 3))
    assert x.shape[0] == None  # noqa: E711  as TensorFlow writes an unknown dimension


def test_a_long_chain_is_traced():
    g = df.Graph()
    with g.as_default():
        y = g.placeholder([4])
        for _ in range(100_000):
            y = df.negative(y)
    assert len(g.get_operations()) == 100_001
    check(g)


def test_run_parts_of_a_graph():
    g = df.Graph()
    with g.as_default():
        x, y = g.placeholder([2], name="x"), g.placeholder([], name="y")
        a = x * 2.
        b = a + y
    assert g.run(a, {x: [1., 2.]}).tolist() == [2., 4.]
    found = g.run({"a": a, "both": (b, a.name)}, {"x:0": [1., 2.], y: 3.})
    assert found["a"].tolist() == [2., 4.]
    assert [t.tolist() for t in found["both"]] == [[5., 7.], [2., 4.]]
    with g.as_default():
        c = b - 1.
        assert g.run(c, {x: [1., 2.], y: 3.}).tolist() == [4., 6.]


def test_run_operations_and_variables():
    v = df.Variable(1.)
    g = df.Graph()
    with g.as_default():
        before = v * 10.
        v.assign_add(2.)
        update = g.nodes[-1]
        after = v * 10.
    assert g.run(before).item() == 10.
    assert v.numpy() == 1.
    assert g.run([update]) == [None]
    assert v.numpy() == 3.
    assert g.run([before, after, update.name])[:2] == [30., 50.]
    assert v.numpy() == 5.


def test_run_unknown_sizes():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([None, 2], name="x")
        y = df.reshape(x, [-1]) * df.cast(df.shape(x)[0], df.float32)
        unused = df.reshape(g.placeholder([None], name="z"), [-1, 2])
    assert g.run(y, {x: [[1., 2.]]}).tolist() == [1., 2.]
    assert g.run(y, {x: [[1., 2.], [3., 4.]]}).tolist() == [2., 4., 6., 8.]
    assert unused.known_shape == (None, 2)


def test_run_with_bad_feeds():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([None, 2], name="x")
        y = x * 2.
    with pytest.raises(InvalidArgumentError, match="needs values of x:0"):
        g.run(y)
    with pytest.raises(ShapeError, match=r"x:0 is fed float32 \(2,\), want float32 \(None, 2\)"):
        g.run(y, {x: [1., 2.]})
    with pytest.raises(ShapeError, match="float64"):
        g.run(y, {x: df.ones([1, 2], df.float64)})
    with pytest.raises(InvalidArgumentError, match="no placeholder"):
        g.run(y, {y: [[1., 2.]]})
    with pytest.raises(InvalidArgumentError, match="no tensor or operation"):
        g.run(df.constant(1.))


def test_a_graph_that_decided_by_a_size():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([None], name="x")
        y = x * 2. if x.shape[0] > 5 else x
    with pytest.raises(InvalidArgumentError, match="Python decided by a size"):
        g.run(y, {x: [1., 2.]})
    assert g.run(y, {x: [1.] * 6}).tolist() == [2.] * 6


def test_a_huge_constant_costs_nothing_until_it_must_exist():
    g = df.Graph()
    with g.as_default():
        huge = df.zeros([10**12, 10**12])
        small = df.shape(df.zeros([2 * 10**9] * 3))
        y = df.constant(1.) + 1.
    assert huge.known_shape == (10**12, 10**12)
    assert huge.size == 10**24
    assert g.run([small, y])[0].tolist() == [2 * 10**9] * 3
    with pytest.raises(MemoryError, match=r"float32 \(1000000000000, 1000000000000\)") as caught:
        g.run(huge)
    assert __file__ in str(caught.value)
    assert g.run(y).item() == 2.


def test_what_does_not_fit_is_refused_when_it_runs_at_once():
    with pytest.raises(OverflowError, match="more elements than 64 bits"):
        df.zeros([10**12, 10**12])
