"""Small models whose functions tests export."""

import dualflow as df


def dense(n_in, n_out, name, seed):
    """Return a layer's kernel and bias."""
    kernel = df.random.stateless_normal([n_in, n_out], [seed, 0]) * 0.3
    return df.Variable(kernel, name=f"{name}/kernel"), df.Variable(df.zeros([n_out]),
                                                                   name=f"{name}/bias")


def mlp(rate=0.0):
    """Return a training step and a prediction of two layers, and inputs; `rate` is for dropout."""
    hidden, last = dense(8, 16, "hidden", 1), dense(16, 4, "last", 2)
    variables = [*hidden, *last]
    optimizer = df.optimizers.Adam(0.01)
    generator = df.random.Generator(7)

    def net(x, training):
        x = df.nn.relu(x @ hidden[0] + hidden[1])
        if training and rate:
            kept = df.cast(generator.uniform([16, 16]) >= rate, df.float32)
            x = x * kept / (1 - rate)
        return x @ last[0] + last[1]

    @df.function
    def step(x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(y, net(x, True)))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    @df.function
    def predict(x):
        return {"probabilities": df.nn.softmax(net(x, False)), "rows": 3}

    x = df.random.stateless_normal([16, 8], [3, 0])
    y = df.random.stateless_uniform([16], [4, 0], 0, 4, df.int32)
    return step, predict, x, y


def normalized():
    """Return a training step and a prediction whose clusters are compiled, and inputs."""
    hidden, last = dense(8, 64, "normalized/hidden", 5), dense(64, 4, "normalized/last", 6)
    variables = [*hidden, *last]
    optimizer = df.optimizers.Adam(0.01)

    def net(x):
        y = df.nn.gelu(x @ hidden[0] + hidden[1])
        y = y - df.reduce_mean(y, 1, keepdims=True)
        y = y / df.sqrt(df.reduce_mean(y * y, 1, keepdims=True) + 1e-5)
        return y @ last[0] + last[1]

    @df.function(jit_compile=True)
    def step(x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(y, net(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    @df.function(jit_compile=True)
    def predict(x):
        y = df.nn.softmax(net(x))
        return y, df.where(y > 0.25, df.cast(y, df.float16), df.constant(0., df.float16))

    x = df.random.stateless_normal([16, 8], [3, 0])
    return step, predict, x, df.random.stateless_uniform([16], [4, 0], 0, 4, df.int32)


def mixed():
    """Return a training step in 16 bits with a scaled loss, bfloat16 and float32 variables, and
    inputs."""
    hidden, last = dense(8, 16, "mixed/hidden", 7), dense(16, 4, "mixed/last", 8)
    kernel = df.Variable(df.cast(hidden[0], df.bfloat16), name="mixed/kernel")
    variables = [kernel, hidden[1], *last]
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.Adam(0.01), 8., 1)

    @df.function
    def step(x, y):
        with df.GradientTape() as tape, df.autocast():
            logits = df.nn.relu(x @ kernel + hidden[1]) @ last[0] + last[1]
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            scaled = optimizer.scale_loss(loss)
        optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        return loss

    x = df.random.stateless_normal([16, 8], [3, 0])
    return step, x, df.random.stateless_uniform([16], [4, 0], 0, 4, df.int32)


def recurrent(kind):
    """Return a training step and a prediction of a layer, "lstm" or "gru", bidirectional, with
    sequences of different lengths, and inputs."""
    units, gates = 5, {"lstm": 4, "gru": 3}[kind]
    shapes = {"kernel": [3, gates * units], "recurrent": [units, gates * units],
              "bias": [gates * units] if kind == "lstm" else [2, gates * units]}
    weights = [[df.Variable(df.random.stateless_normal(shape, [k, way]) * 0.3,
                            name=f"{kind}/{name}_{way}") for way in (0, 1)]
               for k, (name, shape) in enumerate(shapes.items())]
    out, bias = dense(2 * units, 4, f"{kind}/out", 5)
    variables = [*df.nest.flatten(weights), out, bias]
    optimizer = df.optimizers.Adam(0.01)

    def net(x):
        y, *_ = getattr(df.nn, kind)(x, *weights, lengths=[6, 4, 0], bidirectional=True)
        return y @ out + bias

    @df.function
    def step(x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(y, net(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    @df.function
    def predict(x):
        return df.nn.softmax(net(x))

    x = df.random.stateless_normal([3, 6, 3], [6, 0])
    y = df.random.stateless_uniform([3, 6], [7, 0], 0, 4, df.int32)
    return step, predict, x, y


def frozen():
    """Return a prediction of a layer whose kernels are constants, which Python packs ahead, and its
    input."""
    weights = [[df.random.stateless_normal(shape, [k, way]) * 0.3 for way in (0, 1)]
               for k, shape in enumerate(([3, 320], [80, 320], [320]))]

    @df.function
    def predict(x):
        return df.nn.lstm(x, *weights, bidirectional=True)[0]

    return predict, df.random.stateless_normal([1, 6, 3], [6, 0])


def channel_scaled():
    """Return a convolution of pixels that a gate scales per channel, and its input."""
    gates = df.random.stateless_normal([16, 16], [8, 0])
    filters = df.random.stateless_normal([1, 1, 16, 40], [8, 1])

    @df.function
    def predict(x):
        gate = df.sigmoid(df.reduce_mean(x, [1, 2], keepdims=True) @ gates)
        return df.nn.silu(df.nn.conv2d(x * gate, filters, 1, "SAME"))

    return predict, df.random.stateless_normal([2, 5, 5, 16], [8, 2])


def scaled():
    """Return a step that takes varying Python numbers, one of them as two dtypes, and inputs."""
    w = df.Variable([1.0, -2.0, 3.0], name="scaled")

    @df.function
    def step(x, rate, n):
        w.assign_sub(rate * x)
        return w.value() * n, df.range(3) + n

    x = df.constant([0.5, -1.0, 2.0])
    step(x, 0.1, 2)
    step(x, 0.2, 3)
    return step, x


def returned_as_is():
    """Return a function that returns constants, arguments and variable values, some of them twice,
    and inputs."""
    v = df.Variable([1.0, 2.0], name="returned")
    known, flags = df.constant([1.5, -0.0, float("nan")]), df.constant([True, False, True])

    @df.function
    def f(x, y):
        old = v.value()
        v.assign_add(x)
        return {"constants": (known, flags, [known], df.constant(7), df.zeros([0, 2], df.int8)),
                "arguments": [x, y, x], "values": (old, old, v.value(), v.value()),
                "made": [df.exp(x)] * 2, "text": "a"}

    return f, df.constant([0.5, -1.0]), df.constant([[3]])


def control():
    """Return branches and loops with random draws, variable updates and data-dependent sizes."""
    state = df.Variable([1.0, -2.0, 3.0], name="state")
    generator = df.random.Generator(5)

    @df.function
    def run(x, n):
        total = df.zeros([3])
        while n > 0:
            total += df.sin(total + x) + generator.normal([3])
            n -= 1
        if df.reduce_sum(total) > 0:
            state.assign_add(total)
        else:
            state.assign_sub(total)
        positive = df.gather(x, df.reshape(df.where(x > 0), [-1]))
        return total, df.reduce_sum(positive), state.value()

    return run, df.constant([0.5, -1.0, 2.0]), df.constant(4)
