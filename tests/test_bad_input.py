"""Bad input raises an exception of the right type that names the input; it never crashes."""

import collections
import ctypes
import datetime
import decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow.errors import DualflowError


def usable():
    x = df.constant([1.0, 2.0])
    return (x + x).numpy().tolist() == [2, 4]


class Lying(list):
    def __init__(self, items, n):
        super().__init__(items)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return 1.0


class Raising:
    def __init__(self, method):
        self.method = method

    def __getattr__(self, name):
        if name == self.__dict__.get("method"):
            raise ValueError(f"{name} raised")
        raise AttributeError(name)


def nested(depth):
    x = 1.0
    for _ in range(depth):
        x = [x]
    return x


def itself():
    x = []
    x.append(x)
    return x


@pytest.mark.parametrize("value, kind, words", [
    ([[1.0, 2.0], [3.0]], ValueError, "ragged"),
    ([[1.0], 2.0], ValueError, "ragged"),
    ([1.0, [2.0]], ValueError, "ragged"),
    ([[], [1.0]], ValueError, "ragged"),
    ([1.0, None], TypeError, "NoneType"),
    ([None], TypeError, "NoneType"),
    (None, TypeError, "NoneType"),
    ({1: 2}, TypeError, "dict"),
    ({1, 2}, TypeError, "set"),
    (object(), TypeError, "object"),
    (datetime.date(2000, 1, 1), TypeError, "date"),
    (np.float64, df.errors.DTypeError, "numpy.float64.*, which is a class"),
    ([1.0, np.ndarray], df.errors.DTypeError, "numpy.ndarray.*, which is a class"),
    (df.Tensor, df.errors.DTypeError, "dualflow.Tensor.*, which is a class"),
    (float, df.errors.DTypeError, "float.*, which is a class"),
    (2**63, OverflowError, "does not fit int64"),
    ([1, 2**64], OverflowError, "does not fit int64"),
    (-(2**63) - 1, OverflowError, "does not fit int64"),
    (itself(), ValueError, "254"),
    (nested(255), ValueError, "254"),
    (nested(100_000), ValueError, "254"),
    (np.array([object()]), TypeError, "object"),
    (np.array(["2000"], "datetime64[D]"), TypeError, "datetime64"),
    (np.zeros(2, np.clongdouble), TypeError, "complex256|clongdouble"),
    (np.zeros(2, np.longdouble), TypeError, "float128|longdouble"),
    (np.zeros(2, [("a", "f4"), ("b", "i4")]), TypeError, "a"),
    (np.ma.masked_array([1.0, 2.0], [True, False]), TypeError, "mask"),
    (range(10**15), MemoryError, "no memory"),
], ids=lambda p: type(p).__name__ if not isinstance(p, type) else p.__name__)
def test_constant(value, kind, words):
    with pytest.raises(kind, match=words):
        df.constant(value)
    assert usable()


@pytest.mark.parametrize("text, kind", [("12", "str"), (["a"], "str"), (b"12", "bytes"),
                                        (np.array(["a"]), "U1")], ids=repr)
def test_numeric_ops_reject_text(text, kind):
    """`constant` and `convert_to_tensor` without a dtype create a string tensor instead."""
    for f in (lambda x: df.convert_to_tensor(x, df.float32), df.sin,
              lambda x: df.constant(x, df.float32)):
        with pytest.raises(TypeError, match=kind):
            f(text)


