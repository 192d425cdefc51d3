"""Programs built in Python with real ops: results, errors, dynamic slots, calls, signals."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import starmap

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow._core import Program
from dualflow.graph.program.spec import (
    SLOT_KINDS,
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    SlotSpec,
)
from dualflow.graph.trace.parameters import Argument

F32, I64 = df.float32, df.int64
ARENA, CONSTANT, ARG, RESULT, DYNAMIC = SLOT_KINDS


class Builder:
    """Builds a program of consecutive instructions in which each value has its own memory."""

    def __init__(self):
        self.slots, self.instructions, self.constants, self.arena = [], [], [], 0

    def slot(self, kind, shape, dtype=F32, number=0, last_use=0):
        offset = 0
        if kind is ARENA:
            offset = self.reserve(8 * int(np.prod(shape)))
        self.slots.append(SlotSpec(kind, dtype, shape, number, offset, last_use))
        return len(self.slots) - 1

    def reserve(self, n_bytes):
        offset = self.arena
        self.arena += -(-n_bytes // 64) * 64
        return offset

    def arg(self, number, shape, dtype=F32):
        return self.slot(ARG, shape, dtype, number)

    def result(self, number, shape, dtype=F32):
        return self.slot(RESULT, shape, dtype, number)

    def temp(self, shape, dtype=F32):
        return self.slot(ARENA, shape, dtype)

    def constant(self, value):
        self.constants.append(value)
        return self.slot(CONSTANT, value.shape, value.dtype, len(self.constants) - 1)

    def add(self, op, ins, outs, workspace=None, dynamic=False, poll=False, wave=0, cost=0.0,
            **attrs):
        op = _core.get_op(op)
        self.instructions.append(InstructionSpec(op, ins, outs, _core.make_attrs(op, **attrs),
                                                 workspace, dynamic, poll, wave, cost))

    def spec(self, n_args, results):
        arguments = [ArgumentSpec(Argument(k, f"x{k}"), F32, (None,)) for k in range(n_args)]
        return ProgramSpec("f", tuple(self.slots), tuple(self.instructions), tuple(arguments), (),
                           tuple(self.constants), tuple(starmap(ResultSpec, results)), self.arena)

    def build(self, n_args, results, on_error=None):
        return Program(self.spec(n_args, results), on_error)


def chain(n, shape=(4,), **options):
    """Return a program of n successive additions: result 0 = arg 0 + n * arg 1."""
    b = Builder()
    x, y = b.arg(0, shape), b.arg(1, shape)
    temps = [b.temp(shape), b.temp(shape)]
    for k in range(n):
        out = b.result(0, shape) if k == n - 1 else temps[k % 2]
        b.add("add", (x, y), (out,), **options)
        x = out
    return b.build(2, [(RESULT, 0, F32, shape)])


def ones(*shape):
    return df.constant(np.ones(shape, "float32"))


def test_static_program():
    program = chain(10)
    x = df.constant([1.0, 2.0, 3.0, 4.0])
    for _ in range(3):
        assert program.run([x, ones(4)])[0].tolist() == [11, 12, 13, 14]
    assert x.tolist() == [1, 2, 3, 4]
    first, second = program.run([x, ones(4)])[0], program.run([x, x])[0]
    assert (first.tolist(), second.tolist()) == ([11, 12, 13, 14], [11, 22, 33, 44])


def test_same_bits_as_eager():
    rng = np.random.default_rng(0)
    a, b_ = (df.constant(rng.normal(size=s).astype("float32")) for s in ((33, 70), (70, 50)))
    bias = df.constant(rng.normal(size=50).astype("float32"))
    b = Builder()
    x, w = b.arg(0, (33, 70)), b.arg(1, (70, 50))
    bias_slot = b.constant(bias)
    product, summed, out = b.temp((33, 50)), b.temp((33, 50)), b.result(0, (33, 50))
    b.add("matmul", (x, w), (product,), workspace=b.reserve(1 << 22), transpose_a=False,
          transpose_b=False)
    b.add("add", (product, bias_slot), (summed,))
    b.add("exp", (summed,), (out,))
    program = b.build(2, [(RESULT, 0, F32, (33, 50)), (ARG, 1, F32, (70, 50)),
                          (CONSTANT, 0, F32, (50,))])
    y, same, constant = program.run([a, b_])
    np.testing.assert_array_equal(y.numpy(), df.exp(df.matmul(a, b_) + bias).numpy())
    assert same is b_ and constant is bias


def positive_program(on_error=None):
    """Return a program that keeps where_indices(x > 0), its size, and x[index], which may fail."""
    b = Builder()
    x, i = b.arg(0, (6,)), b.arg(1, (2,), I64)
    zero = b.constant(df.constant(0.0))
    mask = b.temp((6,), df.as_dtype("bool"))
    kept = b.slot(DYNAMIC, (None, 1), I64, last_use=5)
    flat = b.slot(DYNAMIC, (None,), I64, last_use=3)
    count, picked = b.result(0, (), I64), b.result(1, (2,))
    b.add("greater", (x, zero), (mask,))
    b.add("where_indices", (mask,), (kept,), dynamic=True)
    b.add("squeeze", (kept,), (flat,), dynamic=True, axis=[1])
    b.add("reduce_sum", (flat,), (count,), dynamic=True, axes=[0], keepdims=False)
    b.add("gather", (x, i), (picked,), axis=0, batch_dims=0)
    return b.build(2, [(DYNAMIC, kept, I64, (None, 1)), (RESULT, 0, I64, ()),
                       (RESULT, 1, F32, (2,)), (DYNAMIC, kept, I64, (None, 1))],
                   on_error)


def test_dynamic_slots():
    program = positive_program()
    i = df.constant([0, 5], "int64")
    for values in ([1, -1, 1, -1, 1, -1], [-1] * 6, [1] * 6):
        x = df.constant(np.array(values, "float32"))
        kept, total, picked, again = program.run([x, i])
        want = np.argwhere(np.array(values) > 0)
        np.testing.assert_array_equal(kept.numpy(), want)
        np.testing.assert_array_equal(again.numpy(), want)
        assert total.item() == want.sum() and picked.tolist() == [values[0], values[5]]


@pytest.mark.usefixtures("no_garbage")
def test_failing_instruction():
    said = []

    def on_error(index, exception):
        said.append((index, type(exception)))
        return type(exception)(f"{exception} [here]")

    program = positive_program(on_error)
    x = ones(6)
    live = df.config.memory_stats()["live"]
    for _ in range(3):
        with pytest.raises(IndexError, match=r"\[here\]"):
            program.run([x, df.constant([0, 6], "int64")])
        assert program.run([x, df.constant([0, 5], "int64")])[1].item() == 15
    assert said == [(4, df.errors.OutOfRangeError)] * 3
    assert df.config.memory_stats()["live"] - live < 1 << 16


def test_program_writes_its_argument():
    b = Builder()
    v, delta = b.arg(0, (4,)), b.arg(1, (4,))
    b.add("assign_add", (v, delta), ())
    program = b.build(2, [])
    x = ones(4)
    assert program.run([x, df.constant([1.0, 2.0, 3.0, 4.0])]) == []
    assert x.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("cost", [0.0, 1e5])
def test_many_threads(cost):
    program = chain(20, (1000,), cost=cost)

    def use(seed):
        x = df.constant(np.full(1000, seed, "float32"))
        return all((program.run([x, x])[0].numpy() == 21 * seed).all() for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(8)))


def test_waves():
    b = Builder()
    x, outs = b.arg(0, (2000,)), [b.result(k, (2000,)) for k in range(8)]
    for out in outs:
        b.add("exp", (x,), (out,), wave=1, cost=1e4)
    program = b.build(1, [(RESULT, k, F32, (2000,)) for k in range(8)])
    value = df.constant(np.linspace(-3, 3, 2000, dtype="float32"))
    want = df.exp(value).numpy()
    for _ in range(20):
        assert all((y.numpy() == want).all() for y in program.run([value]))


# --- host calls ---------------------------------------------------------------------------------

def host_program(fn, cost=0.0):
    b = Builder()
    x, y = b.arg(0, (3,)), b.temp((3,))
    b.add("negative", (x,), (y,), cost=cost)
    host = _core.HostFunction(fn)
    b.add("host_call", (x, y), (), id=host.id)
    return b.build(1, []), host


@pytest.mark.parametrize("cost", [0.0, 1e6])
def test_host_call(cost):
    seen = []
    program, host = host_program(lambda *xs: seen.extend(xs), cost)
    program.run([df.constant([1.0, 2.0, 3.0])])
    program.run([df.constant([4.0, 5.0, 6.0])])
    assert [x.tolist() for x in seen] == [[1, 2, 3], [-1, -2, -3], [4, 5, 6], [-4, -5, -6]]
    del host
    with pytest.raises(KeyError):
        program.run([ones(3)])


@pytest.mark.parametrize("cost", [0.0, 1e6])
def test_host_call_raises(cost):
    def fail(x, y):
        raise LookupError("no luck")

    program, host = host_program(fail, cost)
    for _ in range(3):
        with pytest.raises(LookupError, match="no luck") as caught:
            program.run([ones(3)])
        assert "fail" in [frame.name for frame in caught.traceback]
    del host


def test_host_call_runs_programs():
    inner = chain(3, (3,))
    sums = []
    program, host = host_program(lambda x, y: sums.append(inner.run([x, x])[0].tolist()), 1e6)
    program.run([ones(3)])
    assert sums == [[4, 4, 4]]
    del host


# --- stopping -----------------------------------------------------------------------------------

def test_ctrl_c():
    n = 2000
    program = chain(n, (1 << 17,), poll=True, cost=1e5)
    x = ones(1 << 17)
    main = threading.main_thread().ident
    timer = threading.Timer(0.02, lambda: signal.pthread_kill(main, signal.SIGINT))
    deadline = time.monotonic() + 60
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() < deadline:
            program.run([x, x])
    timer.join()
    assert (program.run([x, x])[0].numpy() == n + 1).all()


def test_signal_raised_in_a_host_call():
    """The exception of a signal handler ends the run at an instruction and is raised."""
    def ring(x):
        time.sleep(0.06)             # longer than the poll interval
        signal.raise_signal(signal.SIGUSR1)

    def handler(number, frame):
        raise InterruptedError("rung")

    b = Builder()
    x = b.arg(0, (3,))
    host = _core.HostFunction(ring)
    for _ in range(2):
        b.add("host_call", (x,), (), poll=True, id=host.id)
    program = b.build(1, [])
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(InterruptedError, match="rung"):
            program.run([ones(3)])
    finally:
        signal.signal(signal.SIGUSR1, before)


# --- inspection ---------------------------------------------------------------------------------

def test_profile():
    program = chain(5)
    results, ns, start = program.profile([ones(4), ones(4)])
    assert results[0].tolist() == [6] * 4
    assert len(ns) == len(start) == 5 and min(ns) >= 0
    assert start == sorted(start) and start[0] > 0


def test_check_numerics():
    b = Builder()
    x, y, z = b.arg(0, (5,)), b.temp((5,)), b.result(0, (5,))
    b.add("log", (x,), (y,))
    b.add("exp", (y,), (z,))
    program = b.build(1, [(RESULT, 0, F32, (5,))])
    bad = df.constant([1.0, 0.0, -1.0, 2.0, -3.0])
    assert np.isnan(program.run([bad])[0].numpy()[2])
    with pytest.raises(ValueError, match=r"^log: output 0, float32 \(5,\), has 2 NaN and 1 "
                                         r"infinite of 5 elements, the first at flat index 1; of "
                                         r"float32 \(5,\)$"):
        program.run([bad], check_numerics=True)
    assert program.run([ones(5)], check_numerics=True)[0].tolist() == [1] * 5


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_stable():
    program, dynamic = chain(3), positive_program()
    x, i = ones(4), df.constant([0, 5], "int64")
    y = ones(6)
    program.run([x, x])
    dynamic.run([y, i])
    before = df.config.memory_stats()["live"]
    for _ in range(100_000):
        program.run([x, x])
    for _ in range(10_000):
        dynamic.run([y, i])
    assert df.config.memory_stats()["live"] == before


# --- rejected programs and arguments ------------------------------------------------------------

def test_invalid_arguments_raise():
    program = chain(3)
    x = ones(4)
    for args, kind in (([x], TypeError), ([x, None], TypeError), ([x, [1.0] * 4], TypeError),
                       ([x, df.Variable(x)], TypeError), ([x, ones(3)], ValueError)):
        with pytest.raises(kind):
            program.run(args)


def test_unused_argument():
    b = Builder()
    b.add("negative", (b.arg(1, (2,)),), (b.result(0, (2,)),))
    program = b.build(2, [(RESULT, 0, F32, (2,))])
    assert program.run([None, ones(2)])[0].tolist() == [-1, -1]


@pytest.mark.parametrize("results", [
    [], [(RESULT, 0, F32, (3,))], [(RESULT, 1, F32, (4,))],
    [(RESULT, 0, F32, (4,))] * 2, [(ARENA, 0, F32, (4,))],
    [(RESULT, 0, F32, (4,)), (ARG, 1, F32, (4,))],
    [(RESULT, 0, F32, (4,)), (DYNAMIC, 0, F32, (4,))],
    [(RESULT, 0, F32, (4,)), (CONSTANT, 0, F32, (4,))],
])
def test_invalid_results_raise(results):
    b = Builder()
    b.add("negative", (b.arg(0, (4,)),), (b.result(0, (4,)),))
    with pytest.raises(ValueError, match=r"^program"):
        b.build(1, results)


def test_invalid_instruction_raises():
    def on_error(index, exception):
        return ValueError(f"{index}: {exception}")

    b = Builder()
    x = b.arg(0, (4,))
    b.add("negative", (x,), (b.temp((4,)),))
    b.add("negative", (x,), (b.temp((5,)),))
    with pytest.raises(ValueError, match=r"^1: negative: output 0 is float32 \(4,\), the program "
                                         r"declares float32 \(5,\)$"):
        b.build(1, [], on_error)


@pytest.mark.parametrize(("slot", "message"), [
    (SlotSpec(CONSTANT, F32, (3,)), "constant is float32"),
    (SlotSpec(CONSTANT, I64, (4,)), "constant is float32"),
    (SlotSpec(CONSTANT, F32, (4,), 1), "refers to constant 1 of 1"),
    (SlotSpec(CONSTANT, F32, (4,), -1), "refers to constant -1 of 1"),
    (SlotSpec(ARG, F32, (4,), 2), "refers to argument or result 2 of 2"),
    (SlotSpec(RESULT, F32, (4,)), "refers to argument or result 0 of 0"),
    (SlotSpec(5, F32, (4,)), "kind 5"),
    (SlotSpec(ARENA, F32, (4,)), "ends at 16 of an arena of 0"),
    (SlotSpec(ARENA, F32, (None,)), "unknown dimensions"),
    (SlotSpec(ARG, F32, (4,), 0, -4), "offset -4"),
    (SlotSpec(DYNAMIC, F32, (None,), last_use=1), "last used by instruction 1 of 0"),
    (SlotSpec(DYNAMIC, F32, (None,)), "no instruction writes dynamic slot"),
])
def test_invalid_slots_raise(slot, message):
    b = Builder()
    b.constants.append(ones(4))
    b.slots.append(slot)
    with pytest.raises(ValueError, match=f"^program: .*{message}"):
        b.build(2, [])


@pytest.mark.parametrize("value", [None, [1.], df.Variable([1.])])
def test_invalid_constants_and_ops_raise(value):
    b = Builder()
    b.slots.append(SlotSpec(CONSTANT, F32, (1,)))
    b.constants.append(value)
    with pytest.raises(TypeError):
        b.build(0, [])
    b = Builder()
    b.instructions.append(InstructionSpec(value, (), ()))
    with pytest.raises(TypeError):
        b.build(0, [])


def test_workspace_may_overlap_an_operand_read_only_for_its_shape():
    """The planner reuses that memory, since no instruction reads the values."""
    b = Builder()
    g, like, out = b.arg(0, (4, 3)), b.temp((3,)), b.result(0, (3,))
    place = b.slots[like].offset
    b.reserve(1 << 20)
    b.add("unbroadcast", (g, like), (out,), workspace=place)
    program = b.build(1, [(RESULT, 0, F32, (3,))])
    assert program.run([ones(4, 3)])[0].tolist() == [4., 4., 4.]
