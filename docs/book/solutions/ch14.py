"""Solutions of the exercises of chapter 14."""

import multiprocessing

import numpy as np
from ch14_all_reduce import (
    Rank,
    example,
    leaves_of,
    own_nodes,
    ring_all_reduce,
    run_ranks,
    tree_all_reduce,
)


class Counting(Rank):
    """Counts the bytes that a rank sends."""

    sent = 0

    def exchange(self, x, to, source):
        self.sent += x.nbytes
        return super().exchange(x, to, source)


def sent_by_ring(rank, n=1200):
    counting = Counting(rank.index, rank.size, rank.pipes)
    ring_all_reduce(counting, example(rank.index, n))
    return counting.sent


def sent_by_tree(rank, n=1200):
    counting = Counting(rank.index, rank.size, rank.pipes)
    mine = leaves_of(rank.index, rank.size, 12)
    tree_all_reduce(counting, [example(k, n) for k in mine], 12)
    return counting.sent


def test_exercise_1_bytes():
    """The tree passes whole nodes around: size - 1 arrays. For large arrays dualflow sends each
    slice of a node to the rank that combines this slice, and then gathers the slices, as the ring
    does."""
    array = 4 * 1200
    for size in (2, 3, 4):
        assert run_ranks(size, sent_by_ring)[0] == 2 * (size - 1) * array // size
    assert run_ranks(2, sent_by_tree)[0] == 2 * array       # nodes of 4 and 2 leaves; or 8 and 4
    assert run_ranks(3, sent_by_tree)[0] == 2 * array
    assert run_ranks(4, sent_by_tree)[0] > 3 * array


def sum_by_tree(rank):
    mine = leaves_of(rank.index, rank.size, 12)
    return tree_all_reduce(rank, [example(k) for k in mine], 12).tobytes()


def test_exercise_2_uneven():
    nodes = [len(list(own_nodes(0, 12, leaves_of(k, 5, 12)))) for k in range(5)]
    assert nodes == [1, 1, 2, 2, 2]
    assert {*run_ranks(5, sum_by_tree)} == {*run_ranks(1, sum_by_tree)}


def sum_by_ring(rank):
    mine = leaves_of(rank.index, rank.size, 12)
    return ring_all_reduce(rank, sum(example(k) for k in mine))


def test_exercise_3_ring():
    two, three = run_ranks(2, sum_by_ring)[0], run_ranks(3, sum_by_ring)[0]
    differs = two != three
    assert 0.1 < differs.mean() < 0.9
    units = np.abs(two - three)[differs] / np.spacing(np.abs(two[differs]))
    assert 0.5 < np.median(units) < 3


def sends_first(connection, n):
    """Send n bytes, then receive as many."""
    connection.send_bytes(bytes(n))
    connection.recv_bytes()


def test_exercise_4_deadlock():
    """A pipe stores what fits in the buffers of the system; a larger message waits for a reader."""
    context = multiprocessing.get_context("fork")
    finished = {}
    for n in (1000, 10_000_000):
        ends = context.Pipe()
        ranks = [context.Process(target=sends_first, args=(end, n)) for end in ends]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(timeout=5 if n == 1000 else 0.2)
        finished[n] = [rank.exitcode == 0 for rank in ranks]
        for rank in ranks:
            rank.kill()
            rank.join()
    assert finished == {1000: [True, True], 10_000_000: [False, False]}
