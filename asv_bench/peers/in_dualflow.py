"""The work in dualflow."""

from functools import partial

import numpy as np

import dualflow as df

from . import ops, work


def start(threads):
    return df.__version__


def constants(values):
    return [df.constant(v) for v in values]


def differentiated(f, sources, like):
    """Return a call that computes `f(*sources)` and its gradients for a given cotangent."""
    g = df.constant(work.arrays(like.shape, seed=3)[0])

    def call():
        with df.GradientTape() as tape:
            tape.watch(sources)
            y = f(*sources)
        return tape.gradient(y, sources, output_gradients=g)
    return call


# --- small and elementwise ---

def add(n):
    a, b = constants(work.arrays(n, n))
    return lambda: a + b


def add_traced(n):
    a, b = constants(work.arrays(n, n))
    f = df.function(lambda a, b: a + b)
    return lambda: f(a, b)


def add_recorded(n, times=1000):
    a, b = constants(work.arrays(n, n))

    def call():
        with df.GradientTape() as tape:
            tape.watch(a)
            for _ in range(times):
                a + b
    return call, times


def ten_tanh():
    v = df.Variable([.1] * 16)

    def call():
        with df.GradientTape() as tape:
            y = v
            for _ in range(10):
                y = df.tanh(y * 1.01)
            total = df.reduce_sum(y)
        return tape.gradient(total, v)
    return call


def chain(n):
    x, = constants(work.arrays(16))

    @df.function
    def f(x):
        for _ in range(n // 2):
            x = df.sin(x) * 1.01
        return x
    return lambda: f(x)


def elementwise(op, n):
    f = getattr(df, op, None) or getattr(df.math, op)
    x = df.abs(df.constant(work.arrays(n)[0])) + .1
    return lambda: f(x)


def power(n, exponent):
    x, = constants(work.arrays(n))
    return lambda: x ** exponent


def gelu(n):
    x, = constants(work.arrays(n))
    f = df.function(lambda x: .5 * x * (1. + df.tanh(.7978845608 * (x + .044715 * x * x * x))))
    return lambda: f(x)


def expression(texts, letters, n):
    function, values = ops.parse(texts["dualflow"], {"df": df}, ops.inputs(letters, n))
    values = constants(values)
    return lambda: function(*values)


# --- linear algebra ---

def linear_algebra(op, n):
    a, b = constants(work.equations(op, n))
    if op == "triangular_solve":
        return lambda: df.linalg.triangular_solve(a, b)
    return lambda: df.linalg.solve(a, b) if op == "solve" else getattr(df.linalg, op)(a)


def gaussian_process(n):
    """Return the negative log-likelihood and its gradient."""
    logs, x, y = constants(work.points(n))

    def value(logs):
        scale, length, noise = df.unstack(df.exp(logs))
        squares = df.reduce_sum(x * x, 1)
        distance = squares[:, None] + squares[None, :] - 2. * (x @ df.transpose(x))
        factor = df.linalg.cholesky(scale * df.exp(distance * (-.5 / length))
                                    + (noise + 1e-4) * df.eye(n))
        scaled = df.linalg.triangular_solve(factor, y)
        return .5 * df.reduce_sum(scaled * scaled) + df.reduce_sum(
            df.math.log(df.linalg.diag_part(factor)))
    return partial(df.function(df.value_and_grad(value)), logs)



# --- rows, columns, order ---

def along(op, axis):
    x, = constants(work.arrays((2048, 2048)))
    f = {"sum": df.reduce_sum, "max": df.reduce_max, "argmax": df.argmax}[op]
    return lambda: f(x, axis=axis)


def transpose(n):
    x, = constants(work.arrays((n, n)))
    return lambda: df.transpose(x)


def gather(rows, n):
    table, = constants(work.arrays((rows, 256)))
    ids = df.constant(np.random.default_rng(1).integers(0, rows, n))
    return lambda: df.gather(table, ids)


def sort(n):
    x, = constants(work.arrays(n))
    return lambda: df.sort(x)


def softmax(by_hand):
    x, = constants(work.arrays((1024, 1024)))

    def written(x):
        e = df.exp(x - df.reduce_max(x, axis=-1, keepdims=True))
        return e / df.reduce_sum(e, axis=-1, keepdims=True)
    f = df.function(written) if by_hand else df.nn.softmax
    return lambda: f(x)


def layer_norm(by_hand):
    x, scale, offset = constants(work.arrays((1024, 1024), 1024, 1024))

    def written(x, scale, offset):
        d = x - df.reduce_mean(x, axis=-1, keepdims=True)
        variance = df.reduce_mean(d * d, axis=-1, keepdims=True)
        return d * df.math.rsqrt(variance + 1e-5) * scale + offset
    if by_hand:
        f = df.function(written)
        return lambda: f(x, scale, offset)
    return lambda: df.nn.layer_norm(x, scale, offset, epsilon=1e-5)


# --- products, convolutions ---

def matmul(m, k, n):
    a, b = constants(work.arrays((m, k), (k, n)))
    return lambda: a @ b


def conv(backward, stride=1, depthwise=False, **args):
    x, w = constants(work.convolution(**args, depthwise=depthwise))

    def f(x, w):
        if depthwise:
            return df.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], "SAME")
        return df.nn.conv2d(x, w, stride, "SAME")
    return differentiated(f, [x, w], f(x, w)) if backward else lambda: f(x, w)


