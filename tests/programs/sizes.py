"""Random programs in which traced integers are sizes, bounds, depths, axes, shifts and repeats.

A program is a chain of ops on matrices with integers drawn among the arguments `n`, `m` and values
computed from them, in straight code, branches and loops. Eager mode, graph mode and graph mode
without passes must give equal bits or reject the same integers. Gradients may differ by rounding: a
branch or a loop is one term of a sum, whereas eager mode adds its parts one by one.
"""

import numpy as np

import dualflow as df
from tests import sampling

SMALL = 7               # maximum rows and columns; ops are followed by slices


class Writer:
    """The steps of a program, each a function (x, numbers) -> tensor of rank 2."""

    def __init__(self, rng):
        self.rng = rng
        self.steps = [self.step(0) for _ in range(int(rng.integers(2, 6)))]

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def number(self):
        """Return an integer known at run time: an argument or an expression, mostly from 0 to 4."""
        k = int(self.rng.integers(1, 4))
        return self.pick([
            lambda n, m: n, lambda n, m: m, lambda n, m: n - m + k, lambda n, m: n * k - m,
            lambda n, m: df.minimum(n, m) + 1, lambda n, m: df.maximum(n - k, 0),
            lambda n, m: max(n, m), lambda n, m: abs(n - m), lambda n, m: df.cast(n, df.int64),
            lambda n, m: n % k + 1, lambda n, m: int(df.cast(n, df.float32) * 0.7) + 1])

    def axis(self):
        return self.pick([lambda n, m: n % 2, lambda n, m: m % 2 - 2, lambda n, m: -1 - n % 2])

    def step(self, depth):
        a, b, c, axis = self.number(), self.number(), self.number(), self.axis()
        known = int(self.rng.integers(1, 4))

        def chosen(x, n, m):
            y = x[:a(n, m)]
            if y.shape[0] > known and y.shape[1] != known:
                return y * 0.5
            return y + 1.0 if y.shape[0] else x

        def rounds(x, n, m):
            y, total = x[:, a(n, m):], df.reduce_sum(x[:1]) * 0.0
            for i in range(y.shape[1]):
                total = total * 0.5 + df.reduce_sum(y[:, i])
            return x * df.tanh(total)

        plain = {
            "chosen": chosen, "rounds": rounds,
            "head": lambda x, *s: x[:a(*s)],
            "tail": lambda x, *s: x[-a(*s):],
            "columns": lambda x, *s: x[:, a(*s):][..., ::b(*s)],
            "back": lambda x, *s: x[a(*s)::-1, :b(*s)],
            "steps": lambda x, *s: x[::a(*s)],
            "block": lambda x, *s: df.slice(x, [a(*s) % 2, 0], [b(*s) % 3, -1]),
            "fixed block": lambda x, *s: df.slice(x, [0, a(*s)], [-1, known]),
            "tile": lambda x, *s: df.tile(x, [a(*s), known]),
            "pad": lambda x, *s: df.pad(x, [[a(*s), known], [0, b(*s)]]),
            "mirrored": lambda x, *s: df.pad(x, [[a(*s) % 2, 0], [0, b(*s) % 2]], "SYMMETRIC"),
            "roll": lambda x, *s: df.roll(x, a(*s), axis(*s)),
            "repeat": lambda x, *s: df.repeat(x, a(*s), axis=0),
            "reverse": lambda x, *s: df.reverse(x, [axis(*s)]),
            "cumsum": lambda x, *s: df.cumsum(x, axis(*s)),
            "softmax": lambda x, *s: df.nn.softmax(x, axis(*s)),
            "sum": lambda x, *s: df.reduce_sum(x, axis(*s), keepdims=True) * 0.5,
            "largest": lambda x, *s: df.expand_dims(df.reduce_max(x, axis(*s)), axis(*s)),
            "sort": lambda x, *s: df.sort(x, axis(*s)),
            "flat": lambda x, *s: df.reshape(df.tile(x, [a(*s), 1]), [a(*s), -1]),
            "zeros": lambda x, *s: df.concat([x, df.zeros([a(*s), df.shape(x)[1]], x.dtype)], 0),
            "filled": lambda x, *s: x * df.fill([a(*s), 1, 1], 0.5)[:, 0, 0][:1],
            "broadcast": lambda x, *s: df.broadcast_to(x[:1], [a(*s), df.shape(x)[1]]),
            "one_hot": lambda x, *s: df.matmul(df.one_hot(df.range(a(*s)), df.shape(x)[0],
                                                          dtype=x.dtype), x),
            "range": lambda x, *s: x[:, :1] * df.cast(df.range(a(*s), a(*s) + known), x.dtype),
            "split": lambda x, *s: df.concat(df.split(x, [a(*s), -1])[::-1], 0),
            "top": lambda x, *s: df.math.top_k(x, a(*s))[0],
            "segments": lambda x, *s: df.math.unsorted_segment_sum(
                x, df.range(df.shape(x)[0]) % known, a(*s) + 1),
            "band": lambda x, *s: df.linalg.band_part(x, a(*s), b(*s)),
            "transposed": lambda x, *s: df.transpose(x, [axis(*s) % 2, 1 - axis(*s) % 2]),
            "joined": lambda x, *s: df.concat([x, x * 0.5], axis(*s)),
            "stacked": lambda x, *s: df.stack([x, x * 2.0], a(*s) % 3)[0],
            "element": lambda x, *s: x * x[a(*s) % 2, b(*s) % 2],
            "linspace": lambda x, *s: x[:1, :1] * df.linspace(df.cast(0, x.dtype),
                                                              df.cast(1, x.dtype), a(*s)),
        }
        f = self.pick(list(plain.values()))
        if depth:
            return f
        form = int(self.rng.integers(8))
        g, limit = self.step(1), int(self.rng.integers(0, 4))

        def branch(x, n, m):
            return df.cond(c(n, m) > limit, lambda: f(x, n, m) * 0.5, lambda: g(x, n, m))

        def loop(x, n, m):
            total = df.reduce_sum(x[:1]) * 0.0
            for i in df.range(limit):
                total = total + df.reduce_sum(f(x, n + i, m) * 0.5)
            return x * df.tanh(total)

        return branch if form == 0 else loop if form == 1 else f

    def __call__(self, x, n, m):
        for f in self.steps:
            x = f(x, n, m)[:SMALL, :SMALL] * 1.1
        return x


