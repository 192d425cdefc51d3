"""NumPy, SciPy, pandas and Matplotlib with tensors and variables in place of arrays."""

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.ufuncs import COMPARISONS, METHODS, NAMES, OPERATORS, instead_of

A = np.array([1.5, -2.0, 3.0], np.float32)
B = np.array([2.0, 2.0, -1.0], np.float32)


@pytest.mark.parametrize("make", [df.constant, df.Variable])
def test_ufuncs_without_an_operator_return_arrays(make):
    x = make(A)
    for function in (np.sin, np.isnan, np.exp, np.abs, np.sign, np.negative):
        got = function(x)
        assert isinstance(got, np.ndarray) and got.tobytes() == function(A).tobytes()
    assert np.maximum(x, B).tolist() == np.maximum(B, x).tolist() == [2., 2., 3.]
    assert type(np.sin(make(0.5))) is np.float32
    assert np.add.reduce(x) == 2.5 and np.add.accumulate(x).tolist() == [1.5, -0.5, 2.5]
    assert np.multiply.outer(x, B).shape == (3, 3)
    assert np.sin(x, dtype=np.float64).dtype == np.float64
    assert np.add(A, 1, where=x > 0, out=np.zeros(3, np.float32)).tolist() == [2.5, 0., 4.]
    assert np.concatenate([x, B]).tolist() == [*A, *B] and np.linalg.norm(x) == np.linalg.norm(A)


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS])
def test_ufuncs_with_an_operator_return_tensors(name):
    function = getattr(np, name)
    a, b = (A, B) if "shift" not in name and "bitwise" not in name else (
        np.array([5, 6, 7]), np.array([1, 2, 3]))
    want = function(a, b)
    for left, right in ((a, df.constant(b)), (df.constant(a), b), (a, df.Variable(b)),
                        (df.constant(a), df.constant(b))):
        traced = df.function(lambda x, y: function(x, y))(left, right)
        for got in (function(left, right), traced):
            got, expected = (got, want) if name == "divmod" else ([got], [want])
            for one, other in zip(got, expected, strict=True):
                assert isinstance(one, df.Tensor)
                np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)


def test_gradients_through_ufunc_operators():
    x = df.constant(A)
    for f in (lambda x: np.multiply(B, x), lambda x: B * x, lambda x: x * B):
        for g in (df.grad(lambda x: df.reduce_sum(f(x))),                      # noqa: B023
                  df.function(df.grad(lambda x: df.reduce_sum(f(x))))):        # noqa: B023
            assert g(x).tolist() == B.tolist()


def test_augmented_assignment_to_an_array():
    a = A.copy()
    kept = a
    a += df.constant(B)
    a *= df.Variable(B)
    assert a is kept and a.tolist() == ((A + B) * B).tolist()
    with pytest.raises(TypeError, match=r"numpy\.add: out is a Tensor, expected an array"):
        np.add(A, B, out=df.constant(A))


def test_numpy_scalars_stay_weakly_typed():
    x = df.constant([0.1, 0.2])
    for got in (np.float64(0.1) == x, x == np.float64(0.1), np.float64(0.1) >= x):
        assert got.tolist() == [True, False]
    assert (np.float64(2) * x).dtype is df.float32 and (np.array(2.) * x).dtype is df.float64


def test_ufunc_of_a_traced_tensor_names_the_function_to_use():
    for function, words in [(np.sin, "NumPy's sin needs .* use dualflow.sin"),
                            (np.isnan, "use dualflow.math.is_nan"),
                            (np.arctan2, "use dualflow.atan2"),
                            (np.logaddexp, "use ops of dualflow, or dualflow.numpy_function"),
                            (np.add.reduce, "add.reduce needs .* use dualflow.reduce_sum")]:
        def call(x, function=function):
            return function(x, x) if getattr(function, "nin", 1) == 2 else function(x)

        with pytest.raises(df.errors.TracedValueError, match=words):
            df.function(call)(df.constant(A))