def max_pool():
    x, = constants(work.arrays((64, 28, 28, 32)))
    return lambda: df.nn.max_pool2d(x, 2, 2, "VALID")


def attention(batch, heads, tokens, width):
    """Return a call that computes attention and its gradients."""
    qkv = constants(work.arrays(*[(batch, heads, tokens, width)] * 3))

    def f(*qkv):
        return df.nn.scaled_dot_product_attention(*qkv, is_causal=True)
    return differentiated(f, qkv, qkv[0])


# --- loops ---

def scalar_while(rounds):
    start, n = df.constant(1.), df.constant(rounds)

    @df.function
    def f(n, x):
        return df.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * .999 + .5), (0, x))
    return lambda: f(n, start), rounds


def counted_loop(rounds):
    start, n = df.constant(1.), df.constant(rounds)

    @df.function
    def f(n, x):
        return df.scan(lambda x, _: (x * .999 + .5, None), x, length=n)[0]
    return lambda: f(n, start), rounds


def product_loop(rounds, n=16):
    v, w = constants(work.arrays((1, n), (n, n)))

    @df.function
    def f(v, w):
        return df.scan(lambda v, _: (df.tanh(v @ w), None), v, length=rounds)[0]
    return lambda: f(v, w), rounds


# --- training steps ---

def trained(parameters, loss_of, optimizer, *batch):
    """Return a call that runs one traced step."""
    variables = [df.Variable(p) for p in parameters]
    batch = constants(batch)

    @df.function
    def step(*batch):
        with df.GradientTape() as tape:
            loss = loss_of(variables, *batch)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss
    return lambda: step(*batch)


def cross_entropy(logits, y):
    return df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def mlp_step(batch, sizes, adam):
    weights, biases = work.dense(*sizes)
    n = len(weights)

    def loss(v, x, y):
        for w, b in zip(v[:n - 1], v[n:]):
            x = df.nn.relu(x @ w + b)
        return cross_entropy(x @ v[n - 1] + v[-1], y)
    optimizer = df.optimizers.Adam(.001) if adam else df.optimizers.SGD(.01)
    x, = work.arrays((batch, sizes[0]), seed=4)
    return trained([*weights, *biases], loss, optimizer, x, work.labels(batch, sizes[-1]))


def cnn_step(batch):
    parameters, x, y = work.cnn(batch)

    def loss(v, x, y):
        for w, b in (v[0:2], v[2:4]):
            x = df.nn.max_pool2d(df.nn.relu(df.nn.conv2d(x, w, 1, "SAME") + b), 2, 2, "VALID")
        x = df.nn.relu(df.reshape(x, [batch, -1]) @ v[4] + v[5])
        return cross_entropy(x @ v[6] + v[7], y)
    return trained(parameters, loss, df.optimizers.Adam(.001), x, y)


