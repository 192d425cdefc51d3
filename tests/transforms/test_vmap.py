"""Axes, structures, nesting, gradients, randomness and errors of vmap."""

import collections
import gc

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import (
    DTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    ShapeError,
    TracedValueError,
)

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 4, 5)).astype("float32")
B = RNG.normal(size=(3, 4)).astype("float32")
Point = collections.namedtuple("Point", "x y")


def same(got, want):
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, 2, -1, -2])
def test_axes(axis, out):
    want = np.stack([df.cumsum(x, 0) for x in np.moveaxis(A, axis, 0)], out)
    same(df.vmap(lambda x: df.cumsum(x, 0), axis, out)(A), want)


def test_axes_by_argument():
    f = df.vmap(lambda a, b, c: a @ b + c, in_axes=(0, None, 1), out_axes=-1)
    w, c = RNG.normal(size=(5, 2)).astype("float32"), RNG.normal(size=(2, 3)).astype("float32")
    want = np.stack([df.constant(A[k]) @ w + c[:, k] for k in range(3)], -1)
    np.testing.assert_allclose(f(A, w, c), want, 1e-6)


def test_structures():
    given = {"a": df.constant(A), "p": Point(df.constant(B), 2.)}
    f = df.vmap(lambda t: Point(t["p"].x * t["p"].y, {"sum": df.reduce_sum(t["a"], 1)}),
                in_axes=({"a": 0, "p": Point(0, None)},), out_axes=Point(1, 0))
    made = f(given)
    assert isinstance(made, Point)
    same(made.x, (B * 2).T)
    same(made.y["sum"], df.reduce_sum(A, 2))


def test_keywords_and_other_objects():
    f = df.vmap(lambda x, kind, scale: df.reduce_sum(x) * scale if kind == "sum" else x,
                in_axes=(0, None))
    same(f(B, "sum", scale=[1., 2., 3.]), df.reduce_sum(B, 1) * [1., 2., 3.])


def test_lists_of_numbers_are_tensors():
    assert df.vmap(lambda x: x * 2)([1., 2.]).tolist() == [2., 4.]


def test_variables_and_closures():
    v, c = df.Variable(3.), df.constant(2.)
    with df.GradientTape() as tape:
        tape.watch(c)
        y = df.reduce_sum(df.vmap(lambda x: x * v * c)([1., 2.]))
    assert [g.item() for g in tape.gradient(y, [v, c])] == [6., 9.]


def test_none_in_results_and_shared_results():
    made = df.vmap(lambda x: (None, x, df.constant(1.)), out_axes=(0, 0, None))([1., 2.])
    assert made[0] is None and made[2].item() == 1.
    assert df.vmap(lambda x: df.constant(7.))([1., 2.]).tolist() == [7., 7.]


def test_axis_size():
    assert df.vmap(lambda: df.constant(1.), axis_size=3)().tolist() == [1., 1., 1.]

    @df.function(input_signature=[df.TensorSpec([None])])
    def ones(x):
        return df.vmap(lambda: df.constant(1.), axis_size=x.shape[0])()

    assert ones([3., 4.]).tolist() == [1., 1.] and ones([1.]).tolist() == [1.]


@pytest.mark.parametrize("n", [0, 1])
def test_small_batches(n):
    x = np.ones((n, 3), "float32")
    assert df.vmap(lambda r: df.reduce_sum(df.nn.softmax(r) * r))(x).shape == (n,)
    assert df.vmap(lambda r, v: df.linspace(r, v, 4))(x[:, 0], x[:, 1]).shape == (n, 4)


