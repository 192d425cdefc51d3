"""The code of docs/book/ch14_all_reduce.md, from which docs/ext/book.py writes this file."""

import multiprocessing
import threading

import numpy as np
from ch01_tensors import Tensor
from ch02_tape import GradientTape
from ch03_training import RATE, batches, generate, initial_parameters, loss_of


class Rank:
    """One of several processes; `pipes` leads to each of the others, by index."""

    def __init__(self, index, size, pipes):
        self.index, self.size, self.pipes = index, size, pipes

    def exchange(self, x, to, source):
        """Send an array to one rank while receiving one from another."""
        sender = threading.Thread(target=self.pipes[to].send_bytes, args=(x.tobytes(),))
        sender.start()
        received = np.frombuffer(self.pipes[source].recv_bytes(), np.float32)
        sender.join()
        return received


def run_ranks(size, function, *arguments):
    """Call function(rank, *arguments) in `size` processes; return the results by rank."""
    context = multiprocessing.get_context("fork")
    pipes = {(a, b): context.Pipe() for a in range(size) for b in range(a)}
    results = [context.Pipe(duplex=False) for _ in range(size)]

    def main(index):
        ends = {other: pipes[max(index, other), min(index, other)][index < other]
                for other in range(size) if other != index}
        results[index][1].send(function(Rank(index, size, ends), *arguments))

    processes = [context.Process(target=main, args=(index,)) for index in range(size)]
    for process in processes:
        process.start()
    values = [reader.recv() for reader, _ in results]
    for process in processes:
        process.join()
    return values


def ring_all_reduce(rank, x):
    """Return the sum of the arrays of all ranks."""
    chunks = np.array_split(x, rank.size)
    right, left = (rank.index + 1) % rank.size, (rank.index - 1) % rank.size
    for step in range(2 * (rank.size - 1)):
        mine, theirs = (rank.index - step) % rank.size, (rank.index - step - 1) % rank.size
        received = rank.exchange(chunks[mine], right, left)
        is_sum = step < rank.size - 1
        chunks[theirs] = received + chunks[theirs] if is_sum else received
    return np.concatenate(chunks)


def example(index, n=1000):
    """Return the array of a rank in the examples."""
    return np.random.default_rng(index).normal(size=n).astype(np.float32)


def middle(first, end):
    """Return the border of the two children of a node: the left one has 2^k leaves."""
    return first + (1 << (end - first - 1).bit_length() - 1)


def own_nodes(first, end, mine):
    """Yield the largest nodes whose leaves all belong to a rank, from left to right."""
    if first in mine and end - 1 in mine:
        yield first, end
    elif end - first > 1 and first < mine.stop and mine.start < end:
        split = middle(first, end)
        yield from own_nodes(first, split, mine)
        yield from own_nodes(split, end, mine)


def combine(known, first, end):
    """Return the sum of a node, from the nodes whose sum is known."""
    if (first, end) in known:
        return known[first, end]
    split = middle(first, end)
    return combine(known, first, split) + combine(known, split, end)


def leaves_of(index, size, n_leaves):
    return range(n_leaves * index // size, n_leaves * (index + 1) // size)


def tree_all_reduce(rank, leaves, n_leaves):
    """Return the sum of n_leaves arrays; each rank has the arrays of `leaves_of` its index."""
    mine = leaves_of(rank.index, rank.size, n_leaves)
    known = {(k, k + 1): x for k, x in zip(mine, leaves, strict=True)}
    known = {node: combine(known, *node) for node in own_nodes(0, n_leaves, mine)}
    right, left = (rank.index + 1) % rank.size, (rank.index - 1) % rank.size
    passing, length = np.concatenate(list(known.values())), leaves[0].size
    for step in range(rank.size - 1):                   # pass the nodes around the ring
        passing = rank.exchange(passing, right, left)
        source = leaves_of((rank.index - step - 1) % rank.size, rank.size, n_leaves)
        nodes = own_nodes(0, n_leaves, source)
        known.update(zip(nodes, passing.reshape(-1, length), strict=True))
    return combine(known, 0, n_leaves)


def flat_gradient(x, labels, parameters):
    """Return the gradients of all parameters as one array."""
    with GradientTape() as tape:
        loss = loss_of(x, labels, *parameters)
    return np.concatenate([g.data.reshape(-1) for g in tape.gradient(loss, parameters)])


def train_on(rank, n_steps=5, n_leaves=4, size=20):
    """Train on one rank of several; return the bytes of the parameters."""
    parameters = initial_parameters(56, 16)
    data = batches(*generate(n_steps * size), size, np.random.default_rng(0))
    for x, labels in data:
        parts = [np.split(array.data, n_leaves) for array in (x, labels)]
        leaves = [flat_gradient(Tensor(parts[0][k]), Tensor(parts[1][k]), parameters)
                  for k in leaves_of(rank.index, rank.size, n_leaves)]
        total = tree_all_reduce(rank, leaves, n_leaves) / np.float32(n_leaves)
        for k, p in enumerate(parameters):
            g, total = total[:p.data.size], total[p.data.size:]
            parameters[k] = p - RATE * Tensor(g.reshape(p.shape))
    return b"".join(p.data.tobytes() for p in parameters)


if __name__ == "__main__":
    results = {size: run_ranks(size, train_on) for size in (1, 2, 4)}
    print("bit-identical on 1, 2 and 4 ranks:",
          len({x for values in results.values() for x in values}) == 1)
    rings = {size: run_ranks(size, lambda rank: ring_all_reduce(rank, sum(
        example(k) for k in leaves_of(rank.index, rank.size, 12))))[0].tobytes()
        for size in (2, 3)}
    print("the ring, on 2 and 3 ranks:", "equal" if rings[2] == rings[3] else "different")
