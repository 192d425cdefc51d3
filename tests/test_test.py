"""`dualflow.test`: assertions of test cases, and what a failure says."""

import collections
import os
import random
import subprocess
import sys
import unittest

import numpy as np
import pytest

import dualflow as df

Pair = collections.namedtuple("Pair", "a b")
X = df.constant([1., 2.])
NAN = df.constant([1., float("nan")])


class EmptyCase(df.test.TestCase):
    def runTest(self):
        pass


CASE = EmptyCase()

HOLDS = {
    "equal": lambda: CASE.assertAllEqual(X, [1, 2]),
    "equal NaN": lambda: CASE.assertAllEqual(NAN, np.array([1., np.nan])),
    "equal text": lambda: CASE.assertAllEqual(df.strings.lower(["A", "B"]), ["a", "b"]),
    "equal list": lambda: CASE.assertAllEqual([X, [3., 4.]], [[1, 2], [3, 4]]),
    "equal bfloat16": lambda: CASE.assertAllEqual(df.constant([1.], df.bfloat16), [1.]),
    "equal empty": lambda: CASE.assertAllEqual(df.zeros([0, 2]), np.zeros((0, 2))),
    "not equal": lambda: CASE.assertNotAllEqual(X, [1, 3]),
    "not equal shapes": lambda: CASE.assertNotAllEqual(X, [1]),
    "close": lambda: CASE.assertAllClose(X, [1 + 1e-7, 2]),
    "close numbers": lambda: CASE.assertAllClose(1., df.constant(1.)),
    "close rtol": lambda: CASE.assertAllClose(X, [1.05, 2.1], rtol=0.1),
    "close atol": lambda: CASE.assertAllClose(X, [1.05, 2.05], atol=0.1, msg="message"),
    "close NaN": lambda: CASE.assertAllClose(NAN, NAN),
    "close variable": lambda: CASE.assertAllClose(df.Variable([1., 2.]), X),
    "close nest": lambda: CASE.assertAllClose({"a": X, "b": (3, [X, [X]])},
                                              {"b": (3., [X, [[1, 2]]]), "a": [1, 2]}),
    "close ragged": lambda: CASE.assertAllClose([X, [1.]], [[1., 2.], df.constant([1.])]),
    "close named tuple": lambda: CASE.assertAllClose(Pair(X, 1), Pair([1, 2], 1)),
    "close by type": lambda: CASE.assertAllCloseAccordingToType(
        df.constant([1.005], df.bfloat16), [1.]),
    "close half": lambda: CASE.assertAllCloseAccordingToType(
        {"a": df.constant([1.0008], df.float16)}, {"a": [1.]}),
    "not close": lambda: CASE.assertNotAllClose(X, [1., 2.1]),
    "greater": lambda: CASE.assertAllGreater(X, 0),
    "less": lambda: CASE.assertAllLess(X, 3),
    "greater equal": lambda: CASE.assertAllGreaterEqual(X, 1),
    "less equal": lambda: CASE.assertAllLessEqual(X, 2),
    "in range": lambda: CASE.assertAllInRange(X, 1, 2),
    "in open range": lambda: CASE.assertAllInRange(X, 0.5, 2.5, True, True),
    "in set": lambda: CASE.assertAllInSet(X, {1, 2, 3}),
    "near": lambda: CASE.assertNear(1., 1.1, 0.2),
    "near inf": lambda: CASE.assertNear(float("inf"), float("inf"), 0.),
    "array near": lambda: CASE.assertArrayNear([1, 2], X, 0.),
    "ndarray near": lambda: CASE.assertNDArrayNear(X, np.array([1., 2.1]), 0.2),
    "shape": lambda: CASE.assertShapeEqual(np.zeros(2), X),
    "dtype": lambda: CASE.assertDTypeEqual(X, df.float32),
    "dtype of an array": lambda: CASE.assertDTypeEqual(np.zeros(2), np.float64),
    "starts": lambda: CASE.assertStartsWith("text", "te"),
}
FAILS = {
    "equal": (lambda: CASE.assertAllEqual(X, [1, 3], "message"), "message"),
    "equal shapes": (lambda: CASE.assertAllEqual(X, 1.), r"\(2,\) and \(\)"),
    "equal shapes with text": (lambda: CASE.assertAllEqual(X, 1., "message"), "message"),
    "equal NaN": (lambda: CASE.assertAllEqual(NAN, X), "."),
    "not equal": (lambda: CASE.assertNotAllEqual(X, [1, 2], "message"), "message"),
    "close": (lambda: CASE.assertAllClose(X, [1.001, 2], msg="message"), "message"),
    "close shapes": (lambda: CASE.assertAllClose(X, [[1, 2]]), "shape mismatch"),
    "close NaN": (lambda: CASE.assertAllClose(NAN, X), "."),
    "close nest": (lambda: CASE.assertAllClose({"a": [X, [1.]]}, {"a": [X, [2.]]}),
                   r"at \['a'\]\[1\]"),
    "close keys": (lambda: CASE.assertAllClose({"a": X}, {"b": X}), "keys differ"),
    "close kinds": (lambda: CASE.assertAllClose({"a": X}, X), "keys differ"),
    "close lengths": (lambda: CASE.assertAllClose([X, 1.], [X]), "lengths differ"),
    "close by type": (lambda: CASE.assertAllCloseAccordingToType(X, [1.001, 2.]), "."),
    "not close": (lambda: CASE.assertNotAllClose(X, X, msg="message"), "message"),
    "greater": (lambda: CASE.assertAllGreater(X, 1), "1 of 2 elements are not greater than 1"),
    "greater NaN": (lambda: CASE.assertAllGreater(NAN, 0), "1 of 2"),
    "less": (lambda: CASE.assertAllLess(X, 2), "not less than 2"),
    "greater equal": (lambda: CASE.assertAllGreaterEqual(X, 3), "2 of 2 .* at least 3"),
    "less equal": (lambda: CASE.assertAllLessEqual(X, 0), "at most 0"),
    "in range": (lambda: CASE.assertAllInRange(X, 1, 2, True), r"in \(1, 2\]"),
    "in open range": (lambda: CASE.assertAllInRange(X, 1, 2, False, True), r"in \[1, 2\)"),
    "in set": (lambda: CASE.assertAllInSet(X, [1]), "1 of 2 elements are not in"),
    "near": (lambda: CASE.assertNear(1., 1.1, 0.01, "message"), "message"),
    "near NaN": (lambda: CASE.assertNear(float("nan"), 1.1, 0.01), "nan"),
    "array near": (lambda: CASE.assertArrayNear([1, 2], [1, 3], 0.5), "2.0 != 3.0"),
    "array lengths": (lambda: CASE.assertArrayNear([1, 2], [1], 0.5), "2 != 1"),
    "ndarray near": (lambda: CASE.assertNDArrayNear(X, [1., 3.], 0.2), "norm"),
    "shape": (lambda: CASE.assertShapeEqual(np.zeros(3), X), r"\(3,\) != \(2,\)"),
    "dtype": (lambda: CASE.assertDTypeEqual(X, np.float64), "float32"),
    "starts": (lambda: CASE.assertStartsWith("text", "ex"), "does not start with"),
}


