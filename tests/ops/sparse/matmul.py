import numpy as np

from tests.ops.case import case, normal


def np_product(indices, values, b, rows, adjoint=False):
    row, column = indices.T[::-1] if adjoint else indices.T
    y = np.zeros((rows, b.shape[1]), b.dtype)
    np.add.at(y, row, values[:, None] * b[column])
    return y


def entries(seed, rows, columns, n, in_order=True):
    at = np.random.default_rng(seed).integers(0, [rows, columns], (n, 2))
    return at[np.lexsort(at.T[::-1])] if in_order else at


ENTRIES = np.array([[0, 1], [0, 2], [2, 0], [2, 0]])
LARGE = entries(1, 500, 300, 20000)

for columns in (1, 5, 16, 37, 150):
    case("sparse_dense_matmul", args=[ENTRIES, normal(4), normal(3, columns), 4], ref=np_product,
         function="ops.sparse.matmul.coo_matmul", rel=1e-6, grad=(1, 2),
         large=[LARGE, normal(20000), normal(300, columns), 500])
case("sparse_dense_matmul", args=[ENTRIES, normal(4), normal(4, 3), 3], kwargs={"adjoint": True},
     ref=np_product, function="ops.sparse.matmul.coo_matmul", rel=1e-6, grad=(1, 2),
     large=[LARGE, normal(20000), normal(500, 24), 300])
case("sparse_dense_matmul", args=[ENTRIES[[2, 0, 3, 1]], normal(4), normal(3, 6), 3],
     ref=np_product, function="ops.sparse.matmul.coo_matmul", rel=1e-6, grad=(1, 2),
     large=[entries(2, 500, 300, 20000, False), normal(20000), normal(300, 24), 500],
     name="sparse_dense_matmul in any order")