def lstm_step(batch, by_hand, units=128):
    parameters, x, y = work.lstm(batch, units)

    def unrolled(x, kernel, recurrent, bias):
        h = c = df.zeros([batch, units])
        for t in range(x.shape[1]):
            i, f, g, o = df.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
            c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
            h = df.sigmoid(o) * df.tanh(c)
        return h

    def loss(v, x, y):
        h = unrolled(x, *v[:3]) if by_hand else df.nn.lstm(x, *v[:3])[1][0]
        return cross_entropy(h @ v[3] + v[4], y)
    return trained(parameters, loss, df.optimizers.Adam(.001), x, y)


def sliced_lstm_step(batch, units=128):
    parameters, x, y = work.lstm(batch, units)

    def loss(v, x, y):
        kernel, recurrent, bias, w, b = v
        z, h, c = x @ kernel + bias, df.zeros([batch, units]), df.zeros([batch, units])
        for t in range(x.shape[1]):
            i, f, g, o = df.split(z[:, t] + h @ recurrent, 4, axis=1)
            c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
            h = df.sigmoid(o) * df.tanh(c)
        return cross_entropy(h @ w + b, y)
    return trained(parameters, loss, df.optimizers.Adam(.001), x, y)


def sliced_gru_step(batch, units=64):
    parameters, x, y = work.gru(batch, units)

    def loss(v, x, y):
        kernel, recurrent, w, b = v
        u, n = recurrent.value(), units
        z, h = x @ kernel, df.zeros([batch, units])
        for t in range(x.shape[1]):
            reset = df.sigmoid(z[:, t, :n] + h @ u[:, :n])
            update = df.sigmoid(z[:, t, n:2 * n] + h @ u[:, n:2 * n])
            new = df.tanh(z[:, t, 2 * n:] + reset * (h @ u[:, 2 * n:]))
            h = (1. - update) * new + update * h
        return cross_entropy(h @ w + b, y)
    return trained(parameters, loss, df.optimizers.Adam(.001), x, y)


def scan_maker(steps, batch, units=128):
    """Return a constructor of a traced step, and the step's arguments."""
    parameters, x, y = work.rows_of_lstm(steps, batch, units)
    variables = [df.Variable(p) for p in parameters]
    kernel, recurrent, bias = variables
    optimizer = df.optimizers.SGD(.01)

    def cell(state, x):
        h, c = state
        i, f, g, o = df.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
        c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
        h = df.sigmoid(o) * df.tanh(c)
        return (h, c), h

    def step(x, y):
        with df.GradientTape() as tape:
            zeros = df.zeros([batch, units])
            loss = df.reduce_mean(df.square(df.scan(cell, (zeros, zeros), x)[1] - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss
    return lambda: df.function(step), constants([x, y])


def scan_step(steps, batch):
    make, given = scan_maker(steps, batch)
    step = make()
    return lambda: step(*given)


def scan_compile(steps, batch):
    """Return a call that does everything a first call does before the program runs."""
    make, given = scan_maker(steps, batch)
    return lambda: make().compiled_for(*given)


def gpt_step(batch, tokens, layers, width, heads):
    parameters, x, y = work.gpt(batch, tokens, layers, width)

    def attention(x, qkv, project):
        parts = df.reshape(x @ qkv, [batch, tokens, 3, heads, width // heads])
        q, k, v = df.unstack(df.transpose(parts, [2, 0, 3, 1, 4]))
        made = df.nn.scaled_dot_product_attention(q, k, v, is_causal=True)
        return df.reshape(df.transpose(made, [0, 2, 1, 3]), [batch, tokens, width]) @ project

    def loss(v, x, y):
        h = df.gather(v[0], x) + v[1]
        for k in range(2, 2 + layers * work.BLOCK, work.BLOCK):
            s1, o1, qkv, project, s2, o2, up, down = v[k:k + work.BLOCK]
            h = h + attention(df.nn.layer_norm(h, s1, o1), qkv, project)
            h = h + df.nn.gelu(df.nn.layer_norm(h, s2, o2) @ up, approximate=True) @ down
        return cross_entropy(df.nn.layer_norm(h, v[-3], v[-2]) @ v[-1], y)
    return trained(parameters, loss, df.optimizers.Adam(.001), x, y)


# --- data ---

def shuffled_batches(rows, batch):
    x, = work.arrays((rows, 64))
    dataset = df.data.Dataset.from_tensor_slices((x, np.arange(rows)))
    return work.counted_pass(dataset.shuffle(rows).batch(batch).prefetch(df.data.AUTOTUNE))