@pytest.mark.parametrize("call, kind, words", [
    (lambda: df.random.normal([2], seed=[1, 2]), TypeError,
     r"random.normal: seed is \[1, 2\], expected an integer"),
    (lambda: df.random.shuffle([2], seed=1.5), TypeError, "random.shuffle: seed is 1.5"),
    (lambda: df.random.set_seed("a"), TypeError,
     "random.set_seed: seed is 'a', expected an integer"),
    (lambda: df.random.Generator("a"), TypeError, "random.Generator: seed is 'a'"),
    (lambda: df.initializers.he_normal([2], seed="a"), TypeError,
     "seed is 'a', expected an integer"),
    (lambda: df.initializers.he_normal({"a": 1}), TypeError, "shape is {'a': 1}, expected int"),
    (lambda: df.TensorSpec(["a"]), TypeError, r"TensorSpec: shape is \['a'\], expected .*None"),
    (lambda: df.TensorSpec([-5]), ValueError, r"TensorSpec: shape is \[-5\], expected .*0 or more"),
    (lambda: df.TensorSpec(5.), TypeError, "TensorSpec: shape is 5.0, expected a sequence"),
    (lambda: df.TensorSpec([1] * 300), ValueError, "TensorSpec: shape has 300 dim.* 254"),
    (lambda: df.TensorSpec([2], nested(100_000)), TypeError, "a list is not a dtype"),
    (lambda: df.nn.bias_add([[1.0]], [1.0], data_format=5), ValueError,
     "bias_add: data_format is 5, expected 'NHWC'"),
    (lambda: df.strided_slice([1.0], [0], [1], ellipsis_mask=1.0), TypeError,
     "strided_slice: ellipsis_mask is 1.0, expected an integer"),
    (lambda: df.strided_slice([1.0], [0], [1], begin_mask="a"), TypeError,
     "strided_slice: begin_mask is 'a', expected an integer"),
    (lambda: df.reduce_sum([1.0], range(10**15)), ValueError, "reduce_sum: axes is range"),
    (lambda: df.reduce_sum([1.0], nested(100_000)), TypeError, "reduce_sum: axes is a list"),
    (lambda: format(df.constant(1.0), 5), TypeError, "str"),
    (lambda: df.constant(1.0).__format__([1]), TypeError, "str"),
    (lambda: df.print(1.0, sep=5), TypeError, "print: sep is 5, expected a str"),
    (lambda: df.print(1.0, output_stream=5), TypeError,
     "print: output_stream is 5, expected a file"),
    (lambda: df.broadcast_static_shape(np.ma.masked_array([1.0, 2.0], [True, False]), [1]),
     TypeError, "TensorShape: a size is masked, expected an integer"),
    (lambda: df.TensorShape([1.5]), TypeError, "TensorShape: a size is 1.5, expected an integer"),
    (lambda: df.VariableSynchronization(1, type=[1]), TypeError, "not names or type"),
    (lambda: df.VariableSynchronization(value=0, names=np.ones(2)), TypeError, "names"),
    (lambda: df.VariableAggregation([1]), ValueError,
     r"VariableAggregation: got \[1\], expected one of NONE \(0\), SUM"),
    (lambda: df.VariableAggregation(np.ones(2)), ValueError, "VariableAggregation: got array"),
    (lambda: df.array_api.expand_dims(df.ones(2), axis=9), IndexError, "expand_dims: axis 9"),
    (lambda: df.array_api.squeeze(df.ones([1, 1]), axis=[1.5]), TypeError,
     "squeeze: an axis is 1.5, expected an integer"),
    (lambda: df.split([1, 2], np.str_("a")), TypeError, "split: num_or_size_splits is np.str_"),
    (lambda: df.sort([1, 2], np.zeros(2, [("a", "f4")])), TypeError, "sort: axis is array"),
    (lambda: df.train.checkpoint_exists(np.int8(1)), TypeError, "PathLike"),
    (lambda: round(df.ones(2), 10**30), ValueError, "round: 10+ digits, expected -308 to 308"),
    (lambda: df.distribute.reducescatter(1.0), ValueError, "reducescatter: got a scalar"),
    (lambda: df.distribute.ProcessSet(np.array(["2000"], "M8[D]")), TypeError, "a rank is"),
    (lambda: df.strings.join(["a"], separator=2**40), TypeError, "join: separator is 10995"),
], ids=range(35))
def test_messages(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_lists_with_a_wrong_len():
    for n in (0, 1, 1000):
        assert df.constant(Lying([1.0, 2.0], n)).shape == (2,)
    assert df.constant([Lying([1.0, 2.0], 9), [3.0, 4.0]]).shape == (2, 2)


@pytest.mark.parametrize("method", ["__array__", "__dlpack__", "__float__", "__index__", "mask"])
def test_objects_whose_methods_raise(method):
    with pytest.raises((ValueError, TypeError)):
        df.constant(Raising(method))
    assert usable()


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match=r"add.*\(2,\).*\(3,\)"):
        df.add([1.0, 2.0], [1.0, 2.0, 3.0])
    assert usable()


def test_result_too_large_raises_memory_error():
    x, y = df.constant(np.zeros((1 << 20, 1), "float32")), np.zeros((1, 1 << 20), "float32")
    with pytest.raises(MemoryError, match="add"):
        df.add(x, y)
    assert usable()


def test_constant_rejects_values_outside_the_dtype():
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        df.constant([1, 300], dtype="uint8")
    with pytest.raises(TypeError, match="float"):
        df.constant([1.5], dtype="int32")
    with pytest.raises(TypeError, match="uint128"):
        df.constant(1, dtype="uint128")


def test_ctypes_and_decimals():
    assert df.constant((ctypes.c_float * 2)(1, 2)).numpy().tolist() == [1, 2]
    assert df.constant(decimal.Decimal("1.5")).numpy() == 1.5
    with pytest.raises(TypeError):
        df.constant(collections.deque([1.0]))


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=2),
                    st.binary(max_size=2), st.complex_numbers(),
                    st.sampled_from([np.float32(1), np.uint64(3), np.zeros((2, 0)), object()]))
GARBAGE = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=8)
FUNCTIONS = [getattr(df, n) for n in sorted(df.__all__)
             if callable(getattr(df, n)) and not isinstance(getattr(df, n), type)
             and n not in ("as_dtype",)]


@settings(max_examples=150)
@given(st.sampled_from(FUNCTIONS), st.lists(GARBAGE, max_size=3))
def test_public_functions_reject_garbage(function, args):
    # Python raises TypeError and ValueError themselves for wrong arguments; the DLPack protocol
    # requires BufferError.
    try:
        function(*args)
    except DualflowError:
        pass
    except Exception as error:
        assert type(error) in (TypeError, ValueError, BufferError), repr(error)
    assert usable()
