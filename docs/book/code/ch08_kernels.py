"""The code of docs/book/ch08_kernels.md, from which docs/ext/book.py writes this file."""

import ctypes
import functools
import itertools
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from ch01_tensors import OPS, Tensor
from ch07_executor import shared_library

SOURCE = Path(__file__).with_suffix(".c")
LEVELS = {"baseline": []}                   # compiler options; the best level is last
if platform.machine() == "x86_64":
    LEVELS["avx2"] = ["-mavx2"]


@functools.cache
def library(level):
    """Return the kernels of a level."""
    return ctypes.CDLL(shared_library(SOURCE, "-Wno-psabi", *LEVELS[level]))


@functools.cache
def levels():
    """Return the levels that the processor has, the best last."""
    return [level for level in LEVELS if level != "avx2" or library("baseline").has_avx2()]


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def exp_kernel(x, level=None):
    """Return e**x for an array, computed by the kernel of a level."""
    x = np.array(x, np.float32, order="C")
    y = np.empty_like(x)
    library(level or levels()[-1]).exp_kernel(ctypes.c_int64(x.size), pointer(y), pointer(x))
    return y


def use_kernel():
    """Let the op `exp` run the kernel in C."""
    OPS["exp"] = OPS["exp"]._replace(kernel=exp_kernel)


BLOCK = 4096                # elements


def parallel(n, n_threads, task):
    """Call task(k) for k in range(n) on some threads; each takes the next k when it is free."""
    indices = itertools.count()

    def work():
        while (k := next(indices)) < n:
            task(k)

    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(work) for _ in range(n_threads)]:
            done.result()


def sum_with(x, borders, n_threads):
    """Return the sum of the sums between borders, each computed by one of the threads."""
    partial = np.empty(len(borders) - 1, np.float32)
    code = library(levels()[-1]).sum_parts
    parallel(len(partial), n_threads, lambda k: code(
        pointer(x), pointer(borders), ctypes.c_int64(k), ctypes.c_int64(k + 1), pointer(partial)))
    total = np.float32(0)
    for value in partial:
        total += value
    return total


def sum_by_blocks(x, n_threads):
    return sum_with(x, np.append(np.arange(0, x.size, BLOCK), x.size), n_threads)


def sum_by_threads(x, n_threads):
    """The wrong way: one part for each thread."""
    return sum_with(x, np.linspace(0, x.size, n_threads + 1).astype(np.int64), n_threads)


def nanoseconds(n, call, *arguments):
    """Return the shortest time of several calls, in nanoseconds per element."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return round(min(times) * 1e9 / n, 2)


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=1 << 22).astype(np.float32)
    y, t, few = np.zeros_like(x), np.zeros_like(x), 1 << 14
    print("exp, ns per element:", {level: nanoseconds(
        few, library(level).exp_kernel, ctypes.c_int64(few), pointer(y), pointer(x))
        for level in levels()})
    print("a chain of four ops, ns per element:", {tile: nanoseconds(
        x.size, library(levels()[-1]).chain, ctypes.c_int64(x.size), ctypes.c_int64(tile),
        pointer(y), pointer(x), pointer(t)) for tile in (64, 1024, 16384, x.size)})
    use_kernel()
    print("the op exp:", OPS["exp"].kernel(Tensor([0, 1]).data))
