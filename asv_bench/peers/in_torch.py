"""The work in PyTorch, in eager mode: its compiler has a larger overhead per call at these
sizes."""

from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from . import ops, work


def start(threads):
    torch.set_num_threads(threads)
    return torch.__version__


def tensors(values, grad=False):
    return [torch.from_numpy(np.array(v)).requires_grad_(grad) for v in values]


# --- small and elementwise ---

def add(n):
    a, b = tensors(work.arrays(n, n))
    return lambda: a + b


def add_recorded(n, times=1000):
    a, b = tensors(work.arrays(n, n), grad=True)

    def call():
        for _ in range(times):
            a + b
    return call, times


def ten_tanh():
    x = torch.full((16,), .1, requires_grad=True)

    def call():
        y = x
        for _ in range(10):
            y = torch.tanh(y * 1.01)
        return torch.autograd.grad(y.sum(), x)
    return call


def chain(n):
    x, = tensors(work.arrays(16))

    def call():
        y = x
        for _ in range(n // 2):
            y = torch.sin(y) * 1.01
        return y
    return call


def elementwise(op, n):
    f, x = getattr(torch, op), tensors(work.arrays(n))[0].abs() + .1
    return lambda: f(x)


def power(n, exponent):
    x, = tensors(work.arrays(n))
    return lambda: x ** exponent


def gelu(n):
    x, = tensors(work.arrays(n))
    return lambda: .5 * x * (1. + torch.tanh(.7978845608 * (x + .044715 * x * x * x)))


def expression(texts, letters, n):
    function, values = ops.parse(texts["torch"], {"torch": torch, "F": F}, ops.inputs(letters, n))
    values = tensors(values)
    return lambda: function(*values)


# --- linear algebra ---

def linear_algebra(op, n):
    a, b = tensors(work.equations(op, n))
    if op == "triangular_solve":
        return lambda: torch.linalg.solve_triangular(a, b, upper=False)
    return lambda: torch.linalg.solve(a, b) if op == "solve" else getattr(torch.linalg, op)(a)


def gaussian_process(n):
    logs, x, y = tensors(work.points(n))
    logs.requires_grad_()

    def call():
        scale, length, noise = logs.exp().unbind()
        squares = (x * x).sum(1)
        distance = squares[:, None] + squares[None, :] - 2. * (x @ x.T)
        factor = torch.linalg.cholesky(scale * torch.exp(distance * (-.5 / length))
                                       + (noise + 1e-4) * torch.eye(n))
        scaled = torch.linalg.solve_triangular(factor, y, upper=False)
        value = .5 * (scaled * scaled).sum() + factor.diagonal().log().sum()
        return value, *torch.autograd.grad(value, logs)
    return call



# --- rows, columns, order ---

def along(op, axis):
    x, = tensors(work.arrays((2048, 2048)))
    f = {"sum": torch.sum, "max": torch.amax, "argmax": torch.argmax}[op]
    return (lambda: f(x)) if axis is None else lambda: f(x, dim=axis)


def transpose(n):
    x, = tensors(work.arrays((n, n)))
    return lambda: x.t().contiguous()


def gather(rows, n):
    table, = tensors(work.arrays((rows, 256)))
    ids = torch.from_numpy(np.random.default_rng(1).integers(0, rows, n))
    return lambda: table[ids]


def sort(n):
    x, = tensors(work.arrays(n))
    return lambda: torch.sort(x).values


def softmax(by_hand):
    x, = tensors(work.arrays((1024, 1024)))
    return lambda: torch.softmax(x, 1)


def layer_norm(by_hand):
    x, scale, offset = tensors(work.arrays((1024, 1024), 1024, 1024))
    return lambda: F.layer_norm(x, (1024,), scale, offset)


# --- products, convolutions ---

def matmul(m, k, n):
    a, b = tensors(work.arrays((m, k), (k, n)))
    return lambda: a @ b


def conv(backward, stride=1, depthwise=False, **args):
    """Return calls in both memory layouts."""
    x, w = work.convolution(**args, depthwise=depthwise)
    x = x.transpose(0, 3, 1, 2)
    w = w.transpose(2, 3, 0, 1) if depthwise else w.transpose(3, 2, 0, 1)
    pad, groups = (args["kernel"] - 1) // 2, args["inputs"] if depthwise else 1

    def way(layout):
        a, b = [torch.from_numpy(v.copy()).to(memory_format=layout).requires_grad_(backward)
                for v in (x, w)]
        if not backward:
            return lambda: F.conv2d(a, b, stride=stride, padding=pad, groups=groups)
        g = torch.randn_like(F.conv2d(a, b, stride=stride, padding=pad, groups=groups))
        return lambda: torch.autograd.grad(
            F.conv2d(a, b, stride=stride, padding=pad, groups=groups), (a, b), g)
    return [way(torch.channels_last), way(torch.contiguous_format)]


def max_pool():
    x = torch.from_numpy(work.arrays((64, 28, 28, 32))[0].transpose(0, 3, 1, 2))
    return [partial(F.max_pool2d, x.to(memory_format=layout), 2)
            for layout in (torch.channels_last, torch.contiguous_format)]


def attention(batch, heads, tokens, width):
    qkv = tensors(work.arrays(*[(batch, heads, tokens, width)] * 3), grad=True)
    g = torch.randn_like(qkv[0])
    return lambda: torch.autograd.grad(
        F.scaled_dot_product_attention(*qkv, is_causal=True), qkv, g)


# --- training steps ---

def trained(parameters, loss_of, made, *batch):
    batch = [torch.from_numpy(b.astype(np.int64) if b.dtype == np.int32 else b) for b in batch]

    def step():
        made.zero_grad()
        loss = loss_of(parameters, *batch)
        loss.backward()
        made.step()
    return step


def adams(parameters):
    """Return PyTorch's default and fused Adam."""
    return [torch.optim.Adam(parameters, lr=.001),
            torch.optim.Adam(parameters, lr=.001, fused=True)]


def mlp_step(batch, sizes, adam):
    weights, biases = work.dense(*sizes)
    n, v = len(weights), tensors([*weights, *biases], grad=True)

    def loss(v, x, y):
        for w, b in zip(v[:n - 1], v[n:]):
            x = torch.relu(torch.addmm(b, x, w))
        return F.cross_entropy(torch.addmm(v[-1], x, v[n - 1]), y)
    x, = work.arrays((batch, sizes[0]), seed=4)
    y = work.labels(batch, sizes[-1])
    return [trained(v, loss, made, x, y)
            for made in (adams(v) if adam else [torch.optim.SGD(v, lr=.01)])]


def cnn_step(batch):
    parameters, x, y = work.cnn(batch)
    x = x.transpose(0, 3, 1, 2).copy()
    for k in (0, 2):
        parameters[k] = parameters[k].transpose(3, 2, 0, 1).copy()
    v = tensors(parameters, grad=True)

    def loss(v, x, y):
        for w, b in (v[0:2], v[2:4]):
            x = F.max_pool2d(torch.relu(F.conv2d(x, w, b, padding=2)), 2)
        x = torch.relu(torch.addmm(v[5], x.flatten(1), v[4]))
        return F.cross_entropy(torch.addmm(v[7], x, v[6]), y)

    def way(layout):
        u = [t.detach().clone().to(memory_format=layout) if t.ndim == 4 else t.detach().clone()
             for t in v]
        u = [t.requires_grad_() for t in u]
        images = torch.from_numpy(x).to(memory_format=layout)
        step = trained(u, lambda u, y: loss(u, images, y), adams(u)[1], y)
        return step
    return [way(torch.channels_last), way(torch.contiguous_format)]


def lstm_step(batch, by_hand, units=128):
    parameters, x, y = work.lstm(batch, units)
    net = torch.nn.LSTM(x.shape[2], units, batch_first=True)
    w, b = tensors(parameters[3:], grad=True)

    def loss(_, x, y):
        return F.cross_entropy(torch.addmm(b, net(x)[1][0][0], w), y)
    v = [*net.parameters(), w, b]
    return [trained(v, loss, made, x, y) for made in adams(v)]


def sliced_lstm_step(batch, units=128):
    parameters, x, y = work.lstm(batch, units)

    def loss(v, x, y):
        kernel, recurrent, bias, w, b = v
        z = x @ kernel + bias
        h = c = torch.zeros(batch, units)
        for t in range(x.shape[1]):
            i, f, g, o = (z[:, t] + h @ recurrent).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return F.cross_entropy(torch.addmm(b, h, w), y)
    v = tensors(parameters, grad=True)
    return [trained(v, loss, made, x, y) for made in adams(v)]


def sliced_gru_step(batch, units=64):
    parameters, x, y = work.gru(batch, units)

    def loss(v, x, y):
        kernel, u, w, b = v
        z, h, n = x @ kernel, torch.zeros(batch, units), units
        for t in range(x.shape[1]):
            reset = torch.sigmoid(z[:, t, :n] + h @ u[:, :n])
            update = torch.sigmoid(z[:, t, n:2 * n] + h @ u[:, n:2 * n])
            new = torch.tanh(z[:, t, 2 * n:] + reset * (h @ u[:, 2 * n:]))
            h = (1. - update) * new + update * h
        return F.cross_entropy(torch.addmm(b, h, w), y)
    v = tensors(parameters, grad=True)
    return [trained(v, loss, made, x, y) for made in adams(v)]


def gpt_step(batch, tokens, layers, width, heads):
    parameters, x, y = work.gpt(batch, tokens, layers, width)
    v = tensors(parameters, grad=True)

    def attention(x, qkv, project):
        parts = (x @ qkv).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        made = F.scaled_dot_product_attention(*parts, is_causal=True)
        return made.transpose(1, 2).reshape(batch, tokens, width) @ project

    def loss(v, x, y):
        h = F.embedding(x, v[0]) + v[1]
        for k in range(2, 2 + layers * work.BLOCK, work.BLOCK):
            s1, o1, qkv, project, s2, o2, up, down = v[k:k + work.BLOCK]
            h = h + attention(F.layer_norm(h, (width,), s1, o1), qkv, project)
            h = h + F.gelu(F.layer_norm(h, (width,), s2, o2) @ up, approximate="tanh") @ down
        logits = F.layer_norm(h, (width,), v[-3], v[-2]) @ v[-1]
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())
    return [trained(v, loss, made, x, y) for made in adams(v)]


# --- data ---

def shuffled_batches(rows, batch):
    pairs = torch.utils.data.TensorDataset(*tensors(work.arrays((rows, 64))), torch.arange(rows))
    return work.counted_pass(torch.utils.data.DataLoader(pairs, batch, shuffle=True))
