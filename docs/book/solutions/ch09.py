"""Solutions of the exercises of chapter 9."""

import tempfile
from pathlib import Path

import ch09_matmul
import numpy as np
from ch08_kernels import parallel
from ch09_matmul import BLOCK_ROWS, conv2d, library, matmul, pointer

RNG = np.random.default_rng(0)


def with_source(change, call):
    """Call a function while `matmul` uses a changed C file; `change` maps the text to a text."""
    source = Path(tempfile.mkdtemp()) / "changed.c"
    source.write_text(change(ch09_matmul.SOURCE.read_text()))
    before, ch09_matmul.SOURCE = ch09_matmul.SOURCE, source
    ch09_matmul.FLAGS.append("-O2")                 # compiles faster than -O3
    library.cache_clear()
    try:
        return call()
    finally:
        ch09_matmul.SOURCE = before
        ch09_matmul.FLAGS.pop()
        library.cache_clear()


def random(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def test_exercise_1_transposed():
    """B is stored as n x k: element (p, j) is at j * k + p."""
    def change(text):
        text = text.replace("memcpy(to, b + p * row + j, COLS * sizeof(float));",
                            "for (int64_t s = 0; s < COLS; s++) to[s] = b[(j + s) * row + p];")
        return text.replace("pack_b(depth, n, b + p * n, n, b_packed);",
                            "pack_b(depth, n, b + p, k, b_packed);")

    a, b = random(48, 300), random(300, 32)
    b_transposed = np.ascontiguousarray(b.T)

    def call():
        c = np.empty((48, 32), np.float32)
        workspace = np.empty((96 + 32) * 256 + 16, np.float32)
        sizes = map(ch09_matmul.ctypes.c_int64, (48, 300, 32))
        library().packed(*sizes, pointer(a), pointer(b_transposed), pointer(c), pointer(workspace))
        return c
    assert with_source(change, call).tobytes() == matmul(a, b).tobytes()


def test_exercise_2_epilogue():
    """C is read and written by the product anyway; a separate kernel reads and writes it once
    more, and so does a second one for relu: four transfers are saved."""
    def change(text):
        text = text.replace("/* Adds the product of ROWS rows", """
static const float *bias_at;                            /* NULL: more terms follow */

static inline void finish(float *c, V v, const float *bias)
{
    v += *(U *)c + *(const U *)bias;
    for (int k = 0; k < LANES; k++) c[k] = v[k] < 0 ? 0 : v[k];
}

/* Adds the product of ROWS rows""")
        for half, offset in enumerate(("", " + LANES")):
            add = f"*(U *)(c + i * c_row{offset}) += sums[i][{half}];"
            text = text.replace(add, f"if (bias_at) finish(c + i * c_row{offset}, sums[i][{half}], "
                                     f"bias_at{offset}); else {add}")
        text = text.replace("multiply_block(depth, a + i * depth",
                            "bias_at = bias ? bias + j : 0,\n            "
                            "multiply_block(depth, a + i * depth")
        text = text.replace("float *c)\n{\n    for (int64_t j",
                            "float *c, const float *bias)\n{\n    for (int64_t j")
        text = text.replace("float *workspace)", "float *workspace, const float *bias)")
        return text.replace("c + i * n);\n        }", "c + i * n, "
                            "p + depth == k ? bias : 0);\n        }")

    a, b, bias = random(96, 300), random(300, 32), random(32)

    def call():
        c = np.empty((96, 32), np.float32)
        workspace = np.empty((96 + 32) * 256 + 16, np.float32)
        sizes = map(ch09_matmul.ctypes.c_int64, (96, 300, 32))
        library().packed(*sizes, pointer(a), pointer(b), pointer(c), pointer(workspace),
                         pointer(bias))
        return c
    expected = np.maximum(matmul(a, b) + bias, 0)
    assert np.allclose(with_source(change, call), expected, atol=1e-4)


def filter_gradient(images, g, kh, kw):
    """Return the gradient of sum(g * conv2d(images, filters)): windows, transposed, times g."""
    rows = np.lib.stride_tricks.sliding_window_view(images, (kh, kw), axis=(1, 2))
    rows = np.ascontiguousarray(rows.transpose(0, 1, 2, 4, 5, 3)).reshape(-1, kh * kw *
                                                                         images.shape[3])
    product = matmul(np.ascontiguousarray(rows.T), g.reshape(-1, g.shape[3]))
    return product.reshape(kh, kw, images.shape[3], g.shape[3])


def test_exercise_3_filters():
    images, filters, g = random(2, 6, 6, 3), random(3, 3, 3, 4), random(2, 4, 4, 4)
    exact = filter_gradient(images, g, 3, 3)
    for index in [(0, 0, 0, 0), (2, 1, 0, 3), (1, 2, 2, 1)]:
        change = np.zeros_like(filters)
        change[index] = 0.5                             # the function is linear in the filters
        difference = conv2d(images, filters + change) - conv2d(images, filters - change)
        assert abs((difference * g).sum() - exact[index]) < 1e-2


def test_exercise_4_blocks():
    """DEPTH divides the sums, BLOCK_ROWS only the rows: it may depend on the threads."""
    a, b = random(100, 700), random(700, 48)
    before = matmul(a, b).tobytes()
    rows = with_source(lambda text: text.replace("BLOCK_ROWS = 96", "BLOCK_ROWS = 36"),
                       lambda: matmul(a, b).tobytes())
    depth = with_source(lambda text: text.replace("DEPTH = 256", "DEPTH = 128"),
                        lambda: matmul(a, b).tobytes())
    assert rows == before
    assert depth != before


def threaded_matmul(a, b, n_threads):
    """Return the product, with the blocks of rows divided between threads."""
    c = np.empty((len(a), b.shape[1]), np.float32)

    def task(block):
        rows = slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        c[rows] = matmul(a[rows], b)
    parallel(-(-len(a) // BLOCK_ROWS), n_threads, task)
    return c


def test_exercise_5_threads():
    """Each call of matmul packs all of B again; dualflow packs B once for all threads."""
    a, b = random(300, 300), random(300, 50)
    assert {threaded_matmul(a, b, n).tobytes() for n in (1, 2, 3)} == {matmul(a, b).tobytes()}
