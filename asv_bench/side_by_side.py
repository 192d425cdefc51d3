"""dualflow beside NumPy, PyTorch and JAX in one process and one run.

    python asv_bench/side_by_side.py [pattern]

Peers that are not installed are left out. Blocks of calls alternate, with pauses so that one
library's spinning threads do not slow the next; each figure is the median of the blocks' times. The
ratio is the best peer's time over ours: above 1 we are faster.
"""

import math
import statistics
import sys
import time
import timeit

import numpy as np
from benchmarks.train import GPT

import dualflow as df

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

BLOCKS = 9
BLOCK_SECONDS = 0.05
RNG = np.random.default_rng(0)


def arrays(*shapes):
    return [RNG.normal(size=s).astype(np.float32) for s in shapes]


def rows():
    """(name, {library: function}), each function without arguments."""
    yield from dispatch()
    yield from elementwise()
    yield from kernels()
    yield from attention()
    yield from products()
    yield from traced()
    yield "GPT step, 4 layers of 256, 8 x 128 tokens, Adam", gpt()


def torch_of(array, **options):
    return torch.from_numpy(array.copy()).requires_grad_(options.get("grad", False))


def jitted(f, *inputs):
    """JAX at its best: compiled once, waited for."""
    inputs = [jnp.asarray(x) for x in inputs]
    compiled = jax.jit(f)
    return lambda: jax.block_until_ready(compiled(*inputs))


def libraries(inputs, ours, numpy=None, pytorch=None, jaxed=None):
    tensors = [df.constant(x) for x in inputs]
    found = {"dualflow": lambda: ours(*tensors)}
    if numpy:
        found["numpy"] = lambda: numpy(*inputs)
    if torch and pytorch:
        peers = [torch_of(x) for x in inputs]
        found["torch"] = lambda: pytorch(*peers)
    if jax and jaxed:
        found["jax"] = jitted(jaxed, *inputs)
    return found


def dispatch():
    small = arrays(4, 4)
    yield "a + b, 4 elements", libraries(small, lambda a, b: a + b, lambda a, b: a + b,
                                         lambda a, b: a + b)
    yield "a + b recorded, 4 elements", recorded(*small)
    yield "10 x tanh(x * 1.01), 16 elements, sum, gradient", ten_tanh()


def recorded(a, b):
    x, y = df.constant(a), df.constant(b)

    def ours(n=1000):
        with df.GradientTape() as tape:
            tape.watch(x)
            for _ in range(n):
                x + y

    found = {"dualflow": ours}
    if torch:
        s, t = torch_of(a, grad=True), torch_of(b)

        def theirs(n=1000):
            for _ in range(n):
                s + t

        found["torch"] = theirs
    return {k: (f, 1000) for k, f in found.items()}


def ten_tanh():
    v = df.Variable([0.1] * 16)

    def ours():
        with df.GradientTape() as tape:
            y = v
            for _ in range(10):
                y = df.tanh(y * 1.01)
            loss = df.reduce_sum(y)
        return tape.gradient(loss, v)

    found = {"dualflow": ours}
    if torch:
        t = torch.full((16,), 0.1, requires_grad=True)

        def theirs():
            y = t
            for _ in range(10):
                y = torch.tanh(y * 1.01)
            return torch.autograd.grad(y.sum(), t)

        found["torch"] = theirs
    return found


def elementwise():
    million = arrays(1_000_000)
    positive = [np.abs(million[0]) + 0.1]
    names = [("exp", million, np.exp), ("log", positive, np.log), ("tanh", million, np.tanh),
             ("sigmoid", million, None), ("erf", million, None), ("sin", million, np.sin)]
    for name, data, reference in names:
        ours = getattr(df, name, None) or getattr(df.math, name)
        jaxed = None
        if jax:
            jaxed = getattr(jnp, name, None) or {"sigmoid": jax.nn.sigmoid,
                                                 "erf": jax.scipy.special.erf}[name]
        theirs = torch and getattr(torch, name)
        yield f"{name}, 1 M", libraries(data, ours, reference, theirs, jaxed)
    pair = arrays(1_000_000, 1_000_000)
    yield "a + b, 1 M", libraries(pair, lambda a, b: a + b, np.add, lambda a, b: a + b,
                                  jax and jnp.add)
    rows_and_bias = arrays((4096, 256), 256)
    yield "x + bias, 4096 x 256", libraries(rows_and_bias, lambda a, b: a + b, np.add,
                                            lambda a, b: a + b, jax and jnp.add)


