"""The matrix product and its gradients."""

from dualflow._core import Tensor, apply, bind
from dualflow.gradients import gradient
from dualflow.ops.types import TensorLike

__all__ = ["matmul"]


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False,
           name: str | None = None) -> Tensor:
    """op(a) op(b) over the last two dimensions; the ones before them broadcast.

    Parameters
    ----------
    a : Tensor, float32, float64, int32 or int64, shape (..., m, k)
    b : Tensor, same dtypes, shape (..., k, n)
    transpose_a, transpose_b : bool
        Whether the last two dimensions are swapped first: shapes (..., k, m) and (..., n, k).

    Returns
    -------
    Tensor, of the promoted dtype, shape (..., m, n)

    Raises
    ------
    ShapeError
        If an operand has less than 2 dimensions, or the dimensions do not fit.
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
    return apply("matmul", a, b, name=name, transpose_a=transpose_a, transpose_b=transpose_b)


@gradient("matmul", saves="inputs")
def _(g, y, a, b, transpose_a, transpose_b):
    ta, tb = bool(transpose_a), bool(transpose_b)

    def to_a():                          # g op(b)^T, or its transpose op(b) g^T
        return matmul(b, g, tb, True) if ta else matmul(g, b, False, not tb)

    def to_b():                          # op(a)^T g, or its transpose g^T op(a)
        return matmul(g, a, True, ta) if tb else matmul(a, g, not ta, False)

    return to_a, to_b


bind(matmul=matmul)
