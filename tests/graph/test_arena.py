"""Arena offsets: random live ranges never overlap, little memory is wasted, time is linear."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dualflow.graph.program import arena
from dualflow.graph.program.arena import (
    ALIGNMENT,
    Block,
    assign_offsets,
    by_birth,
    largest_first,
    lower_bound,
)

lifetimes = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 40), st.integers(0, 12)),
                     max_size=60)


def blocks_of(given_):
    return [Block(size, start, start + length) for size, start, length in given_]


def check(blocks, total):
    for i, a in enumerate(blocks):
        assert a.offset % ALIGNMENT == 0 and a.size % ALIGNMENT == 0
        assert a.offset >= 0 and a.offset + a.size <= total
        for b in blocks[:i]:
            together = a.start <= b.end and b.start <= a.end
            assert not together or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


@settings(max_examples=300)
@given(lifetimes)
def test_live_blocks_do_not_overlap(given_):
    blocks = blocks_of(given_)
    total = assign_offsets(blocks)
    check(blocks, total)
    assert total >= lower_bound(blocks)


@pytest.mark.parametrize("way", [by_birth, largest_first])
@settings(max_examples=150)
@given(given_=lifetimes)
def test_each_strategy_alone(way, given_):
    blocks = blocks_of(given_)
    for b in blocks:
        b.size = -(-b.size // ALIGNMENT) * ALIGNMENT
    check(blocks, way(blocks))


def test_size_is_close_to_the_lower_bound():
    """Live ranges are as in a network: values of the forward pass die in reverse order."""
    rng = np.random.default_rng(0)
    worst = 0.
    for _ in range(50):
        n = int(rng.integers(3, 40))
        blocks = [Block(int(rng.integers(1, 100)) * 64, k, 2 * n - k) for k in range(n)]
        blocks += [Block(int(rng.integers(1, 100)) * 64, k, k + 1) for k in range(2 * n)]
        worst = max(worst, assign_offsets(blocks) / lower_bound(blocks))
    assert worst < 1.1


@pytest.mark.parametrize("given_, total", [
    ([], 0),
    ([(1, 0, 0)], 64),
    ([(0, 0, 5), (64, 0, 5)], 64),
    ([(64, 0, 1), (64, 2, 1), (64, 4, 1)], 64),          # one after the other
    ([(64, 0, 1), (64, 1, 1)], 128),                     # at time 1 one is read, the other written
    ([(64, 0, 9), (128, 1, 1), (128, 3, 1)], 192),
])
def test_small_examples_are_optimal(given_, total):
    blocks = blocks_of(given_)
    assert assign_offsets(blocks) == total == lower_bound(blocks)


def test_sizes_beyond_64_bits():
    blocks = [Block(10**24, 0, 1), Block(10**24, 1, 2)]
    assert assign_offsets(blocks) >= 2 * 10**24


def test_many_blocks():
    """There are as many blocks as in a chain of 100,000 ops; the quadratic check is omitted."""
    n = 100_000
    assert n > arena.LARGEST_FIRST_MAX
    blocks = [Block(64, k, k + 1) for k in range(n)]
    assert assign_offsets(blocks) == 128
    blocks = [Block(64, k, 2 * n - k) for k in range(n)]
    assert assign_offsets(blocks) == 64 * n
