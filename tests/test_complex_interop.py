"""Complex tensors outside the ops: Python, NumPy, DLPack, text, lists, dtypes, creation of tensors,
and gradient checks."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow import testing
from dualflow.errors import DTypeError, InvalidArgumentError

DTYPES = ("complex64", "complex128")
Z = [1 + 2j, 3 - 4j]


@pytest.fixture(params=DTYPES)
def x(request):
    return df.constant(Z, request.param)


def test_lists_and_numbers(x):
    assert x.tolist() == Z and x[0].tolist() == x[0].item() == complex(x[0]) == 1 + 2j
    assert df.reshape(x, (2, 1)).tolist() == [[z] for z in Z]
    assert df.zeros((2, 0), x.dtype).tolist() == [[], []]
    assert df.zeros((0, 2), x.dtype).tolist() == []
    assert df.reshape(x, (1,) * 70 + (2,))[(0,) * 70].tolist() == Z
    assert bool(x[0]) and not bool(x[0] * 0) and x[1] in x
    for convert in (int, float):
        with pytest.raises(DTypeError, match=r"imaginary part; use df\.math\.real"):
            convert(x[0])


def test_dtypes_of_python_numbers():
    assert df.constant(1j).dtype is df.constant([1, 2j]).dtype is df.complex128
    assert df.constant([True, 1.5, 2j], df.complex64).tolist() == [1, 1.5, 2j]
    assert df.constant([df.constant(1.), 2j]).dtype is df.complex128
    assert df.stack([df.constant(1.), 2j]).dtype is df.complex64
    assert (df.constant(1.) * 1j).dtype is (df.constant(1) * 1j).dtype is df.complex64
    assert (df.constant(1., df.float64) * 1j).dtype is df.complex128
    assert (df.constant(1j, df.complex64) * 2.5).dtype is df.complex64
    assert (df.constant(1., df.float16) * np.complex64(1j)).dtype is df.complex64
    for dtype in (df.float32, df.int32, df.bool_):
        with pytest.raises(DTypeError, match="complex number 1j, expected"):
            df.constant([1, 1j], dtype)


def test_names_of_dtypes():
    for name, real in zip(DTYPES, (df.float32, df.float64), strict=True):
        dtype = getattr(df, name)
        assert df.as_dtype(name) is df.as_dtype(np.dtype(name)) is df.as_dtype(
            getattr(np, name)) is dtype
        assert dtype.real_dtype is real and dtype.is_inexact and not dtype.is_floating
        assert hash(df.TensorSpec((2,), dtype)) == hash(df.TensorSpec((2,), name))
        assert np.dtype(dtype.as_numpy_dtype) == name
        with pytest.raises(DTypeError, match=f"range of {real.name}"):
            _ = dtype.max
    assert df.as_dtype(complex) is df.complex128
    with pytest.raises(DTypeError, match="not a dtype"):
        df.as_dtype(np.clongdouble)


def test_text(x):
    assert str(x).endswith(f"dtype={x.dtype}\n[1.+2.j 3.-4.j]>")
    assert repr(x[0]).endswith(" (1+2j)>")
    assert repr(df.constant(0.1 + 0.2j, x.dtype)).endswith(" (0.1+0.2j)>")
    assert f"{x[0]:.2f}" == "1.00+2.00j"
    many = np.arange(2000) * (1 - 0.5j)
    assert np.array2string(many, separator=" ") in str(df.constant(many))
    assert df.strings.as_string(x, precision=1).tolist() == [b"(1.0,2.0)", b"(3.0,-4.0)"]


def test_shortest_parts():
    z = df.constant(1e-7 + 3.4028235e38j, df.complex64)
    assert repr(z).endswith(" (1e-07+3.4028235e+38j)>")


def test_copies_and_pickles(x):
    for y in (copy.copy(x), copy.deepcopy(x), *[
            pickle.loads(pickle.dumps(x, protocol)) for protocol in (2, 5)]):
        assert y.dtype is x.dtype and y.tolist() == Z
    v = df.Variable(x)
    assert pickle.loads(pickle.dumps(v)).tolist() == Z


def test_buffers(x):
    view = memoryview(x)
    assert (view.format, view.itemsize, view.readonly) == (
        {"complex64": "Zf", "complex128": "Zd"}[x.dtype.name], x.dtype.itemsize, True)
    assert bytes(view) == x.numpy().tobytes()


def test_functions_of_numpy(x):
    a = x.numpy()
    for f in (np.conj, np.real, np.imag, np.angle, np.exp, np.isfinite):
        np.testing.assert_array_equal(f(x), f(a))
    for y in (np.multiply(a, x), a * x, np.add(x, 1j), np.abs(x)):
        assert isinstance(y, df.Tensor | np.ndarray)
    assert isinstance(np.multiply(a, x), df.Tensor)
    f = df.function(lambda x: np.conj(x))
    with pytest.raises(Exception, match=r"dualflow\.math\.conj"):
        f(x)


def test_attributes_of_other_libraries(x):
    for name in ("real", "imag", "conj", "angle"):
        with pytest.raises(AttributeError, match=rf"dualflow\.math\.{name}\(x\)"):
            getattr(x, name)
    assert not hasattr(x, "real")
    with pytest.raises(AttributeError, match=r"dualflow\.math\.conj"):
        _ = df.conj


def test_dlpack():
    torch = pytest.importorskip("torch")
    t = torch.tensor([1 + 2j, 3 - 4j, 5j])
    for y in (t, t.to(torch.complex128), t[::2], t.reshape(3, 1).T):
        got = df.from_dlpack(y)
        assert got.tolist() == y.tolist() and got.dtype.name in str(y.dtype)
    with pytest.raises(BufferError, match="conjugate"):
        df.from_dlpack(t.conj())
    assert df.from_dlpack(t.conj().resolve_conj()).tolist() == t.conj().tolist()
    with pytest.raises(DTypeError, match="code 5 of 32 bits"):
        df.from_dlpack(t.to(torch.complex32))
    for dtype in DTYPES:
        made = torch.from_dlpack(df.constant(Z, dtype))
        assert made.tolist() == Z and dtype in str(made.dtype)


def test_dlpack_of_numpy(x):
    np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
    assert df.from_dlpack(np.array(Z * 3, x.dtype.name)[::-2]).tolist() == (Z * 3)[::-2]


def test_bits():
    pairs = df.constant([[1., 2.], [3., -4.]])
    z = df.bitcast(pairs, df.complex64)
    assert z.tolist() == Z and df.bitcast(z, df.float32).tolist() == pairs.tolist()
    assert df.bitcast(df.constant([1., 2.], df.float64), df.complex128).tolist() == 1 + 2j
    assert df.bitcast(df.constant(Z), df.float64).tolist() == pairs.tolist()
    assert df.bitcast(df.constant(Z), df.uint8).shape == (2, 16)


def test_creation(x):
    dtype = x.dtype
    assert df.zeros_like(x).tolist() == [0, 0] and df.ones_like(x).tolist() == [1, 1]
    assert df.eye(2, dtype=dtype).tolist() == [[1, 0], [0, 1]]
    assert df.one_hot([1], 2, dtype=dtype).tolist() == [[0, 1]]
    assert df.one_hot([1], 2, on_value=x[0]).dtype is dtype
    assert df.fill([2], x[0]).tolist() == [1 + 2j] * 2 and df.fill([1], 1j).dtype is df.complex128
    assert df.pad(x, [[1, 0]], constant_values=1j).tolist() == [1j, *Z]
    for call in (lambda: df.range(x[0]), lambda: df.range(0, 3, dtype=dtype),
                 lambda: df.linspace(x[0], x[1], 3)):
        with pytest.raises(DTypeError, match=r"df\.math\.real"):
            call()


def test_casts(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert df.cast(x, df.complex64).dtype is df.complex64
        assert df.saturate_cast(x, df.complex128).tolist() == Z
        assert df.cast(x * [0, 1], df.bool_).tolist() == [False, True]
        for dtype in ("bool", "int8", "uint64", "float16", "bfloat16", "float64"):
            assert df.cast(df.constant([0, 1], dtype), x.dtype).tolist() == [0, 1]
    for cast in (df.cast, df.saturate_cast):
        with pytest.warns(UserWarning, match=r"drops the imaginary part; df\.math\.real"):
            assert cast(x, df.int32).tolist() == [1, 3]


def test_unique():
    nan = complex(float("nan"), 1)
    for dtype in DTYPES:
        z = df.constant([1j, 2, 1j, nan, complex(2, float("nan")), complex(-0.0, -0.0), 0], dtype)
        y, idx, count = df.unique_with_counts(z)
        assert idx.tolist() == [0, 1, 0, 2, 2, 3, 3] and count.tolist() == [2, 1, 2, 2]
        np.testing.assert_array_equal(y, z.numpy()[[0, 1, 3, 5]])
    many = np.random.default_rng(0).integers(0, 9, (2, 3000)) * [[1], [1j]]
    many = many.sum(0)
    y, idx = df.unique(df.constant(many))
    np.testing.assert_array_equal(y.numpy()[idx], many)
    assert y.size == len(np.unique(many)) == 81


def test_tests_of_parts(x):
    bad = df.constant([complex(1, float("inf")), complex(float("nan"), 1), 1j], x.dtype)
    assert df.math.is_inf(bad).tolist() == [True, False, False]
    assert df.math.is_nan(bad).tolist() == [False, True, False]
    assert df.math.is_finite(bad).tolist() == [False, False, True]
    assert df.debugging.check_numerics(x, "x").tolist() == Z
    with pytest.raises(InvalidArgumentError, match="1 NaN and 1 infinite"):
        df.debugging.check_numerics(bad, "x")


def test_assertions(x):
    near = x * (1 + 2.0**-x.dtype.digits * 1j)
    df.debugging.assert_near(x, near)
    testing.assert_close(x, near)
    testing.assert_ulp(df.math.reciprocal(x), 1 / np.array(Z), ulp=3)
    with pytest.raises(InvalidArgumentError, match="fails for 2 of 2"):
        df.debugging.assert_near(x, x + 1j)
    with pytest.raises(AssertionError):
        testing.assert_close(x, x + 1j)
    with pytest.raises(DTypeError, match=r"df\.math\.real"):
        df.debugging.assert_less(x, x)


def test_adjoints_conjugate():
    a = df.constant([[1j, 2]])
    for f in (df.linalg.adjoint, lambda x: df.transpose(x, conjugate=True),
              lambda x: df.linalg.matrix_transpose(x, conjugate=True)):
        assert f(a).tolist() == df.function(f)(a).tolist() == [[-1j], [2]]
    assert df.transpose(a).tolist() == [[1j], [2]]


def test_sparse_products_conjugate():
    rng = np.random.default_rng(0)
    a = np.where(rng.random((3, 4)) > 0.5, rng.normal(size=(3, 4)) + 1j, 0)
    b = rng.normal(size=(3, 2)) - 2j
    sparse = df.sparse.from_dense(df.constant(a))
    product = df.sparse.sparse_dense_matmul
    np.testing.assert_allclose(product(sparse, b, adjoint_a=True), a.conj().T @ b)
    np.testing.assert_allclose(product(sparse, b.conj().T, adjoint_a=True, adjoint_b=True),
                               a.conj().T @ b)
    np.testing.assert_allclose(product(b.T, sparse), b.T @ a)
    np.testing.assert_allclose(product(b, sparse, adjoint_a=True), b.conj().T @ a)


# --- derivatives ---------------------------------------------------------------------------------

def test_gradient_checks():
    f = lambda x: df.math.conj(x) * x / (2 + x)    # noqa: E731
    testing.check_gradients(f, [Z], order=2)
    testing.check_gradients(lambda x, y: df.abs(x * y) + df.math.angle(x), [Z, [0.5, 2.]])

    @df.custom_gradient
    def wrong(x):
        return x * x, lambda g: g * 2 * x           # not the conjugate of the derivative

    with pytest.raises(AssertionError, match="gradient along a random direction"):
        testing.check_gradients(wrong, [Z])


def test_numeric_gradient():
    size = lambda x: df.reduce_sum(df.abs(x))       # noqa: E731
    g, = testing.numeric_gradient(size, [df.constant(Z, df.complex64)])
    assert g.dtype == "complex128"
    np.testing.assert_allclose(g, np.sign(Z), rtol=1e-6)


def test_compute_gradient():
    for f, z in ((df.square, [1 + 2j]), (df.abs, [3 + 4j]), (lambda x: df.complex(x, x * x), [3.])):
        by_gradients, by_differences = df.test.compute_gradient(f, [df.constant(z)])
        np.testing.assert_allclose(by_gradients[0], by_differences[0], rtol=1e-3)
    assert df.test.compute_gradient(df.square, [df.constant([1 + 2j])])[0][0].tolist() == [
        [2, -4], [4, 2]]


def test_derivatives_of_transforms():
    z, r = df.constant(Z), df.constant([1., 2.], df.float64)
    assert df.vmap(lambda x: df.abs(x) * 1j)(df.constant([3 + 4j, 1])).tolist() == [5j, 1j]
    assert df.jvp(lambda x: x * x, (z,), (df.fill([2], 1j),))[1].tolist() == [
        2j * v for v in Z]
    assert df.jvp(df.math.conj, (z,), (df.fill([2], 1j),))[1].tolist() == [-1j, -1j]
    np.testing.assert_allclose(df.grad(lambda x: df.reduce_sum(df.abs(x)))(z), np.sign(Z))
    np.testing.assert_allclose(df.jacfwd(lambda x: df.complex(x, x * x))(r),
                               np.diag([1 + 2j, 1 + 4j]))
    np.testing.assert_allclose(df.jacrev(df.abs)(z), np.diag(np.sign(Z)))
    for call in (lambda: df.grad(df.reduce_sum)(z), lambda: df.jacfwd(df.abs)(z),
                 lambda: df.jacrev(df.square)(z),
                 lambda: df.hessian(lambda x: df.reduce_sum(df.abs(x)))(z),
                 lambda: df.autodiff.hessian(lambda x: df.reduce_sum(df.abs(x)))(z)):
        with pytest.raises(DTypeError, match="expected a real"):
            call()
