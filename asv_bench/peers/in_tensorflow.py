"""The work in TensorFlow: traced, with and without XLA; the faster variant counts."""

from functools import partial

import numpy as np
import tensorflow as tf

from . import work


def start(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    return tf.__version__


def traced(f, *inputs):
    inputs = [tf.constant(x) for x in inputs]
    return [partial(tf.function(f, jit_compile=xla), *inputs) for xla in (False, True)]


# --- small and elementwise ---

def add(n):
    a, b = [tf.constant(x) for x in work.arrays(n, n)]
    return lambda: a + b


def add_traced(n):
    return traced(lambda a, b: a + b, *work.arrays(n, n))


def ten_tanh():
    v = tf.Variable([.1] * 16)

    def call():
        with tf.GradientTape() as tape:
            y = v
            for _ in range(10):
                y = tf.tanh(y * 1.01)
            total = tf.reduce_sum(y)
        return tape.gradient(total, v)
    return call


def chain(n):
    def f(x):
        for _ in range(n // 2):
            x = tf.sin(x) * 1.01
        return x
    return traced(f, *work.arrays(16))


def elementwise(op, n):
    f = getattr(tf, op, None) or getattr(tf.math, op)
    return traced(f, np.abs(work.arrays(n)[0]) + np.float32(.1))


def power(n, exponent):
    return traced(lambda x: x ** exponent, *work.arrays(n))


def gelu(n):
    return traced(lambda x: .5 * x * (1. + tf.tanh(.7978845608 * (x + .044715 * x * x * x))),
                  *work.arrays(n))


# --- linear algebra ---

def linear_algebra(op, n):
    a, b = work.equations(op, n)
    if op == "triangular_solve":
        return traced(tf.linalg.triangular_solve, a, b)
    return traced(tf.linalg.solve, a, b) if op == "solve" else traced(getattr(tf.linalg, op), a)


def gaussian_process(n):
    logs, x, y = work.points(n)

    def value(logs):
        with tf.GradientTape() as tape:
            tape.watch(logs)
            scale, length, noise = tf.unstack(tf.exp(logs))
            squares = tf.reduce_sum(x * x, 1)
            distance = squares[:, None] + squares[None, :] - 2. * (x @ x.T)
            factor = tf.linalg.cholesky(scale * tf.exp(distance * (-.5 / length))
                                        + (noise + 1e-4) * tf.eye(n))
            scaled = tf.linalg.triangular_solve(factor, y)
            loss = .5 * tf.reduce_sum(scaled * scaled) + tf.reduce_sum(
                tf.math.log(tf.linalg.diag_part(factor)))
        return loss, tape.gradient(loss, logs)
    return traced(value, logs)



# --- rows, columns, order ---

def along(op, axis):
    f = {"sum": tf.reduce_sum, "max": tf.reduce_max, "argmax": tf.argmax}[op]
    return traced(lambda x: f(x, axis=axis), *work.arrays((2048, 2048)))


def transpose(n):
    return traced(tf.transpose, *work.arrays((n, n)))


def gather(rows, n):
    ids = np.random.default_rng(1).integers(0, rows, n)
    return traced(tf.gather, *work.arrays((rows, 256)), ids)


def sort(n):
    return traced(tf.sort, *work.arrays(n))


def softmax(by_hand):
    return traced(tf.nn.softmax, *work.arrays((1024, 1024)))


def normed(x, scale, offset):
    d = x - tf.reduce_mean(x, -1, keepdims=True)
    return d * tf.math.rsqrt(tf.reduce_mean(d * d, -1, keepdims=True) + 1e-5) * scale + offset


def layer_norm(by_hand):
    return traced(normed, *work.arrays((1024, 1024), 1024, 1024))


# --- products, convolutions ---

def matmul(m, k, n):
    return traced(tf.matmul, *work.arrays((m, k), (k, n)))


def conv(backward, stride=1, depthwise=False, **args):
    x, w = work.convolution(**args, depthwise=depthwise)
    f = tf.nn.depthwise_conv2d if depthwise else tf.nn.conv2d

    def forward(x, w):
        return f(x, w, [1, stride, stride, 1], "SAME")

    def both(x, w, g):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = forward(x, w)
        return y, tape.gradient(y, [x, w], g)       # without y it would not be computed
    if not backward:
        return traced(forward, x, w)
    return traced(both, x, w, *work.arrays(forward(x, w).shape, seed=3))


def max_pool():
    return traced(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), *work.arrays((64, 28, 28, 32)))


# --- loops ---

def scalar_while(rounds):
    def f(n, x):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * .999 + .5), (0, x))
    return traced(f, np.int32(rounds), np.float32(1))[0], rounds    # the variant without XLA


