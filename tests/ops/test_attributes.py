"""Attributes of successive calls: the packed attributes of the last call are cached."""

import gc

import numpy as np
import pytest

import dualflow as df
from dualflow._core import apply_ordered, get_op, make_attrs

X = df.constant([[-2., 4.], [-0., 1.]])


def test_each_call_uses_its_attributes():
    for alpha in (0.5, 0.25, 0.5, 0.0, -0.0, 1, True, 0.5):
        got = df.nn.leaky_relu(X, alpha).numpy()
        np.testing.assert_array_equal(got, np.where(X.numpy() > 0, X.numpy(), alpha * X.numpy()))
    for perm in ((0, 1), (1, 0), [0, 1], [1, 0]):
        np.testing.assert_array_equal(df.transpose(X, perm).numpy(), X.numpy().transpose(perm))
    for a in (False, True, 0, 1):
        np.testing.assert_array_equal(df.matmul(X, X, a).numpy(),
                                      (X.numpy().T if a else X.numpy()) @ X.numpy())


def test_identical_objects_hit_the_cache():
    op = get_op("reduce_sum")
    axes = (0, 1)
    assert make_attrs(op, axes=axes, keepdims=True) is make_attrs(op, axes=axes, keepdims=True)
    assert make_attrs(op, axes=axes, keepdims=False).values == (axes, 0)
    assert make_attrs(op, keepdims=True, axes=(1,)).values == ((1,), 1)


def test_mutable_attributes_are_not_cached():
    op = get_op("reduce_sum")
    axes = [0]
    make_attrs(op, axes=axes, keepdims=True)
    axes[0] = 1
    assert make_attrs(op, axes=axes, keepdims=True).values == ((1,), 1)


def test_freed_attribute_objects_do_not_match_new_ones():
    op = get_op("leaky_relu")
    for k in range(200):
        assert make_attrs(op, alpha=float(k)).values == (float(k),)
        gc.collect(0)


def test_wrong_attributes_after_valid_ones_raise():
    op = get_op("reduce_sum")
    good = {"axes": (0,), "keepdims": True}
    make_attrs(op, **good)
    for bad in ({"axes": (0,)}, {**good, "more": 1}, {"axes": (0,), "keepdim": True}, {}):
        with pytest.raises(TypeError):
            make_attrs(op, **bad)
    assert make_attrs(op, **good).values == ((0,), 1)


def test_attributes_in_the_order_of_the_record():
    got = apply_ordered(get_op("reduce_sum"), (X,), ([0], True), None)
    np.testing.assert_array_equal(got.numpy(), X.numpy().sum(0, keepdims=True))
    with pytest.raises(TypeError, match="reduce_sum: got 1 attributes"):
        apply_ordered(get_op("reduce_sum"), (X,), ([0],))
    with pytest.raises(df.errors.DTypeError, match="reduce_sum: axes"):
        apply_ordered(get_op("reduce_sum"), (X,), ("no", True))
    for wrong in (("reduce_sum", (X,), ((), True)), (None, (X,), ((), True)),
                  (get_op("reduce_sum"), [X], ((), True)), (get_op("reduce_sum"), (X,), None)):
        with pytest.raises(TypeError):
            apply_ordered(*wrong)
