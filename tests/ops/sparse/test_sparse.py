"""Sparse tensors: values and gradients against dense computation, eagerly and traced."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

SHAPES = [(5, 7), (1, 4), (6,), (3, 2, 4), (4, 0), (0, 3)]
MODES = [lambda f: f, df.function]


def random_array(seed, shape, density=0.4, dtype="float32"):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 9, shape) * rng.choice([-1, 1], shape) * (rng.random(shape) < density)
    if x.ndim > 1 and len(x) > 2:
        x[1] = 0                        # an empty row
    return x.astype(dtype)


def dense(x):
    """Return a sparse tensor as an array, from its parts."""
    made = np.zeros(x.shape.as_list(), x.values.numpy().dtype)
    np.add.at(made, tuple(x.indices.numpy().T), x.values.numpy())
    return made


def check(sparse, array, in_order=True):
    np.testing.assert_array_equal(dense(sparse), array)
    if in_order:
        indices = sparse.indices.tolist()
        assert indices == sorted(indices)
    np.testing.assert_array_equal(df.sparse.to_dense(sparse), array)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_conversions(mode, shape, dtype):
    a = random_array(1, shape, dtype=dtype)
    x = mode(df.sparse.from_dense)(df.constant(a))
    assert x.dtype.name == dtype and x.shape.as_list() == list(shape) and x.rank == len(shape)
    assert x.dense_shape.tolist() == list(shape) and x.dense_shape.dtype is df.int64
    check(x, a)
    np.testing.assert_array_equal(mode(df.sparse.to_dense)(x), a)
    np.testing.assert_array_equal(mode(lambda x: df.sparse.to_dense(x, 7))(x),
                                  np.where(a == 0, 7, a).astype(dtype))
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(mode, shape):
    a = random_array(2, shape)
    x = df.sparse.from_dense(a)
    axes = [None, 0, -1, [0], tuple(range(len(shape)))] + [[0, -1]] * (len(shape) > 1)
    for axis in axes:
        for keep in (False, True):
            def f(x, axis=axis, keep=keep):
                return df.sparse.reduce_sum(x, axis, keep)
            want = a.sum(axis if axis is None or isinstance(axis, int) else tuple(axis),
                         keepdims=keep)
            np.testing.assert_array_equal(mode(f)(x), want)
    masked = np.where(a == 0, -np.inf, a)
    stored = (a != 0).any(-1)
    got = mode(lambda x: df.sparse.reduce_max(x, -1))(x).numpy()
    np.testing.assert_array_equal(got[stored], masked.max(-1, initial=-np.inf)[stored])
    check(df.sparse.reduce_sum(x, 0, True, output_is_sparse=True), a.sum(0, keepdims=True))


@pytest.mark.parametrize("mode", MODES)
def test_selections(mode):
    for seed, shape in enumerate(SHAPES):
        a = random_array(seed, shape)
        x = df.sparse.from_dense(a)
        order = np.random.default_rng(seed).permutation(len(x.values))
        mixed = df.SparseTensor(x.indices.numpy()[order], x.values.numpy()[order], shape)
        check(mode(df.sparse.reorder)(mixed), a)
        keep = x.values.numpy() > 0
        check(mode(df.sparse.retain)(x, df.constant(keep)), np.where(a > 0, a, 0))
        check(mode(df.sparse.transpose)(x), a.T)
        check(mode(lambda x, n=a.size: df.sparse.reshape(x, [n]))(x), a.reshape(-1))
        check(mode(lambda x: df.sparse.expand_dims(x, 0))(x), a[None])
        check(mode(df.sparse.expand_dims)(x), a[..., None])
        block = tuple([slice(1, 3)] * a.ndim)
        check(mode(lambda x, n=a.ndim: df.sparse.slice(x, [1] * n, [2] * n))(x), a[block])
        check(mode(lambda x: df.sparse.concat(0, [x, x]))(x), np.concatenate([a, a]))
        check(mode(lambda x: df.sparse.concat(-1, [x, x]))(x), np.concatenate([a, a], -1))
    x = df.SparseTensor([[0, 2], [1, 0]], [1, 2], [2, 3])
    check(df.sparse.transpose(df.sparse.expand_dims(x, 1), [2, 0, 1]),
          np.array([[[0], [2]], [[0], [0]], [[1], [0]]]))
    assert df.sparse.reset_shape(x, [4, 5]).shape == (4, 5) and df.sparse.reset_shape(
        x).shape == (2, 3)
    wide = df.sparse.concat(0, [x, df.SparseTensor([[0, 4]], [9], [1, 5])], True)
    assert wide.shape == (3, 5) and wide.values.tolist() == [1, 2, 9]


@pytest.mark.parametrize("mode", MODES)
def test_sums(mode):
    for seed, shape in enumerate(SHAPES):
        a, b = random_array(seed, shape), random_array(seed + 10, shape)
        x, y = df.sparse.from_dense(a), df.sparse.from_dense(b)
        check(mode(df.sparse.add)(x, y), a + b)
        np.testing.assert_array_equal(mode(df.sparse.add)(x, df.constant(b)), a + b)
        np.testing.assert_array_equal(mode(df.sparse.add)(df.constant(b), x), a + b)
        large = df.sparse.add(x, y, threshold=5)
        check(large, np.where(abs(a + b) >= 5, a + b, 0))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_products(mode, adjoint_a, adjoint_b):
    rng = np.random.default_rng(3)
    for m, k, n in ((5, 7, 3), (1, 1, 1), (4, 6, 0), (3, 0, 2), (40, 30, 20)):
        a = random_array(m, (k, m) if adjoint_a else (m, k))
        b = rng.integers(-4, 5, (n, k) if adjoint_b else (k, n)).astype("float32")
        want = (a.T if adjoint_a else a) @ (b.T if adjoint_b else b)
        got = mode(lambda x, b: df.sparse.sparse_dense_matmul(x, b, adjoint_a, adjoint_b))(
            df.sparse.from_dense(a), df.constant(b))
        np.testing.assert_array_equal(got, want)
        got = df.sparse.sparse_dense_matmul(df.constant(b.T), df.sparse.from_dense(a.T),
                                            adjoint_b, adjoint_a)
        np.testing.assert_array_equal(got, want.T)


def dense_softmax(x):
    e = np.exp(np.where(x == 0, -np.inf, x - x.max(-1, keepdims=True)))
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(e / e.sum(-1, keepdims=True))


@pytest.mark.parametrize("mode", MODES)
def test_elementwise(mode):
    a = abs(random_array(4, (5, 7)))
    x = df.sparse.from_dense(a)
    np.testing.assert_allclose(dense(mode(df.sparse.softmax)(x)), dense_softmax(a), rtol=1e-6)
    check(mode(lambda x: df.sparse.map_values(df.square, x))(x), a * a)
    check(mode(lambda x: df.sparse.map_values(df.add, x, x))(x), a + a)
    row = np.arange(1., 8.).astype("float32")
    check(mode(lambda x: x * df.constant(row))(x), a * row)
    check(mode(lambda x: 2. * x)(x), a * 2)
    check(mode(lambda x: -x)(x), -a)
    np.testing.assert_allclose(dense(mode(lambda x: x / row)(x)), a / row, rtol=1e-6)
    check(df.sparse.eye(3, 5), np.eye(3, 5))


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode):
    """The gradient of the values is the dense gradient at their positions."""
    a, b = random_array(5, (6, 4), dtype="float64"), random_array(6, (4, 3), 1., "float64")
    x = df.sparse.from_dense(a)
    weights = df.constant(np.random.default_rng(7).normal(size=(6, 3)))
    by_values = mode(df.value_and_grad(lambda v, b: df.reduce_sum(weights * df.tanh(
        df.sparse.sparse_dense_matmul(x.with_values(v), b))), argnums=(0, 1)))
    by_dense = df.value_and_grad(lambda a, b: df.reduce_sum(weights * df.tanh(a @ b)),
                                 argnums=(0, 1))
    value, (gv, gb) = by_values(x.values, df.constant(b))
    want, (ga, want_b) = by_dense(df.constant(a), df.constant(b))
    np.testing.assert_allclose(value, want)
    np.testing.assert_allclose(gv, df.gather_nd(ga, x.indices))
    np.testing.assert_allclose(gb, want_b)
    for f, like in ((lambda s: df.sparse.reduce_sum(s, 0), lambda a: df.reduce_sum(a, 0)),
                    (df.sparse.to_dense, lambda a: a),
                    (lambda s: df.sparse.to_dense(df.sparse.add(s, s)), lambda a: a + a),
                    (lambda s: df.sparse.add(s, df.ones([6, 4], df.float64)), lambda a: a + 1.),
                    (lambda s: df.sparse.to_dense(df.sparse.transpose(s)), df.transpose)):
        got = mode(df.grad(lambda v, f=f: df.reduce_sum(df.exp(f(x.with_values(v))))))(x.values)
        want = df.grad(lambda a, like=like: df.reduce_sum(df.exp(like(a))))(df.constant(a))
        np.testing.assert_allclose(got, df.gather_nd(want, x.indices))


def test_sparse_tensors_are_structures():
    x = df.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    double = df.function(lambda s: {"twice": s * 2., "sum": df.sparse.reduce_sum(s)})
    made = double(x)
    assert isinstance(made["twice"], df.SparseTensor) and made["sum"].item() == 12.
    assert made["twice"].shape == (3, 2)
    more = df.SparseTensor([[0, 0], [0, 1], [2, 0]], [1., 2., 3.], [3, 2])
    assert double(more)["twice"].values.tolist() == [2., 4., 6.]
    assert double(df.SparseTensor(np.zeros([0, 2], "int64"), df.zeros([0]), (3, 2)))[
        "sum"].item() == 0.
    assert len(df.nest.flatten(x)) == 4 and df.nest.map_structure(lambda t: t, x).shape == (3, 2)

    @df.function
    def loop(s, n):
        for _ in range(n):
            s = s * 2.
        return df.sparse.to_dense(s)

    np.testing.assert_array_equal(loop(x, df.constant(3)), 8. * x.numpy())
    v = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = df.function(lambda: df.SparseTensor([[0], [1]], v * 3., [4]))()
    np.testing.assert_array_equal(tape.gradient(y.values, v), [3., 3.])


def test_constructor():
    x = df.SparseTensor(indices=[[1]], values=[5], dense_shape=[2])
    assert x.shape == (2,)
    for indices in (np.array([[0, 1]], "int32"), df.constant([[0, 1]]), [[0, 1]]):
        assert df.SparseTensor(indices, [1], [2, 2]).indices.dtype is df.int64
    empty = df.SparseTensor([], [], [2, 3])
    assert empty.indices.shape == (0, 2)
    np.testing.assert_array_equal(df.sparse.to_dense(empty), np.zeros([2, 3]))
    assert df.SparseTensor.from_value(empty) is empty
    assert df.SparseTensor.from_value(([[1]], [5], [3])).values.tolist() == [5]
    assert "dense_shape=(2, 3)" in repr(empty)


@pytest.mark.parametrize("call, error, why", [
    (lambda x: df.SparseTensor([[0]], [1, 2], [3]), errors.ShapeError, "1 indices and 2 values"),
    (lambda x: df.SparseTensor([0], [1], [3]), errors.ShapeError, "expected \\(n, rank\\)"),
    (lambda x: df.SparseTensor([[0]], [1], [3, 3]), errors.ShapeError, "2 sizes"),
    (lambda x: df.SparseTensor([[0, 0]], [1], [3]), errors.ShapeError, "1 sizes"),
    (lambda x: df.SparseTensor([[0, 0]], [1], (3, 2.5)), errors.DTypeError, "2.5"),
    (lambda x: df.SparseTensor([[0, 0]], [1], np.array([3, 2.5])), errors.DTypeError, "integers"),
    (lambda x: df.SparseTensor([[0, 0]], [1], [3, -1]), errors.ShapeError, "at least 0"),
    (lambda x: df.SparseTensor([[0, 0]], [1], (3, None)), errors.DTypeError, "integers"),
    (lambda x: df.SparseTensor([[0, 0]], [1], None), errors.DTypeError, "dense_shape is None"),
    (lambda x: df.SparseTensor([[0, 2]], [1], [3, 2]), errors.OutOfRangeError, "2 in column 1"),
    (lambda x: df.SparseTensor([[0, 1], [-1, 0]], [1, 2], (3, 2)), errors.OutOfRangeError, "-1"),
    (lambda x: df.SparseTensor([[0, 0]], [1], [0, 2]), errors.OutOfRangeError, "column 0"),
    (lambda x: df.SparseTensor([[0.5, 0]], [1], [3, 2]), errors.DTypeError, "int64"),
    (lambda x: df.SparseTensor(None, [1], [3, 2]), errors.DTypeError, "expected tensors"),
    (lambda x: x.with_values([1.]), errors.ShapeError, "2 indices and 1 values"),
    (lambda x: df.sparse.to_dense([1.]), errors.DTypeError, "expected a SparseTensor"),
    (lambda x: df.sparse.to_dense(df.SparseTensor([[9]], [1], [3])), errors.OutOfRangeError, "9"),
    (lambda x: x * x, errors.DTypeError, "two sparse tensors"),
    (lambda x: bool(x), errors.DTypeError, "truth value"),
    (lambda x: df.sparse.map_values(df.add, 1, 2), errors.DTypeError, "no argument"),
    (lambda x: df.sparse.sparse_dense_matmul(x, x), errors.DTypeError, "both matrices"),
    (lambda x: df.sparse.sparse_dense_matmul(x, [[1.]]), errors.ShapeError, "2 columns and 1"),
    (lambda x: df.sparse.sparse_dense_matmul(x, [1., 2.]), errors.ShapeError, "matrices"),
    (lambda x: df.sparse.add(x, df.sparse.eye(2)), errors.ShapeError, "equal shapes"),
    (lambda x: df.sparse.add(x, df.sparse.eye(3, 2, "int32")), errors.DTypeError, "one dtype"),
    (lambda x: df.sparse.concat(0, [x, df.sparse.eye(3)]), errors.ShapeError, "dimension 1"),
    (lambda x: df.sparse.concat(2, [x, x]), errors.ShapeError, "axis 2"),
    (lambda x: df.sparse.concat(0, []), errors.InvalidArgumentError, "no tensors"),
    (lambda x: df.sparse.slice(x, [0], [1]), errors.ShapeError, "2 dimensions"),
    (lambda x: df.sparse.reshape(x, [4]), errors.ShapeError, "reshape"),
    (lambda x: df.sparse.transpose(x, [0, 0]), errors.InvalidArgumentError, "permutation"),
    (lambda x: df.sparse.expand_dims(x, 4), errors.InvalidArgumentError, "axis 4"),
    (lambda x: df.sparse.reduce_sum(x, 2), errors.InvalidArgumentError, "axis 2"),
    (lambda x: df.sparse.reset_shape(x, [1, 1]), errors.InvalidArgumentError, "at least"),
])
def test_invalid_arguments_raise(call, error, why):
    with pytest.raises(error, match=why):
        call(df.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2]))


def test_text_to_dense():
    x = df.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 2])
    empty = df.SparseTensor(df.zeros([0, 2], df.int64), df.constant(["a"])[:0], [1, 2])
    for call in (df.sparse.to_dense, df.function(df.sparse.to_dense)):
        assert call(x).tolist() == [[b"", b"a"], [b"", b""], [b"b", b""]]
        assert call(x, "no").tolist() == [[b"no", b"a"], [b"no", b"no"], [b"b", b"no"]]
        assert call(x, default_value=df.constant("é")).tolist()[1] == ["é".encode()] * 2
        assert call(empty).tolist() == [[b"", b""]]
    with pytest.raises(df.errors.DTypeError, match="to_dense: default_value"):
        df.sparse.to_dense(x, 3)


@pytest.mark.parametrize("mode", MODES)
def test_functions_that_map_zero_to_zero(mode):
    dense = np.array([[0., -1.5, 0.], [2.5, 0., 0.]], "float32")
    given = df.sparse.from_dense(dense)
    for f in (lambda x: df.cast(x, df.int32), lambda x: df.cast(x, "float64"), df.abs, df.tanh,
              df.nn.relu, df.square, df.sign, df.identity, df.negative, df.floor,
              lambda x: df.multiply(x, 2.), lambda x: df.multiply(dense, x)):
        made, want = mode(f)(given), f(df.constant(dense))
        assert isinstance(made, df.SparseTensor) and made.dtype is want.dtype
        np.testing.assert_array_equal(df.sparse.to_dense(made), want)
    empty = df.SparseTensor(np.zeros((0, 2), "int64"), [], [2, 3])
    assert mode(lambda x: df.cast(x, df.int64))(empty).values.dtype is df.int64
    for f in (df.cos, df.exp, df.reduce_sum, lambda x: df.add(x, 1.), lambda x: df.matmul(x, x)):
        with pytest.raises(df.errors.DTypeError, match="SparseTensor"):
            mode(f)(given)
    with df.GradientTape() as tape:
        tape.watch(given.values)
        y = mode(lambda x: df.reduce_sum(df.square(df.cast(x, df.float64)).values))(given)
    assert tape.gradient(y, given.values).tolist() == [-3., 5.]
