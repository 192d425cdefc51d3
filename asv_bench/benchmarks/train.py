"""Whole training steps, as in examples/digits.py and examples/gpt.py."""

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


class MixedPrecision:
    """Traced steps of Adam in float32, under autocast, and with bfloat16 variables as well."""

    params = [["float32", "autocast", "bfloat16"]]
    param_names = ["precision"]

    def setup(self, precision):
        sizes = [512, 1024, 1024, 10]
        dtype = df.bfloat16 if precision == "bfloat16" else df.float32
        variables = [df.Variable(df.cast(df.random.normal([m, n], stddev=0.1, seed=m), dtype))
                     for m, n in zip(sizes, sizes[1:])]
        images = df.random.normal([64, sizes[0]], seed=1)
        labels = df.random.uniform([64], 0, sizes[-1], dtype=df.int32, seed=2)
        adam = df.optimizers.Adam()

        @df.function
        def step():
            with df.GradientTape() as tape, df.autocast(enabled=precision != "float32"):
                x = images
                for w in variables[:-1]:
                    x = df.nn.relu(x @ w)
                loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                    labels, x @ variables[-1]))
            adam.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        self.step = step
        self.step()

    def time_step(self, precision):
        self.step()


class GPT:
    """Vocabulary 256, texts of 128 tokens in batches of 8, width 256, 4 heads, 4 layers, traced."""

    length, width, heads, layers, vocabulary = 128, 256, 4, 4, 256

    def setup(self):
        def weights(*shape):
            return df.Variable(df.random.normal(shape, stddev=0.02, seed=1))

        def linear(n_in, n_out):
            return weights(n_in, n_out), df.Variable(df.zeros([n_out]))

        def norm():
            return df.Variable(df.ones([self.width])), df.Variable(df.zeros([self.width]))

        n = self.width
        self.tokens, self.places = weights(self.vocabulary, n), weights(self.length, n)
        self.blocks = [(norm(), linear(n, 3 * n), linear(n, n), norm(), linear(n, 4 * n),
                        linear(4 * n, n)) for _ in range(self.layers)]
        self.final, self.head = norm(), linear(n, self.vocabulary)
        self.variables = df.nest.flatten(
            [self.tokens, self.places, self.blocks, self.final, self.head])
        self.adam = df.optimizers.Adam(1e-3)
        self.batch = df.random.uniform([8, self.length + 1], 0, self.vocabulary, dtype=df.int32,
                                       seed=2)
        self.traced = df.function(self.step)
        self.traced(self.batch)

    def attend(self, x, qkv, project):
        split = df.split(x @ qkv[0] + qkv[1], 3, axis=-1)
        shape = (-1, self.length, self.heads, self.width // self.heads)
        y = df.nn.scaled_dot_product_attention(*(df.reshape(y, shape) for y in split),
                                               is_causal=True, data_format="BTHD")
        return df.reshape(y, (-1, self.width)) @ project[0] + project[1]

    def logits(self, tokens):
        x = df.reshape(df.gather(self.tokens, tokens) + self.places, (-1, self.width))
        for norm_1, qkv, project, norm_2, widen, narrow in self.blocks:
            x = x + self.attend(df.nn.layer_norm(x, *norm_1), qkv, project)
            y = df.nn.layer_norm(x, *norm_2) @ widen[0] + widen[1]
            x = x + (df.nn.gelu(y, approximate=True) @ narrow[0] + narrow[1])
        return df.nn.layer_norm(x, *self.final) @ self.head[0] + self.head[1]

    def step(self, batch):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=df.reshape(batch[:, 1:], (-1,)), logits=self.logits(batch[:, :-1])))
        self.adam.apply_gradients(zip(tape.gradient(loss, self.variables), self.variables))
        return loss

    def time_step(self):
        self.traced(self.batch)

    def peakmem_step(self):
        self.traced(self.batch)
