"""Methods of tensors and variables match NumPy, in eager mode and traced, with gradients."""

import math

import numpy as np
import pytest

import dualflow as df

A = np.array([[1.5, -2.0, 3.0], [0.25, 5.0, -6.5]], np.float32)

METHODS = {
    "sum": lambda x: x.sum(), "sum axis": lambda x: x.sum(axis=1, keepdims=True),
    "prod": lambda x: x.prod(0), "mean": lambda x: x.mean(), "mean axis": lambda x: x.mean(0),
    "max": lambda x: x.max(), "min axis": lambda x: x.min(axis=-1), "any": lambda x: x.any(),
    "all": lambda x: x.all(axis=0), "var": lambda x: x.var(axis=0),
    "var ddof": lambda x: x.var(ddof=1), "std": lambda x: x.std(),
    "std ddof": lambda x: x.std(axis=1, ddof=1, keepdims=True),
    "argmax": lambda x: x.argmax(), "argmin axis": lambda x: x.argmin(axis=0, keepdims=True),
    "argmax keepdims": lambda x: x.argmax(keepdims=True), "cumsum": lambda x: x.cumsum(),
    "cumsum axis": lambda x: x.cumsum(axis=1), "reshape": lambda x: x.reshape(3, 2),
    "reshape tuple": lambda x: x.reshape((-1, 2)), "reshape flat": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(), "squeeze": lambda x: x.reshape(2, 1, 3).squeeze(),
    "squeeze axis": lambda x: x.reshape(1, 2, 3, 1).squeeze(axis=0),
    "transpose": lambda x: x.transpose(), "transpose order": lambda x: x.transpose(1, 0),
    "transpose tuple": lambda x: x.reshape(1, 2, 3).transpose((2, 0, 1)),
    "astype": lambda x: x.astype("int32"), "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(-1.0, 2.0), "clip max": lambda x: x.clip(max=1.0),
    "round": lambda x: x.round(), "round decimals": lambda x: x.round(decimals=1),
    "mT": lambda x: x.reshape(1, 2, 3).mT,
}
SMOOTH = [name for name in METHODS
          if not name.startswith(("any", "all", "arg", "astype", "round"))]


@pytest.mark.parametrize("name", METHODS)
def test_methods_match_numpy(name):
    f, want = METHODS[name], METHODS[name](A)
    x, v = df.constant(A), df.Variable(A)
    eager = f(x)
    assert isinstance(eager, df.Tensor) and eager.shape == want.shape
    np.testing.assert_allclose(eager.numpy(), want, rtol=2e-6)
    open_size = df.function(f, input_signature=[df.TensorSpec([None, 3])])
    for got in (f(v), df.function(f)(x), df.function(lambda: f(v))(), open_size(x)):
        assert got.numpy().tobytes() == eager.numpy().tobytes()


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_methods(name):
    weights = df.constant(np.linspace(1, 2, METHODS[name](A).size))

    def loss(x):
        return df.reduce_sum(df.reshape(METHODS[name](x), (-1,)) * df.cast(weights, x.dtype))

    eager = df.grad(loss)(df.constant(A))
    assert eager is not None and np.abs(eager.numpy()).sum() > 0
    assert df.function(df.grad(loss))(df.constant(A)).numpy().tobytes() == eager.numpy().tobytes()
    df.testing.check_gradients(loss, [A.astype("float64")])


def test_sums_of_bools_count_true():
    x = df.constant([[True, False], [True, True]])
    assert x.sum().item() == 3 and x.sum().dtype is df.int32
    assert x.mean().item() == 0.75 and x.prod(axis=0).tolist() == [1, 0]
    assert x.max(axis=0).tolist() == [True, True] and x.min().item() is False
    assert x.cumsum().tolist() == [1, 1, 2, 3] and x.argmax(axis=1).tolist() == [0, 0]
    assert x.sum(dtype=df.float64).dtype is df.float64


def test_any_and_all_of_numbers():
    x = df.constant([[0, 1], [0, 2]])
    assert x.any(axis=0).tolist() == [False, True] and x.all().item() is False
    assert df.constant([math.nan]).any().item() is True


def test_sort_returns_a_tensor():
    x = df.constant([[3., 1., 2.]])
    assert x.sort().tolist() == [[1., 2., 3.]]
    assert x.sort(descending=True).tolist() == [[3., 2., 1.]]
    assert x.sort(axis=0).tolist() == x.tolist()


def test_numpy_functions_call_the_methods():
    x = df.constant(A)
    for name, options in [("sum", {}), ("max", {"axis": 0}), ("mean", {}), ("std", {"ddof": 1}),
                          ("cumsum", {"axis": 1}), ("argmax", {}), ("prod", {}), ("any", {}),
                          ("clip", {"a_min": 0, "a_max": 1}), ("round", {}), ("transpose", {}),
                          ("reshape", {"shape": (3, 2)}), ("squeeze", {}), ("var", {})]:
        function = getattr(np, name)
        want = function(A, **options)
        for got in (function(x, **options), df.function(lambda x: function(x, **options))(x)):  # noqa: B023
            assert isinstance(got, df.Tensor), name
            np.testing.assert_allclose(got.numpy(), want, rtol=2e-6)
    assert df.grad(lambda x: np.sum(x * x))(x).numpy().tolist() == (2 * A).tolist()


@pytest.mark.parametrize("call, kind, words", [
    (lambda x: np.sum(x, out=np.zeros(())), TypeError, "sum: out is a ndarray, expected None"),
    (lambda x: x.reshape(3, 2, order="F"), ValueError, "reshape: order is 'F', expected 'C'"),
    (lambda x: x[0].mT, ValueError, r"mT: float32 \(3,\), expected 2 dimensions or more"),
    (lambda x: x.assign(1.), AttributeError,
     r"no attribute 'assign': float32 \(2, 3\) is neither a variable nor"),
    (lambda x: x.sum(dim=0), TypeError, "dim"),
    (lambda x: x.astype("text"), TypeError, "'text' is not a dtype"),
])
def test_invalid_arguments_raise(call, kind, words):
    with pytest.raises(kind, match=words):
        call(df.constant(A))


def test_references():
    x, y, v = df.constant([1.]), df.constant([1.]), df.Variable([1.])
    assert x.ref() == x.ref() != y.ref() and x.ref().deref() is x and v.ref().deref() is v
    assert len({x.ref(), x.ref(), y.ref(), v.ref()}) == 3 and x.ref() != 1
    assert {x: 1, v: 2}[v] == 2 and {x, y, x} == {y, x}
    assert "Reference of <dualflow.Tensor" in repr(x.ref())


def test_device():
    assert df.constant(1.).device == df.Variable(1.).device == "/device:CPU:0"
    assert df.function(lambda x: df.constant(len(x.device)))(df.constant(1.)).item() == 13


def test_divmod_and_trunc():
    x = df.constant([7., -7.])
    for q, r in (divmod(x, 2.), df.function(lambda x: divmod(x, 2.))(x)):
        assert q.tolist() == [3., -4.] and r.tolist() == [1., 1.]
    assert [t.tolist() for t in divmod(10., x)] == [[1., -2.], [3., -4.]]
    assert [t.tolist() for t in divmod(np.float32([7, 8]), x)] == [[1., -2.], [0., -6.]]
    assert math.trunc(df.constant(-2.5)) == -2 and math.trunc(df.Variable(2.5)) == 2
