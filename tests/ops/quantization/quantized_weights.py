import numpy as np

import dualflow as df
from tests.ops.case import case, normal


def matrix(shape, bits, group_size, symmetric, axis=0):
    w = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    return df.quantization.quantize_weights(w, bits, group_size, symmetric, axis)


def product(x, q, transpose_b=False):
    w = q.numpy().astype(x.dtype)
    return x @ (w.T if transpose_b else w)


# The error of a sum of at most 512 products, whose terms are up to four times as large as those of
# the float32 product.
for rows, *rest in ((1, (72, 40), 8, 32, True), (3, (72, 40), 4, 64, True),
                    (6, (130, 5), 8, 128, False), (9, (70, 33), 4, 32, False),
                    (20, (200, 65), 4, None, True), (2, (512, 1), 8, None, True)):
    q = matrix(*rest)
    case("matmul_quantized", args=[normal(rows, q.shape[0]), q], ref=product, function="matmul",
         dtypes=("float32",), rel=4e-6, edges=False, large=[normal(rows, q.shape[0]), q],
         name=f"matmul_quantized({rows}, {q})")
case("matmul_quantized", args=[normal(2, 3, 72), matrix((40, 72), 4, 32, True, axis=1)],
     ref=product, function="matmul", kwargs={"transpose_b": True}, dtypes=("float32",), rel=4e-6,
     edges=False)
