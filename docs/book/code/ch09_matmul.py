"""The code of docs/book/ch09_matmul.md, from which docs/ext/book.py writes this file."""

import ctypes
import functools
import platform
import sys
from pathlib import Path

import numpy as np
from ch07_executor import seconds_per_step, shared_library
from ch08_kernels import levels, parallel, pointer

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ["-ffp-contract=fast", "-Wno-psabi"]
STEPS = ["three_loops", "rows_of_b", "in_registers", "packed"]
DEPTH, BLOCK_ROWS, COLS = 256, 96, 16


@functools.cache
def library():
    """Return the functions, compiled for FMA if the processor has it."""
    has_fma = platform.machine() == "x86_64" and levels()[-1] == "avx2"     # AVX2 implies FMA
    return ctypes.CDLL(shared_library(SOURCE, *FLAGS, *["-mavx2", "-mfma"] * has_fma))


def matmul(a, b, step="packed"):
    """Return the matrix product, computed by one of the steps."""
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.float32)
    arguments = [*map(ctypes.c_int64, (m, k, n)), pointer(a), pointer(b), pointer(c)]
    if step == "packed":
        workspace = np.empty((BLOCK_ROWS + n + COLS) * DEPTH, np.float32)
        arguments.append(pointer(workspace))
    getattr(library(), step)(*arguments)
    return c


def threaded_matmul(a, b, n_threads):
    """Return the product, with the blocks of rows divided between threads."""
    c = np.empty((len(a), b.shape[1]), np.float32)

    def task(block):
        rows = slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        c[rows] = matmul(a[rows], b)
    parallel(-(-len(a) // BLOCK_ROWS), n_threads, task)
    return c


def conv2d(images, filters):
    """Return the convolution without padding, shape (n, rows, columns, c_out)."""
    n, height, width, channels = images.shape
    kh, kw, _, c_out = filters.shape
    rows = np.empty((n * (height - kh + 1) * (width - kw + 1), kh * kw * channels), np.float32)
    library().im2col(*map(ctypes.c_int64, (n, height, width, channels, kh, kw)),
                     pointer(images), pointer(rows))
    y = matmul(rows, filters.reshape(-1, c_out))
    return y.reshape(n, height - kh + 1, width - kw + 1, c_out)


def measure(n=512):
    """Print the speed of each step for matrices of n rows and columns."""
    import dualflow as df
    df.config.set_num_threads(1)
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
    x, y, n_peak = df.constant(a), df.constant(b), n ** 3 // (12 * 8)
    calls = {step: functools.partial(matmul, a, b, step) for step in STEPS}
    calls |= {"df.matmul": lambda: df.matmul(x, y),
              "peak": lambda: library().peak(ctypes.c_int64(n_peak))}
    best = dict.fromkeys(calls, float("inf"))
    for turn in range(40):
        for name, call in calls.items():
            if turn < 3 or name != "three_loops":
                best[name] = min(best[name], seconds_per_step(call, (), 1))
    print(f"{'':14} operations/ns  of the peak  time / df.matmul")
    for name, t in best.items():
        print(f"{name:14} {2 * n ** 3 / t / 1e9:13.1f} {best['peak'] / t:12.0%} "
              f"{t / best['df.matmul']:17.2f}")


if __name__ == "__main__":
    measure(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 512)
