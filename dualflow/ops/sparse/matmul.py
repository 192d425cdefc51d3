"""Products of sparse and dense matrices."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.join import concat, split
from dualflow.ops.array.shape import expand_dims, one_size, transpose
from dualflow.ops.elementwise.arithmetic import add, multiply, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import complex, conj, imag, real
from dualflow.ops.indexing.gather import gather
from dualflow.ops.indexing.segment import unsorted_segment_sum
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.sparse.convert import sparse
from dualflow.ops.sparse.select import differ
from dualflow.ops.sparse.sparse_tensor import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["sparse_dense_matmul"]


def sparse_dense_matmul(sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False,
                        name: str | None = None) -> Tensor:
    """Return the product of a sparse and a dense matrix.

    Parameters
    ----------
    sp_a : SparseTensor, shape (m, k), or Tensor
    b : Tensor, shape (k, n), or SparseTensor
        One of the two is sparse.
    adjoint_a, adjoint_b : bool, default False
        Transpose and conjugate the matrix first.

    Returns
    -------
    Tensor, shape (m, n)

    Notes
    -----
    Gradients are those with respect to the values of the sparse matrix, and to the dense one.
    Elements may be in any order and positions may repeat. Elements that are in the order of the
    rows of the product need no sorting.

    Examples
    --------
    >>> import dualflow as df
    >>> a = df.SparseTensor([[0, 1], [1, 0]], [2., 3.], [2, 2])
    >>> df.sparse.sparse_dense_matmul(a, [[1., 2.], [3., 4.]]).tolist()
    [[6.0, 8.0], [3.0, 6.0]]
    """
    if isinstance(b, SparseTensor) and not isinstance(sp_a, SparseTensor):
        # a b = (b' a')'
        return transpose(sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a),
                         conjugate=True)
    a = sparse(sp_a, "sparse_dense_matmul")
    if isinstance(b, SparseTensor):
        raise DTypeError("sparse.sparse_dense_matmul: both matrices are sparse; convert one with "
                         "sparse.to_dense")
    dense: TensorBase = as_tensor(b, a.dtype, "sparse_dense_matmul")
    if a.ndim != 2 or dense.ndim != 2:
        raise ShapeError(f"sparse.sparse_dense_matmul: {a.ndim} and {dense.ndim} dimensions, "
                         "expected matrices")
    if adjoint_b:
        dense = transpose(dense, conjugate=True)
    row, column = (1, 0) if adjoint_a else (0, 1)
    if differ(a.sizes[column], dense.shape[0]):
        raise ShapeError(f"sparse.sparse_dense_matmul: {tuple(a.sizes)} by {tuple(dense.shape)}, "
                         f"{a.sizes[column]} columns and {dense.shape[0]} rows")
    if a.dtype.is_floating and a.dtype is dense.dtype:
        return coo_matmul(a.indices, a.values, dense, a.sizes[row], adjoint_a, name)
    values = conj(a.values) if adjoint_a else a.values
    if a.dtype.is_complex and a.dtype is dense.dtype:
        return _complex_product(a.indices, values, dense, a.sizes[row], adjoint_a, name)
    terms = multiply(expand_dims(values, 1), gather(dense, a.indices[:, column]))
    return unsorted_segment_sum(terms, a.indices[:, row], a.sizes[row], name=name)


def _complex_product(indices: TensorLike, values: TensorBase, dense: TensorBase, rows: int,
                     transposed: bool, name: str | None) -> Tensor:
    """Return the product of complex matrices from two real products, whose right operand has the
    real and the imaginary parts side by side."""
    parts = concat([real(dense), imag(dense)], 1)
    by_real, by_imag = [split(coo_matmul(indices, part, parts, rows, transposed), 2, 1)
                        for part in (real(values), imag(values))]
    return complex(subtract(by_real[0], by_imag[1]), add(by_real[1], by_imag[0]), name)


def coo_matmul(indices: TensorLike, values: TensorLike, b: TensorLike, rows: int,
               adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the product of a sparse matrix, or of its transpose, and a dense one.

    Parameters
    ----------
    indices : Tensor, int64, shape (entries, 2)
        In any order; the values of equal positions are added.
    values : Tensor, floating, shape (entries,)
    b : Tensor, shape (k, n)
    rows : int
        Number of rows of the result.
    adjoint : bool, default False
        Transpose the sparse matrix first.

    Returns
    -------
    Tensor, shape (rows, n)

    Raises
    ------
    OutOfRangeError
        If a position is outside of the matrix.

    Notes
    -----
    The terms of a row are added in the order of the entries, for any thread count.

    Examples
    --------
    >>> from dualflow.ops.sparse.matmul import coo_matmul
    >>> coo_matmul([[0, 1], [2, 0]], [2., 3.], [[1.], [5.]], 3).tolist()
    [[10.0], [0.0], [3.0]]
    """
    n = one_size(rows, "sparse_dense_matmul: rows")
    return apply("sparse_dense_matmul", cast(indices, int64), values, b, name=name, rows=n,
                 adjoint=adjoint)


@gradient("sparse_dense_matmul", saves="inputs")
def _(g, y, indices, values, dense, rows, adjoint):
    def by_values():
        inner = gather(dense, indices[:, 0 if adjoint else 1])
        return reduce_sum(multiply(gather(g, indices[:, 1 if adjoint else 0]), inner), 1)

    return None, by_values, lambda: coo_matmul(indices, values, g, dense.shape[0], not adjoint)
