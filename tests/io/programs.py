"""Small training programs for the tests of checkpoints."""

import numpy as np

import dualflow as df


class Batches:
    """An iterator over shuffled batches with the protocol of datasets; the order depends only on
    seed and epoch."""

    def __init__(self, n, size, seed=0):
        self.n, self.size, self.seed, self.epoch, self.at = n, size, seed, 0, 0

    def __iter__(self):
        return self

    def __next__(self):
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.n)
        batch = order[self.at:self.at + self.size]
        self.at += self.size
        if self.at >= self.n:
            self.epoch, self.at = self.epoch + 1, 0
        return batch

    def state(self):
        return {"pipeline": [self.n, self.size, self.seed], "epoch": self.epoch, "at": self.at}

    def restore(self, state):
        if state["pipeline"] != [self.n, self.size, self.seed]:
            raise ValueError(f"the state is of another pipeline, {state['pipeline']}")
        self.epoch, self.at = state["epoch"], state["at"]


class Net(df.Module):
    """Two layers with dropout."""

    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.layers = [{"w": df.Variable(rng.normal(size=(m, n)).astype("float32")),
                        "b": df.Variable(np.zeros(n, "float32"))} for m, n in ((6, 8), (8, 3))]

    def __call__(self, x):
        first, last = self.layers
        x = df.nn.dropout(df.nn.relu(x @ first["w"] + first["b"]), 0.3)
        return x @ last["w"] + last["b"]


class Training:
    """A net, an optimizer, data and random state, and their checkpoint."""

    def __init__(self, seed=0, optimizer=None, traced=True, batches=None):
        rng = np.random.default_rng(11)
        self.x = df.constant(rng.normal(size=(40, 6)).astype("float32"))
        self.y = df.constant(rng.integers(0, 3, 40).astype("int32"))
        df.random.set_seed(seed)
        self.net, self.batches = Net(seed), batches or Batches(40, 8)
        rate = df.optimizers.schedules.CosineDecay(0.1, 50)
        self.optimizer = optimizer or df.optimizers.Adam(rate, clipnorm=1.)
        self.step = df.function(self._step) if traced else self._step
        self.checkpoint = df.train.Checkpoint(
            net=self.net, optimizer=self.optimizer, batches=self.batches,
            random=df.random.get_global_generator())

    def _step(self, x, y):
        with df.GradientTape() as tape:
            logits = self.net(x)
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=y, logits=logits))
        self.optimizer.minimize(loss, self.net.trainable_variables, tape=tape)
        return loss

    def run(self, n):
        """Return the losses of some steps."""
        losses = []
        for _ in range(n):
            batch = next(self.batches)
            losses.append(self.step(df.gather(self.x, batch), df.gather(self.y, batch)).item())
        return losses

    def weights(self):
        """Return all variable values as bytes."""
        return [v.numpy().tobytes() for v in (*self.net.variables, *self.optimizer.variables)]
