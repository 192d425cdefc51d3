"""Errors name the op of the first NaN or infinity, forward and backward, in both modes."""

import re

import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError

HERE = re.escape(__file__)


@pytest.fixture(autouse=True)
def checking():
    df.debugging.enable_check_numerics()
    yield
    df.debugging.disable_check_numerics()


def line_of(text):
    """Return the number of the line of this file that ends with a comment."""
    with open(__file__) as f:
        return next(n for n, line in enumerate(f, 1) if line.rstrip().endswith(f"# {text}"))


# --- eagerly ---

def test_first_op_is_named():
    x = df.constant([1., 0., -1.])
    with pytest.raises(InvalidArgumentError, match=(
            r"^log: output 0, float32 \(3,\), has 1 NaN and 1 infinite of 3 elements, the first at "
            r"flat index 1; of float32 \(3,\)$")):
        df.math.log(x)


@pytest.mark.parametrize("f", [
    lambda: df.constant(1.) / 0., lambda: df.constant([1e38]) * 1e10,
    lambda: df.exp(df.constant([100.])), lambda: df.reduce_sum(df.fill([4], 3e38)),
    lambda: df.matmul(df.fill([2, 2], 1e30), df.fill([2, 2], 1e30)),
    lambda: df.zeros([100, 100], df.float64) / 0.])
def test_every_way_an_op_runs(f):
    with pytest.raises(InvalidArgumentError, match=r"has \d+ NaN and \d+ infinite"):
        f()


def test_variables():
    v = df.Variable(3e38)
    with pytest.raises(InvalidArgumentError, match="assign_add: written input 0"):
        v.assign_add(3e38)


def test_masks_of_infinities_pass_through():
    x = df.constant([1., float("-inf")])
    assert df.nn.softmax(x + 1.).tolist() == [1., 0.]
    assert df.reshape(x, [2, 1]).shape == (2, 1)


def test_nan_inputs_are_reported_where_they_are_read():
    x = df.constant([1., float("nan")])
    with pytest.raises(InvalidArgumentError, match=(
            r"^add: output 0, .*; of float32 \(2,\) with 1 NaN and 0 infinite, float32 \(\)$")):
        x + 1.
    assert df.where(df.math.is_nan(x), 0., x).tolist() == [1., 0.]


def test_backward_names_the_op_of_the_gradient():
    x = df.Variable([4., 0.])
    with df.GradientTape() as tape:
        y = df.reduce_sum(df.sqrt(x))
    with pytest.raises(InvalidArgumentError) as caught:
        tape.gradient(y, x)
    assert "in the gradient of sqrt" in caught.value.__notes__


def test_check_can_be_disabled():
    df.debugging.disable_check_numerics()
    assert df.math.log(df.constant(0.)).item() == float("-inf")


# --- in a traced function ---

def test_traced_names_op_and_line():
    @df.function
    def f(x):
        y = x - 1.
        z = df.math.log(y)      # the log
        return df.exp(z) * 2.

    assert f(df.constant([3.])).shape == (1,)
    with pytest.raises(InvalidArgumentError, match=r"^log: output 0") as caught:
        f(df.constant([1.]))
    message = str(caught.value) + "".join(caught.value.__notes__)
    assert re.search(rf"{HERE}:{line_of('the log')}\b", message)
    assert f(df.constant([3.])).shape == (1,)


def test_functions_traced_before_are_checked():
    df.debugging.disable_check_numerics()

    @df.function
    def f(x):
        return df.exp(df.math.log(x) + 1.)

    assert f(df.constant(0.)).item() == 0.
    df.debugging.enable_check_numerics()
    with pytest.raises(InvalidArgumentError, match=r"^log: output 0"):
        f(df.constant(0.))
    df.debugging.disable_check_numerics()
    assert f(df.constant(0.)).item() == 0.


def test_traced_backward_names_op_and_line():
    v = df.Variable([4., 0.])

    @df.function
    def step():
        with df.GradientTape() as tape:
            y = df.reduce_sum(df.sqrt(v))       # the root
        v.assign_sub(tape.gradient(y, v))       # the gradient

    with pytest.raises(InvalidArgumentError) as caught:
        step()
    message = str(caught.value) + "".join(caught.value.__notes__)
    assert re.search(rf"{HERE}:{line_of('the gradient')}, in step, in the gradient of sqrt at "
                     rf"{HERE}:{line_of('the root')}\b", message)
    assert v.numpy().tolist() == [4., 0.]


def test_traced_masks_pass_through():
    @df.function
    def f(x, mask):
        return df.nn.softmax(df.where(mask, x, float("-inf")) + 1.)

    assert f(df.constant([1., 2.]), df.constant([True, False])).tolist() == [1., 0.]


@pytest.mark.parametrize("enabled", [False, True])
def test_check_numerics_of_one_tensor(enabled):
    if not enabled:
        df.debugging.disable_check_numerics()
    check = lambda x: df.debugging.check_numerics(x, "loss") * 2.  # noqa: E731
    for call in (check, df.function(check)):
        assert call(df.constant([1.])).tolist() == [2.]
        with pytest.raises(InvalidArgumentError, match=r"^loss: a tensor has 1 NaN and 1 infinite"):
            call(df.constant([float("nan"), float("inf"), 1.]))
    x = df.Variable(3.)
    with df.GradientTape() as tape:
        y = check(x)
    assert tape.gradient(y, x).item() == 2.
    with pytest.raises(DTypeError):
        df.debugging.check_numerics([1], "x")