def test_nodes_have_the_users_line():
    graph = df.function(lambda x: np.sum(x)).graph_for(df.constant(A))
    assert "test_ufuncs.py" in str(graph) and "fromnumeric" not in str(graph)


def test_functions_named_in_messages_exist():
    for name in [*NAMES, *OPERATORS, *COMPARISONS]:
        words = instead_of(name, "__call__")
        if name == "divmod":
            continue
        found = df
        for part in words.removeprefix("dualflow.").split("."):
            found = getattr(found, part)
        assert callable(found), name
    for name in METHODS.values():
        assert callable(getattr(df, name, None) or getattr(df.math, name.removeprefix("math.")))


def test_dtypes_convert_to_numpy():
    for dtype in df.dtypes.ALL:
        if dtype is not df.bfloat16:
            assert np.dtype(dtype) == dtype.as_numpy_dtype and np.zeros(2, dtype).dtype == dtype
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert np.dtype(df.bfloat16) == ml_dtypes.bfloat16
    assert np.asarray(df.constant([1.5], df.bfloat16)).dtype == ml_dtypes.bfloat16


def test_scalar_results_are_numpy_scalars():
    for dtype in df.dtypes.ALL:
        value = df.constant(1, dtype).numpy()
        assert isinstance(value, np.generic) and value.dtype == dtype and value == 1
    assert isinstance(df.Variable(1.).numpy(), np.float32)
    assert isinstance(np.asarray(df.constant(1.)), np.ndarray)
    assert df.constant([1.]).numpy().shape == (1,)


def test_scipy_functions():
    special = pytest.importorskip("scipy.special")
    x = df.constant(A)
    assert special.expit(x).tobytes() == special.expit(A).tobytes()
    with pytest.raises(TypeError, match=r"use dualflow\.sigmoid"):
        df.function(lambda x: special.expit(x))(x)


def test_pandas():
    pd = pytest.importorskip("pandas")
    x = df.constant(A)
    frame = pd.DataFrame({"x": x, "v": df.Variable(B)})
    assert frame["x"].tolist() == A.tolist() and frame["v"].tolist() == B.tolist()
    for got in (pd.Series(B) * x, x * pd.Series(B), np.multiply(pd.Series(B), x)):
        assert np.asarray(got).tolist() == (A * B).tolist()
    assert (pd.Series(B) + x).dtype == np.float32
    assert isinstance(pd.Series(B) * x, pd.Series)


def test_text_of_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"word": ["a", "bc"], "n": [1, 2]})
    for words in (frame["word"], frame["word"].astype(object), frame["word"].astype("category")):
        assert df.constant(words).tolist() == [b"a", b"bc"]
        assert df.strings.length(words).tolist() == [1, 2]
        assert list(df.data.Dataset.from_tensor_slices(words)) == ["a", "bc"]
    rows = list(df.data.Dataset.from_tensor_slices(dict(frame)))
    assert [row["word"] for row in rows] == ["a", "bc"] and rows[1]["n"].item() == 2
    with pytest.raises(TypeError, match="object"):
        df.constant(pd.Series(["a", None]))


def test_object_arrays_of_text():
    words = np.array(["a", "bc"], object)
    assert list(df.data.Dataset.from_tensor_slices(words)) == ["a", "bc"]
    with pytest.raises(TypeError, match="object"):
        df.data.Dataset.from_tensor_slices(np.array(["a", None], object))


def test_matplotlib():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    try:
        axes.plot(df.constant(A), df.Variable(B))
        axes.set_xlim(df.constant(-2.5), 3)
        assert axes.get_xlim() == (-2.5, 3)
        axes.hist(df.constant(A))
        axes.imshow(df.constant([[0., 1.], [1., 0.]]))
        figure.canvas.draw()
    finally:
        plt.close(figure)
