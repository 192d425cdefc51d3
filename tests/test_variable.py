"""Variable: assignment in place, with a copy if the old value is still referenced."""

import copy
import pickle
import threading

import numpy as np
import pytest

import dualflow as df


def test_assign():
    v = df.Variable([1.0, 2.0], name="v")
    assert (v.shape, v.dtype, v.name, v.trainable) == ((2,), df.float32, "v", True)
    assert v.assign([3, 4]) is v
    assert v.assign_add([1.0, 1.0]).assign_sub([2.0, 0.0]).numpy().tolist() == [2, 5]


def test_assignment_keeps_values_read_before():
    v = df.Variable([1.0, 2.0])
    tensor, array, view = v.value(), v.numpy(), np.from_dlpack(v)
    v.assign_add([1.0, 1.0])
    assert tensor.numpy().tolist() == array.tolist() == view.tolist() == [1, 2]
    assert v.numpy().tolist() == [2, 3]


def test_assignment_leaves_the_initial_value_unchanged():
    x = df.constant([1.0])
    v = df.Variable(x)
    v.assign_add([1.0])
    assert x.numpy().tolist() == [1]


def test_assignment_is_in_place_without_other_references():
    v = df.Variable(np.zeros(100, "float32"))
    v.assign_add(np.ones(100, "float32"))
    address = v.numpy().ctypes.data
    v.assign_add(np.ones(100, "float32"))
    assert v.numpy().ctypes.data == address


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_failed_assignment_changes_nothing(method):
    v = df.Variable([1.0, 2.0])
    for bad, kind in (([1.0, 2.0, 3.0], ValueError), (np.ones(2), TypeError), ("x", TypeError),
                      ([None, 1.0], TypeError), ([[1.0], [2.0]], ValueError)):
        with pytest.raises(kind):
            getattr(v, method)(bad)
    assert v.numpy().tolist() == [1, 2]


def test_copies_have_separate_values():
    v = df.Variable([1.0], name="w", trainable=False)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert (other.name, other.trainable) == ("w", False)
        other.assign([5.0])
        assert v.numpy().tolist() == [1]


def test_readers_in_threads():
    v = df.Variable(np.zeros(50_000, "float32"))
    torn = []

    def read():
        for _ in range(50):
            a = v.numpy()
            if a.min() != a.max():
                torn.append(1)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for t in threads:
        t.start()
    one = np.ones(50_000, "float32")
    for _ in range(50):
        v.assign(v.value() + one)
    for t in threads:
        t.join()
    assert v.numpy()[0] == 50 and not torn


@pytest.mark.parametrize("method, sign", [("assign_add", 1), ("assign_sub", -1)])
def test_long_updates_reach_every_block(method, sign):
    delta = np.random.default_rng(0).normal(size=100_000).astype("float32")
    v = df.Variable(np.ones(100_000, "float32"))
    getattr(v, method)(delta)
    assert (v.numpy() == 1 + sign * delta).all()