def gradient(f):
    def call(x, n, m):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(df.tanh(f(x, n, m)))
        return tape.gradient(y, x, unconnected_gradients="zero")
    return call


def outcome(f, *args):
    """Return a result as an array, or None if the call raises."""
    try:
        return f(*args).numpy()
    except (ValueError, IndexError, ArithmeticError):   # dualflow's errors are subclasses
        return None


def same(a, b, exact):
    if a is None or b is None:
        return a is b
    if exact:
        return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
    return a.shape == b.shape and np.allclose(a, b, 1e-13, 1e-13, equal_nan=True)


def is_straight(f, *args):
    """Return True if a program has no branches and no loops."""
    return not any([node.bodies for node in f.graph_for(*args).nodes])


def check(seed):
    """Compare the modes on the program of a seed."""
    rng = np.random.default_rng([seed, 31])
    program = Writer(rng)
    x = df.constant(rng.normal(size=(int(rng.integers(1, 6)), int(rng.integers(1, 6)))))
    for form in (program, gradient(program)):
        traced = [df.function(form, passes=on) for on in sampling.passes(seed)]
        for _ in range(3):
            n, m = [df.constant(int(k)) for k in rng.integers(0, 5, 2)]
            want = outcome(form, x, n, m)
            for f in traced:
                got = outcome(f, x, n, m)
                assert same(got, want, form is program or is_straight(f, x, n, m)), (
                    f"seed {seed}, n {n.item()}, m {m.item()}: {want} {got}")
