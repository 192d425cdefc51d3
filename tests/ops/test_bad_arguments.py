"""Errors of ops that are not elementwise for invalid axes, sizes, indices, shapes; no crashes."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df

HUGE = 10**12
BEYOND = 2**50                              # as float32, more bytes than any address space
X = df.constant(np.ones((2, 3), "float32"))
ONES_254 = df.zeros([1] * 254)              # of the highest rank

AXES = {
    "reduce_sum": df.reduce_sum, "reduce_mean": df.reduce_mean, "reduce_max": df.reduce_max,
    "reduce_prod": df.reduce_prod, "reduce_variance": df.math.reduce_variance,
    "reduce_logsumexp": df.reduce_logsumexp, "argmax": df.argmax, "argmin": df.argmin,
    "cumsum": df.cumsum, "sort": df.sort, "reverse": lambda x, axis: df.reverse(x, [axis]),
    "roll": lambda x, axis: df.roll(x, 1, axis),
    "gather": lambda x, axis: df.gather(x, [0], axis=axis),
    "squeeze": df.squeeze, "concat": lambda x, axis: df.concat([x, x], axis),
    "split": lambda x, axis: df.split(x, 1, axis),
    "unstack": lambda x, axis: df.unstack(x, axis=axis),
    "repeat": lambda x, axis: df.repeat(x, 2, axis),
}


@pytest.mark.parametrize("axis", [2, -3, 10**9, -2**63, 2**63 - 1])
@pytest.mark.parametrize("op", AXES)
def test_axis_out_of_range(op, axis):
    with pytest.raises((ValueError, IndexError), match=rf"{op}: .*{axis}"):
        AXES[op](X, axis)


@pytest.mark.parametrize("op", AXES)
def test_axis_beyond_64_bits(op):
    with pytest.raises((ValueError, OverflowError, IndexError), match=rf"{op}: "):
        AXES[op](X, 2**70)


@pytest.mark.parametrize("axis", [1.5, "a", object(), [1.5], 1j])
@pytest.mark.parametrize("op", AXES)
def test_axis_that_is_not_an_integer(op, axis):
    with pytest.raises(TypeError):
        AXES[op](X, axis)


@pytest.mark.parametrize("axis", [4, -5])
def test_axis_of_a_new_dimension_out_of_range(axis):
    with pytest.raises(ValueError, match=rf"expand_dims: axis {axis} of 3 dimensions"):
        df.expand_dims(X, axis)
    with pytest.raises(ValueError, match=rf"stack: axis {axis} of 3 dimensions"):
        df.stack([X, X], axis)


SIZES = {          # op: call with sizes for which -1 has no meaning
    "fill": df.zeros, "broadcast_to": lambda s: df.broadcast_to(1.0, s),
    "random_uniform": df.random.uniform, "random_normal": df.random.normal,
    "scatter_nd": lambda s: df.scatter_nd(np.zeros((1, len(s)), "int64"), [1.0], s),
}


@pytest.mark.parametrize("op", [n for n in SIZES if n != "broadcast_to"])
def test_negative_sizes(op):
    with pytest.raises(ValueError, match=r"-2"):
        SIZES[op]([3, -2])


@pytest.mark.parametrize("op", SIZES)
def test_sizes_whose_product_overflows(op):
    with pytest.raises(OverflowError, match=r"\(1000000000000, 1000000000000\) has more elements"):
        SIZES[op]([HUGE, HUGE])


@pytest.mark.parametrize("op", SIZES)
def test_sizes_beyond_memory(op):
    with pytest.raises(MemoryError, match=r"no memory for float32 \(1125899906842624, 3\)"):
        SIZES[op]([BEYOND, 3])


@pytest.mark.parametrize("call", [
    lambda: df.fill([1] * 255, 1.0), lambda: df.reshape([1.0], [1] * 255),
    lambda: df.broadcast_to(1.0, [1] * 300), lambda: df.expand_dims(ONES_254, 0),
    lambda: df.stack([ONES_254, ONES_254]), lambda: df.random.uniform([1] * 255),
    lambda: ONES_254[None], lambda: df.gather(ONES_254, [[0]]),
], ids=range(8))
def test_rank_above_254(call):
    with pytest.raises((ValueError, IndexError)):
        call()


def test_highest_rank_works():
    assert df.reduce_sum(ONES_254, 253).ndim == 253
    assert df.transpose(ONES_254).ndim == (ONES_254 + 1.0).ndim == 254
    assert df.reshape(ONES_254, [1]).tolist() == [0.0]


ROWS = [      # call, message after the op's name
    (lambda: df.reduce_sum(X, [0, -2]), r"reduce_sum: axis -2 of shape \(2, 3\) is given twice"),
    (lambda: df.argmax(df.zeros([0, 3]), 0), r"argmax: axis 0 of shape \(0, 3\) has no elements"),
    (lambda: df.norm(X, "odd"), "norm: ord of a vector is 'odd'"),
    (lambda: df.reshape(X, [4]), r"reshape: float32 \(2, 3\) has 6 elements, which do not fit"),
    (lambda: df.reshape(X, [-1, -1]), "reshape: .* more than one -1"),
    (lambda: df.reshape(X, [-2, 3]), "reshape: dimension 0 is -2"),
    (lambda: df.reshape(df.zeros([0]), [0, -1]), "reshape: .* 0 elements"),
    (lambda: df.reshape(X, [2**40, 2**40]), "reshape: .* do not fit"),
    (lambda: df.transpose(X, [0, 0]), r"transpose: perm is \(0, 0\) for float32 \(2, 3\)"),
    (lambda: df.transpose(X, [0]), r"transpose: perm is \(0,\)"),
    (lambda: df.transpose(X, [0, 2]), r"transpose: perm is \(0, 2\)"),
    (lambda: df.squeeze(X, 0), r"squeeze: dimension 0 of float32 \(2, 3\) is 2, expected 1"),
    (lambda: df.broadcast_to(X, [2, 4]), r"broadcast_to: float32 \(2, 3\) .* shape \(2, 4\)"),
    (lambda: df.eye(-1), "eye: -1 rows"),
    (lambda: df.range(0, 1, 0), "range: of int32, step is 0"),
    (lambda: df.range(0.0, float("inf")), "range: .* more elements than memory"),
    (lambda: df.linspace(0.0, 1.0, -1), "linspace: num is -1"),
    (lambda: df.one_hot([0], -1), "one_hot: depth is -1"),
    (lambda: df.concat([], 0), "concat: got no tensors"),
    (lambda: df.concat([X, df.ones([3, 3])], 1), r"concat: .*\(2, 3\).*\(3, 3\)"),
    (lambda: df.concat([X, df.ones([3])], 0), r"concat: .*\(2, 3\).*\(3,\)"),
    (lambda: df.stack([X, df.ones([3, 3])]), r"stack: .*\(2, 3\).*\(3, 3\)"),
    (lambda: df.stack([[1], [1, 2]]), r"stack: .*\(1,\).*\(2,\)"),
    (lambda: df.split(X, 2, 1), r"split: float32 \(2, 3\) in 2 equal parts of 3"),
    (lambda: df.split(X, [1, 5], 1), r"split: sizes are \(1, 5\) for float32 \(2, 3\)"),
    (lambda: df.slice(X, [0, 2], [1, 2]), "slice: 2 elements from 2 on of dimension 1"),
    (lambda: df.slice(X, [0, -1], [1, 1]), "slice: 1 elements from -1 on"),
    (lambda: df.strided_slice(X, [0], [1], [0]), "strided_slice: step of dimension 0 is 0"),
    (lambda: df.pad(X, [[-1, 0], [0, 0]]), "pad: paddings of dimension 0 are -1 and 0"),
    (lambda: df.pad(X, [[1, 1]]), "pad: .*expected a pair per dimension"),
    (lambda: df.pad(X, [[2**62, 2**62], [0, 0]]), "pad: dimension 0 .* overflows 64 bits"),
    (lambda: df.pad(X, [[BEYOND, 0], [0, 0]]), "pad: no memory for float32"),
    (lambda: df.tile(X, [-1, 1]), r"tile: multiples \(-1, 1\)"),
    (lambda: df.tile(X, [1]), r"tile: multiples \(1,\) of float32 \(2, 3\)"),
    (lambda: df.repeat(X, -1, 0), r"repeat: repeats \(-1,\)"),
    (lambda: df.gather(X, [2]), r"gather: indices\[0\] is 2, expected -2 <= index < 2"),
    (lambda: df.gather(X, [[0, 1], [1, -3]]), r"gather: indices\[1, 1\] is -3"),
    (lambda: df.gather(X, [2**40]), r"gather: indices\[0\] is 1099511627776"),
    (lambda: df.gather(X, [0.0]), r"gather: input 1 is float32 \(1,\), expected int32 or int64"),
    (lambda: df.gather(1.0, [0]), "gather: axis 0 of a scalar"),
    (lambda: df.gather(X, [[0]], batch_dims=3), "gather: "),
    (lambda: df.gather(X, [[0]], batch_dims=np.array(["2000"], "datetime64[D]")),
     "gather: batch_dims is .*expected an integer"),
    (lambda: df.tensordot(X, X, 1 << 63), "tensordot: axes is .*expected 0 to 2"),
    (lambda: df.gather_nd(X, [[0, 3]]), r"gather_nd: indices\[0, 1\] is 3"),
    (lambda: df.gather_nd(X, [[0, 0, 0]]), "gather_nd: .* 3 numbers per index"),
    (lambda: df.scatter_nd([[5]], [1.0], [3]), r"scatter_nd: indices\[0, 0\] is 5"),
    (lambda: df.tensor_scatter_nd_update(X, [[0]], [1.0]), r"update: updates has shape \(1,\)"),
    (lambda: df.boolean_mask(X, [True, False, True]), r"boolean_mask: mask has shape \(3,\)"),
    (lambda: X[5], "index 5 of dimension 0, which has size 2"),
    (lambda: X[0, 0, 0], r"3 indices of a tensor with 2 dimensions, float32 \(2, 3\)"),
    (lambda: X["a"], "'a' of type str"), (lambda: X[1.5], "float32"),
    (lambda: X[..., ...], "more than one ellipsis"), (lambda: X[::0], "step of dimension 0 is 0"),
    (lambda: X[df.constant([9])], r"indices\[0\] is 9"), (lambda: X[2**70], "does not fit 64 bits"),
    (lambda: df.math.top_k(X, 9), r"top_k: k is 9 for input of shape \(2, 3\)"),
    (lambda: df.math.top_k(X, -1), "top_k: k is -1"),
    (lambda: df.where([True, False], X, X), r"where: shapes \(2,\) and \(2, 3\)"),
    (lambda: df.searchsorted(X, [1.0]), "searchsorted: sorted_sequence has shape"),
    (lambda: df.ensure_shape(X, [2, 4]), r"ensure_shape: float32 \(2, 3\), expected shape \(2"),
    (lambda: df.cast(X, "quad"), "'quad' is not a dtype"),
    (lambda: df.reduce_sum([[1], [2, 3]]), "ragged lists"),
]
ERRORS = (ValueError, TypeError, IndexError, OverflowError, MemoryError)


@pytest.mark.parametrize("call, message", ROWS, ids=[m[:30] for _, m in ROWS])
def test_invalid_argument_raises_with_message(call, message):
    with pytest.raises(ERRORS, match=message):
        call()
    assert (X + 1).tolist() == [[2, 2, 2], [2, 2, 2]]


NEED_PACKAGES = {"einops", "keras", "onnx"}     # modules whose package may be absent
FUNCTIONS = [getattr(df, n) for n in sorted({*df.__all__} - NEED_PACKAGES)
             if callable(getattr(df, n)) and not isinstance(getattr(df, n), type)
             and n not in ("as_dtype", "from_dlpack")]
INTS = st.sampled_from([-2**63, -HUGE, -3, -2, -1, 0, 1, 2, 3, 7, 255, BEYOND, 2**63 - 1,
                        2**64])
ARGS = st.one_of(INTS, st.lists(INTS, max_size=3), st.lists(st.lists(INTS, max_size=3), max_size=2),
                 st.just(X), st.just(ONES_254), st.just(df.zeros([0, 3])), st.none())


@settings(max_examples=300)
@given(st.sampled_from(FUNCTIONS), st.lists(ARGS, max_size=3))
def test_random_integer_arguments_do_not_crash(function, args):
    with contextlib.suppress(*ERRORS):
        function(X, *args)
    assert (X + 1).tolist() == [[2, 2, 2], [2, 2, 2]]