@pytest.mark.parametrize("name", HOLDS)
def test_assertion_holds(name):
    HOLDS[name]()


@pytest.mark.parametrize("name", FAILS)
def test_assertion_fails(name):
    check, says = FAILS[name]
    with pytest.raises(AssertionError, match=says):
        check()


def test_errors_of_operations():
    with CASE.assertRaisesOpError("reshape"):
        df.reshape(X, [3])
    with CASE.assertRaisesWithPredicateMatch(ValueError, lambda e: "reshape" in str(e)):
        df.reshape(X, [3])
    for matches in ("other", lambda e: False):
        with pytest.raises(AssertionError, match="does not match"), (
                CASE.assertRaisesOpError(matches)):
            df.reshape(X, [3])
    with pytest.raises(AssertionError, match="not raised"), CASE.assertRaisesOpError(""):
        pass
    with pytest.raises(KeyError), CASE.assertRaisesOpError(""):
        raise KeyError


def test_each_test_starts_with_the_same_seeds():
    drawn = []

    class DrawTest(df.test.TestCase):
        def test(self):
            drawn.append((random.random(), np.random.rand(), df.random.normal([2]).tolist()))

    for _ in range(2):
        assert DrawTest("test").run().wasSuccessful()
    assert drawn[0] == drawn[1]


def test_evaluate():
    found = CASE.evaluate({"a": [X, 3], "b": df.Variable(2.)})
    assert isinstance(found["a"][0], np.ndarray) and found["a"][1] == 3 and found["b"] == 2


def test_temporary_directories():
    a, b = EmptyCase(), EmptyCase()
    assert a.get_temp_dir() == a.get_temp_dir() != b.get_temp_dir() and os.path.isdir(
        a.get_temp_dir())
    assert os.path.dirname(b.get_temp_dir()) == df.test.get_temp_dir()


def test_there_is_no_gpu():
    assert not df.test.is_gpu_available(cuda_only=True) and not df.test.is_built_with_cuda()
    assert df.test.gpu_device_name() == "" and issubclass(df.test.TestCase, unittest.TestCase)


def test_main(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("""
import dualflow as df

class SumTest(df.test.TestCase):
    def test_right(self):
        print(self.get_temp_dir())
        self.assertAllEqual(df.add(1, 2), 3)

    def test_wrong(self):
        self.assertAllEqual(df.add(1, 2), 4)

df.test.main()
""")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 1 and "Ran 2 tests" in done.stderr and "failures=1" in done.stderr
    assert done.stdout and not os.path.exists(done.stdout.strip())
    assert not subprocess.run([sys.executable, str(path), "SumTest.test_right"]).returncode


def test_compute_gradient():
    a = df.constant([[1., 2.], [3., 4.]], df.float64)
    found, wanted = df.test.compute_gradient(lambda x, y: df.matmul(x, y), [a, a + 1.])
    assert [g.shape for g in found] == [(4, 4)] * 2 and found[0].dtype == np.float64
    CASE.assertAllClose(found, wanted, atol=1e-9)
    found, wanted = df.test.compute_gradient(lambda x, y: x * 2., (1., [3., 4.]), delta=1e-2)
    CASE.assertAllClose(found, [[[2.]], [[0., 0.]]])
    CASE.assertAllClose(wanted, found, atol=1e-4)
    with pytest.raises(TypeError, match="x is not a list"):
        df.test.compute_gradient(df.exp, X)
    with pytest.raises(ValueError, match="delta"):
        df.test.compute_gradient(df.exp, [X], 0.)
