"""The thread pool, by its own counters: work that is shared, the threads that run it, and sharing
of the pool by several callers."""

import os
import threading
import time

import numpy as np
import pytest

import dualflow as df
from dualflow._core import thread_counts


@pytest.fixture(autouse=True)
def two_threads():
    before = df.config.num_threads()
    df.config.set_num_threads(2)
    yield
    df.config.set_num_threads(before)


def counted(call, done, seconds=60):
    """Return the pool's counts while `call` is repeated until `done`; on a loaded machine workers
    start late, and after a long wait callers work alone for a while."""
    before, end = thread_counts(), time.monotonic() + seconds
    while True:
        call()
        found = {k: n - before[k] for k, n in thread_counts().items()}
        if done(found) or time.monotonic() > end:
            return found


def test_products_are_shared_in_programs_as_in_eager_mode():
    a, b = df.random.normal([32, 784], seed=1), df.random.normal([784, 128], seed=2)    # 6.4 MFLOP
    alone = df.function(lambda a, b: a @ b)
    joined = df.function(lambda a, b: df.nn.relu(a @ b + 1.))
    parts = set()
    for call in (lambda: a @ b, lambda: alone(a, b), lambda: joined(a, b)):
        found = counted(call, lambda c: c["by_workers"] > 0)
        assert found["by_workers"] > 0, "the workers took no part"
        assert found["chunks"] % found["jobs"] == 0
        parts.add(found["chunks"] // found["jobs"])
    assert len(parts) == 1 and parts.pop() > 1
    assert (a @ b).numpy().tobytes() == alone(a, b).numpy().tobytes()


def test_small_work_is_not_shared():
    x = df.ones([16])
    f = df.function(lambda x: df.reduce_sum(df.exp(x * x)))
    found = counted(lambda: (f(x), x + x), lambda c: True)
    assert found["jobs"] == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads in /proc")
def test_concurrent_callers_share_the_workers():
    a = df.random.normal([128, 256], seed=3)
    step = df.function(lambda a: df.reduce_sum(df.nn.softmax(df.matmul(a, a, transpose_b=True))))
    want, product = step(a).item(), (df.transpose(a) @ a).numpy()
    counted(lambda: step(a), lambda c: c["jobs"] > 0)           # the workers exist now
    n_before, most, wrong = len(os.listdir("/proc/self/task")), [0], []
    end = time.monotonic() + .5

    def call():
        while time.monotonic() < end:
            if step(a).item() != want or not np.array_equal((df.transpose(a) @ a).numpy(), product):
                wrong.append(threading.get_ident())
            most[0] = max(most[0], len(os.listdir("/proc/self/task")))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and most[0] <= n_before + len(threads)
