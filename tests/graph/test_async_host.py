"""Asynchronous operations: they read and write the program's memory until a wait completes them."""

import gc
import signal
import threading

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.control_flow.async_host import async_host_call


class Doubling:
    """Writes twice its inputs to its outputs, in a thread that starts once `gate` is set."""

    def __init__(self, gate=None, fails=None):
        self.gate, self.fails = gate, fails
        self.threads, self.seen = [], []

    def __call__(self, reads, fills):
        if self.fails == "start":
            raise OSError("not started")
        return Job(self, reads, fills)

    def join(self):
        for thread in self.threads:
            thread.join()


class Job:
    def __init__(self, owner, reads, fills):
        self.owner, self.error = owner, None
        self.thread = threading.Thread(target=self.work, args=(reads, fills))
        owner.threads.append(self.thread)
        self.thread.start()

    def work(self, reads, fills):
        if self.owner.gate is not None:
            self.owner.gate.wait(30)
        if self.owner.fails == "work":
            self.error = OSError("rank 1 is gone")
            return
        for (dtype, shape, x), (_, _, y) in zip(reads, fills, strict=True):
            assert x.readonly and not y.readonly and len(x) == len(y)
            given = np.frombuffer(x, dtype.as_numpy_dtype).reshape(shape)
            self.owner.seen.append(given.copy())
            with np.errstate(over="ignore"):
                y[:] = (given * 2).astype(given.dtype).tobytes()

    def result(self):
        if self.owner.fails == "interrupt":
            signal.raise_signal(signal.SIGINT)
        self.thread.join()
        if self.error is not None:
            raise self.error


def doubled(start, *xs):
    return async_host_call("doubling", start, xs, [(x.dtype, tuple(x.shape)) for x in xs])


def values(n=3000, shift=0.):
    return df.constant(np.arange(n, dtype="float32") + np.float32(shift))


@pytest.mark.parametrize("options", [{}, {"passes": False}])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_async_results_match_eager(options, n):
    @df.function(**options)
    def f(x, k):
        y = x + 1.
        wait = doubled(Doubling(), y, k)
        other = df.exp(-x) * 2.
        a, b = wait()
        return a * 2., b, other + a, y

    for turn in range(3):
        x, k = values(n, turn), df.constant([[turn, 7]])
        a, b, c, y = f(x, k)
        assert a.tolist() == ((x + 1.) * 4.).tolist() and b.tolist() == [[2 * turn, 14]]
        assert c.tolist() == (df.exp(-x) * 2. + (x + 1.) * 2.).tolist()
        assert y.tolist() == (x + 1.).tolist()


def test_async_operands_are_not_copied():
    """A start reads its operands in the program's memory, and its outputs are returned without a
    copy."""
    f = df.function(lambda x: doubled(Doubling(), df.exp(x))())
    spec = f.compiled_for(values()).spec
    assert [i.op.name for i in spec.instructions[1:]] == ["host_start", "host_wait"]
    start, wait = spec.instructions[1:]
    assert start.inputs == spec.instructions[0].outputs
    filled, given = spec.slots[start.outputs[1]], spec.slots[wait.outputs[0]]
    assert filled == given and filled.kind.name == "RESULT"


def test_async_reads_of_variables_complete_before_the_update():
    """A wait on the reader of a variable's version precedes the overwriting update."""
    v = df.Variable(np.arange(3000, dtype="float32"))

    @df.function
    def f():
        wait = doubled(Doubling(), v.value())
        y, = wait()
        v.assign_add(df.ones([3000]))
        return y + 1.

    for turn in range(4):
        before = v.numpy().copy()
        assert f().tolist() == (before * 2 + 1).tolist()
        assert v.numpy()[0] == turn + 1


def test_async_operations_in_loops_and_branches():
    @df.function
    def f(x, n, flag):
        def body(k, x):
            y, = doubled(Doubling(), x + 1.)()
            return k + 1, df.cond(flag, lambda: doubled(Doubling(), y)()[0], lambda: y - 1.)

        return df.while_loop(lambda k, x: k < n, body, (0, x))[1]

    x = values(100)
    for flag in (True, False):
        want = x
        for _ in range(3):
            want = (want + 1.) * 2.
            want = want * 2. if flag else want - 1.
        assert f(x, df.constant(3), df.constant(flag)).tolist() == want.tolist()


def test_numerics_are_checked_after_the_wait():
    df.debugging.enable_check_numerics()
    try:
        f = df.function(lambda x: doubled(Doubling(), x + 1.)()[0] + 1.)
        assert f(values()).tolist() == (values() * 2. + 3.).tolist()
        with pytest.raises(df.errors.InvalidArgumentError, match="infinite"):
            f(values() + df.constant(3e38, df.float32))
    finally:
        df.debugging.disable_check_numerics()


# --- failures -------------------------------------------------------------------------------------

def test_errors_of_start_and_work_are_raised():
    for where, line in (("start", "not started"), ("work", "rank 1 is gone")):
        start = Doubling(fails=where)
        f = df.function(lambda x, start=start: doubled(start, x + 1.)()[0])
        for _ in range(3):
            with pytest.raises(OSError, match=line):
                f(values())
        start.fails = None
        assert f(values()).tolist() == ((values() + 1.) * 2.).tolist()


