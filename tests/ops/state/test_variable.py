"""Assignment to slices of variables against NumPy, in eager mode and traced."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df

SHAPE = (4, 3, 2)
START = np.arange(24, dtype=np.float32).reshape(SHAPE)


def bounds(n):
    return st.builds(slice, st.none() | st.integers(-n - 1, n + 1),
                     st.none() | st.integers(-n - 1, n + 1), st.sampled_from([None, 1, 2, -1]))


def keys_of(n):
    return st.one_of(st.integers(-n, n - 1), bounds(n),
                     st.lists(st.integers(-n, n - 1), min_size=1, max_size=3,
                              unique_by=lambda i: i % n))


KEYS = st.integers(0, 3).flatmap(
    lambda n: st.tuples(*[keys_of(d) for d in SHAPE[:n]])).flatmap(
    lambda key: st.sampled_from([key, (*key, ...), (..., *([] if len(key) < 3 else key)),
                                 (None, *key)]))


def assigned(key, value, traced):
    v = df.Variable(START)

    def write():
        return v[key].assign(value)

    result = df.function(lambda: df.identity(write()))() if traced else write()
    assert result.numpy().tobytes() == v.numpy().tobytes() and (traced or result is v)
    return v.numpy()


@settings(max_examples=60)
@given(KEYS, st.booleans())
def test_any_key(key, traced):
    rng = np.random.default_rng(0)
    want = START.copy()
    try:
        part = want[key]
    except IndexError:
        return
    value = rng.normal(size=part.shape).astype(np.float32)
    want[key] = value
    assert assigned(key, value, traced).tobytes() == want.tobytes()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("key, value", [
    (0, 1.), (slice(1, None), 5), ((slice(None), 1), [1., 2.]), (..., 0.), ((), 3.),
    (START[:, 0, 0] > 6, -1.), (START > 11, 0.), ((2, ..., 0), 9.), ([3, 1], np.zeros((3, 2))),
])
def test_values_broadcast(key, value, traced):
    want = START.copy()
    want[key] = value
    value = np.float32(value) if isinstance(value, np.ndarray) else value
    assert assigned(key, value, traced).tobytes() == want.tobytes()


def test_traced_keys():
    v = df.Variable(START)

    @df.function(input_signature=[df.TensorSpec([], df.int32), df.TensorSpec([None])])
    def write(i, row):
        v[i, 1].assign(row)
        return v[i]

    for i in range(3):
        assert write(df.constant(i), df.constant([7., 8.])).tolist()[1] == [7., 8.]


def test_invalid_slice_assignments_raise():
    v = df.Variable(START)
    with pytest.raises(ValueError, match=r"assign: the value has shape \(5,\), the part"):
        v[0].assign(np.zeros(5, np.float32))
    with pytest.raises(TypeError, match="the value float64"):
        v[0].assign(df.constant(1., df.float64))
    with pytest.raises(AttributeError, match="neither a variable"):
        (v[0] + 1).assign(1.)
    assert v.numpy().tobytes() == START.tobytes()


def test_slice_is_an_ordinary_tensor():
    v = df.Variable([1., 2., 3.])
    part = v[1:]
    v.assign_add([1., 1., 1.])
    assert part.tolist() == [2., 3.] and type(part) is df.Tensor
    assert part.assign(part).numpy().tolist() == [2., 2., 3.]
    for _ in range(1000):
        v[0]            # releases its reference to the variable
    assert v[0].item() == 2.


ROWS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum,
        "min": np.minimum, "update": None}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_scatter_methods_of_rows(name, traced):
    values = np.array([[50., -3.], [2., 2.], [0.5, 9.]], np.float32)
    rows = [2, 0, 2]
    start = START[:, :, 0].T.copy()[:, :2]
    want = start.copy()
    for row, value in zip(rows, values, strict=True):
        want[row] = value if ROWS[name] is None else ROWS[name](want[row], value)
    v = df.Variable(start)

    def write():
        return getattr(v, f"scatter_{name}")(df.IndexedSlices(df.constant(values), rows))

    result = df.function(lambda: df.identity(write()))() if traced else write()
    np.testing.assert_allclose(v.numpy(), want)
    np.testing.assert_allclose(result.numpy(), want)


@pytest.mark.parametrize("name", ["add", "sub", "max", "min", "update"])
def test_scatter_nd_methods(name):
    indices, updates = [[0, 2], [3, 1]], np.float32([[5., -5.], [1., 100.]])
    want = getattr(df, f"tensor_scatter_nd_{name}")(START, indices, updates).numpy()
    v = df.Variable(START)
    assert getattr(v, f"scatter_nd_{name}")(indices, updates) is v
    assert v.numpy().tobytes() == want.tobytes()
    v.assign(START)
    df.function(lambda: getattr(v, f"scatter_nd_{name}")(indices, updates))()
    assert v.numpy().tobytes() == want.tobytes()


def test_invalid_scatter_arguments_raise():
    v = df.Variable([1., 2.])
    with pytest.raises(TypeError, match=r"scatter_add: sparse_delta is \[1\], expected Indexed"):
        v.scatter_add([1])
    with pytest.raises(TypeError, match="scatter_nd_add: the variable is float32"):
        v.scatter_nd_add([[0]], df.constant([1.], df.float64))
