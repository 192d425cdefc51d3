import time

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.autodiff.backward import backward
from dualflow.errors import ShapeError


def chain(n):
    x, one = df.Variable([1., 2.]), df.constant([1., 1.])
    with df.GradientTape() as tape:
        y = x
        for _ in range(n):
            y = y * one
    return tape, y, x


def test_chain_of_100_000():
    tape, y, x = chain(100_000)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [1., 1.])


def test_time_is_linear():
    def seconds(n):
        best = np.inf
        for _ in range(3):
            begin = time.thread_time()
            tape, y, x = chain(n)
            tape.gradient(y, x)
            best = min(best, time.thread_time() - begin)
        return best

    seconds(1000)
    assert seconds(40_000) < 40 * seconds(4_000)       # ten times the work; quadratic: a hundred


def test_gradient_of_60_stacked_diamonds():
    x = df.Variable(np.float64(1.))
    with df.GradientTape() as tape:
        y = x
        for _ in range(60):
            y = y + y
    assert tape.gradient(y, x).item() == 2.0 ** 60


def test_one_value_used_100_000_times():
    x = df.Variable(np.float64(1.))
    with df.GradientTape() as tape:
        parts = [x * 1.0 for _ in range(1000)]
        y = df.add_n(parts * 100)
    assert tape.gradient(y, x).item() == 100_000


def test_backward_pass_over_python_records():
    x = df.Variable([1., 2.])
    with df.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    records = tape._tape.records()
    assert [r.op.name for r in records] == ["multiply", "multiply"]
    assert records[0].input_ids == (_core.tensor_id(y),) * 2
    assert records[0].output_ids == (_core.tensor_id(z),)
    ids = [_core.tensor_id(x), _core.tensor_id(y)]
    seed = {_core.tensor_id(z): df.constant([1., 1.])}
    found = backward(records, dict(seed), ids)
    again = backward(tape._tape, dict(seed), ids)
    for key in ids:
        np.testing.assert_array_equal(found[key].numpy(), again[key].numpy())


def test_only_paths_to_sources_are_computed():
    calls = []

    @df.custom_gradient
    def counted(x):
        return x * 1.0, lambda g: calls.append(1) or g

    x, v = df.Variable(2.), df.Variable(3.)
    with df.GradientTape(persistent=True) as tape:
        y = counted(x) * v
    assert tape.gradient(y, v).item() == 2 and calls == []
    assert tape.gradient(y, x).item() == 3 and calls == [1]


def test_lazy_results_of_inactive_inputs_are_not_called():
    v = df.Variable([1., 2.])
    c = df.constant([3., 4.])
    with df.GradientTape() as outer:
        with df.GradientTape() as inner:
            y = v * c
        before = len(outer._tape)
        inner.gradient(y, v)
        assert len(outer._tape) - before <= 1


def test_outputs_without_a_cotangent_get_zeros():
    x = df.Variable([1., 2., 3., 4.])
    with df.GradientTape() as tape:
        _, b = df.split(x, 2)
        y = b * b
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [0., 0., 6., 8.])


def test_errors_in_a_rule_name_the_op_and_line():
    x = df.Variable(2.)

    @df.custom_gradient
    def broken(x):
        def grad(g):
            raise KeyError("mine")
        return x * 2., grad

    with df.GradientTape() as tape:
        y = broken(x)
    with pytest.raises(KeyError, match="mine") as caught:
        tape.gradient(y, x)
    assert "broken" in caught.value.__notes__[0]


def test_wrong_shape_from_a_rule_raises():
    @df.custom_gradient
    def odd(x):
        return x * 2., lambda g: df.constant([1., 2., 3.])

    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = odd(x)
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2,\)"):
        tape.gradient(y, x)


def test_wrong_number_of_results_raises():
    @df.custom_gradient
    def odd(x):
        return x * 2., lambda g: (g, g)

    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = odd(x)
    with pytest.raises(ValueError, match="2 results for 1 inputs"):
        tape.gradient(y, x)


def test_reset_during_a_backward_pass_raises():
    x = df.Variable(2.)
    refused = []

    @df.custom_gradient
    def meddling(x):
        def grad(g):
            for attempt in (tape._tape.clear, tape._tape.push):
                try:
                    attempt()
                except RuntimeError:
                    refused.append(attempt)
            return g
        return x * 2., grad

    with df.GradientTape() as tape:
        y = meddling(x) * x
    tape.gradient(y, x)
    assert len(refused) == 2


def test_ids_far_apart():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x
        for _ in range(50):
            for _ in range(3000):
                df.constant(0.)
            y = y * x
    assert tape.gradient(y, x).item() == 51 * 2.0 ** 50


