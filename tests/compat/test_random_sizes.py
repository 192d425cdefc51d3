"""Random programs whose sizes are fed, computed from fed values, or the sizes of fed tensors: a
graph built once gives the bits of eager mode for all of them."""

import math
import random

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

ATOMS = ("n", "m", "rows", "k")


class Program:
    """A random chain of ops on a tensor. Each size is a product of symbols and constants, so that
    the chain is valid for any values of the symbols."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.shape = [None, *[draw.choice((1, 2, 3)) for _ in range(draw.randrange(3))]]
        self.sizes = [("rows",), *[(size,) for size in self.shape[1:]]]
        self.steps = [draw.choice([self.reshape, self.transpose, self.tile, self.add, self.total,
                                   self.expand, self.product, self.curve, self.order,
                                   self.segments, self.scatter, self.special])()
                      for _ in range(draw.randrange(2, 7))]

    def given(self, sizes):
        """Append an op that creates a tensor of sizes given as numbers."""
        sizes = list(sizes)
        return lambda at: [at.size(s) for s in sizes]

    def reshape(self):
        factors = [f for size in self.sizes for f in size]
        self.draw.shuffle(factors)
        groups = [[] for _ in range(self.draw.randrange(1, 4))]
        for factor in factors:
            self.draw.choice(groups).append(factor)
        self.sizes = [tuple(group) for group in groups]
        sizes, left_out = self.given(self.sizes), self.draw.randrange(2 * len(groups))
        return lambda at, x: df.reshape(x, [-1 if d == left_out else n
                                            for d, n in enumerate(sizes(at))])

    def transpose(self):
        axes = list(range(len(self.sizes)))
        self.draw.shuffle(axes)
        self.sizes = [self.sizes[d] for d in axes]
        return lambda at, x: df.transpose(x, axes)

    def tile(self):
        by = [self.draw.choice([(), (), (self.draw.choice(ATOMS),)]) for _ in self.sizes]
        self.sizes = [a + b for a, b in zip(self.sizes, by, strict=True)]
        by = self.given(by)
        return lambda at, x: df.tile(x, by(at))

    def add(self):
        sizes = self.given([self.draw.choice([(), size]) for size in self.sizes])
        f = self.draw.choice([df.add, df.multiply])
        return lambda at, x: f(x, df.fill(sizes(at), 0.5))

    def total(self):
        axis, keep = self.draw.randrange(len(self.sizes) or 1), self.draw.random() < 0.5
        if len(self.sizes) < 2:
            return lambda at, x: x
        self.sizes[axis:axis + 1] = [()] if keep else []
        return lambda at, x: df.reduce_sum(x, axis, keepdims=keep)

    def expand(self):
        axis = self.draw.randrange(len(self.sizes) + 1)
        self.sizes.insert(axis, ())
        return lambda at, x: df.expand_dims(x, axis)

    def product(self):
        if len(self.sizes) < 2:
            return lambda at, x: x
        inner, self.sizes[-1] = self.sizes[-1], (self.draw.choice(ATOMS),)
        sizes = self.given([inner, self.sizes[-1]])
        return lambda at, x: df.matmul(x, df.fill(sizes(at), 0.25))

    def curve(self):
        f = self.draw.choice([df.tanh, df.nn.softmax, df.abs, lambda x: df.cumsum(x, 0)])
        return lambda at, x: f(x)

    def order(self):
        f = self.draw.choice([df.sort, lambda x: df.reverse(x, [0]), lambda x: df.roll(x, 1, 0),
                              lambda x: df.gather(x, df.argsort(df.reduce_sum(
                                  x, list(range(1, len(x.shape))))))])
        return lambda at, x: f(x) if len(x.shape) else x

    def segments(self):
        """Append a segment sum with as many segments as rows; each adds every second row."""
        if not self.sizes:
            return lambda at, x: x
        f = self.draw.choice([df.math.unsorted_segment_sum, df.math.unsorted_segment_mean])

        def step(at, x):
            n = df.shape(x)[0]
            return f(x, df.range(n) // 2, n)
        return step

    def scatter(self):
        if not self.sizes:
            return lambda at, x: x
        f = self.draw.choice([df.tensor_scatter_nd_add, df.tensor_scatter_nd_max,
                              df.tensor_scatter_nd_update])
        return lambda at, x: f(x, [[0]], x[-1:] * 0.5)

    def special(self):
        f = self.draw.choice([
            lambda x, y: df.math.igamma(y, y), lambda x, y: df.math.betainc(1.5, 2.5, df.tanh(y)),
            lambda x, y: df.math.zeta(2.5, df.stop_gradient(y)) * x,
            lambda x, y: df.math.erfinv(df.tanh(x)), lambda x, y: df.math.cumprod(y, -1)])
        return lambda at, x: f(x, df.abs(x) + 0.5) if len(x.shape) else x

    def __call__(self, at):
        x = at.x
        for step in self.steps:
            x = step(at, x)
        return x


class Sizes:
    """The size symbols in graph or eager mode."""

    def __init__(self, x, atoms):
        self.x, self.atoms = x, atoms

    def size(self, factors):
        return math.prod([self.atoms.get(f, f) for f in factors])


def eager(program, x, n, m):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = program(Sizes(x, {"n": n, "m": m, "k": max(n, m), "rows": x.shape[0]}))
        loss = df.reduce_sum(y * y)
    return y, tape.gradient(loss, x)


@pytest.mark.parametrize("seed", range(150))
def test_sizes_in_random_programs(session, seed):
    program = Program(seed)
    n, m = tf.placeholder(tf.int32, []), tf.placeholder_with_default(3, [])
    x = tf.placeholder(tf.float32, program.shape)
    y = program(Sizes(x, {"n": n, "m": m, "k": tf.reduce_max(tf.stack([n, m])),
                          "rows": tf.shape(x)[0]}))
    gradient = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(y * y), x)[0])  # IndexedSlices
    for rows, a, b in ((2, 3, 3), (3, 2, 4), (1, 1, 1), (4, 4, 2)):
        numbers = np.random.default_rng(seed).random((rows, *program.shape[1:]), np.float32) - 0.5
        feeds = {x: numbers, n: a} if b == 3 else {x: numbers, n: a, m: b}
        got = session.run([y, gradient], feeds)
        for found, wanted in zip(got, eager(program, df.constant(numbers), a, b), strict=True):
            np.testing.assert_array_equal(found, wanted)
