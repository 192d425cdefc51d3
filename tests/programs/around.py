"""Random programs with tapes around calls of functions, traced or not.

A program calls its functions several times, also on tensors it uses before and after a call, and
computes gradients of first to third order. Gradients have the bits of plain Python.
"""

import warnings

import numpy as np

import dualflow as df
from tests.programs.program import difference
from tests.programs.steps import STEPS

LARGEST = 256                # elements; larger results are skipped
PLAIN = ["add", "multiply", "subtract", "add", "multiply", "add", "smooth", "sum", "number",
         "square", "transpose", "matmul", "concat", "gather", "row", "softmax", "maximum",
         "normalize", "root", "stop", "broadcast", "where", "wide"]
SPECIAL = ["rounded", "folded", "deep", "scaled", "with variables", "grad", "tape", "function",
           "mask", "random", "assign", "split", "none", "handed on"]


@df.custom_gradient
def rounded(x):
    return df.round(x * 4.), lambda g: g * 4.


@df.custom_gradient
def folded(x):
    e = df.sin(df.tanh(x))
    return x * e, lambda g: g * (e + df.cos(e) * x)


@df.custom_gradient
def deep(x):
    inner = folded(x * 2.)
    return inner + x, lambda g: rounded(g * x) + folded(g)


@df.custom_gradient
def scaled(x, y):
    return (x * df.reduce_sum(y), df.tanh(y)), lambda g, h: (g * x, h * y + df.reduce_sum(g * x))


@df.custom_gradient
def handed_on(x, y):
    """Return both operands unchanged, the second first."""
    return (y, x), lambda g, h: (h * 2., g * df.reduce_mean(x))


@df.custom_gradient
def one_of_two(x, y):
    return x * df.reduce_mean(y), lambda g: (g * 2., None)


def slope(x):
    return df.grad(lambda z: df.reduce_sum(df.sin(z) * z * z))(x)


def taped(x):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.exp(-x * x) * x
    return tape.gradient(y, x) + y


class Program:
    """A program that draws all random choices at construction; `run` is deterministic."""

    def __init__(self, seed, forms=True):
        rng = self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.shapes = [[(), (3,), (2, 3), (1, 3)][k] for k in rng.integers(0, 4, 3)]
        self.values = [self._values(s) for s in self.shapes]
        self.variables = [self._values([(3,), (2, 3)][k % 2]) for k in range(rng.integers(1, 3))]
        self.captured = self._values((3,))
        self.functions = [self._steps(rng.integers(2, 9)) for _ in range(rng.integers(1, 4))]
        self.returns = [[float(r) for r in rng.random(rng.integers(1, 4))] for _ in self.functions]
        self.outer = self._steps(rng.integers(3, 9))
        self.order = int(rng.choice([1, 1, 2, 2, 3]))
        self.loss = [float(r) for r in rng.random(rng.integers(1, 4))]
        self.sources = rng.random(7) < .6
        self.persistent = rng.random() < .3
        self.unknown = rng.random() < .3
        self.calls = int(rng.integers(1, 3))

    def _values(self, shape):
        return (self.rng.integers(-20, 20, shape) / 8. + self.rng.random(shape)).astype(np.float32)

    def _steps(self, n):
        names = [SPECIAL[self.rng.integers(len(SPECIAL))] if self.rng.random() < .25 else
                 PLAIN[self.rng.integers(len(PLAIN))] for _ in range(n)]
        return [(name, *map(float, self.rng.random(2)), int(self.rng.integers(0, 60)))
                for name in names]

    def step(self, name, a, b, k, pool, variables, call):
        """Return the results of one step as a list."""
        if name in STEPS:
            n, op = STEPS[name]
            return [op(*[a, b][:n], k)]
        v = variables[k % len(variables)]
        if name == "scaled":
            return list(scaled(a, b))
        if name == "handed on":
            return [*handed_on(a, v), *handed_on(df.identity(v), handed_on(b, a)[1])]
        if name == "none":
            return [one_of_two(a, b)]
        if name == "with variables":
            return [a * v, v * v]
        if name == "mask":
            return [df.reduce_sum(df.boolean_mask(a, a > 0.) * 1.5)]
        if name == "random":
            return [a * df.random.uniform(a.shape)]
        if name == "assign":
            before = v * 2.
            v.assign_add(v * .25)
            return [before, v * 1.]
        if name == "split":
            return list(df.split(a, a.shape[-1], axis=-1))
        return [{"rounded": rounded, "folded": folded, "deep": deep, "grad": slope,
                 "tape": taped}[name](a)]

    def body(self, steps, pool, variables, call):
        for name, a, b, k in steps:
            a, b = pool[int(a * len(pool))], pool[int(b * len(pool))]
            if name == "function":
                pool = pool + call(k, pool)
                continue
            try:
                made = self.step(name, a, b, k, pool, variables, call)
            except (df.errors.InvalidArgumentError, df.errors.OutOfRangeError,
                    df.errors.DTypeError, ZeroDivisionError, IndexError):
                continue            # depends only on shapes
            pool = pool + [y for y in made if y.size <= LARGEST]
        return pool

    def run(self, wrap):
        df.random.set_seed(self.seed)
        variables = [df.Variable(v) for v in self.variables]
        captured = df.constant(self.captured)

        def make(n, steps):
            def function(x, y):
                pool = self.body(steps, [x, y, captured], variables, lambda k, pool: [pool[0] + 1.])
                return [pool[int(r * len(pool))] for r in self.returns[n]]

            return wrap(function)

        functions = [make(n, steps) for n, steps in enumerate(self.functions)]

        def call(k, pool):
            chosen = pool[k % len(pool)], pool[k // 7 % len(pool)]
            return functions[k % len(functions)](*chosen)

        def once(x, y, z):
            def forward():
                pool = self.body([*self.outer, ("function", 0., 0., 3), ("function", 0., 0., 44),
                                  ("add", .99, .1, 0)], [x, y, z, captured], variables, call)
                return pool, sum([df.reduce_sum(pool[int(r * len(pool))]) for r in self.loss],
                                 df.constant(0.))

            def sources(pool):
                found = [x, y, z, captured, *variables]
                found = [s for s, take in zip(found, self.sources, strict=False) if take] or [x]
                return [*found, pool[-2]]

            def gradient(order):
                with df.GradientTape(persistent=self.persistent) as tape:
                    tape.watch([x, y, z, captured])
                    if order == 1:
                        pool, loss = forward()
                    else:
                        gs, pool, loss = gradient(order - 1)
                        loss = sum([df.reduce_sum(g * g + g) for g in gs if g is not None], loss)
                return tape.gradient(loss, sources(pool)), pool, loss

            gs, _, loss = gradient(self.order)
            return [loss, *gs]

        out = []
        for k in range(self.calls):
            x, y, z = [df.constant(v + k) for v in self.values]
            out += [*once(x, y, z), *[v.value() for v in variables]]
        return out


def check(seed: int) -> None:
    """Check that the gradients of a seed's program have the bits of plain Python."""
    program = Program(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = program.run(lambda f: f)
        got = program.run(df.function)
    wrong = difference(got, want)
    assert wrong is None, f"seed {seed}: {wrong}"
