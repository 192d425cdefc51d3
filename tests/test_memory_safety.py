"""Memory safety against Python code that runs while dualflow reads its objects, and against owners
that write to shared memory. Each case once crashed the interpreter or read out of bounds; it runs
in a separate process, so that a crash fails only one test."""

import contextlib
import gc
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow._core._core import rebuild
from tests.hostile.values import Clearing, ClearingInt, clearing, clearing_rows

ROOT = Path(__file__).resolve().parent.parent


# --- Python code that runs during a conversion ----------------------------------------------------

@pytest.mark.parametrize("kind", [Clearing, ClearingInt])
@pytest.mark.parametrize("use", [
    df.constant, df.Variable, lambda x: df.constant(x, "float64"),
    lambda x: df.constant(x, "int32"), lambda x: df.constant(x, "bool"),
    lambda x: df.constant([1.0, 2.0]) + x, lambda x: df.stack(x), lambda x: df.concat(x, 0),
    lambda x: df.reshape(df.constant([1.0]), x), lambda x: df.zeros(x),
    lambda x: df.gather(df.constant([1.0, 2.0]), x), lambda x: df.TensorSpec(x),
    lambda x: df.add_n(x), lambda x: df.einsum("i->i", x), lambda x: df.pad([1.0], [x]),
], ids=range(15))
def test_conversion_that_empties_its_list(use, kind):
    for make in (clearing, clearing_rows):
        with contextlib.suppress(TypeError, ValueError, OverflowError, MemoryError):
            use(make(kind))


def test_list_that_changes_during_conversion_raises():
    with pytest.raises(ValueError, match="changed while"):
        df.constant(clearing(ClearingInt), "float64")


# --- objects without __init__ ---------------------------------------------------------------------

CORE = [t for t in vars(_core._core).values() if inspect.isclass(t)
        and t.__module__ in ("dualflow._core._core", "dualflow._core", "dualflow")]


def test_core_classes_are_found():
    assert len(CORE) >= 15, CORE


@pytest.mark.parametrize("cls", CORE, ids=lambda c: c.__name__)
def test_new_without_init_is_safe(cls):
    """Either `__new__` raises, or every attribute and method of the object is safe to use."""
    try:
        x = cls.__new__(cls)
    except TypeError:
        return
    for name in dir(x):
        if name in ("__class__", "__init__", "__new__", "__init_subclass__", "__subclasshook__"):
            continue
        for args in ((), (None,), (x,), ((),), (1,), ((), {}), (x, x)):
            with contextlib.suppress(Exception):            # only a crash is a failure
                getattr(x, name)(*args)
    while (log := _core.current_tape()) is not None:       # a tape was started
        log.pop()
    gc.enable()                                            # a context suspended the collector


def test_tensor_classes_cannot_be_instantiated():
    for cls in (df.Tensor, df.TensorBase, _core.Symbol):
        for make in (cls, lambda cls=cls: cls.__new__(cls), lambda cls=cls: cls([1.0])):
            with pytest.raises(TypeError, match="created by ops"):
                make()
    with pytest.raises(TypeError):
        object.__new__(df.Tensor)
    sub = type("Sub", (df.Tensor,), {"__init__": lambda self: None})
    with pytest.raises(TypeError, match="created by ops"):
        sub()


def test_second_init_raises():
    v = df.Variable([1.0, 2.0])
    double = df.function(lambda: v * 2.0)
    assert double().tolist() == [2, 4]
    with pytest.raises(TypeError, match=r"already.*assign"):
        v.__init__([1, 2], dtype="int32")
    assert double().tolist() == [2, 4]
    with pytest.raises(TypeError):
        df.Variable.__new__(df.Variable)
    spec = df.TensorSpec([2])
    before = hash(spec)
    with pytest.raises(TypeError, match="already"):
        spec.__init__([3])
    assert hash(spec) == before


def test_empty_dlpack_device_and_version():
    with pytest.raises(BufferError):
        df.from_dlpack(type("Empty", (), {"__dlpack__": lambda self, **options: None,
                                          "__dlpack_device__": lambda self: ()})())
    for version in ((), [], "", df.zeros((0,))):
        assert type(df.constant(1.0).__dlpack__(max_version=version)).__name__ == "PyCapsule"


# --- bools that are neither 0 nor 1 ---------------------------------------------------------------

def bools(values):
    """Return a bool tensor whose owner writes `values` to the shared memory."""
    owner = np.zeros(len(values), bool)
    x = df.from_dlpack(owner)
    owner.view("uint8")[:] = values
    return x


@pytest.mark.parametrize("n", [1, 7, 4096, 10_000])
def test_bools_other_than_0_and_1_count_as_true(n):
    mask = bools([255 if k % 2 else 2 for k in range(n)])
    assert df.where(mask).numpy().ravel().tolist() == list(range(n))
    x = df.range(n)
    assert df.boolean_mask(x, mask).tolist() == list(range(n))
    assert df.where(mask, x, -1).tolist() == list(range(n))
    assert df.function(df.boolean_mask)(x, mask).tolist() == list(range(n))


def test_pickled_bools_are_normalised():
    data = pickle.dumps(df.constant([True] * 64), 5).replace(b"\1" * 64, b"\3" * 64)
    for x in (pickle.loads(data), rebuild("bool", (64,), b"\xff" * 64)):
        assert x.numpy().view("uint8").tolist() == [1] * 64
        assert df.where(x).shape == (64, 1)


@pytest.mark.parametrize("args, kind", [
    (("int32", (2,), b"1234567"), ValueError), (("int32", (2,), None), TypeError),
    (("int32", (-2,), b""), ValueError), (("int32", (2**62, 2**62), b""), OverflowError),
    (("int32", None, b""), TypeError), (("no", (1,), b"1234"), TypeError),
    (("int32", ("a",), b"1234"), TypeError), (("int32", (1,) * 300, b"1234"), ValueError),
    ((None, (1,), b"1234"), TypeError), (("int32", (2**70,), b"1234"), OverflowError),
])
def test_crafted_pickles_raise(args, kind):
    with pytest.raises(kind):
        rebuild(*args)


# --- an owner that writes while an op runs --------------------------------------------------------

def test_owner_that_writes_while_ops_run(pytestconfig):
    seconds = 10 if pytestconfig.getoption("exhaustive") else 0.15
    ran = subprocess.run([sys.executable, "-m", "tests.hostile.races", str(seconds)],
                         cwd=ROOT, capture_output=True, text=True, timeout=1000, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]


# --- code that Cython generates -------------------------------------------------------------------

def test_core_has_no_list_comprehensions():
    """Cython 3 decrefs an item twice if the list of a comprehension cannot grow. Lists of known
    length and `append` are safe."""
    for path in sorted((ROOT / "dualflow" / "_core").glob("*.p*x*")):
        code = re.sub(r"#.*|\"\"\"(?s:.*?)\"\"\"", "", path.read_text())
        assert not re.search(r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])* for [^\]\n]* in ", code), path.name
