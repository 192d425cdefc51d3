"""Transforms: gradients per example, directional derivatives, Jacobians."""

import numpy as np

import dualflow as df

BATCH = 32


def network(sizes):
    rng = np.random.default_rng(0)
    return [(df.constant(rng.normal(size=shape, scale=0.1).astype("float32")), df.zeros(shape[1:]))
            for shape in zip(sizes, sizes[1:], strict=False)]


def loss(layers, x, y):
    *hidden, (w, b) = layers
    for v, c in hidden:
        x = df.tanh(x @ v + c)
    return df.nn.sparse_softmax_cross_entropy_with_logits(y, x @ w + b)


class PerExample:
    """The gradient of a network's loss for each example of a batch."""

    params = [["784-128-10", "16-32-32-4"], ["eager", "function"]]
    param_names = ["network", "mode"]

    def setup(self, sizes, mode):
        sizes = [int(n) for n in sizes.split("-")]
        rng = np.random.default_rng(1)
        self.layers = network(sizes)
        self.x = df.constant(rng.normal(size=(BATCH, sizes[0])).astype("float32"))
        self.y = df.constant(rng.integers(0, sizes[-1], BATCH).astype("int32"))
        gradients = df.vmap(df.grad(loss), in_axes=(None, 0, 0))
        self.gradients = df.function(gradients) if mode == "function" else gradients
        self.time_gradients(None, None)

    def time_gradients(self, sizes, mode):
        self.gradients(self.layers, self.x, self.y)


class Derivatives:
    """Derivatives of a function of 64 inputs, in graphs."""

    def setup(self):
        self.w = df.random.normal([64, 64], seed=1)
        self.x, self.v = df.random.normal([64], seed=2), df.random.normal([64], seed=3)

        def f(x):
            return df.tanh(df.tanh(x @ self.w) @ self.w)

        self.along = df.function(lambda x, v: df.jvp(f, (x,), (v,)))
        self.columns, self.rows = df.function(df.jacfwd(f)), df.function(df.jacrev(f))
        self.product = df.function(
            lambda x, v: df.hvp(lambda x: df.reduce_sum(f(x)), (x,), (v,)))
        for time in (self.time_jvp, self.time_jacfwd, self.time_jacrev, self.time_hvp):
            time()

    def time_jvp(self):
        self.along(self.x, self.v)

    def time_jacfwd(self):
        self.columns(self.x)

    def time_jacrev(self):
        self.rows(self.x)

    def time_hvp(self):
        self.product(self.x, self.v)


class Rows:
    """Ops batched over rows in eager mode, traced at each call."""

    params = [4, 64]
    param_names = ["rows"]

    def setup(self, n):
        self.x = df.random.normal([n, 16], seed=1)
        self.w = df.random.normal([16, 16], seed=2)

    def row(self, x):
        return df.tanh(df.linalg.matvec(self.w, x))

    def time_vmap(self, n):
        df.vmap(self.row)(self.x)

    def time_vectorized_map(self, n):
        df.vectorized_map(self.row, self.x)

    def time_jacobian(self, n):
        with df.GradientTape() as tape:
            tape.watch(self.x)
            y = df.reduce_sum(df.tanh(self.x @ self.w), -1)
        tape.jacobian(y, self.x)
