"""Traced functions: calls, whole training steps, the first call, long chains, memory."""

import collections

import dualflow as df


def mlp(sizes, batch):
    """Return variables, images and labels of a network of dense layers."""
    pairs = list(zip(sizes, sizes[1:]))
    weights = [df.Variable(df.random.normal(p, stddev=p[0] ** -.5, seed=k))
               for k, p in enumerate(pairs)]
    biases = [df.Variable(df.zeros([n])) for n in sizes[1:]]
    images = df.random.normal([batch, sizes[0]], seed=1)
    labels = df.random.uniform([batch], 0, sizes[-1], dtype=df.int32, seed=2)
    return weights, biases, images, labels


def training_step(weights, biases, optimizer):
    variables = [*weights, *biases]

    def step(x, labels):
        with df.GradientTape() as tape:
            for w, b in zip(weights[:-1], biases):
                x = df.nn.relu(x @ w + b)
            logits = x @ weights[-1] + biases[-1]
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def chain(n):
    def f(x):
        for _ in range(n // 2):
            x = df.sin(x) * 1.01
        return x

    return f


def gelu(x):
    return 0.5 * x * (1.0 + df.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


class Call:
    def setup(self):
        self.a = df.constant([1.0, 2.0, 3.0, 4.0])
        self.b = df.constant([5.0, 6.0, 7.0, 8.0])
        self.add = df.function(lambda a, b: a + b)
        self.scale = df.function(lambda a, k: a * k)
        self.nested = df.function(lambda p: {"y": p["a"] + p["b"]})
        self.add(self.a, self.b)
        for k in range(3):
            self.scale(self.a, float(k))
        self.nested({"a": self.a, "b": self.b})
        self.batch = df.function(lambda batch, scale=2.: batch.images * scale + batch.labels)
        self.pair = collections.namedtuple("Pair", "images labels")(self.a, self.b)
        self.layers = df.function(lambda layers: layers[0]["w"] + layers[-1]["b"])
        self.weights = [{"w": self.a, "b": self.b} for _ in range(10)]

    def time_add(self):
        self.add(self.a, self.b)

    def time_number(self):
        self.scale(self.a, 2.0)

    def time_keywords(self):
        self.add(a=self.a, b=self.b)

    def time_named_tuple_and_default(self):
        self.batch(self.pair)

    def time_list_of_dicts_of_20(self):
        self.layers(self.weights)

    def time_dict(self):
        self.nested({"a": self.a, "b": self.b})


class Step:
    params = [["8 x 16-32-32-4", "32 x 784-128-10"], ["sgd", "adam"]]
    param_names = ["network", "optimizer"]

    def setup(self, network, optimizer):
        batch, _, layers = network.split()
        sizes = [int(n) for n in layers.split("-")]
        weights, biases, self.images, self.labels = mlp(sizes, int(batch))
        made = {"sgd": lambda: df.optimizers.SGD(0.01), "adam": df.optimizers.Adam}[optimizer]()
        self.python = training_step(weights, biases, made)
        self.step = df.function(self.python)
        self.step(self.images, self.labels)

    def time_step(self, network, optimizer):
        self.step(self.images, self.labels)

    def time_first_call(self, network, optimizer):
        df.function(self.python)(self.images, self.labels)


class Chain:
    params = [1000, 10_000]
    param_names = ["n"]

    def setup(self, n):
        self.x = df.ones([16])
        self.f = df.function(chain(n))
        self.f(self.x)

    def time_call(self, n):
        self.f(self.x)

    def time_first_call(self, n):
        df.function(chain(n))(self.x)


class Gelu:
    params = [1 << 20, 1 << 24]
    param_names = ["n"]

    def setup(self, n):
        self.x = df.random.normal([n], seed=1)
        self.f = df.function(gelu)
        self.f(self.x)

    def time_by_hand(self, n):
        self.f(self.x)


class DeepStep:
    """50 layers of 256, batch 256."""

    def setup(self):
        weights, biases, self.images, self.labels = mlp([256] * 51, 256)
        self.step = df.function(training_step(weights, biases, df.optimizers.SGD(0.01)))

    def peakmem_step(self):
        self.step(self.images, self.labels)

    def track_arena_over_lower_bound(self):
        plan = self.step.compiled_for(self.images, self.labels).plan
        return plan.arena_bytes / plan.lower_bound


def layer_norm(x):
    centered = x - df.reduce_mean(x, -1, keepdims=True)
    variance = df.reduce_mean(centered * centered, -1, keepdims=True)
    return centered * df.math.rsqrt(variance + 1e-5)


class Clusters:
    """Fused steps, interpreted and compiled."""

    params = [[1024, 65536], ["interpreted", "compiled"]]
    param_names = ["n", "clusters"]

    def setup(self, n, clusters):
        self.x = df.random.normal([n // 256, 256], seed=0)
        jit = clusters == "compiled"
        self.gelu = df.function(gelu, jit_compile=jit)
        self.layer_norm = df.function(layer_norm, jit_compile=jit)
        for f in (self.gelu, self.layer_norm):
            f(self.x)
            f.clusters_for(self.x, wait=True)

    def time_gelu(self, n, clusters):
        self.gelu(self.x)

    def time_layer_norm(self, n, clusters):
        self.layer_norm(self.x)


class State:
    """Calls of a method that reads attributes of its object, and of a function with globals."""

    params = [0, 5, 50]
    param_names = ["attributes"]

    def setup(self, attributes):
        names = [f"k{n}" for n in range(attributes)]
        text = "def call(self, x):\n    return x" + "".join([f" + self.{name}" for name in names])
        space = {}
        exec(text, space)
        Model = type("Model", (), {**dict.fromkeys(names, 0.5), "call": df.function(space["call"])})
        self.model, self.x = Model(), df.constant(1.0)
        self.model.call(self.x)

    def time_method(self, attributes):
        self.model.call(self.x)

    def time_first_call(self, attributes):
        type(self.model)().call(self.x)
