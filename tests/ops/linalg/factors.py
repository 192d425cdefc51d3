import numpy as np

from tests.ops.case import case, normal
from tests.ops.linalg.samples import BOTH, NEAR, definite, regular


def np_lu(x):
    """Return LU factors with partial pivoting, one column at a time."""
    x, rows = x.copy(), np.tile(np.arange(x.shape[-2]), (*x.shape[:-2], 1))
    for at in np.ndindex(x.shape[:-2]):
        a, p = x[at], rows[at]
        for j in range(min(a.shape)):
            k = j + np.argmax(abs(a[j:, j].real) + abs(a[j:, j].imag))
            a[[j, k]], p[[j, k]] = a[[k, j]], p[[k, j]]
            a[j + 1:, j] /= a[j, j]
            a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j], a[j, j + 1:])
    return x, rows


# Only the lower triangle is read, so differences of single elements are no test of the gradient:
# see test_linear_algebra.py.
case("cholesky", args=[definite((2, 5, 5))], ref=np.linalg.cholesky, function="linalg.cholesky",
     grad=(), large=[definite((300, 300))], **BOTH)
case("cholesky", args=[definite((70, 70))], ref=np.linalg.cholesky, function="linalg.cholesky",
     grad=(), large=[definite((40, 50, 50))], **BOTH)
case("lu", args=[regular((2, 4, 4))], ref=np_lu, function="linalg.lu", grad=(),
     large=[regular((200, 200))], **BOTH)
case("lu", args=[normal(5, 3)], ref=np_lu, function="linalg.lu", grad=(), **BOTH)
case("lu", args=[normal(3, 20)], ref=np_lu, function="linalg.lu", grad=(), **BOTH)


def np_qr(x, full_matrices=False):
    return tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))


case("qr", args=[normal(2, 5, 3)], ref=np_qr, function="linalg.qr", large=[normal(300, 200)],
     **NEAR)
case("qr", args=[normal(3, 7)], ref=np_qr, function="linalg.qr", grad=(), large=[normal(70, 9, 8)],
     **NEAR)
case("qr", args=[normal(7, 3)], kwargs={"full_matrices": True}, ref=np_qr, function="linalg.qr",
     grad=(), **NEAR)