def kernels():
    square = arrays((2048, 2048))
    for axis in (None, 0, 1):
        yield f"sum, 2048 x 2048, axis {axis}", libraries(
            square, lambda x, a=axis: df.reduce_sum(x, axis=a),
            lambda x, a=axis: x.sum(axis=a),
            lambda x, a=axis: x.sum() if a is None else x.sum(dim=a),
            jax and (lambda x, a=axis: jnp.sum(x, axis=a)))
    yield "max, 2048 x 2048, axis 1", libraries(
        square, lambda x: df.reduce_max(x, axis=1), lambda x: x.max(axis=1),
        lambda x: x.amax(dim=1), jax and (lambda x: jnp.max(x, axis=1)))
    yield "argmax, 2048 x 2048, axis 1", libraries(
        square, lambda x: df.argmax(x, axis=1), lambda x: x.argmax(axis=1),
        lambda x: x.argmax(dim=1), jax and (lambda x: jnp.argmax(x, axis=1)))
    yield "transpose, 2048 x 2048", libraries(
        square, df.transpose, lambda x: np.ascontiguousarray(x.T), lambda x: x.t().contiguous(),
        jax and jnp.transpose)
    thousand = arrays((1024, 1024))
    yield "softmax, 1024 x 1024", libraries(
        thousand, df.nn.softmax, None, lambda x: torch.softmax(x, 1), jax and jax.nn.softmax)
    table, = arrays((30000, 256))
    ids = RNG.integers(0, 30000, 4096)
    yield "gather 4096 rows of 256 from 30000", libraries(
        [table, ids], lambda t, i: df.gather(t, i), lambda t, i: t[i], lambda t, i: t[i],
        jax and (lambda t, i: t[i]))
    yield "sort, 1 M", libraries(arrays(1_000_000), df.sort, np.sort,
                                 lambda x: torch.sort(x).values, jax and jnp.sort)


def attention():
    """Causal; forward alone, and with the gradients of query, key and value."""
    for batch, heads, n, d in ((8, 4, 128, 64), (2, 4, 1024, 64), (1, 4, 4096, 64)):
        q, k, v, g = arrays(*[(batch, heads, n, d)] * 4)
        what = f"attention, {batch} x {heads} heads x {n} x {d}"

        def ours(*qkv):
            return df.nn.scaled_dot_product_attention(*qkv, is_causal=True)

        def ours_back(q, k, v, g):
            with df.GradientTape() as tape:
                tape.watch([q, k, v])
                y = ours(q, k, v)
            return tape.gradient(y, [q, k, v], output_gradients=g)

        def torchs(*qkv):
            return torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)

        def torchs_back(q, k, v, g):
            qkv = [x.detach().requires_grad_() for x in (q, k, v)]
            return torch.autograd.grad(torchs(*qkv), qkv, g)

        def jaxs(*qkv):
            turned = [jnp.swapaxes(x, 1, 2) for x in qkv]
            return jnp.swapaxes(jax.nn.dot_product_attention(*turned, is_causal=True), 1, 2)

        def jaxs_back(q, k, v, g):
            return jax.vjp(jaxs, q, k, v)[1](g)

        yield what, libraries([q, k, v], ours, None, torchs, jax and jaxs)
        yield f"{what}, gradient", libraries([q, k, v, g], ours_back, None, torchs_back,
                                             jax and jaxs_back)


def products():
    shapes = [(1024, 1024, 1024), (256, 256, 256), (64, 1024, 1024), (1, 1024, 1024),
              (32, 784, 128), (32, 32, 32), (8, 16, 32)]
    for m, k, n in shapes:
        yield f"matmul {m} x {k} x {n}", libraries(
            arrays((m, k), (k, n)), df.matmul, np.matmul, torch and torch.matmul,
            jax and jnp.matmul)