def test_nested():
    outer = df.vmap(df.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    same(outer(B[0], B[1]), np.outer(B[0], B[1]))
    conv = df.vmap(df.vmap(lambda x, w: df.nn.conv2d(x, w, 1, "SAME")), (None, 0))
    x = RNG.normal(size=(2, 1, 4, 4, 1)).astype("float32")
    w = RNG.normal(size=(3, 2, 2, 2, 1, 1)).astype("float32")
    want = np.stack([[df.nn.conv2d(x[j], w[i, j], 1, "SAME") for j in range(2)] for i in range(3)])
    same(conv(x, w), want)


def loss(w, x):
    return df.reduce_sum(df.tanh(x @ w) ** 2)


def test_per_example_gradients():
    w, x = RNG.normal(size=(5, 2)), A.astype("float64")
    want = np.stack([df.grad(loss)(df.constant(w), df.constant(x[k])) for k in range(3)])
    mapped = df.vmap(df.grad(loss), (None, 0))
    np.testing.assert_allclose(mapped(w, x), want, 1e-12)
    same(df.function(mapped)(df.constant(w), df.constant(x)), mapped(w, x))
    total = df.grad(lambda w: df.reduce_sum(df.vmap(loss, (None, 0))(w, x)))(df.constant(w))
    np.testing.assert_allclose(total, want.sum(0), 1e-12)


def test_second_order():
    def f(w):
        return df.reduce_sum(df.vmap(df.grad(lambda x: df.sin(x) * w))([1., 2.]))

    assert df.grad(f)(df.constant(2.)).item() == pytest.approx(np.cos([1., 2.]).sum(), 1e-6)


def test_custom_gradients():
    @df.custom_gradient
    def clipped(x, w):
        y = x * w
        return y, lambda g: (g * w * 10, g * x * 100)

    x, w = df.constant([1., 2.]), df.constant(3.)
    mapped = df.vmap(clipped, (0, None))
    for f in (mapped, df.function(mapped)):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            y = df.reduce_sum(f(x, w) * [1., 2.])
        gx, gw = tape.gradient(y, [x, w])
        assert gx.tolist() == [30., 60.] and gw.item() == 500.
    assert df.vmap(df.grad(clipped), (0, None))(x, w).tolist() == [30., 30.]


def test_functions_inside():
    inner = df.function(lambda x: df.exp(x) * 2)
    same(df.vmap(inner)(B), df.exp(B) * 2)
    same(df.vmap(df.grad(lambda x: df.reduce_sum(inner(x))))(B), df.exp(B) * 2)


def test_sparse_gradients():
    table, ids = df.constant(B), df.constant([[0, 2], [1, 1]])
    grads = df.vmap(df.grad(lambda t, i: df.reduce_sum(df.gather(t, i))), (None, 0))(table, ids)
    assert grads.shape == (2, 3, 4) and grads[1].numpy()[:, 0].tolist() == [0., 2., 0.]


def test_unknown_sizes():
    @df.function(input_signature=[df.TensorSpec([None, None])])
    def f(x):
        def lane(r):
            n = r.shape[0]
            if n > 100:
                return df.reduce_sum(r)
            return df.reduce_mean(df.reshape(r, [n, 1]) * n) + df.reduce_sum(df.ones([n]))
        return df.vmap(lane)(x)

    for shape in ((2, 3), (5, 4), (3, 101)):
        x = np.ones(shape, "float32")
        same(f(x), np.full(shape[0], 101. if shape[1] > 100 else 2. * shape[1]))


def test_keys():
    keys = np.array([[1, 2], [3, 4], [1, 2]])
    draw = df.vmap(lambda k: df.random.stateless_normal([4], k))(keys)
    for k in range(3):
        same(draw[k], df.random.stateless_normal([4], keys[k]))
    shared = df.vmap(lambda x: x + df.random.stateless_normal([2], [1, 2]))([0., 0.])
    same(shared[0], shared[1])


def test_python_functions_run_for_each_example():
    seen = []

    def note(x):
        seen.append(x.numpy().item())
        return x * 2

    made = df.vmap(lambda x: df.py_function(note, [x], df.float32))([1., 2.])
    assert made.tolist() == [2., 4.] and seen == [1., 2.]


def test_eager_python_runs_again():
    factor = [2.]
    f = df.vmap(lambda x: x * factor[0])
    assert f([1.]).tolist() == [2.]
    factor[0] = 3.
    assert f([1.]).tolist() == [3.]


def test_no_memory_is_leaked():
    """Intermediate values are freed after their last reader, and the others when the call ends."""
    def run():
        c = df.ones([1 << 14]) * 2.
        df.vmap(lambda r: df.exp(df.sin(r) * c) + 1.)(df.ones([4, 1 << 14]))

    run()
    gc.collect()
    gc.disable()
    try:
        before = df.memory.stats()["in_use"]
        run()
        assert df.memory.stats()["in_use"] == before
    finally:
        gc.enable()


# --- errors ---

v = df.Variable([1., 2.], name="counts")


@pytest.mark.parametrize("error, message, call", [
    (ShapeError, "in_axes is 2, and argument 0 is float32 (3, 4): expected -2 to 1",
     lambda: df.vmap(df.sin, 2)(B)),
    (ShapeError, "argument 1 is float32 (): expected None",
     lambda: df.vmap(df.add)(B, df.constant(1.))),
    (ShapeError, "argument 0 has batch size 3, argument 1 2", lambda: df.vmap(df.add)(B, [1., 2.])),
    (ShapeError, "out_axes is 3, and the result has 2 dimensions",
     lambda: df.vmap(df.sin, 0, 3)(B)),
    (InvalidArgumentError, "in_axes has 2 items, the function got 1",
     lambda: df.vmap(df.sin, (0, 0))(B)),
    (InvalidArgumentError, "in_axes[0] has the parts ['a'], the value has ['b']",
     lambda: df.vmap(df.sin, ({"a": 0},))({"b": B})),
    (InvalidArgumentError, "out_axes is None, but the result depends",
     lambda: df.vmap(df.sin, 0, None)(B)),
    (InvalidArgumentError, "no argument is mapped", lambda: df.vmap(df.sin, None)(B)),
    (InvalidArgumentError, "axis_size is -1", lambda: df.vmap(lambda: 1, axis_size=-1)()),
    (ShapeError, "axis_size is 4", lambda: df.vmap(df.sin, axis_size=4)(B)),
    (DTypeError, "argument 0 is 'text'", lambda: df.vmap(df.sin)("text")),
    (InvalidArgumentError, "fn is 3", lambda: df.vmap(3)),
    (InvalidArgumentError, "cannot assign counts", lambda: df.vmap(v.assign)(df.ones([3, 2]))),
    (InvalidArgumentError, "a seed for each example",
     lambda: df.vmap(lambda x: x + df.random.normal([4]))(B)),
    (InvalidArgumentError, "a Variable is created",
     lambda: df.vmap(lambda x: x + df.Variable(1.))(B)),
    (TracedValueError, "", lambda: df.vmap(lambda x: x if x[0] > 0 else -x)(B)),
    (ShapeError, "the size of the result of unique (at",
     lambda: df.vmap(lambda x: df.unique(x)[0])(B)),
])
def test_errors(error, message, call):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)


