"""How branches and loops run: in constant memory, without the GIL, until they are interrupted; and
how reports show them."""

import resource
import signal
import threading
import time

import pytest

import dualflow as df


def counted(body, carried):
    """Return a function of the trip count."""
    return df.function(lambda n: df.while_loop(lambda i, *_: i < n, body, (0, *carried))[1:])


def step(i, v, m):
    v = df.cond(i % 3 == 0, lambda: df.tanh(v @ m), lambda: v * .5 + df.reduce_sum(v))
    return i + 1, v, m


def test_peak_memory_is_independent_of_the_trip_count():
    f = counted(step, (df.ones([1, 64]), df.ones([64, 64])))
    f(df.constant(3))
    peaks = []
    for n in (1, 2_000):
        before = df.memory.stats()["in_use"]
        df.memory.reset_peak()
        f(df.constant(n))
        peaks.append(df.memory.stats()["peak"] - before)
        assert df.memory.stats()["in_use"] == before
    assert peaks[0] == peaks[1]


def test_memory_is_stable(request):
    n = 10_000_000 if request.config.getoption("exhaustive") else 100_000
    f = counted(lambda i, a: (i + 1, df.cond(a > 1e6, lambda: a * .5, lambda: a + 1.)), (0.,))
    f(df.constant(1000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    f(df.constant(n))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048      # KB


def test_ctrl_c_ends_an_endless_loop():
    v = df.Variable(0)
    f = df.function(lambda: df.while_loop(lambda i: i >= 0, lambda i: (v.assign_add(1), i * 1)[1],
                                          [0]))
    main = threading.main_thread().ident
    timer = threading.Timer(.1, lambda: signal.pthread_kill(main, signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f()
    finally:
        timer.cancel()
    assert v.numpy() > 0
    assert v.assign(5).numpy() == 5             # the variable is unlocked


def test_loop_of_unknown_length_releases_the_gil():
    f = counted(lambda i, a: (i + 1, a + 1.), (0.,))
    f(df.constant(1))
    seen, done = [], threading.Event()

    def count():
        while not done.is_set():
            seen.append(time.perf_counter())
            time.sleep(.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        start = time.perf_counter()
        f(df.constant(600_000))
        end = time.perf_counter()
    finally:
        done.set()
        thread.join()
    assert sum([start < t < end for t in seen]) > 3


def test_program_with_loops_runs_in_threads():
    f = counted(step, (df.ones([1, 16]) * .1, df.ones([16, 16]) * .01))
    want = [f(df.constant(n))[0].tolist() for n in range(40)]
    got = [None] * 40

    def run(first):
        for n in range(first, 40, 4):
            got[n] = f(df.constant(n))[0].tolist()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == want


def test_reports_show_bodies(tmp_path):
    f = counted(step, (df.ones([1, 4]), df.ones([4, 4])))
    n = df.constant(6)
    text = f.graph_for(n).text(lines=False)
    assert "body while_loop/body:" in text and "body cond/0:" in text
    assert "while_loop/body" in f.draw(n, path=str(tmp_path / "f.dot"))
    profile = f.profile(n)
    assert {row.inside for row in profile.rows} == {"", "while_loop/body", "cond/0", "cond/1"}
    assert "while_loop/body: cond" in str(profile)
    inside = [row.ns for row in profile.rows if row.inside == "while_loop/body"]
    assert 0 < sum(inside) <= profile.ns