def traced():
    """Traced functions beside jax.jit and, where it has no equal, eager PyTorch."""
    a, b = arrays(4, 4)
    add = df.function(lambda a, b: a + b)
    yield "function: a + b, 4 elements", libraries([a, b], add, None, None,
                                                   jax and (lambda a, b: a + b))
    for batch, sizes in ((8, (16, 32, 32, 4)), (32, (784, 128, 10))):
        for optimizer in ("adam", "sgd"):
            name = f"function: step of {'-'.join(map(str, sizes))}, batch {batch}, {optimizer}"
            yield name, training_steps(batch, sizes, optimizer)
    yield "function: first call of step 784-128-10, batch 32, sgd", first_calls()
    x, = arrays(16)
    for n in (1000, 10_000):
        yield f"function: chain of {n} ops, 16 elements", libraries(
            [x], df.function(lambda x, n=n: long_chain(x, n, df.sin)), None, None,
            jax and n < 10_000 and (lambda x, n=n: long_chain(x, n, jnp.sin)))
    for n in (1 << 20, 1 << 24):
        yield f"function: gelu by hand, {n >> 20} M", libraries(
            arrays(n), df.function(lambda x: gelu(x, df.tanh)), None,
            torch and (lambda x: gelu(x, torch.tanh)),
            jax and (lambda x: gelu(x, jnp.tanh)))


def gelu(x, tanh):
    return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def long_chain(x, n, sin):
    for _ in range(n // 2):
        x = sin(x) * 1.01
    return x


def network(batch, sizes):
    pairs = list(zip(sizes, sizes[1:]))
    weights = [w / np.float32(m) ** 0.5 for w, (m, _) in zip(arrays(*pairs), pairs)]
    biases = [np.zeros(n, np.float32) for n in sizes[1:]]
    images, = arrays((batch, sizes[0]))
    labels = RNG.integers(0, sizes[-1], batch).astype(np.int32)
    return weights, biases, images, labels


def our_step(weights, biases, optimizer):
    weights = [df.Variable(w) for w in weights]
    biases = [df.Variable(b) for b in biases]
    variables = [*weights, *biases]

    def step(x, labels):
        with df.GradientTape() as tape:
            for w, b in zip(weights[:-1], biases):
                x = df.nn.relu(x @ w + b)
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=x @ weights[-1] + biases[-1]))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def jax_loss(parameters, x, labels):
    weights, biases = parameters
    for w, b in zip(weights[:-1], biases):
        x = jax.nn.relu(x @ w + b)
    logits = jax.nn.log_softmax(x @ weights[-1] + biases[-1])
    return -jnp.mean(logits[jnp.arange(len(labels)), labels])


