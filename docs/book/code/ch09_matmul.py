"""The code of docs/book/ch09_matmul.md, from which docs/ext/book.py writes this file."""

import ctypes
import functools
import platform
import sys
from pathlib import Path

import numpy as np
from ch07_executor import seconds_per_step, shared_library
from ch08_kernels import levels, pointer

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ["-ffp-contract=fast", "-Wno-psabi"]
STEPS = ["three_loops", "rows_of_b", "in_registers", "packed"]
ROWS, COLS, DEPTH, BLOCK_ROWS = 6, 16, 256, 96


@functools.cache
def library():
    """Return the functions, compiled for FMA if the processor has it."""
    has_fma = platform.machine() == "x86_64" and levels()[-1] == "avx2"     # AVX2 implies FMA
    return ctypes.CDLL(shared_library(SOURCE, *FLAGS, *["-mavx2", "-mfma"] * has_fma))


def padded(x, axis, multiple):
    """Return x with zeros after the last elements, so that a length is a multiple."""
    missing = [0, 0]
    missing[axis] = -x.shape[axis] % multiple
    return np.pad(x, [(0, n) for n in missing]) if any(missing) else x


def matmul(a, b, step="packed"):
    """Return the matrix product, computed by one of the steps."""
    m, n = len(a), b.shape[1]
    a, b = padded(a, 0, ROWS), padded(b, 1, COLS)
    c = np.empty((len(a), b.shape[1]), np.float32)
    arguments = [*map(ctypes.c_int64, (*a.shape, b.shape[1])), *map(pointer, (a, b, c))]
    if step == "packed":
        workspace = np.empty((BLOCK_ROWS + b.shape[1]) * DEPTH + 16, np.float32)
        arguments.append(pointer(workspace))
    getattr(library(), step)(*arguments)
    return c[:m, :n]


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
    print(f"{'':14} of the peak   time / df.matmul")
    for name, t in best.items():
        print(f"{name:14} {best['peak'] / t:11.0%} {t / best['df.matmul']:18.2f}")


if __name__ == "__main__":
    measure(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 512)
