"""Solutions of the exercises of chapter 6."""

import ch06_memory
import numpy as np
from ch01_tensors import Tensor, transpose
from ch02_tape import Graph
from ch04_tracing import trace
from ch06_memory import (
    Buffer,
    assign_offsets,
    buffers_of,
    by_start,
    largest_first,
    lower,
    lower_bound,
    run_program,
)


def disjoint(buffers):
    """Return True if buffers that are alive at one time do not overlap in memory."""
    return all(not a.overlaps(b) or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
               for k, a in enumerate(buffers) for b in buffers[:k])


def test_exercise_1_random():
    rng = np.random.default_rng(0)
    for _ in range(50):
        starts = rng.integers(0, 30, 20)
        buffers = [Buffer(int(size), int(start), int(start + length)) for size, start, length in
                   zip(rng.integers(1, 500, 20), starts, rng.integers(0, 10, 20), strict=True)]
        for order in (by_start, largest_first):
            size = assign_offsets(buffers, order)
            assert disjoint(buffers)
            assert size >= lower_bound(buffers)


def sizes(*lifetimes):
    """Return the sizes of both plans and the bound; lifetimes are (units, start, end)."""
    buffers = [Buffer(16 * units, start, end) for units, start, end in lifetimes]
    return [n // 16 for n in (assign_offsets(buffers, by_start),
                              assign_offsets(buffers, largest_first), lower_bound(buffers))]


def test_exercise_2_orders():
    """Found by a search over random lifetimes of at most five buffers."""
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(3000):
        n = int(rng.integers(3, 8))
        starts = rng.integers(0, 6, n)
        first, largest, bound = sizes(*[(int(s), int(t), int(t + d)) for s, t, d in zip(
            rng.integers(1, 5, n), starts, rng.integers(0, 4, n), strict=True)])
        kinds.add((largest > first, min(first, largest) > bound))
    assert (True, False) in kinds and (False, True) in kinds
    assert sizes((2, 0, 1), (1, 0, 0), (2, 1, 2)) == [4, 4, 4]


def total(x):
    return x @ Tensor(np.ones((64, 1)))


def one_by_one(x):
    return [total(x * float(k)) for k in range(2, 6)]


def products_first(x):
    return [total(y) for y in [x * float(k) for k in range(2, 6)]]


def test_exercise_3_order():
    """If each product is read before the next one is computed, one product is alive."""
    x = Tensor(np.ones((64, 64)))
    first, second = [lower_bound(set(buffers_of(trace(f, [x])).values()))
                     for f in (one_by_one, products_first)]
    assert first * 2 <= second


def test_exercise_4_transpose():
    """Elements are overwritten before they are read. Python's executor computes a kernel before
    it writes, so only a comparison of addresses notices, or the executor in C of chapter 7."""
    with Graph() as graph:
        x = graph.parameter((3, 3))
        graph.outputs = [transpose(x + x)]
    before = ch06_memory.may_be_in_place
    assert len(set(buffers_of(graph).values())) == 2
    ch06_memory.may_be_in_place = lambda operation, x: True
    try:
        assert len(set(buffers_of(graph).values())) == 1
        data = np.arange(9, dtype=np.float32).reshape(3, 3)
        assert run_program(lower(graph), [data])[0].data.tolist() == (2 * data.T).tolist()
    finally:
        ch06_memory.may_be_in_place = before
