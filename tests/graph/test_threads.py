"""Concurrent calls of one traced function return what sequential calls return."""

import threading

import numpy as np
import pytest

import dualflow as df
from tests.ops.harness import threads as pool_of

N_THREADS, N_CALLS = 8, 10_000


def in_threads(work, n_threads=N_THREADS):
    """Run `work(k)` in thread k; raise the exception of the first failing thread."""
    ready, errors = threading.Barrier(n_threads), []

    def go(k):
        ready.wait()
        try:
            work(k)
        except Exception as error:
            errors.append(error)

    started = [threading.Thread(target=go, args=(k,)) for k in range(n_threads)]
    for t in started:
        t.start()
    for t in started:
        t.join(120)
        assert not t.is_alive()
    if errors:
        raise errors[0]


def test_pure_function():
    @df.function
    def f(x, y):
        return df.tanh(x) @ y + 1., df.reduce_sum(x)

    y = df.ones([4, 2])
    xs = [df.fill([3, 4], float(k)) for k in range(N_THREADS)]
    want = [[z.numpy().tobytes() for z in f(x, y)] for x in xs]

    def work(k):
        for _ in range(N_CALLS // N_THREADS):
            got = f(xs[k], y)
            assert [z.numpy().tobytes() for z in got] == want[k]

    in_threads(work)


def test_no_update_is_lost():
    total, last = df.Variable(0, dtype=df.int64), df.Variable(df.zeros([5]))

    @df.function
    def f(x):
        total.assign_add(1)
        last.assign(x)
        return total.value(), last * 1.

    def work(k):
        x = df.fill([5], float(k))
        for _ in range(N_CALLS // N_THREADS):
            _, y = f(x)
            assert len(set(y.numpy().tolist())) == 1

    in_threads(work)
    assert total.numpy() == N_CALLS


@pytest.mark.parametrize("pool", [1, 2])
def test_readers_of_variables_during_large_programs(pool):
    """The programs run without the GIL; a concurrent reader sees only values that were assigned."""
    n = 1 << 17
    v, count = df.Variable(df.zeros([n])), df.Variable(0)

    @df.function
    def step(one):
        v.assign_add(one)
        count.assign_add(1)
        w = df.exp(-v) + df.sqrt(v)
        return df.reduce_max(v) - df.reduce_min(v), w

    done = threading.Event()
    one, seen = df.ones([n]), []

    def work(k):
        if k < 2:
            last = -1.
            while not done.is_set():
                value = v.numpy()
                assert value.min() == value.max() >= last
                last = value[0]
                seen.append(last)
                y = (v * 1.).numpy()
                assert y.min() == y.max()
            return
        for _ in range(20):
            spread, w = step(one)
            assert spread.numpy() == 0.
            values = w.numpy()
            assert values.min() == values.max()
        if count.numpy() == 20 * (N_THREADS - 2):
            done.set()

    with pool_of(pool):
        try:
            in_threads(work)
        finally:
            done.set()
    assert count.numpy() == 20 * (N_THREADS - 2)
    np.testing.assert_array_equal(v.numpy(), np.full(n, 20. * (N_THREADS - 2), "float32"))
    assert seen


def test_eager_assignments_during_programs():
    """An eager assignment waits for a program that writes the variable, and vice versa."""
    n = 1 << 16
    v = df.Variable(df.zeros([n]))
    step = df.function(lambda one: [v.assign_add(one), df.reduce_max(v) - df.reduce_min(v)][1])
    one = df.ones([n])

    def work(k):
        for _ in range(50):
            if k % 2:
                v.assign_add(one)
            else:
                assert step(one).numpy() == 0.

    in_threads(work, 4)
    np.testing.assert_array_equal(v.numpy(), np.full(n, 200., "float32"))


def test_random_numbers_are_not_repeated():
    f = df.function(lambda: df.random.uniform([8]))
    draws, lock = [], threading.Lock()

    def work(k):
        mine = [f().numpy().tobytes() for _ in range(50)]
        with lock:
            draws.extend(mine)

    in_threads(work)
    assert len(set(draws)) == len(draws) == 50 * N_THREADS


def test_concurrent_tracing_and_calls():
    f = df.function(lambda x, word: df.reduce_sum(x) * float(len(word)))

    def work(k):
        for n in range(1, 8):
            for word in ("a", "bb", "ccc"):
                assert f(df.ones([n]), word).numpy() == n * len(word)

    in_threads(work)
    assert len(f._traces) <= 3 * 3


def test_errors_in_one_thread_do_not_affect_others():
    x = df.range(100.)
    f = df.function(lambda i: df.gather(x, i) * 2.)

    def work(k):
        for n in range(100):
            if k % 2:
                with pytest.raises(IndexError):
                    f(df.constant(100 + n))
            else:
                assert f(df.constant(n)).numpy() == 2. * n

    in_threads(work)


def test_variable_stays_locked_during_a_host_call():
    """A short program keeps the GIL, but printing lets other threads run before it ends."""
    v = df.Variable([1.0])
    waited = []

    class Stream:
        def write(self, text):
            if text.strip():
                thread = threading.Thread(target=v.assign, args=([5.0],))
                thread.start()
                thread.join(0.1)
                waited.append(thread)
                alive.append(thread.is_alive())

        def flush(self):
            pass

    alive = []
    stream = Stream()

    @df.function
    def step(x):
        v.assign_add(x)
        df.print("x", x, output_stream=stream)
        v.assign_add(x * 2.0)
        return v.value()

    assert step(df.constant([1.0])).tolist() == [4.0]
    for thread in waited:
        thread.join(10)
    assert alive and all(alive)
    assert v.numpy().tolist() == [5.0]
