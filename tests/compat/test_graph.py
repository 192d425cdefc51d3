"""Explicit graphs: scopes, names, lookup, sizes."""

import threading

import pytest

import dualflow as df
import dualflow.compat.v1 as tf
from dualflow.errors import InvalidArgumentError, TracedValueError
from dualflow.graph.ir import check


def test_ops_are_recorded_inside_and_run_outside():
    g = df.Graph()
    with g.as_default() as entered:
        assert entered is g
        y = df.constant(1.) + 2.
        assert len(g.get_operations()) == 3
    assert (df.constant(1.) + 2.).item() == 3.
    with pytest.raises(TracedValueError, match=r"add:0"):
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


def test_other_threads_run_eagerly():
    g, found = df.Graph(), []
    with g.as_default():
        thread = threading.Thread(target=lambda: found.append((df.constant(1.) + 1.).item()))
        thread.start()
        thread.join()
    assert found == [2.]
    assert g.get_operations() == []


def test_names_are_made_unique():
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


def test_exception_closes_a_scope():
    g = df.Graph()
    with g.as_default():
        with pytest.raises(KeyError), df.name_scope("a"):
            raise KeyError
        assert df.zeros([], name="z").name == "z:0"


def test_scope_has_no_effect_in_eager_mode():
    with df.name_scope("a") as scope:
        assert scope == "a/"
        assert (df.constant(1.) + 1.).item() == 2.


def test_lookup_by_name():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([4], name="x")
        values, _ = df.nn.top_k(x, 2, name="top")
    top = g.get_operation_by_name("top")
    assert top.type == "TopK"
    assert g.get_tensor_by_name("top:0") is values
    assert g.get_tensor_by_name("x:0") is x
    with g.as_default():
        later = df.identity(x, name="later")
    assert g.get_tensor_by_name("later:0") is later


@pytest.mark.parametrize("name, error, says", [
    ("q", KeyError, "The name 'q' refers to an Operation not in the graph"),
    ("q:0", ValueError, "Name 'q:0' appears to refer to a Tensor, not a Operation"),
    (3, TypeError, "Operation names are strings")])
def test_unknown_operation_raises(name, error, says):
    g = df.Graph()
    with pytest.raises(error, match=says):
        g.get_operation_by_name(name)


@pytest.mark.parametrize("name, error, says", [
    ("x", ValueError, 'names must be of the form "<op_name>:<output_index>"'),
    ("x:one", ValueError, "is not a valid one"), (3, TypeError, "Tensor names are strings"),
    ("x:1", KeyError, "The operation, 'x', exists but only has 1 outputs"),
    ("q:0", KeyError, "The operation, 'q', does not exist in the graph")])
def test_unknown_tensor_raises(name, error, says):
    g = df.Graph()
    with g.as_default():
        g.placeholder([], name="x")
    with pytest.raises(error, match=says):
        g.get_tensor_by_name(name)


def test_placeholder_of_unknown_size():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([None, 3], df.int32)
        y = x + x
    assert (y.dtype, y.known_shape) == (df.int32, (None, 3))
    assert x.shape[0] == None  # noqa: E711  as TensorFlow writes an unknown dimension


def test_long_chain():
    g = df.Graph()
    with g.as_default():
        y = g.placeholder([4])
        for _ in range(100_000):
            y = df.negative(y)
    assert len(g.get_operations()) == 100_001
    check(g)


def test_run_subgraphs():
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
    with pytest.raises(InvalidArgumentError, match=r"feed .* 'x' .* float and shape \[\?,2\]"):
        g.run(y)
    with pytest.raises(ValueError, match=r"\(2,\) for Tensor 'x:0', which has .*'\(\?, 2\)'"):
        g.run(y, {x: [1., 2.]})
    with pytest.raises(ValueError, match=r"cannot be interpreted as a Tensor"):
        g.run("nothing:0")
    with pytest.raises(TypeError, match=r"Cannot interpret feed_dict key as Tensor"):
        g.run(y, {"nothing:0": 1.})
    with pytest.raises(TypeError, match=r"must be a string or Tensor"):
        g.run(df.constant(1.))
    assert g.run(y, {y: [[1., 2.]]}).tolist() == [[1., 2.]]


def test_unused_huge_constant_costs_nothing():
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


def test_huge_tensor_raises_in_eager_mode():
    with pytest.raises(OverflowError, match=r"more elements than 64 bits"):
        df.zeros([10**12, 10**12])


def test_ops_are_recorded_in_the_graph_of_their_operands():
    g, other = tf.Graph(), tf.Graph()
    with g.as_default():
        c = tf.constant([1., 2.])
        v = tf.get_variable("v", initializer=1.)
    with other.as_default():
        made = [tf.exp(c), tf.identity(c), c + 1., 1. - c, tf.reduce_sum(c), tf.add(2., c), c[0],
                tf.stack([c, c]), tf.concat([c, [3.]], 0), -c, tf.multiply(c, v), c * v]
        own = tf.constant(1.)
        with pytest.raises(ValueError, match=r"Const:0.* must be from the graph that records"):
            tf.add(own, c)
        with pytest.raises(ValueError, match=r"Const:0.* must be from the graph that records"):
            own + c
    assert all([x.graph is g for x in made])
    assert [op.name for op in other.get_operations()] == ["Const"]
    with tf.Session(graph=g) as sess:
        sess.run(v.initializer)
        assert sess.run(made[2]).tolist() == [2., 3.]
        assert sess.run(made[8]).tolist() == [1., 2., 3.]
        assert sess.run(made[11]).tolist() == [1., 2.]
