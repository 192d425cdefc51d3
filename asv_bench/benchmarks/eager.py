"""The cost of an eager op on small data, and of its tape record."""

import dualflow as df


class Dispatch:
    def setup(self):
        self.a = df.constant([1.0, 2.0, 3.0, 4.0])
        self.b = df.constant([5.0, 6.0, 7.0, 8.0])

    def time_add(self):
        self.a + self.b

    def time_multiply_by_number(self):
        self.a * 1.01

    def time_function(self):
        df.tanh(self.a)

    def time_index(self):
        self.a[0]


class Methods:
    """Methods with NumPy's names, and assignment to a slice."""

    def setup(self):
        self.x = df.ones([4, 4])
        self.v = df.Variable(self.x)
        self.row = df.zeros([4])

    def time_sum(self):
        self.x.sum()

    def time_mean(self):
        self.x.mean(axis=0)

    def time_numpy(self):
        self.x.numpy()

    def time_assign_part(self):
        self.v[1:3].assign(self.row)


class Tape:
    def setup(self):
        self.x = df.Variable([0.1] * 16)
        self.step()

    def step(self):
        with df.GradientTape() as tape:
            y = self.x
            for _ in range(10):
                y = df.tanh(y * 1.01)
            loss = df.reduce_sum(y)
        return tape.gradient(loss, self.x)

    def time_ten_tanh(self):
        self.step()


class Chain:
    """One tape that repeats; and 256 tapes in turn, each evicted from the cache when it recurs."""

    def setup(self):
        self.v = df.Variable([0.1] * 32)
        self.others = [df.Variable([0.1] * n) for n in range(33, 33 + 256)]
        for _ in range(5000):           # until its backward pass has been compiled
            self.step(self.v)

    def step(self, v):
        with df.GradientTape() as tape:
            y = v
            for _ in range(10):
                y = df.tanh(y)
            loss = df.reduce_sum(y)
        return tape.gradient(loss, v)

    def time_repeated(self):
        self.step(self.v)

    def time_256_that_never_repeat(self):
        for v in self.others:
            self.step(v)


class Updates:
    params = ["SGD", "Adam"]
    param_names = ["optimizer"]

    def setup(self, name):
        self.optimizer = getattr(df.optimizers, name)(1e-6)
        variables = [df.Variable(df.zeros(shape)) for shape in
                     ([16, 32], [32], [32, 32], [32], [32, 4], [4])]
        self.pairs = [(df.ones(v.shape), v) for v in variables]
        self.optimizer.apply_gradients(self.pairs)

    def time_of_six_variables(self, name):
        self.optimizer.apply_gradients(self.pairs)


class LongTape:
    timeout = 120

    def time_chain_of_100000(self):
        x = df.Variable(1.0)
        with df.GradientTape() as tape:
            y = x
            for _ in range(100_000):
                y = y + 1.0
        tape.gradient(y, x)