def counted_loop(rounds):
    def f(n, x):
        for _ in tf.range(n):
            x = x * .999 + .5
        return x
    return traced(f, np.int32(rounds), np.float32(1))[0], rounds


# --- training steps ---

def trained(parameters, loss_of, adam, *batch):
    """Return a step with Adam written out, so that one trace contains the whole update."""
    ways = []
    batch = [tf.constant(b) for b in batch]
    for xla in (False, True):
        v = [tf.Variable(p) for p in parameters]
        m, s = [[tf.Variable(tf.zeros_like(p)) for p in v] for _ in range(2)]
        t = tf.Variable(0.)

        def step(*batch, v=v, m=m, s=s, t=t):
            with tf.GradientTape() as tape:
                loss = loss_of(v, *batch)
            t.assign_add(1.)
            rate = .001 * tf.sqrt(1 - .999 ** t) / (1 - .9 ** t)
            for p, a, b, g in zip(v, m, s, tape.gradient(loss, v)):
                g = tf.convert_to_tensor(g)
                if not adam:
                    p.assign_sub(.01 * g)
                    continue
                a.assign(.9 * a + .1 * g)
                b.assign(.999 * b + .001 * g * g)
                p.assign_sub(rate * a / (tf.sqrt(b) + 1e-7))
            return loss
        ways.append(partial(tf.function(step, jit_compile=xla), *batch))
    return ways


def cross_entropy(logits, y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def mlp_step(batch, sizes, adam):
    weights, biases = work.dense(*sizes)
    n = len(weights)

    def loss(v, x, y):
        for w, b in zip(v[:n - 1], v[n:]):
            x = tf.nn.relu(x @ w + b)
        return cross_entropy(x @ v[n - 1] + v[-1], y)
    x, = work.arrays((batch, sizes[0]), seed=4)
    return trained([*weights, *biases], loss, adam, x, work.labels(batch, sizes[-1]))


def cnn_step(batch):
    parameters, x, y = work.cnn(batch)

    def loss(v, x, y):
        for w, b in (v[0:2], v[2:4]):
            x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME") + b), 2, 2, "VALID")
        x = tf.nn.relu(tf.reshape(x, [batch, -1]) @ v[4] + v[5])
        return cross_entropy(x @ v[6] + v[7], y)
    return trained(parameters, loss, True, x, y)


def lstm_step(batch, by_hand, units=128):
    parameters, x, y = work.lstm(batch, units)

    def loss(v, x, y):
        kernel, recurrent, bias, w, b = v
        h = c = tf.zeros([batch, units])
        for t in range(x.shape[1]):
            i, f, g, o = tf.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return cross_entropy(h @ w + b, y)
    return trained(parameters, loss, True, x, y)


def gpt_step(batch, tokens, layers, width, heads):
    parameters, x, y = work.gpt(batch, tokens, layers, width)
    causal = np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)

    def attention(x, qkv, project):
        parts = tf.reshape(x @ qkv, [batch, tokens, 3, heads, width // heads])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -.5 + causal
        made = tf.transpose(tf.nn.softmax(scores) @ v, [0, 2, 1, 3])
        return tf.reshape(made, [batch, tokens, width]) @ project

    def loss(v, x, y):
        h = tf.gather(v[0], x) + v[1]
        for k in range(2, 2 + layers * work.BLOCK, work.BLOCK):
            s1, o1, qkv, project, s2, o2, up, down = v[k:k + work.BLOCK]
            h = h + attention(normed(h, s1, o1), qkv, project)
            h = h + tf.nn.gelu(normed(h, s2, o2) @ up, approximate=True) @ down
        return cross_entropy(normed(h, v[-3], v[-2]) @ v[-1], y)
    return trained(parameters, loss, True, x, y)


# --- data ---

def shuffled_batches(rows, batch):
    x, = work.arrays((rows, 64))
    dataset = tf.data.Dataset.from_tensor_slices((x, np.arange(rows))).shuffle(rows).batch(batch)
    return [work.counted_pass(d) for d in (dataset, dataset.prefetch(tf.data.AUTOTUNE))]
