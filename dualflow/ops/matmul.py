"""The matrix product and its gradients."""

from dualflow._core import Tensor, TensorBase, apply_ordered, as_tensor, bind, get_op
from dualflow.errors import ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array import expand_dims, squeeze
from dualflow.ops.types import TensorLike

__all__ = ["matmul", "matvec"]

MATMUL = get_op("matmul")


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False,
           name: str | None = None) -> Tensor:
    """op(a) op(b) over the last two dimensions; the ones before them broadcast.

    Parameters
    ----------
    a : Tensor, floating, int32 or int64, shape (..., m, k)
    b : Tensor, same dtypes, shape (..., k, n)
    transpose_a, transpose_b : bool
        Whether the last two dimensions are swapped first: shapes (..., k, m) and (..., n, k).

    Returns
    -------
    Tensor, of the promoted dtype, shape (..., m, n)

    Raises
    ------
    ShapeError
        If an operand has fewer than 2 dimensions, or the dimensions do not fit.
    DTypeError
        If there is no product for the dtype.

    Notes
    -----
    Transposing costs no copy. With k = 0 the result is zeros. The gradients are ``g b^T`` to a and
    ``a^T g`` to b.

    Examples
    --------
    >>> import dualflow as df
    >>> df.matmul([[1., 2.]], [[3., 4.]], transpose_b=True).numpy().tolist()
    [[11.0]]
    """
    return apply_ordered(MATMUL, (a, b), (transpose_a, transpose_b), name)


@gradient("matmul", saves="inputs")
def _(g, y, a, b, transpose_a, transpose_b):
    ta, tb = bool(transpose_a), bool(transpose_b)

    def to_a():                          # g op(b)^T, or its transpose op(b) g^T
        return matmul(b, g, tb, True) if ta else matmul(g, b, False, not tb)

    def to_b():                          # op(a)^T g, or its transpose g^T op(a)
        return matmul(g, a, True, ta) if tb else matmul(a, g, not ta, False)

    return to_a, to_b


def matvec(a: TensorLike, b: TensorLike, transpose_a: bool = False,
           name: str | None = None) -> Tensor:
    """op(a) b: the product of matrices with vectors; dimensions before those broadcast.

    Parameters
    ----------
    a : Tensor, floating, int32 or int64, shape (..., m, k)
    b : Tensor, same dtypes, shape (..., k)
    transpose_a : bool
        Whether the last two dimensions of a, then (..., k, m), are swapped first.

    Returns
    -------
    Tensor, of the promoted dtype, shape (..., m)

    Raises
    ------
    ShapeError
        If a has fewer than 2 dimensions, b has none, or the dimensions do not fit.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.matvec([[1., 2.], [3., 4.]], [10., 1.]).numpy().tolist()
    [12.0, 34.0]
    """
    b = b if isinstance(b, TensorBase) else as_tensor(b, None, "matvec")
    if b.ndim == 0:
        raise ShapeError(f"matvec: b has shape () and dtype {b.dtype}, want 1 or more dimensions")
    return squeeze(matmul(a, expand_dims(b, -1), transpose_a), -1, name)


def _operator(a: TensorLike, b: TensorLike) -> Tensor:
    """a @ b as in NumPy: a vector is a row on the left and a column on the right."""
    a = a if isinstance(a, TensorBase) else as_tensor(a, None, "matmul")
    b = b if isinstance(b, TensorBase) else as_tensor(b, None, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul: operands of @ have shapes {a.shape} and {b.shape}, "
                         "want 1 or more dimensions")
    if a.ndim > 1 and b.ndim > 1:
        return matmul(a, b)
    ones = [-2] if a.ndim == 1 else []
    ones += [-1] if b.ndim == 1 else []
    y = matmul(expand_dims(a, 0) if a.ndim == 1 else a, expand_dims(b, 1) if b.ndim == 1 else b)
    return squeeze(y, ones)


bind(matmul=_operator)
