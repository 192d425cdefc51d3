"""Loops and branches in traced functions: iterations, a training step, its compilation, memory."""

import dualflow as df

ROUNDS = 10_000


def update(x):
    return x * 0.999 + 0.5


class Round:
    """10,000 iterations, in eager mode and as a graph."""

    def setup(self):
        self.x = df.constant(1.0)
        self.row = df.random.normal([1, 16], seed=1)
        self.matrix = df.random.normal([16, 16], seed=2)
        self.counted = df.function(
            lambda x: df.scan(lambda x, _: (update(x), None), x, length=ROUNDS)[0])
        self.tested = df.function(
            lambda x: df.while_loop(lambda i, x: i < ROUNDS, lambda i, x: (i + 1, update(x)),
                                    (0, x)))
        self.products = df.function(
            lambda v, w: df.scan(lambda v, _: (df.tanh(v @ w), None), v, length=ROUNDS)[0])
        self.branches = df.function(
            lambda x: df.scan(lambda x, _: (df.cond(x > 1.0, lambda: x * 0.5, lambda: x + 1.0),
                                            None), x, length=ROUNDS)[0])
        for time in (self.time_counted, self.time_tested, self.time_products, self.time_branches):
            time()

    def time_eager(self):
        x = self.x
        for _ in range(ROUNDS):
            x = update(x)

    def time_counted(self):
        self.counted(self.x)

    def time_tested(self):
        self.tested(self.x)

    def time_products(self):
        self.products(self.row, self.matrix)

    def time_branches(self):
        self.branches(self.x)


class Slices:
    """1,000 iterations that sum a slice of 4 rows: with Python bounds, with traced bounds, and with
    a traced start and a known size."""

    params = ["fixed", "traced", "traced begin"]
    param_names = ["bounds"]

    def setup(self, bounds):
        rows = {"fixed": lambda x, i: x[10:14], "traced": lambda x, i: x[i:i + 4],
                "traced begin": lambda x, i: df.slice(x, [i, 0], [4, 64])}[bounds]

        @df.function
        def total(x, n):
            total = df.constant(0.0)
            for i in df.range(n):
                total = total + df.reduce_sum(rows(x, i) * df.cast(i, df.float32))
            return total

        self.total, self.given = total, (df.random.normal([1100, 64], seed=1), df.constant(1000))
        self.time_loop(bounds)

    def time_loop(self, bounds):
        self.total(*self.given)


class RowGradients:
    """The gradient of a loop that reads a row of a tensor in each iteration: eager, or traced with
    a length that depends on data."""

    params = [["eager", "traced"], [100, 1600]]
    param_names = ["mode", "rows"]

    def setup(self, mode, rows):
        def gradient(x, n):
            with df.GradientTape() as tape:
                tape.watch(x)
                h = df.zeros([32])
                for t in range(n):
                    h = df.tanh(h * 0.5 + x[t])
                y = df.reduce_sum(h)
            return tape.gradient(y, x)

        self.gradient = gradient if mode == "eager" else df.function(gradient)
        self.given = (df.random.normal([rows, 32], seed=1),
                      rows if mode == "eager" else df.constant(rows))
        self.gradient(*self.given)

    def time_gradient(self, mode, rows):
        self.gradient(*self.given)


class Lstm:
    """A training step of an LSTM of 128 units, batch 32, written as a loop or unrolled."""

    params = ["100 by scan", "1000 by scan", "100 unrolled"]
    param_names = ["steps"]
    units, batch = 128, 32

    def setup(self, steps):
        steps, self.written = int(steps.split()[0]), steps.split()[-1]
        shapes = [[self.units, 4 * self.units]] * 2 + [[4 * self.units]]
        self.variables = [df.Variable(df.random.normal(s, stddev=.1, seed=k))
                          for k, s in enumerate(shapes)]
        self.given = [df.random.normal([steps, self.batch, self.units], seed=k) for k in (3, 4)]
        self.optimizer = df.optimizers.SGD(.01)
        self.step = self.traced()
        self.step(*self.given)

    def cell(self, state, x):
        kernel, recurrent, bias = self.variables
        h, c = state
        i, f, g, o = df.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
        c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
        h = df.sigmoid(o) * df.tanh(c)
        return (h, c), h

    def rows(self, x):
        zeros = df.zeros([self.batch, self.units])
        state = zeros, zeros
        if self.written == "scan":
            return df.scan(self.cell, state, x)[1]
        made = []
        for t in range(x.shape[0]):
            state, h = self.cell(state, x[t])
            made.append(h)
        return df.stack(made)

    def traced(self):
        def step(x, y):
            with df.GradientTape() as tape:
                loss = df.reduce_mean(df.square(self.rows(x) - y))
            found = tape.gradient(loss, self.variables)
            self.optimizer.apply_gradients(zip(found, self.variables))
            return loss
        return df.function(step)

    def time_step(self, steps):
        self.step(*self.given)

    def time_compile(self, steps):
        self.traced().compiled_for(*self.given)

    def track_arena(self, steps):
        return self.step.compiled_for(*self.given).spec.arena_bytes

    track_arena.unit = "bytes"
