"""Solutions of the exercises of chapter 8."""

import ctypes
import tempfile
from pathlib import Path

import ch07_executor
import ch08_kernels
import numpy as np
from ch01_tensors import OPS, Tensor, exp, reduce_sum
from ch02_tape import gradients
from ch04_tracing import function
from ch07_executor import NUMBERS, in_c, op_numbers, shared_library
from ch08_kernels import exp_kernel, levels, pointer, use_kernel


def test_exercise_1_exp():
    """The executor calls the kernel as a tile function; eager mode runs it as the op's kernel."""
    text = ch07_executor.SOURCE.read_text()
    text = text.replace("HEAVISIDE, N_EL", "HEAVISIDE, EXP, N_EL").replace(
        "static tile_fn *const", "static void exponential(int64_t n, float *y, const float *a, "
        "const float *b)\n{\n    (void)b;\n    exp_kernel(n, y, a);\n}\n"
        "static tile_fn *const").replace("heaviside};", "heaviside, [EXP] = exponential};")
    source, before = Path(tempfile.mkdtemp()) / "both.c", dict(NUMBERS)
    source.write_text(ch08_kernels.SOURCE.read_text() + text)
    executor, ch07_executor.SOURCE = ch07_executor.SOURCE, source
    record = OPS["exp"]
    try:
        NUMBERS.update(op_numbers())
        use_kernel()
        x = Tensor(np.linspace(-3, 3, 3000))

        def f(x):
            return gradients(lambda x: reduce_sum(exp(x * x) / (exp(x) + 1.)), x)[0]
        assert f(x).data.tobytes() == function(f, build=in_c)(x).data.tobytes()
    finally:
        ch07_executor.SOURCE, OPS["exp"] = executor, record
        NUMBERS.clear()
        NUMBERS.update(before)


LOG = """
static inline V log_of(V x)
{
    M bits = (M)x - 0x3f3504f3;                         /* the bits of sqrt(0.5) */
    V n = __builtin_convertvector(bits >> 23, V);
    V m = (V)((bits & 0x7fffff) + 0x3f3504f3);
    V s = (m - 1) / (m + 1), z = s * s, y = splat(1 / 9.f);
    const float terms[] = {1 / 7.f, 1 / 5.f, 1 / 3.f};
    for (int k = 0; k < 3; k++) y = y * z + terms[k];
    return (2 * s + (2 * s * z * y + n * 1.42860677e-6f)) + n * 0.693145752f;
}

void log_kernel(int64_t n, float *y, const float *x)
{
    for (int64_t i = 0; i < n; i += LANES) store(y + i, n - i, log_of(load(x + i, n - i)));
}
"""


def test_exercise_2_log():
    """For positive normal numbers; 0, negative numbers and NaN need `choose`, as in exp."""
    source = Path(tempfile.mkdtemp()) / "with_log.c"
    source.write_text(ch08_kernels.SOURCE.read_text() + LOG)
    kernel = ctypes.CDLL(shared_library(source, "-Wno-psabi")).log_kernel
    x = np.exp(np.linspace(-80, 80, 10001)).astype(np.float32)
    y = np.empty_like(x)
    kernel(ctypes.c_int64(x.size), pointer(y), pointer(x))
    exact = np.log(x.astype(float))
    assert np.all(np.abs(y - exact) <= 2 * np.spacing(np.abs(exact).astype(np.float32)))


def test_exercise_3_lanes():
    """The number of accumulators decides about the order of the additions."""
    x = np.random.default_rng(0).normal(size=4096).astype(np.float32)
    borders, sums = np.array([0, x.size]), {}
    fewer = Path(tempfile.mkdtemp()) / "fewer.c"
    fewer.write_text(ch08_kernels.SOURCE.read_text().replace("LANES = 8", "LANES = 4"))
    libraries = {level: ch08_kernels.library(level) for level in levels()}
    libraries["4 lanes"] = ctypes.CDLL(shared_library(fewer, "-Wno-psabi"))
    for name, library in libraries.items():
        out = np.empty(1, np.float32)
        library.sum_parts(pointer(x), pointer(borders), ctypes.c_int64(0), ctypes.c_int64(1),
                          pointer(out))
        sums[name] = out.tobytes()
    assert len({sums[level] for level in levels()}) == 1
    assert sums["4 lanes"] != sums["baseline"]


def test_exercise_4_order():
    """Maximum and minimum round nothing; sums and products round after each step."""
    x = np.random.default_rng(0).normal(1, 0.1, size=10000).astype(np.float32)
    for reduce, is_free in ((np.max, True), (np.min, True), (np.sum, False), (np.prod, False)):
        results = set()
        for n in range(1, 9):
            total = None
            for part in np.array_split(x, n):
                value = np.float32(reduce(part))
                total = value if total is None else np.float32(reduce([total, value]))
            results.add(total.tobytes())
        assert (len(results) == 1) == is_free
    assert exp_kernel(x).shape == x.shape