def test_assignment_raises_and_names_its_line():
    def lane(x):
        v.assign_add(x)             # this line
        return x

    with pytest.raises(InvalidArgumentError, match=r"test_vmap.py:\d+, in lane"):
        df.vmap(lane)(np.ones((3, 2), "float32"))
    assert v.numpy().tolist() == [1., 2.]
    with pytest.raises(InvalidArgumentError, match="cannot assign counts"):
        df.function(df.vmap(lane))(np.ones((3, 2), "float32"))
    assert v.numpy().tolist() == [1., 2.]


@pytest.mark.parametrize("traced", [False, True])
def test_run_time_errors_name_their_line(traced):
    def lane(i):
        return df.gather([1., 2.], i)

    mapped = df.vmap(lane)
    with pytest.raises(OutOfRangeError) as raised:
        (df.function(mapped) if traced else mapped)(df.constant([0, 5]))
    assert ", in lane" in "".join(raised.value.__notes__)


def test_run_time_error_in_a_mapped_loop_has_one_note():
    def lane(i):
        return df.while_loop(lambda k, y: k < 2,
                             lambda k, y: (k + 1, y + df.gather([1., 2.], i)), (0, 0.))[1]

    with pytest.raises(OutOfRangeError) as raised:
        df.vmap(lane)(df.constant([0, 5]))
    note, = raised.value.__notes__
    assert note.startswith("in gather of vmap")


def test_vectorized_map_falls_back_to_a_loop():
    v = df.Variable(0.)
    rows = df.constant([[1., 2.], [3., 5.]])
    f = {"counts": lambda r: v.assign_add(1.) * r, "asks": lambda r: r if float(r[0]) > 2. else -r,
         "sized by data": lambda r: df.reduce_sum(df.boolean_mask(r, r > 1.))}
    want = [[[1., 2.], [6., 10.]], [[-1., -2.], [3., 5.]], [2., 8.]]
    for g, rows_of in zip(f.values(), want, strict=True):
        assert df.vectorized_map(g, rows).tolist() == rows_of
        with pytest.raises(df.errors.DualflowError):
            df.vectorized_map(g, rows, fallback_to_while_loop=False)
    runs = []
    pairs = df.vectorized_map(lambda p: runs.append(p) or {"sum": p[0] + p[1]}, (rows, rows[0]))
    assert pairs["sum"].tolist() == [[2., 3.], [5., 7.]] and len(runs) == 1