def failing(start, in_loop):
    """Divide by a value that may be 0, between start and wait."""
    def part(x, k):
        wait = doubled(start, x + 1.)
        share = df.constant([12, 24]) // k
        return wait()[0] + df.cast(share[0], df.float32)

    def f(x, k):
        if not in_loop:
            return part(x, k)
        rows = df.boolean_mask(x, x >= 0.)              # makes sizes data-dependent
        def body(n, x, rows):
            return n + 1, part(x, k) + rows[0], df.concat([rows, rows], 0)

        return df.while_loop(lambda n, *_: n < 2, body, (0, x, rows),
                             shape_invariants=[(), x.shape, (None,)])[1]

    return df.function(f)


@pytest.mark.parametrize("in_loop", [False, True])
def test_failed_run_keeps_memory_of_outstanding_operations(in_loop):
    """The failing run does not wait; the operation continues in memory that is not reused."""
    gate = threading.Event()
    start = Doubling(gate)
    f = failing(start, in_loop)
    for turn in range(6):
        with pytest.raises(df.errors.InvalidArgumentError, match="divi"):
            f(values(shift=turn), df.constant(0))
    for turn in range(6):       # other runs use as much memory
        assert df.reduce_sum(values(shift=turn) * 3. + 1.).item() > 0
        with pytest.raises(df.errors.InvalidArgumentError, match="divi"):
            f(values(shift=turn), df.constant(0))
    gate.set()
    start.join()
    want = sorted([turn + 1. for turn in range(6)] * 2)
    assert sorted(x[0] for x in start.seen) == want
    for x in start.seen:
        np.testing.assert_array_equal(x, np.arange(3000, dtype="float32") + x[0])
    if not in_loop:
        assert f(values(), df.constant(4)).tolist() == ((values() + 1.) * 2. + 3.).tolist()


def test_memory_of_outstanding_operations_is_freed_on_completion():
    def run(n):
        for _ in range(n):
            gate = threading.Event()
            start.gate = gate
            with pytest.raises(df.errors.InvalidArgumentError):
                f(x, df.constant(0))
            gate.set()
            start.join()
            start.threads.clear()
            start.seen.clear()
        gc.collect()
        return df.config.memory_stats()["live"]

    x = values(100_000)
    start = Doubling()
    f = failing(start, False)
    assert run(3) == run(9)


def test_interrupt_during_a_wait():
    gate = threading.Event()
    start = Doubling(gate, fails="interrupt")
    f = df.function(lambda x: doubled(start, x + 1.)()[0])
    with pytest.raises(KeyboardInterrupt):
        f(values(shift=5.))
    start.fails = None
    gate.set()
    start.join()
    assert start.seen[0][0] == 6.
    assert f(values()).tolist() == ((values() + 1.) * 2.).tolist()


def test_variables_read_by_outstanding_operations():
    """A variable that an outstanding operation reads is not overwritten: it gets new memory."""
    v = df.Variable(np.arange(3000, dtype="float32"))
    gate = threading.Event()
    start = Doubling(gate)

    @df.function
    def f(k):
        wait = doubled(start, v.value())
        share = df.constant([12]) // k
        return wait()[0] + df.cast(share, df.float32)

    with pytest.raises(df.errors.InvalidArgumentError):
        f(df.constant(0))
    v.assign_add(df.ones([3000]))
    v.assign_add(df.ones([3000]))
    gate.set()
    start.join()
    np.testing.assert_array_equal(start.seen[0], np.arange(3000))
    assert f(df.constant(4))[0].item() == 2. * 2. + 3.


def test_async_operations_in_many_threads():
    start = Doubling()
    f = failing(start, False)
    wrong = []

    def work(seed):
        for turn in range(20):
            x = values(shift=seed + turn)
            if turn % 3 == 2:
                with pytest.raises(df.errors.InvalidArgumentError):
                    f(x, df.constant(0))
            elif f(x, df.constant(4)).numpy().tobytes() != ((x + 1.) * 2. + 3.).numpy().tobytes():
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    start.join()
    assert not wrong


# --- unsupported --------------------------------------------------------------------------------

def test_data_dependent_sizes_raise():
    f = df.function(lambda x: doubled(Doubling(), df.boolean_mask(x, x > 3.))())
    with pytest.raises(df.errors.InvalidArgumentError, match="host_start, must be static"):
        f(values(10))


def test_async_operations_cannot_be_saved_or_exported(tmp_path):
    f = df.function(lambda x: doubled(Doubling(), x + 1.)()[0])
    f(values(10))
    concrete = f.get_concrete_function(values(10))
    for leave in (lambda: df.export(tmp_path / "f", {"f": concrete}),
                  lambda: df.save_program(concrete, tmp_path / "f.df")):
        with pytest.raises(df.errors.UnimplementedError, match="calls Python: start_doubling at"):
            leave()


@pytest.mark.parametrize("passes", [False, True])
def test_operands_are_joined_before_the_wait(passes):
    """The join does not write an operand in its memory that a thread still reads."""
    start = Doubling()

    @df.function(passes=passes)
    def f(x):
        a, b = df.exp(x), df.tanh(x)
        wait = doubled(start, a)
        total = df.reduce_sum(df.stack([a, b]), 0)
        return total, wait()[0], b * 2.

    x = df.sin(values(64))
    whole, twice, b = f(x)
    np.testing.assert_array_equal(whole, df.exp(x) + df.tanh(x))
    np.testing.assert_array_equal(twice, df.exp(x) * 2.)
    np.testing.assert_array_equal(b, df.tanh(x) * 2.)
