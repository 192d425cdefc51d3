"""Memory that functions retain between calls: one arena per concurrent call, not per shape, each of
the size of the largest plan. `trim_memory` frees them."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow import config

pytestmark = pytest.mark.usefixtures("no_garbage")

ROW = df.constant(np.linspace(-1., 1., 10_000).astype("float32"))
SIZES = range(1, 51)
OWN = 16 << 10                  # arenas up to this size stay with their plan


def wide(x):
    """Use little memory outside, and 40 kB for each element of `x` inside, twice."""
    y = df.cumsum(df.tanh(x[:, None] * ROW))
    return df.reduce_sum(df.cumsum(y, axis=1) * y)


def held():
    stats = config.memory_stats()
    return stats["live"], stats["live"] + stats["cached"]


def arguments():
    return [df.constant(np.linspace(0., 1., n).astype("float32")) for n in SIZES]


def largest(f):
    return max(c.plan.arena_bytes for concrete in f._traces for c in concrete._plans.values())


@pytest.fixture(autouse=True)
def trimmed():
    config.trim_memory()


def test_one_arena_for_all_shapes():
    f, args = df.function(wide), arguments()
    before = held()
    for x in args * 2:
        f(x)
    live, total = held()
    slack = 64 * OWN
    assert largest(f) > 50 * 40_000
    assert live - before[0] < slack
    assert total - before[1] < 1.25 * largest(f) + slack
    if total > live:                # the address sanitizer disables the cache
        assert total - before[1] >= largest(f)
    config.trim_memory()
    assert held()[1] - before[1] < slack
    f(args[0])


def test_many_plans_share_an_arena():
    f = df.function(wide, input_signature=[df.TensorSpec([None])])
    before = held()
    for n in range(300):
        f(df.zeros([n % 280]))
    assert held()[1] - before[1] < 1.25 * largest(f) + 256 * OWN


def test_functions_methods_and_concrete_functions_share_arenas():
    class Layer:
        @df.function
        def call(self, x):
            return wide(x)

    layers, args = [Layer() for _ in range(5)], arguments()[::7]
    plain = [df.function(wide) for _ in range(5)]
    one = df.function(wide)
    largest_of_all = one.compiled_for(args[-1]).plan.arena_bytes
    before = held()
    for x in args:
        for f in [*plain, *[layer.call for layer in layers], one.get_concrete_function(x)]:
            f(x)
    assert held()[1] - before[1] < 1.25 * largest_of_all + 100 * OWN


def test_backward_programs_share_arenas():
    f, args = df.function(wide), arguments()
    before = held()[0]
    for x in args:
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
    del tape, y
    assert held()[0] - before < 2 * 64 * OWN
    config.trim_memory()
    assert held()[1] - before < 2 * 64 * OWN


def test_concurrent_calls_use_separate_arenas():
    f, args = df.function(wide), arguments()
    want = [f(x).item() for x in args]
    config.trim_memory()
    before, wrong = held(), []

    def work(seed):
        for k in np.random.default_rng(seed).permutation(len(args)):
            if f(args[k]).item() != want[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert held()[1] - before[1] < 4 * 1.25 * largest(f) + 64 * 4 * OWN
    config.trim_memory()
    assert held()[1] - before[1] < 64 * 4 * OWN


def test_nested_calls_use_separate_arenas():
    """A host call during a program runs another program, which must use another arena."""
    f, inner, seen = df.function(wide), df.function(wide), []

    class Stream:
        def write(self, text):
            seen.append(inner(x).item())

        def flush(self):
            pass

    @df.function
    def outer(x):
        y = df.cumsum(df.tanh(x[:, None] * ROW))
        df.print("now", output_stream=stream)
        return df.reduce_sum(df.cumsum(y, axis=1) * y)

    stream, x = Stream(), arguments()[-1]
    assert outer(x).item() == f(x).item() == wide(x).item()
    assert seen and set(seen) == {f(x).item()}


def test_at_most_one_large_arena_is_kept():
    f = df.function(lambda x: df.reduce_sum(df.cumsum(df.cumsum(x[:, None] * ROW), axis=1)))
    x = df.zeros([1000])
    before = held()
    f(x)
    assert largest(f) > 64 << 20
    threads = [threading.Thread(target=f, args=(x,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert held()[1] - before[1] < 1.25 * largest(f) + OWN
