"""Tensors that traced code finds in Python's state and that are replaced between calls."""

import numpy as np
import pytest

import dualflow as df

X = df.constant([0.5, -1.0, 2.0])


class Net:
    def __init__(self, k=None):
        self.k = k


def put(owner, name, value):
    return lambda: setattr(owner, name, value)


def test_a_replaced_tensor_becomes_an_input():
    net = Net(k=df.constant([1.0, 2.0, 3.0]))
    f = df.function(lambda x: df.reduce_sum(x * net.k))
    for k in range(5):
        net.k = df.constant([0.5, 1.0, k])
        assert f(X).item() == df.reduce_sum(X * net.k).item()
        with df.GradientTape() as tape:
            tape.watch(net.k)
            y = f(X)
        np.testing.assert_array_equal(tape.gradient(y, net.k), X)
    assert f.experimental_get_tracing_count() == 2
    assert "net.k (test_tensors.py:" in f.trace_report()
    net.k = df.constant([[1.0], [2.0]])          # another shape is another trace
    assert f(X).item() == df.reduce_sum(X * net.k).item()
    net.k = 2.0
    assert f(X).item() == 3.0
    assert f.experimental_get_tracing_count() == 4


def test_one_tensor_in_two_places_is_told_apart_later():
    net, other = Net(k=df.constant(2.0)), Net()
    other.k = net.k
    f = df.function(lambda x: x * net.k + other.k)
    for change in (put(net, "k", df.constant(3.0)), put(other, "k", df.constant(4.0)),
                   lambda: setattr(other, "k", net.k), put(other, "k", df.constant(5.0)),
                   put(net, "k", df.constant(6.0))):
        np.testing.assert_array_equal(f(X), X * net.k + other.k)
        change()
        np.testing.assert_array_equal(f(X), X * net.k + other.k)


def test_a_replaced_tensor_whose_value_python_reads():
    net = Net(k=df.constant(2))
    f = df.function(lambda x: x * int(net.k) + df.cast(net.k, x.dtype) + df.zeros([3 * net.k])[0])
    for k in range(4):
        net.k = df.constant(k + 1)
        np.testing.assert_array_equal(f(X), X * (k + 1.0) + (k + 1.0))


def test_state_that_a_gradient_rule_reads():
    net = Net(k=df.constant(2.0))

    @df.custom_gradient
    def scaled(x):
        return x * 3.0, lambda g: g * net.k

    f = df.function(lambda x: df.reduce_sum(scaled(x)))
    for k in range(4):
        net.k = df.constant(float(k)) if k % 2 else float(k)
        np.testing.assert_array_equal(df.grad(f)(X), np.full(3, k, np.float32))


def test_a_replaced_tensor_in_a_method_of_several_objects():
    class Cell:
        def __init__(self):
            self.state = df.zeros([3])

        @df.function
        def step(self, x):
            return df.tanh(x + self.state)

    cells = [Cell(), Cell()]
    for cell in cells:
        for _ in range(5):
            want = df.tanh(X + cell.state)
            cell.state = cell.step(X)
            np.testing.assert_array_equal(cell.state, want)
        assert cell.step.experimental_get_tracing_count() == 2


def test_a_lasting_trace_reads_its_held_tensors():
    net = Net(k=df.constant(1.0))
    f = df.function(lambda x: x * net.k)
    for k in (1.0, 2.0):
        net.k = df.constant(k)
        f(X)
    concrete = f.concrete_functions[-1]
    net.k = df.constant(5.0)
    np.testing.assert_array_equal(concrete(X), X * 5.0)
    fixed = f.get_concrete_function(X)              # for exports: the tensor is a constant
    net.k = df.constant(6.0)
    with pytest.raises(df.errors.InvalidArgumentError, match=r"net\.k .* is another Tensor"):
        fixed(X)


def test_an_error_of_the_function_keeps_the_inputs():
    net = Net(k=df.constant([1.0, 2.0, 3.0]))
    f = df.function(lambda x: df.reduce_sum(x * net.k))
    for k in range(3):
        net.k = df.constant([1.0, 2.0, k])
        f(X)
    with pytest.raises(ValueError, match="multiply"):
        f(df.zeros([5]))
    for k in range(3):
        net.k = df.constant([2.0, 2.0, k])
        assert f(X).item() == df.reduce_sum(X * net.k).item()
    assert f.experimental_get_tracing_count() == 2
