"""The work in JAX: compiled, with results waited for."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import ops, work


def start(threads):
    return jax.__version__


def compiled(f, *inputs):
    inputs = [jnp.asarray(x) for x in inputs]
    f = jax.jit(f)
    return lambda: jax.block_until_ready(f(*inputs))


# --- small and elementwise ---

def add(n):
    a, b = [jnp.asarray(x) for x in work.arrays(n, n)]
    return [lambda: jax.block_until_ready(a + b), compiled(jnp.add, a, b)]


def add_traced(n):
    return compiled(jnp.add, *work.arrays(n, n))


def chain(n):
    def f(x):
        for _ in range(n // 2):
            x = jnp.sin(x) * 1.01
        return x
    return compiled(f, *work.arrays(16))


def elementwise(op, n):
    f = getattr(jnp, op, None) or {"sigmoid": jax.nn.sigmoid, "erf": jax.scipy.special.erf}[op]
    return compiled(f, np.abs(work.arrays(n)[0]) + np.float32(.1))


def power(n, exponent):
    return compiled(lambda x: x ** exponent, *work.arrays(n))


def gelu(n):
    return compiled(lambda x: .5 * x * (1. + jnp.tanh(.7978845608 * (x + .044715 * x * x * x))),
                    *work.arrays(n))


def expression(texts, letters, n):
    names = {"jax": jax, "jnp": jnp, "lax": lax}
    function, values = ops.parse(texts["jax"], names, ops.inputs(letters, n))
    return compiled(function, *values)


# --- linear algebra ---

def linear_algebra(op, n):
    a, b = work.equations(op, n)
    if op == "triangular_solve":
        return compiled(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), a, b)
    return (compiled(jnp.linalg.solve, a, b) if op == "solve" else
            compiled(getattr(jnp.linalg, op), a))


def gaussian_process(n):
    logs, x, y = work.points(n)

    def value(logs):
        scale, length, noise = jnp.exp(logs)
        squares = (x * x).sum(1)
        distance = squares[:, None] + squares[None, :] - 2. * (x @ x.T)
        factor = jnp.linalg.cholesky(scale * jnp.exp(distance * (-.5 / length))
                                     + (noise + 1e-4) * jnp.eye(n))
        scaled = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return .5 * (scaled * scaled).sum() + jnp.log(jnp.diag(factor)).sum()
    return compiled(jax.value_and_grad(value), logs)



# --- rows, columns, order ---

def along(op, axis):
    f = getattr(jnp, op)
    return compiled(lambda x: f(x, axis=axis), *work.arrays((2048, 2048)))


def transpose(n):
    return compiled(jnp.transpose, *work.arrays((n, n)))


def gather(rows, n):
    ids = np.random.default_rng(1).integers(0, rows, n)
    return compiled(lambda table, ids: table[ids], *work.arrays((rows, 256)), ids)


def sort(n):
    return compiled(jnp.sort, *work.arrays(n))


def softmax(by_hand):
    return compiled(jax.nn.softmax, *work.arrays((1024, 1024)))


def normed(x, scale, offset):
    d = x - jnp.mean(x, -1, keepdims=True)
    return d * lax.rsqrt(jnp.mean(d * d, -1, keepdims=True) + 1e-5) * scale + offset


def layer_norm(by_hand):
    return compiled(normed, *work.arrays((1024, 1024), 1024, 1024))


# --- products, convolutions ---

def matmul(m, k, n):
    return compiled(jnp.matmul, *work.arrays((m, k), (k, n)))


def convolved(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv(backward, stride=1, depthwise=False, **args):
    x, w = work.convolution(**args, depthwise=depthwise)
    groups = args["inputs"] if depthwise else 1
    if depthwise:
        w = w.transpose(0, 1, 3, 2)

    def f(x, w):
        return convolved(x, w, stride, groups)

    def both(x, w, g):
        y, back = jax.vjp(f, x, w)
        return y, back(g)                           # without y it would not be computed
    if not backward:
        return compiled(f, x, w)
    return compiled(both, x, w, *work.arrays(f(x, w).shape, seed=3))


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def max_pool():
    return compiled(pooled, *work.arrays((64, 28, 28, 32)))


def attention(batch, heads, tokens, width):
    def both(q, k, v, g):
        def f(*qkv):
            return jax.nn.dot_product_attention(*qkv, is_causal=True)
        y, back = jax.vjp(f, q, k, v)
        return y, back(g)
    return compiled(both, *work.arrays(*[(batch, tokens, heads, width)] * 4))


# --- loops ---

def scalar_while(rounds):
    def f(n, x):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * .999 + .5), (0, x))
    return compiled(f, np.int32(rounds), np.float32(1)), rounds


def counted_loop(rounds):
    def f(n, x):
        return lax.fori_loop(0, n, lambda _, x: x * .999 + .5, x)
    return compiled(f, np.int32(rounds), np.float32(1)), rounds


def product_loop(rounds, n=16):
    def f(v, w):
        return lax.scan(lambda v, _: (jnp.tanh(v @ w), None), v, length=rounds)[0]
    return compiled(f, *work.arrays((1, n), (n, n))), rounds


# --- training steps ---

def trained(parameters, loss_of, adam, *batch):
    """Return one update as a pure function of parameters, moments and step, with donated memory."""
    def step(v, m, s, t, *batch):
        loss, g = jax.value_and_grad(loss_of)(v, *batch)
        if not adam:
            return [p - .01 * g for p, g in zip(v, g)], m, s, t, loss
        t = t + 1
        m = [.9 * m + .1 * g for m, g in zip(m, g)]
        s = [.999 * s + .001 * g * g for s, g in zip(s, g)]
        rate = .001 * jnp.sqrt(1 - .999 ** t) / (1 - .9 ** t)
        v = [p - rate * m / (jnp.sqrt(s) + 1e-7) for p, m, s in zip(v, m, s)]
        return v, m, s, t, loss
    step = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    v = [jnp.array(p) for p in parameters]
    kept = [(v, [jnp.zeros_like(p) for p in v], [jnp.zeros_like(p) for p in v], jnp.float32(0))]
    batch = [jnp.asarray(b) for b in batch]

    def call():
        *kept[0], loss = step(*kept[0], *batch)
        loss.block_until_ready()
    return call


def cross_entropy(logits, y):
    found = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(found, y[..., None], -1))


def mlp_step(batch, sizes, adam):
    weights, biases = work.dense(*sizes)
    n = len(weights)

    def loss(v, x, y):
        for w, b in zip(v[:n - 1], v[n:]):
            x = jax.nn.relu(x @ w + b)
        return cross_entropy(x @ v[n - 1] + v[-1], y)
    x, = work.arrays((batch, sizes[0]), seed=4)
    return trained([*weights, *biases], loss, adam, x, work.labels(batch, sizes[-1]))


def cnn_step(batch):
    parameters, x, y = work.cnn(batch)

    def loss(v, x, y):
        for w, b in (v[0:2], v[2:4]):
            x = pooled(jax.nn.relu(convolved(x, w) + b))
        x = jax.nn.relu(x.reshape(batch, -1) @ v[4] + v[5])
        return cross_entropy(x @ v[6] + v[7], y)
    return trained(parameters, loss, True, x, y)


def lstm_step(batch, by_hand, units=128):
    parameters, x, y = work.lstm(batch, units)

    def loss(v, x, y):
        kernel, recurrent, bias, w, b = v

        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
        zeros = jnp.zeros((batch, units))
        (h, _), _ = lax.scan(cell, (zeros, zeros), x.transpose(1, 0, 2))
        return cross_entropy(h @ w + b, y)
    return trained(parameters, loss, True, x, y)


def scan_maker(steps, batch, units=128):
    """Return a constructor of a jitted step, and the step's arguments."""
    parameters, x, y = work.rows_of_lstm(steps, batch, units)

    def loss(v, x, y):
        kernel, recurrent, bias = v

        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zeros = jnp.zeros((batch, units))
        return jnp.mean((lax.scan(cell, (zeros, zeros), x)[1] - y) ** 2)

    def make():
        def step(v, x, y):
            found, g = jax.value_and_grad(loss)(v, x, y)
            return [p - .01 * g for p, g in zip(v, g)], found
        return jax.jit(step, donate_argnums=0)
    return make, ([jnp.array(p) for p in parameters], jnp.asarray(x), jnp.asarray(y))


