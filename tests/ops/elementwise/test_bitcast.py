"""bitcast and nextafter: widths, the next value in each dtype, invalid input."""

import ml_dtypes
import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, ShapeError


def test_bitcast_of_16_bit_floats():
    x = np.array([1.5, -0.0, np.inf], "f2")
    assert df.bitcast(x, "int16").tolist() == x.view("i2").tolist()
    back = df.bitcast(df.bitcast(x, df.int16), df.bfloat16)
    want = x.view(ml_dtypes.bfloat16).astype("f4")
    np.testing.assert_array_equal(df.cast(back, "float32").numpy(), want)


def test_shapes():
    assert df.bitcast(df.zeros([0, 3], "int32"), "uint8").shape == (0, 3, 4)
    assert df.bitcast(df.zeros([2, 4], "uint8"), "float32").shape == (2,)
    f = df.function(lambda x: df.bitcast(x, "int64"),
                    input_signature=[df.TensorSpec([None, None], "int32")])
    assert f(df.constant([[1, 2], [3, 4]])).tolist() == [1 + 2 * 2**32, 3 + 4 * 2**32]
    with pytest.raises(ShapeError, match=r"bitcast.*last dimension of 2"):
        f(df.constant([[1, 2, 3]]))


@pytest.mark.parametrize("call, error, text", [
    (lambda: df.bitcast([True], "uint8"), DTypeError, "bitcast: from bool to uint8"),
    (lambda: df.bitcast([1], "bool"), DTypeError, "bitcast: from int32 to bool"),
    (lambda: df.bitcast(1, "int64"), ShapeError, "last dimension of 2"),
    (lambda: df.bitcast(df.zeros([1] * 254), "uint8"), ShapeError, "254 dimensions"),
    (lambda: df.math.nextafter([1], [2]), DTypeError, "nextafter: x1 is int32"),
    (lambda: df.math.nextafter([1.], df.constant([2.], df.float64)), DTypeError, "nextafter"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_nextafter(dtype):
    ml = {"bfloat16": ml_dtypes.bfloat16}.get(dtype, dtype)
    info = ml_dtypes.finfo(ml)
    ends = [0., float(info.smallest_subnormal), float(info.smallest_normal), 1., 1.5,
            float(info.max), np.inf]
    ends = np.array([*ends, *(-x for x in ends), np.nan]).astype(ml)
    a, b = (g.ravel() for g in np.meshgrid(ends, ends))
    with np.errstate(over="ignore"):    # C returns b if the operands are equal, NumPy not always
        want = np.where(a == b, b, np.nextafter(a, b)).astype("f8")

    def tensor(x):
        return df.cast(df.constant(x.astype("f8")), dtype)

    for f in (df.math.nextafter, df.function(df.math.nextafter)):
        got = df.cast(f(tensor(a), tensor(b)), "float64").numpy()
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    if dtype == "float32":
        assert df.math.nextafter([1., 2.], 3.).numpy().tolist() == np.nextafter(
            np.array([1, 2], "f4"), np.float32(3)).tolist()
