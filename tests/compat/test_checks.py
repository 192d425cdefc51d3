"""Print, assertions and numerics checks, in sessions, eager mode and traced functions."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf


def fed(value):
    return tf.placeholder_with_default(np.array(value), np.array(value).shape, name="x")


@pytest.fixture(params=["session", "eager", "function"])
def run(request):
    """Return a function that runs a TensorFlow 1 program in a mode and returns its result as
    lists."""
    def in_session(program):
        with tf.Graph().as_default(), tf.Session() as session:
            found = session.run(program())
            return found if found is None else found.tolist()

    def at_once(program):
        tf.enable_eager_execution()
        try:
            found = df.function(program)() if request.param == "function" else program()
        finally:
            tf.disable_eager_execution()
        return found if found is None else found.numpy().tolist()

    return in_session if request.param == "session" else at_once


def value(x):
    """Return a tensor that is unknown until the program runs, in each mode."""
    return tf.add(tf.constant(x), 0)


def test_print(run, capfd):
    def program():
        x = tf.Print(value([1., 2., 3., 4.]), ["m", value([[1, 2], [3, 4]]), value(0.5)], "told ")
        return x * 2.

    assert run(program) == [2., 4., 6., 8.]
    assert capfd.readouterr() == ("", "told [m][[1 2][3...]...][0.5]\n")


def test_print_passes_gradients_and_counts(session, capfd):
    w = tf.Variable([1., 2.])
    y = tf.reduce_sum(tf.square(tf.Print(w, [w], first_n=2, summarize=1)))
    gradient = tf.gradients(y, w)[0]
    session.run(w.initializer)
    for _ in range(3):
        assert session.run(gradient).tolist() == [2., 4.]
    assert capfd.readouterr().err == "[1...]\n[1...]\n"
    session.run(w + 1.)                     # does not depend on the printed value
    assert capfd.readouterr().err == ""


def test_print_in_a_loop(session, capfd):
    n = tf.placeholder(tf.int32, [])
    x = tf.while_loop(lambda i: i < n, lambda i: tf.Print(i, [i], "i = ") + 1, [tf.constant(0)])
    assert session.run(x, {n: 3}) == 3
    assert capfd.readouterr().err == "i = [0]\ni = [1]\ni = [2]\n"
    y = tf.cond(n > 0, lambda: tf.Print(n, ["yes"]), lambda: tf.Print(n, ["no"]))
    session.run(y, {n: 1}), session.run(y, {n: 0})
    assert capfd.readouterr().err == "[yes]\n[no]\n"


FAILS = {
    "equal": (lambda: tf.assert_equal(value([1, 2, 3, 4]), value([1, 2, 3, 5]), message="mm"),
              r"\[mm\] \[Condition x == y did not hold element-wise:\] \[x .* = \] \[1 2 3...\]"),
    "none_equal": (lambda: tf.assert_none_equal(value([1, 2]), 1), "x != y .*1 2"),
    "less": (lambda: tf.assert_less(value([1., 2.]), 2.), "x < y .*1 2"),
    "less_equal": (lambda: tf.assert_less_equal(value([1., 3.]), 2.), "x <= y"),
    "greater": (lambda: tf.assert_greater(value([3., 2.]), 2.), "x > y"),
    "greater_equal": (lambda: tf.assert_greater_equal(value([3., 1.]), 2.), "x >= y"),
    "positive": (lambda: tf.assert_positive(value([1, 0])), r"x > 0 .*\[1 0\]"),
    "negative": (lambda: tf.assert_negative(value([-1, 0])), "x < 0"),
    "non_negative": (lambda: tf.assert_non_negative(value([1, -1])), "x >= 0"),
    "non_positive": (lambda: tf.assert_non_positive(value([1, -1])), "x <= 0"),
    "near": (lambda: tf.assert_near(value([1.]), 1.1), "not equal to tolerance rtol"),
    "data": (lambda: tf.assert_equal(value(1), 2, data=["was", value(1.5)]), r"\[was\] \[1.5\]"),
    "Assert": (lambda: tf.Assert(value(1) > 2, [value([[True, False]])], summarize=1),
               r"failed: \[\[1...\]...\]"),
    "debugging": (lambda: tf.debugging.assert_equal(value(1), 2), "x == y"),
    "check_numerics": (lambda: tf.check_numerics(value([1., np.nan]), "hello"),
                       "hello : Tensor had NaN values"),
    "debugging.finite": (lambda: tf.debugging.assert_all_finite(value([np.nan]), "no number"),
                         "no number : Tensor had NaN values"),
    "verify": (lambda: tf.verify_tensor_all_finite(value([np.inf, np.nan]), "hello"),
               "hello : Tensor had Inf and NaN values"),
}


@pytest.mark.parametrize("name", FAILS)
def test_failed_assertions_raise(run, name):
    program, message = FAILS[name]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(program)


def test_assertions_as_control_dependencies(session):
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.assert_positive(x)]):
        y = tf.log(x)
    dx = tf.gradients(y, x)[0]
    assert session.run([y, dx], {x: [1.]})[1].tolist() == [1.]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x > 0 did not .*\[-1\]"):
        session.run(y, {x: [-1.]})


def test_check_numerics_passes_gradients(session):
    x = tf.placeholder(tf.float32, [])
    y = tf.check_numerics(tf.log(x), "log")
    assert session.run(tf.gradients(y * 2., x), {x: 0.5}) == [4.]
    with pytest.raises(TypeError, match="DataType int32 not in list"):
        tf.check_numerics(tf.constant(1), "x")


def test_add_check_numerics_ops(session):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.log(x, name="y")
    z = tf.reciprocal(y, name="z")
    check = tf.add_check_numerics_ops()
    assert session.run([z, check], {x: 2.})[1] is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="y:0 : Tensor had Inf"):
        session.run([z, check], {x: 0.})
    with pytest.raises(tf.errors.InvalidArgumentError, match="z:0 : Tensor had Inf"):
        session.run(check, {x: 1.})


def test_static_checks():
    x = fed([1., 2.])
    assert tf.assert_rank(x, 1).type == "NoOp" and tf.assert_scalar(tf.constant(1.)).shape == ()
    for check, error, message in [
            (lambda: tf.assert_rank(x, 2, message="mm"), ValueError,
             r"mm.  Tensor x:0 must have rank 2.  Received rank 1, shape \(2,\)"),
            (lambda: tf.assert_rank_at_least(x, 2), ValueError, "must have rank at least 2"),
            (lambda: tf.assert_rank_in(x, [2, 3]), ValueError, r"must have rank in \(2, 3\)"),
            (lambda: tf.assert_type(x, tf.float32), TypeError,
             "x:0 must be of type tf.float32; got tf.float64"),
            (lambda: tf.assert_integer(x), TypeError, 'Expected "x" to be integer type'),
            (lambda: tf.assert_scalar(x), ValueError, "Expected scalar shape for x:0"),
            (lambda: tf.assert_same_float_dtype([x, tf.constant(1.)]), ValueError,
             r"must be of the same type \(float64\) as x:0"),
            (lambda: tf.assert_same_float_dtype([tf.constant(1)]), ValueError, "floating point"),
            (lambda: tf.assert_proper_iterable(x), TypeError, "'proper' iterable"),
            (lambda: tf.assert_proper_iterable("text"), TypeError, "'proper' iterable")]:
        with pytest.raises(error, match=message):
            check()
    assert tf.assert_same_float_dtype() is tf.float32
    tf.assert_proper_iterable((1, 2))
    assert tf.is_numeric_tensor(x) and not tf.is_numeric_tensor(x > 0.)
    assert not tf.is_numeric_tensor(1.)


def test_rank_assertions_of_fed_values(session):
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.assert_rank(x, 1)]):
        y = tf.identity(x)
    assert session.run(y, {x: [1.]}).tolist() == [1.]
    with pytest.raises(ValueError, match=r"must have rank 1.  Received rank 2"):
        session.run(y, {x: [[1.]]})
