"""Iterations of fixed shapes allocate nothing: neither buffers nor other memory."""

import os
import shlex
import subprocess
import sys
import sysconfig

import pytest

import dualflow as df

X = df.random.normal([3, 4], seed=1)
W = df.random.normal([4, 4], seed=2)


def counted(step):
    def f(x, w, n):
        return df.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, step(x, w)), (0, x))[1]
    return f


def with_rows(x, w, n):
    return df.scan(lambda c, _: (df.tanh(c @ w), c), x, length=64)[1]


def gradient(x, w, n):
    with df.GradientTape() as tape:
        tape.watch([x, w])
        total = df.reduce_sum(df.scan(lambda c, _: (df.tanh(c @ w) * c, None), x, length=64)[0])
    return tape.gradient(total, [x, w])


def nested(x, w):
    def inner(y):
        return df.scan(lambda y, _: (df.sin(y) + x, None), y, length=3)[0]
    return df.cond(df.reduce_sum(x) > 0., lambda: inner(x) - 1., lambda: inner(-x))


LOOPS = {
    "a number": counted(lambda x, w: x * .5 + 1.),
    "products": counted(lambda x, w: df.tanh(x @ w)),
    "branches and inner loops": counted(nested),
    "random numbers": counted(lambda x, w: x + df.random.uniform(x.shape)),
}


def buffers(call):
    call()
    before = df.config.memory_stats()["allocations"]
    call()
    return df.config.memory_stats()["allocations"] - before


@pytest.mark.parametrize("name", LOOPS)
def test_iterations_allocate_no_buffers(name):
    f = df.function(LOOPS[name])
    few, many = [buffers(lambda n=n: f(X, W, df.constant(n))) for n in (1, 1000)]
    assert many == few <= 16


@pytest.mark.parametrize("f", [with_rows, gradient])
def test_stacking_rows_allocates_no_buffers(f):
    traced = df.function(f)
    assert buffers(lambda: traced(X, W, 0)) <= 16


COUNTER = """
#include <stddef.h>
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);
static long n;
long allocations(void) { return __atomic_load_n(&n, __ATOMIC_RELAXED); }
void *malloc(size_t size)
{ __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED); return __libc_malloc(size); }
void *calloc(size_t k, size_t size)
{ __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED); return __libc_calloc(k, size); }
int posix_memalign(void **p, size_t a, size_t size)
{
    __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED);
    return (*p = __libc_memalign(a, size)) ? 0 : 12;
}
"""
PROGRAM = """
import ctypes
import dualflow as df
from tests.graph.control.test_allocations import LOOPS, W, X
allocations = ctypes.CDLL(None).allocations
for name, f in LOOPS.items():
    f, found = df.function(f), []
    for n in (1, 1000):
        n = df.constant(n)
        f(X, W, n)
        before = allocations()
        f(X, W, n)
        found.append(allocations() - before)
    assert found[1] <= found[0] + 8, (name, found)      # Python's own vary by a few
"""


@pytest.mark.skipif(not sys.platform.startswith("linux") or "LD_PRELOAD" in os.environ,
                    reason="counts allocations by glibc functions")
def test_iterations_call_no_system_allocator(tmp_path):
    (tmp_path / "counter.c").write_text(COUNTER)
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    library = tmp_path / "counter.so"
    subprocess.run([*compiler, "-shared", "-fPIC", "-O1", tmp_path / "counter.c", "-o", library],
                   check=True)
    ran = subprocess.run([sys.executable, "-c", PROGRAM], text=True, capture_output=True,
                         env={**os.environ, "LD_PRELOAD": str(library)}, check=False)
    assert ran.returncode == 0, ran.stderr
