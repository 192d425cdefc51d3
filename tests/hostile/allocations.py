"""Fails every allocation once: `python -m tests.hostile.allocations [python|c] [--upto N]`.

A scenario runs with its n-th allocation failing, for n = 1, 2, ... until it succeeds. It may raise
MemoryError and must work afterwards; it must not crash, and must not leak.

`python`: Python's allocators fail by CPython's `_testcapi.set_nomemory`. `c`: malloc and similar
functions fail in calls from the extension module, by failing_malloc.c, which must be preloaded."""

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import itertools
import re
import sys
import warnings

import numpy as np

import dualflow as df
from dualflow.ops.control_flow.async_host import async_host_call
from tests.live import live_bytes


def eager():
    x = df.constant([[1.0, 2.0], [3.0, 4.0]])
    return df.reduce_sum(df.matmul(x, x) + 1.5 - x).item()


def lists():
    return df.constant([[1, 2], [3, 4.5]]).tolist() + df.stack([df.constant(1.0), 2.0]).tolist()


def many_operands():
    parts = df.unstack(df.constant([float(k) for k in range(20)]))
    return df.add_n(parts).item() + df.concat([[p] for p in parts[:3]], 0)[1].item()


def attributes():
    x = df.reshape(df.constant([1.0, 2.0, 3.0, 4.0]), [2, 2])
    return df.transpose(df.pad(x, [[0, 1], [1, 0]]), [1, 0])[1:, ::2].tolist()


def high_rank():
    return df.reshape(df.constant([1.0]), [1] * 20).shape


def dynamic():
    x = df.constant([3.0, 1.0, 2.0, 1.0])
    return (df.boolean_mask(x, x > 1.5).tolist(), df.unique(x)[0].tolist(),
            df.math.top_k(x, 2)[1].tolist(), df.sort(x).tolist())


def arrays():
    x = df.constant(np.arange(6.0).reshape(2, 3)[::-1])
    return np.asarray(x).tolist(), df.from_dlpack(x).tolist(), np.from_dlpack(x).tolist()


def tape():
    v = df.Variable([1.0, 2.0])
    with df.GradientTape(persistent=True) as t:
        y = df.reduce_sum(df.exp(v) * v)
        z = y * y
    return t.gradient(z, v).tolist(), t.gradient(y, v).tolist()


def second_order():
    return df.autodiff.hessian(lambda x: df.reduce_sum(x ** 3.0))(df.constant([1.0, 2.0])).tolist()


def variables():
    v = df.Variable([1.0, 2.0])
    before = v.value()
    v.assign_add([1.0, 1.0])
    v.assign(v * 2.0)
    return v.numpy().tolist(), before.tolist()


STEP = df.function(lambda x, k: df.reduce_sum(df.boolean_mask(x, x > 1.0)) * k + x)


def call():
    return STEP(df.constant([1.0, 2.0]), 3).tolist()


class Copied:
    """An asynchronous operation that completes immediately."""

    def __init__(self, reads, fills):
        fills[0][2][:] = reads[0][2]

    def result(self):
        pass


def shifted(x, k):
    wait = async_host_call("copy", Copied, [x + 1.0], [(df.float32, (2,))])
    share = df.constant([6, 4]) // k
    return wait()[0] + df.cast(share, df.float32)


SHIFTED = df.function(shifted)


def left():
    """Run a program that fails with an outstanding operation, and one that succeeds."""
    said = []
    for k in (2, 0):
        try:
            said.append(SHIFTED(df.constant([1.0, 2.0]), df.constant(k)).tolist())
        except df.errors.InvalidArgumentError as error:
            said.append(str(error)[:12])
    return said


def trace():
    w = df.Variable([[1.0, 2.0], [3.0, 4.0]])

    @df.function
    def step(x):
        with df.GradientTape() as t:
            y = df.reduce_sum(df.nn.softmax(df.matmul(x, w)) ** 2.0)
        w.assign_sub(t.gradient(y, w) * 0.1)
        return y, df.unique(df.cast(x[0], df.int32))[0]

    y, u = step(df.constant([[1.0, 2.0]]))
    return y.item(), u.tolist(), w.numpy().tolist()


def errors():
    said = []
    for wrong in (lambda: df.add([1.0, 2.0], [1.0, 2.0, 3.0]), lambda: df.constant([[1], [1, 2]]),
                  lambda: df.gather([1.0], [5]), lambda: df.reshape([1.0], ["a"])):
        try:
            wrong()
        except MemoryError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            said.append(str(error)[:20])
    return said


SCENARIOS = {f.__name__: f for f in (
    eager, lists, many_operands, attributes, high_rank, dynamic, arrays, tape, second_order,
    variables, call, left, trace, errors)}


@contextlib.contextmanager
def python_fails(n):
    import _testcapi

    _testcapi.set_nomemory(n, n + 1)
    try:
        yield
    finally:
        _testcapi.remove_mem_hooks()


@contextlib.contextmanager
def c_fails(n):
    shim = ctypes.CDLL(None)
    shim.fail_malloc(n)
    try:
        yield
    finally:
        shim.fail_malloc(0)


# Errors of CPython 3.11 for its own allocation failures: a lock, the frame of a traceback, the
# attributes of an object. For one of our functions the message would say that it returned NULL.
PYTHONS_OWN = re.compile("can't allocate lock|error return without exception set|"
                         r"<class 'dualflow\.(?!_core).*'> returned a result with an exception set")


def attempt(scenario, fails, n):
    """Return the scenario's result, or None if it ran out of memory."""
    gc.collect()
    df.config.trim_memory()                       # forces new allocations of buffers
    try:
        with fails(n):
            return scenario()
    except MemoryError:
        return None
    except (RuntimeError, SystemError) as error:
        if not PYTHONS_OWN.match(str(error)):
            raise
        return None


def sweep(name, fails, first, upto, step):
    scenario = SCENARIOS[name]
    want = scenario()
    scenario()
    refused = 0
    got_through = 0                  # caches and hints may fail silently
    for n in itertools.count(first, step):
        if n >= upto:
            break
        print(f"{name} {n}", file=sys.stderr, flush=True)
        got = attempt(scenario, fails, n)
        refused += got is None
        got_through = 0 if got is None else got_through + 1
        if got is not None and got != want:
            raise AssertionError(f"{name}: {got} where allocation {n} failed, expected {want}")
        if got_through * step >= 60:
            break
    if scenario() != want:
        raise AssertionError(f"{name}: {want} is no longer returned")
    print(f"{name}: up to allocation {n}, {refused} times MemoryError")
    if not refused:
        raise AssertionError(f"{name}: no allocation failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["python", "c"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--upto", type=int, default=10**9)
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    fails = python_fails if options.kind == "python" else c_fails
    for name in options.names or SCENARIOS:
        SCENARIOS[name]()
        before = live_bytes()
        sweep(name, fails, options.first, options.upto, options.step)
        held = live_bytes() - before
        if held > 1 << 16:
            raise AssertionError(f"{name}: {held} bytes are held after the failures")


if __name__ == "__main__":
    faulthandler.enable()
    main()
