"""Random programs with branches and loops, drawn in advance, so that all modes run the same one."""

import random

import dualflow as df
import dualflow as flow

UNARY = [df.tanh, df.sin, df.cos, lambda x: x * x * 0.25, lambda x: df.sqrt(df.abs(x) + 0.5),
         lambda x: df.nn.relu(x), lambda x: df.reverse(x, [0]), lambda x: df.identity(x),
         lambda x: df.exp(df.minimum(x, 1.)), lambda x: df.reduce_sum(x) * df.ones([3])]
BINARY = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, df.maximum,
          lambda x, y: df.where(x > y, x, y * 0.5),
          lambda x, y: sum(df.unstack(df.stack([x, y, x]))[:2]),
          lambda x, y: df.split(df.concat([x, y], 0), [2, 4])[1][1:]]


INNER = df.function(lambda x, y: df.tanh(x * y) + df.sin(y))


class Program:
    """Steps on a growing list of float32 tensors of shape (3,)."""

    def __init__(self, rng, depth, length):
        self.steps = [self.draw(rng, depth) for _ in range(length)]

    def draw(self, rng, depth):
        kinds = ["op"] * 8 + ["call", "table", "penalty"]
        kind = rng.choice(kinds + ["cond", "switch", "while", "scan", "array"] * 2 * (depth > 0))
        at = [rng.randrange(1 << 20) for _ in range(8)]
        if kind == "op":
            return self.op, at, rng.choice(UNARY), rng.choice(BINARY), rng.random() < 0.4
        if kind in ("call", "table"):
            return getattr(self, kind), at
        n = rng.choice([2, 3]) if kind == "switch" else 2 if kind == "cond" else 1
        bodies = [Program(rng, depth - 1, rng.randint(0 if n > 1 else 1, 4)) for _ in range(n)]
        return getattr(self, kind), at, bodies, rng.randint(1, 2), rng.randint(0, 2), rng.random()

    def __call__(self, values):
        values = list(values)
        for step, at, *rest in self.steps:
            step(values, [k % len(values) for k in at], *rest)
        return values

    def op(self, values, at, unary, binary, alone):
        x, y = values[at[0]], values[at[1]]
        values.append(unary(x) if alone else df.tanh(binary(x, y)) if at[2] % 3 else binary(x, y))

    def call(self, values, at):
        values.append(INNER(values[at[0]], values[at[1]]))

    def table(self, values, at):
        """Look up rows of a table at data-dependent indices."""
        x = values[at[0]]
        table = df.stack([values[k] for k in at[1:5]])
        values.append(df.gather(table, df.cast(df.reduce_sum(df.abs(df.sin(x))), "int32")))

    def penalty(self, values, at, bodies, n, _, level):
        """Append a gradient as another value."""
        x = values[at[0]]
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(df.sin(bodies[0]([*values, x])[-1]))
        values.append(df.tanh(tape.gradient(y, x, unconnected_gradients="zero")))

    def array(self, values, at, bodies, n, _, level):
        """Use a tensor array that iterations write and read."""
        bound = df.cast(df.reduce_sum(df.sin(values[at[0]])) + 2. + level, "int32")
        start = df.TensorArray(df.float32, 8, element_shape=[3]).write(0, values[at[1]])

        def step(k, a):
            y = self.results(bodies[0], [*values, a.read(k)], at[4:], 1)[0]
            return k + 1, a.write(k + 1, y)

        _, a = flow.while_loop(lambda k, a: k < bound, step, (df.constant(0), start))
        # Read all rows or none: a graph has one tensor, where unread rows would get cotangent
        # zeros.
        values.append(a.read(0) + df.reduce_sum(df.sin(a.stack()), 0))

    def results(self, body, values, at, n):
        made = body(values)
        return [made[-1 - k % min(len(made), 5)] for k in at[:n]]

    def cond(self, values, at, bodies, n, _, level):
        pred = df.reduce_sum(df.sin(values[at[0]] * 3.)) > level - 0.5
        branches = [lambda body=body: self.results(body, values, at[1:], n) for body in bodies]
        values += flow.cond(pred, *branches)

    def switch(self, values, at, bodies, n, _, level):
        x = df.reduce_sum(df.sin(values[at[0]] * 3.)) * 2. + level
        index = df.cast(df.math.floor(x), "int32")
        values += flow.switch_case(index, [
            lambda body=body: self.results(body, values, at[1:], n) for body in bodies])

    def loop(self, values, at, bodies, n, _, level):
        bound = df.cast(df.reduce_sum(df.sin(values[at[0]])) + 2. + level, "int32")
        carried = [values[k] for k in at[1:1 + n]]

        def step(k, *carried):
            made = self.results(bodies[0], [*values, *carried], at[4:], n)
            return (k + 1, *made)

        done = flow.while_loop(lambda k, *_: k < bound, step, (df.constant(0), *carried),
                               recompute=at[7] % 3 == 0)
        values += [x for x in done[1:]]

    def scan(self, values, at, bodies, n, n_made, level):
        carried = [values[k] for k in at[1:1 + n]]
        rows = df.stack([values[k] for k in at[3:6]])

        def step(carried, row):
            made = bodies[0]([*values, *carried, row])
            pick = [made[-1 - k % min(len(made), 5)] for k in at]
            return pick[:n], pick[n:n + n_made]

        done, made = flow.scan(step, carried, rows, reverse=level < 0.3,
                               recompute=at[7] % 3 == 0)
        values += done
        values += [y[-1] if k % 2 else df.reduce_sum(y, 0) for k, y in zip(at, made, strict=False)]


setattr(Program, "while", Program.loop)


def program(seed, depth=2, length=4):
    """Return a function of three tensors that returns a number."""
    rng = random.Random(seed)
    steps = Program(rng, depth, length)
    last = [rng.randrange(1, 5) for _ in range(2)]

    def f(*values):
        made = steps(values)
        return sum([df.reduce_sum(df.sin(made[-k])) for k in last])

    return f
