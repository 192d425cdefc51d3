"""`TensorArray`, in eager mode and in loops of traced functions."""

import pytest

import dualflow as df
from tests.graph.build import assert_same


def both(f, *args):
    """Return the result of a function, which must be the same traced."""
    want = df.nest.flatten(f(*args))
    for passes in (True, False):
        got = df.nest.flatten(df.function(f, passes=passes)(*args))
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
    return want


def test_writes_in_a_loop():
    """The shape of the elements becomes known only in the loop."""
    def f(x, n):
        def body(i, a, b):
            return i + 1, a.write(i, x * df.cast(i, "float32")), b.write(4 - i, i)

        _, a, b = df.while_loop(lambda i, *_: i < n, body,
                                (0, df.TensorArray(df.float32, 5), df.TensorArray(df.int32, 5)))
        return a.stack(), b.stack(), a.read(n - 1), a.gather([0, 2]), a.concat(), a.size()

    made = both(f, df.constant([1., 2.]), df.constant(3))
    assert made[0].tolist() == [[0., 0.], [1., 2.], [2., 4.], [0., 0.], [0., 0.]]
    assert made[1].tolist() == [0, 0, 2, 1, 0]
    assert made[2].tolist() == [2., 4.]


def test_in_nested_loops_branches_and_structures():
    def f(x):
        def row(i, state):
            def column(j, a):
                return j + 1, df.cond(j % 2 == 0, lambda: a.write(i * 2 + j, x[i, j]), lambda: a)

            a = df.while_loop(lambda j, a: j < 2, column, (0, state["a"]))[1]
            return i + 1, {"a": a, "n": state["n"] + a.read(i * 2)}

        state = {"a": df.TensorArray(df.float32, 6, element_shape=[]), "n": df.constant(0.)}
        _, state = df.while_loop(lambda i, s: i < 3, row, (0, state))
        return state["a"].stack(), state["n"]

    made = both(f, df.constant([[1., 2.], [3., 4.], [5., 6.]]))
    assert made[0].tolist() == [1., 0., 3., 0., 5., 0.]
    assert made[1].item() == 9.


def test_writes_at_known_indices_in_branches():
    """A value stacked in a branch is not used outside of it."""
    def f(x):
        a = df.TensorArray(df.float32, 2)
        a = df.cond(x > 0., lambda: a.write(0, x), lambda: a.write(1, -x))
        b = df.TensorArray(df.float32, 2, element_shape=[])
        b = df.cond(x > 0., lambda: b, lambda: b.unstack([x, -x]))
        return a.stack(), b.stack(), a.read(1)

    assert both(f, df.constant(3.))[0].tolist() == [3., 0.]
    assert both(f, df.constant(-3.))[0].tolist() == [0., 3.]


def test_growth_in_a_loop():
    """The structure and the shapes of the other carries are still checked."""
    def f(x, n):
        def body(i, a, s):
            return i + 1, a.write(2 * i, s), s + x

        a = df.TensorArray(df.float32, 1, dynamic_size=True)
        _, a, s = df.while_loop(lambda i, *_: i < n, body, (0, a, x))
        return a.stack(), a.size(), a.read(n), s

    made = both(f, df.constant([1., 2.]), df.constant(2))
    assert made[0].tolist() == [[1., 2.], [0., 0.], [2., 4.]]
    assert made[1].item() == 3
    assert both(f, df.constant([1., 2.]), df.constant(3))[1].item() == 5
    with pytest.raises(df.errors.ShapeError, match=r"loop_vars\[1\] is .* before an iteration"):
        df.function(lambda x: df.while_loop(lambda a, s: s[0] < 9., lambda a, s: (
            a.write(0, x), df.concat([s, x], 0)), (df.TensorArray(
                df.float32, 1, dynamic_size=True, element_shape=[2]), x)))(df.ones([2]))


def test_loop_writes_in_place():
    """No iteration copies the array or its gradient."""
    @df.function
    def f(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            a = df.TensorArray(df.float32, 50, element_shape=[2])
            _, a, _ = df.while_loop(lambda i, *_: i < n, lambda i, a, s: (
                i + 1, a.write(i, s), s * x), (0, a, x))
            y = df.reduce_sum(a.stack() ** 2)
        return tape.gradient(y, x)

    args = df.constant([1., 2.]), df.constant(3)
    assert_same(f(*args), f.python_function(*args))
    loops = [i for i in f.compiled_for(*args).plan.instructions if i.node.op.name == "loop"]
    assert len(loops) == 2
    for loop in loops:
        plan = loop.bodies[0]
        big = [y for y in plan.results if y.shape == (50, 2)]
        assert len(big) == 1
        assert plan.where[big[0]][0].kind.name == "ARG"
        assert not [i for i in plan.instructions for y in i.outputs
                    if y.shape == (50, 2) and plan.where[y][0].kind.name != "ARG"]


def test_without_loops():
    def f(x):
        a = df.TensorArray(df.float32, 2, dynamic_size=True).unstack(x)
        a = a.write(3, x[0] * 2.).scatter([1], [[7., 8.]])
        b = df.TensorArray(df.float32, 2, element_shape=[1]).split(x[0], [1, 1])
        return a.stack(), a.read(2), b.stack(), b.concat()

    made = both(f, df.constant([[1., 2.], [3., 4.]]))
    assert made[0].tolist() == [[1., 2.], [7., 8.], [0., 0.], [2., 4.]]


def test_arrays_are_immutable():
    a = df.TensorArray(df.float32, 2)
    b = a.write(0, 1.)
    c = b.write(0, 2.)
    assert (a.stack().tolist(), b.stack().tolist(), c.stack().tolist()) == ([0., 0.], [1., 0.],
                                                                           [2., 0.])


def test_gradients():
    x = df.constant([1., 2., 3.])
    with df.GradientTape() as tape:
        tape.watch(x)
        a = df.TensorArray(df.float32, 3).write(1, x[0] * x[1]).write(2, x[2])
        y = df.reduce_sum(a.stack() * [1., 2., 3.]) + a.read(1)
    assert tape.gradient(y, x).tolist() == [6., 3., 3.]


@pytest.mark.parametrize(("f", "error", "match"), [
    (lambda a: a.write(5, 1.), "OutOfRangeError", "index is 5, expected 0 <= index < 2"),
    (lambda a: a.write(0, [1., 2.]).write(1, 1.), "ShapeError", "of the other tensors"),
    (lambda a: a.write(0, df.constant(1)), "DTypeError", "value is int32"),
    (lambda a: a.stack(), "InvalidArgumentError", "give element_shape"),
    (lambda a: a.unstack([1., 2., 3.]), "ShapeError", "got 3 tensors, expected 2"),
    (lambda a: a.read(0.5), "DTypeError", "index is 0.5"),
    (lambda a: df.TensorArray(df.int32, -1), "InvalidArgumentError", "size is -1"),
])
def test_bad_input(f, error, match):
    with pytest.raises(getattr(df.errors, error), match=match):
        f(df.TensorArray(df.float32, 2))