def scan_step(steps, batch):
    make, (v, x, y) = scan_maker(steps, batch)
    step, kept = make(), [v]

    def call():
        kept[0], loss = step(kept[0], x, y)
        loss.block_until_ready()
    return call


def scan_compile(steps, batch):
    make, given = scan_maker(steps, batch)
    return lambda: make().lower(*given).compile()


def gpt_step(batch, tokens, layers, width, heads):
    parameters, x, y = work.gpt(batch, tokens, layers, width)

    def attention(x, qkv, project):
        parts = (x @ qkv).reshape(batch, tokens, 3, heads, width // heads)
        made = jax.nn.dot_product_attention(*jnp.moveaxis(parts, 2, 0), is_causal=True)
        return made.reshape(batch, tokens, width) @ project

    def loss(v, x, y):
        h = v[0][x] + v[1]
        for k in range(2, 2 + layers * work.BLOCK, work.BLOCK):
            s1, o1, qkv, project, s2, o2, up, down = v[k:k + work.BLOCK]
            h = h + attention(normed(h, s1, o1), qkv, project)
            h = h + jax.nn.gelu(normed(h, s2, o2) @ up) @ down
        return cross_entropy(normed(h, v[-3], v[-2]) @ v[-1], y)
    return trained(parameters, loss, True, x, y)