def jax_step(adam):
    """One update as a pure function of parameters, moments and step, their memory donated."""
    def step(parameters, m, v, t, x, labels):
        loss, g = jax.value_and_grad(jax_loss)(parameters, x, labels)
        each = jax.tree_util.tree_map
        if not adam:
            return each(lambda p, g: p - 0.01 * g, parameters, g), m, v, t, loss
        t = t + 1
        m = each(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = each(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = 0.001 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        parameters = each(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-7), parameters, m, v)
        return parameters, m, v, t, loss

    return jax.jit(step, donate_argnums=(0, 1, 2, 3))


def jax_state(weights, biases, images, labels):
    def copy():
        return [jnp.array(w) for w in weights], [jnp.array(b) for b in biases]

    zeros = jax.tree_util.tree_map(jnp.zeros_like, (copy(), copy()))
    return (copy(), *zeros, jnp.float32(0)), (jnp.asarray(images), jnp.asarray(labels))


def training_steps(batch, sizes, optimizer):
    data = weights, biases, images, labels = network(batch, sizes)
    made = df.optimizers.Adam(0.001) if optimizer == "adam" else df.optimizers.SGD(0.01)
    step = df.function(our_step(weights, biases, made))
    x, y = df.constant(images), df.constant(labels)
    found = {"dualflow": lambda: step(x, y)}
    if jax:
        theirs = jax_step(optimizer == "adam")
        state, batch_of = jax_state(*data)
        kept = [state]

        def run():
            *new, loss = theirs(*kept[0], *batch_of)
            kept[0] = tuple(new)
            loss.block_until_ready()

        found["jax"] = run
    if torch:
        found["torch"] = torch_step(*data, optimizer)
    return found


def torch_step(weights, biases, images, labels, optimizer):
    """Eager: torch.compile's own overhead per call is larger at these sizes."""
    ws, bs = [torch_of(w, grad=True) for w in weights], [torch_of(b, grad=True) for b in biases]
    x, y = torch_of(images), torch.from_numpy(labels.astype(np.int64))
    made = (torch.optim.Adam if optimizer == "adam" else torch.optim.SGD)([*ws, *bs], lr=0.001)

    def step():
        made.zero_grad()
        h = x
        for w, b in zip(ws[:-1], bs):
            h = torch.relu(h @ w + b)
        loss = torch.nn.functional.cross_entropy(h @ ws[-1] + bs[-1], y)
        loss.backward()
        made.step()

    return step


def gpt():
    ours = GPT()
    ours.setup()
    return {"dualflow": ours.time_step, **({"torch": torch_gpt(ours)} if torch else {})}


def torch_gpt(like):
    """The same network, written as PyTorch's users do."""
    nn, n = torch.nn, like.width

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(n), nn.LayerNorm(n)
            self.qkv, self.project = nn.Linear(n, 3 * n), nn.Linear(n, n)
            self.widen, self.narrow = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

        def forward(self, x):
            split = self.qkv(self.norm_1(x)).split(n, 2)
            q, k, v = (y.unflatten(2, (like.heads, -1)).transpose(1, 2) for y in split)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(y.transpose(1, 2).flatten(2))
            y = nn.functional.gelu(self.widen(self.norm_2(x)), approximate="tanh")
            return x + self.narrow(y)

    class Places(nn.Module):
        def __init__(self):
            super().__init__()
            self.places = nn.Parameter(torch.zeros(like.length, n))

        def forward(self, x):
            return x + self.places

    model = nn.Sequential(nn.Embedding(like.vocabulary, n), Places(),
                          *(Block() for _ in range(like.layers)), nn.LayerNorm(n),
                          nn.Linear(n, like.vocabulary))
    adam, batch = torch.optim.Adam(model.parameters(), lr=1e-3), torch.from_numpy(
        like.batch.numpy().astype(np.int64))

    def step():
        adam.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1),
                                           batch[:, 1:].flatten())
        loss.backward()
        adam.step()

    return step


def first_calls():
    """Trace, compile and run: a new function each time."""
    data = weights, biases, images, labels = network(32, (784, 128, 10))
    x, y = df.constant(images), df.constant(labels)
    python = our_step(weights, biases, df.optimizers.SGD(0.01))
    found = {"dualflow": lambda: df.function(python)(x, y)}
    if jax:
        def theirs():
            state, batch_of = jax_state(*data)
            jax.clear_caches()
            jax_step(False)(*state, *batch_of)[-1].block_until_ready()

        found["jax"] = theirs
    return found


def measure(functions):
    """Median seconds per call of each, blocks alternating."""
    prepared = {}
    for library, f in functions.items():
        call, inner = f if isinstance(f, tuple) else (f, 1)
        call()
        once = max(timeit.timeit(call, number=3) / 3, 1e-8)
        prepared[library] = call, inner, max(1, math.ceil(BLOCK_SECONDS / once))
    times = {library: [] for library in prepared}
    for _ in range(BLOCKS):
        for library, (call, inner, number) in prepared.items():
            time.sleep(0.02)
            times[library].append(timeit.timeit(call, number=number) / number / inner)
    return {library: statistics.median(t) for library, t in times.items()}


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    print("| what | dualflow | numpy | torch | jax | best peer / dualflow |")
    print("|---|---|---|---|---|---|")
    for name, functions in rows():
        if pattern not in name:
            continue
        found = measure(functions)
        cells = [f"{found[lib] * 1e6:.4g} µs" if lib in found else "-"
                 for lib in ("dualflow", "numpy", "torch", "jax")]
        peers = [t for lib, t in found.items() if lib != "dualflow"]
        ratio = f"{min(peers) / found['dualflow']:.2f}" if peers else "-"
        print(f"| {name} | {' | '.join(cells)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
