"""`df.memory`: bytes in use, by thread, at the peak, and cached."""

import os
import threading

import numpy as np
import pytest

import dualflow as df

MB = 1 << 20

pytestmark = pytest.mark.usefixtures("no_garbage")


def test_in_use_and_peak():
    before = df.memory.stats()["in_use"]
    df.memory.reset_peak()
    x = df.zeros([MB // 4])
    y = df.zeros([MB // 4])
    assert df.memory.stats()["in_use"] - before == 2 * MB
    del y
    found = df.memory.stats()
    assert found["in_use"] - before == MB and 0 <= found["peak"] - before - 2 * MB < 4096
    df.memory.reset_peak()
    assert df.memory.stats()["peak"] == df.memory.stats()["in_use"]
    del x


def test_trim_empties_the_cache():
    x = df.zeros([MB])
    del x
    df.memory.trim()
    assert df.memory.stats()["cached"] == 0


@pytest.mark.parametrize("n", [1, 1000, 16384, MB])
def test_freed_buffers_are_cached(n):
    df.memory.trim()
    x = df.zeros([n])
    del x
    cached = df.memory.stats()["cached"]
    assert cached >= 4 * n
    x = df.zeros([n])
    assert df.memory.stats()["cached"] <= cached - 4 * n
    del x


def test_small_buffers_do_not_fill_the_cache():
    df.memory.trim()
    xs = [df.zeros([16384]) for _ in range(200)]        # 64 KiB each, 12.5 MiB in all
    del xs
    assert 7 * MB < df.memory.stats()["cached"] <= 8 * MB + 4096


def test_memory_is_counted_by_allocating_thread():
    kept = []

    def work():
        kept.append((threading.get_native_id(), df.zeros([MB // 4])))

    own = threading.get_native_id()
    df.zeros([1])
    before = df.memory.stats()["by_thread"][own]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    other = kept[0][0]
    found = df.memory.stats()["by_thread"]
    assert found[other] == MB and found[own] == before
    assert sum(found.values()) == df.memory.stats()["in_use"]
    kept.clear()                    # freed by this thread, but subtracted from the other's count
    found = df.memory.stats()["by_thread"]
    assert found.get(other, 0) == 0 and found[own] == before


def test_more_threads_than_counters():
    barrier = threading.Barrier(100)
    kept = []

    def work():
        x = df.zeros([1000])
        barrier.wait()
        kept.append(x)

    for _ in range(2):              # counters of ended threads are reused
        threads = [threading.Thread(target=work) for _ in range(100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        found = df.memory.stats()
        assert found["by_thread"][0] > 0
        assert sum(found["by_thread"].values()) == found["in_use"]
        kept.clear()
        assert sum(df.memory.stats()["by_thread"].values()) == df.memory.stats()["in_use"]


def test_stats_after_a_fork():
    x = df.zeros([MB // 4])
    child = os.fork()
    if child == 0:
        y = df.zeros([MB // 4])
        found = df.memory.stats()
        good = (found["by_thread"].get(threading.get_native_id(), 0) >= 2 * MB
                and sum(found["by_thread"].values()) == found["in_use"])
        del y
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    del x


def test_results_larger_than_cpu_caches():
    before = df.config.num_threads()
    n = (32 << 20) // 4 + 1029                  # float32 beyond 32 MiB, with a tail
    a = np.arange(n, dtype=np.float32) % 1000 - 500
    row = np.arange(7, dtype=np.float32)
    x = df.constant(a)
    same = df.function(lambda x, y: x * y - x, passes=False)
    try:
        for threads in (1, 3):
            df.config.set_num_threads(threads)
            np.testing.assert_array_equal((x + x).numpy(), a + a)
            np.testing.assert_array_equal((2. - x).numpy(), 2 - a)
            np.testing.assert_array_equal(df.cast(x, df.float64).numpy(), a.astype(np.float64))
            np.testing.assert_array_equal(same(x, x).numpy(), a * a - a)
            m = x[:n // 7 * 7]
            np.testing.assert_array_equal((df.reshape(m, [-1, 7]) * row).numpy(),
                                          a[:n // 7 * 7].reshape(-1, 7) * row)
    finally:
        df.config.set_num_threads(before)
