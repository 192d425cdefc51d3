"""The work in NumPy, as far as NumPy supports it."""

import numpy as np

from .work import arrays, counted_pass, equations

UNARY = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin}


def start(threads):
    return np.__version__


def add(n):
    a, b = arrays(n, n)
    return lambda: a + b


def elementwise(op, n):
    f, x = UNARY[op], np.abs(arrays(n)[0]) + np.float32(.1)
    return lambda: f(x)


def power(n, exponent):
    x, = arrays(n)
    return lambda: x ** exponent


def linear_algebra(op, n):
    a, b = equations(op, n)
    return lambda: np.linalg.solve(a, b) if op == "solve" else getattr(np.linalg, op)(a)


def along(op, axis):
    x, = arrays((2048, 2048))
    f = getattr(x, op)
    return lambda: f(axis=axis)


def transpose(n):
    x, = arrays((n, n))
    return lambda: np.ascontiguousarray(x.T)


def gather(rows, n):
    table, = arrays((rows, 256))
    ids = np.random.default_rng(1).integers(0, rows, n)
    return lambda: table[ids]


def sort(n):
    x, = arrays(n)
    return lambda: np.sort(x)


def matmul(m, k, n):
    a, b = arrays((m, k), (k, n))
    return lambda: a @ b


# --- data ---

def shuffled_batches(rows, batch):
    x, = arrays((rows, 64))
    y = np.arange(rows)

    class Batches:
        def __iter__(self):
            order = np.random.default_rng(1).permutation(rows)
            for begin in range(0, rows, batch):
                numbers = order[begin:begin + batch]
                yield x[numbers], y[numbers]

    return counted_pass(Batches())
