"""Whole training steps, as in examples/digits.py."""

import dualflow as df


class Step:
    params = [[8, 64], ["16-32-32-4", "784-128-10"]]
    param_names = ["batch", "layers"]

    def setup(self, batch, layers):
        sizes = [int(n) for n in layers.split("-")]
        self.variables = [df.Variable(df.random.normal([m, n], stddev=0.1, seed=m))
                          for m, n in zip(sizes, sizes[1:])]
        self.images = df.random.normal([batch, sizes[0]], seed=1)
        self.labels = df.random.uniform([batch], 0, sizes[-1], dtype=df.int32, seed=2)
        self.adam, self.sgd = df.optimizers.Adam(), df.optimizers.SGD(0.01)
        self.step(self.adam)
        self.step(self.sgd)

    def step(self, optimizer):
        with df.GradientTape() as tape:
            x = self.images
            for w in self.variables[:-1]:
                x = df.nn.relu(x @ w)
            logits = x @ self.variables[-1]
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.labels, logits=logits))
        gradients = tape.gradient(loss, self.variables)
        optimizer.apply_gradients(zip(gradients, self.variables))

    def time_adam(self, batch, layers):
        self.step(self.adam)

    def time_sgd(self, batch, layers):
        self.step(self.sgd)

    def peakmem_adam(self, batch, layers):
        self.step(self.adam)
