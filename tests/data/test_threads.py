"""Pipeline threads: they do not change results, end with their iterator, and pass errors on."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import dualflow as df

D = df.data.Dataset


def ours():
    return [t for t in threading.enumerate() if t.name.startswith("dualflow.data")]


def settled(n):
    """Return True if the number of pipeline threads becomes `n` within three seconds."""
    for _ in range(300):
        gc.collect()            # tracebacks reference frames
        if len(ours()) == n:
            return True
        time.sleep(.01)
    return False


def slow(x):
    time.sleep(.002 * (x.item() % 3))
    return x * 2


PARALLEL = {
    "map": lambda d: d.map(slow, num_parallel_calls=4),
    "autotune": lambda d: d.map(slow, num_parallel_calls=df.data.AUTOTUNE),
    "prefetch": lambda d: d.map(slow).prefetch(3),
    "both": lambda d: d.map(slow, num_parallel_calls=2).prefetch(df.data.AUTOTUNE),
    "interleave": lambda d: d.map(slow).interleave(lambda x: [x] * 6, num_parallel_calls=2),
    "in between": lambda d: d.map(slow).prefetch(2).batch(2).prefetch(2).unbatch(),
}
PLAIN = {"interleave": lambda d: d.map(slow).interleave(lambda x: [x] * 6)}


@pytest.mark.parametrize("name", PARALLEL)
def test_results_match_one_thread(name):
    source = D.range(20).shuffle(6, seed=3).map(lambda x: x + 1)
    plain = PLAIN.get(name, lambda d: d.map(slow))(source)
    wanted = [[x.item() for x in plain] for _ in range(2)]
    threaded = PARALLEL[name](D.range(20).shuffle(6, seed=3).map(lambda x: x + 1))
    assert [[x.item() for x in threaded] for _ in range(2)] == wanted


@pytest.mark.parametrize("name", PARALLEL)
def test_resumed_from_every_element(name):
    def dataset():
        return PARALLEL[name](D.range(9).shuffle(4, seed=1).map(lambda x: x + 1))

    it = iter(dataset())
    states, wanted = [it.state()], []
    for x in it:
        wanted.append(x.item())
        states.append(it.state())
    for k, state in enumerate(states):
        other = iter(dataset())
        other.restore(json.loads(json.dumps(state)))
        assert [x.item() for x in other] == wanted[k:]


def test_state_is_independent_of_threads():
    """Another number of threads can continue from the state."""
    def dataset(n):
        d = D.range(10).shuffle(10, seed=1).map(slow, num_parallel_calls=n)
        return d.prefetch(2) if n else d

    it = iter(dataset(3))
    first = [next(it).item() for _ in range(4)]
    other = iter(dataset(None))
    other.restore(it.state())
    assert first + [x.item() for x in other] == [x.item() for x in dataset(None).take(-1)]


def test_non_deterministic_map_yields_all_and_resumes():
    def dataset(n):
        return D.range(12).map(slow, num_parallel_calls=n, deterministic=n is None)

    for k in range(12):
        it = iter(dataset(4))
        given = [next(it).item() for _ in range(k)]
        state = json.loads(json.dumps(it.state()))
        for n in (4, None):
            other = iter(dataset(n))
            other.restore(state)
            assert sorted(given + [x.item() for x in other]) == list(range(0, 24, 2))


@pytest.mark.parametrize("name", PARALLEL)
def test_threads_end_with_the_iterator(name):
    assert settled(0)
    it = iter(PARALLEL[name](D.range(10_000)))
    next(it)
    assert ours()
    del it
    assert settled(0)


def test_threads_end_with_the_pass():
    assert len(list(D.range(5).map(slow).prefetch(2))) == 5
    assert settled(0)


def test_prefetch_is_bounded():
    calls = []
    it = iter(D.range(100).map(lambda x: calls.append(0) or x).prefetch(5))
    next(it)
    for _ in range(200):
        if len(calls) == 6:
            break
        time.sleep(.01)
    time.sleep(.02)
    assert len(calls) in (6, 7)             # one may wait for space in the queue


def test_prefetch_of_rows_starts_no_thread():
    it = iter(D.from_tensor_slices(df.ones([50, 3])).shuffle(50).batch(2).prefetch(2))
    next(it)
    assert settled(0)


@pytest.mark.parametrize("name", PARALLEL)
def test_errors_are_raised_in_order(name):
    class Special(Exception):
        pass

    def failing(x):
        if x.item() == 3:
            raise Special("three")
        return x

    it = iter(PARALLEL[name](D.range(6).map(failing)))
    got = []
    with pytest.raises(Special, match="three") as caught:
        for x in it:
            got.append(x.item())
    assert got == {"in between": [0, 2]}.get(name, [0, 2, 4])
    assert any("failing, which" in note and __file__ in note for note in caught.value.__notes__)


def test_fork_continues_the_iteration():
    """The child has no threads of the parent; both yield the remaining elements."""
    it = iter(D.range(8).map(slow, num_parallel_calls=2).prefetch(2))
    got = [next(it).item() for _ in range(3)]
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(20)
        os.write(write, json.dumps([x.item() for x in it]).encode())
        os._exit(0)
    rest = [x.item() for x in it]
    os.waitpid(child, 0)
    assert json.loads(os.read(read, 1000)) == rest
    assert got + rest == list(range(0, 16, 2))


def test_ctrl_c_while_waiting():
    def stuck(x):
        if x.item() == 1:
            gate.wait(20)
        return x

    for build in (lambda d: d.map(stuck).prefetch(2), lambda d: d.map(stuck, 2)):
        gate = threading.Event()
        it = iter(build(D.range(5)))
        next(it)
        main = threading.get_ident()
        threading.Timer(.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(it)
        gate.set()
        del it
        assert settled(0)


def test_concurrent_iterators_are_independent():
    dataset = D.range(30).shuffle(30, seed=1).map(slow, 2).prefetch(2)
    wanted = [[x.item() for x in D.range(30).shuffle(30, seed=1).map(slow)]]
    a, b = iter(dataset), iter(dataset)
    pairs = [(x.item(), y.item()) for x, y in zip(a, b, strict=True)]
    assert [x for x, _ in pairs] == wanted[0]
    assert sorted(y for _, y in pairs) == sorted(wanted[0])


def test_cache_is_filled_once_by_several_threads():
    calls = []
    dataset = D.range(40).map(lambda x: calls.append(x.item()) or x).cache()
    results = []
    threads = [threading.Thread(target=lambda: results.append([x.item() for x in dataset]))
               for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [list(range(40))] * 4 and sorted(calls) == list(range(40))


@pytest.mark.parametrize("build", ["d.map(work).prefetch(3)", "d.map(work, 3)",
                                   "d.interleave(lambda x: d.map(work), num_parallel_calls=2)"])
def test_process_exits_while_threads_work(build):
    """The process waits only for calls in progress, and does not crash."""
    code = f"""
import dualflow as df
d, a = df.data.Dataset.range(10**6), df.ones([300, 300])
def work(x):
    return df.reduce_sum(a @ a) + df.cast(x, df.float32)
it = iter({build})
next(it)
print("done")
"""
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                               timeout=60, check=False)
        assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")
