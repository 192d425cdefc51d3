"""Matrix products and their gradients."""

from __future__ import annotations

from dualflow._core import (
    Tensor,
    TensorBase,
    apply_ordered,
    as_tensor,
    bind,
    constant,
    get_op,
)
from dualflow.dtypes import as_dtype, int8, int32, uint8
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array.shape import (
    expand_dims,
    product,
    reshape,
    same_size,
    squeeze,
    static_shape,
)
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import conj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["matmul", "matvec"]

MATMUL = get_op("matmul")
MATMUL_INT32 = get_op("matmul_int32")


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False,
           adjoint_a: bool = False, adjoint_b: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, output_type: DTypeLike | None = None,
           name: str | None = None) -> Tensor:
    """Return op(a) op(b) over the last two dimensions; leading dimensions broadcast.

    As in ``a @ b``, a vector is a row on the left and a column on the right, and the result omits
    that dimension.

    Parameters
    ----------
    a : Tensor, floating, complex or integers of 32 or 64 bits, shape (..., m, k)
    b : Tensor, same dtypes, shape (..., k, n)
    transpose_a, transpose_b : bool
        Whether to swap the last two dimensions first: shapes (..., k, m) and (..., n, k).
    adjoint_a, adjoint_b : bool
        Whether to transpose and conjugate first. Real numbers are their own conjugates.
    a_is_sparse, b_is_sparse : bool
        Ignored: zeros are multiplied like other numbers.
    output_type : dtype, optional
        int32 if a and b are int8 or uint8: products are accumulated in int32 and wrap around.
        Otherwise it must be the dtype of the result.

    Returns
    -------
    Tensor, of the promoted dtype or output_type, shape (..., m, n)

    Raises
    ------
    ShapeError
        If an operand has no dimension, or the dimensions do not match.
    DTypeError
        If there is no product for the dtypes and output_type.
    InvalidArgumentError
        If an operand has both transpose and adjoint set.

    Notes
    -----
    Transposition does not copy; conjugation does. With k = 0 the result is zeros. A product of
    complex matrices is computed as four real products, with their error bound. The gradients are
    ``g b^H`` to a and ``a^H g`` to b, with ^H the conjugate transpose.

    Examples
    --------
    >>> import dualflow as df
    >>> df.matmul([[1., 2.]], [[3., 4.]], transpose_b=True).numpy().tolist()
    [[11.0]]
    >>> x = df.constant([[100, 100]], df.int8)
    >>> df.matmul(x, x, transpose_b=True, output_type=df.int32).numpy().tolist()
    [[20000]]
    """
    if adjoint_a:
        a, transpose_a = _adjoint("a", a, transpose_a)
    if adjoint_b:
        b, transpose_b = _adjoint("b", b, transpose_b)
    try:
        if output_type is None:
            return apply_ordered(MATMUL, (a, b), (transpose_a, transpose_b), name)
        return _matmul_as(as_dtype(output_type), a, b, transpose_a, transpose_b, name)
    except ShapeError:          # the kernel rejects vectors; matrices do not pay for this check
        if _rank(a) >= 2 and _rank(b) >= 2:
            raise
    return _with_vectors(a, b, transpose_a, transpose_b, output_type, name)


def _adjoint(name: str, x: TensorLike, transpose: bool) -> tuple[TensorLike, bool]:
    """Return the operand to transpose and True."""
    if transpose:
        raise InvalidArgumentError(f"matmul: transpose_{name} and adjoint_{name} are both given, "
                                   "expected one of them")
    return conj(x), True


def _rank(x: TensorLike) -> int:
    return x.ndim if isinstance(x, TensorBase) else as_tensor(x, None, "matmul").ndim


def _with_vectors(a, b, transpose_a, transpose_b, output_type, name):
    a, b = as_tensor(a, None, "matmul"), as_tensor(b, None, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul: a has shape {a.shape} and b {b.shape}, expected 1 or more "
                         "dimensions of each")
    a_at = -2 if transpose_a and a.ndim > 1 else -1
    b_at = -1 if transpose_b or b.ndim == 1 else -2
    if not same_size(a.shape[a_at], b.shape[b_at]):
        raise ShapeError(f"matmul: a has shape {a.shape} and b {b.shape}, expected dimension "
                         f"{a_at} of a ({a.shape[a_at]}) to equal dimension {b_at} of b "
                         f"({b.shape[b_at]})")
    ones = [-2] if a.ndim == 1 else []
    ones += [-1] if b.ndim == 1 else []
    y = matmul(expand_dims(a, 0) if a.ndim == 1 else a, expand_dims(b, 1) if b.ndim == 1 else b,
               transpose_a and a.ndim > 1, transpose_b and b.ndim > 1, output_type=output_type)
    return squeeze(y, ones, name)


def _matmul_as(output_type, a, b, transpose_a, transpose_b, name):
    a = a if isinstance(a, TensorBase) else as_tensor(a, None, "matmul")
    b = b if isinstance(b, TensorBase) else as_tensor(b, None, "matmul")
    if output_type == int32 and a.dtype in (int8, uint8) and b.dtype in (int8, uint8):
        return apply_ordered(MATMUL_INT32, (a, b), (transpose_a, transpose_b), name)
    if not output_type == a.dtype == b.dtype:
        raise DTypeError(f"matmul: output_type is {output_type}, a has shape {a.shape} and dtype "
                         f"{a.dtype}, b {b.shape} and {b.dtype}: expected int32 for int8 or uint8 "
                         "a and b, or the dtype of both")
    return apply_ordered(MATMUL, (a, b), (transpose_a, transpose_b), name)


no_gradient("matmul_int32", why="its result is not floating")


@gradient("matmul", saves="inputs")
def _(g, y, a, b, transpose_a, transpose_b):
    ta, tb = bool(transpose_a), bool(transpose_b)

    def to_a():                          # g op(b)^H, or its transpose conj(op(b)) g^T
        w = conj(b)
        return matmul(w, g, tb, True) if ta else matmul(g, w, False, not tb)

    def to_b():                          # op(a)^H g, or its transpose g^T conj(op(a))
        if b.ndim == 2 < a.ndim and not ta:     # one product instead of a sum of many
            x, h = _rows(conj(a)), _rows(g)
            return matmul(h, x, True, False) if tb else matmul(x, h, True, False)
        x = conj(a)
        return matmul(g, x, True, ta) if tb else matmul(x, g, not ta, False)

    return to_a, to_b


def _rows(x):
    """Reshape a batch of matrices to one matrix."""
    return reshape(x, (product(x.shape[:-1]), static_shape(x)[-1]))


def matvec(a: TensorLike, b: TensorLike, transpose_a: bool = False,
           adjoint_a: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
           name: str | None = None) -> Tensor:
    """Return op(a) b, matrices times vectors; leading dimensions broadcast.

    Parameters
    ----------
    a : Tensor, floating, complex or integers of 32 or 64 bits, shape (..., m, k)
    b : Tensor, same dtypes, shape (..., k)
    transpose_a : bool
        Whether to swap the last two dimensions of a first, which then is (..., k, m).
    adjoint_a : bool
        Whether to transpose and conjugate a first.
    a_is_sparse, b_is_sparse : bool
        Ignored.

    Returns
    -------
    Tensor, of the promoted dtype, shape (..., m)

    Raises
    ------
    ShapeError
        If a has fewer than 2 dimensions, b has none, or the dimensions do not match.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.matvec([[1., 2.], [3., 4.]], [10., 1.]).numpy().tolist()
    [12.0, 34.0]
    """
    b = b if isinstance(b, TensorBase) else as_tensor(b, None, "matvec")
    if b.ndim == 0:
        raise ShapeError(f"matvec: b has shape () and dtype {b.dtype}, expected 1 or more "
                         "dimensions")
    return squeeze(matmul(a, expand_dims(b, -1), transpose_a, adjoint_a=adjoint_a), -1, name)


def _operator(a: TensorLike, b: TensorLike) -> Tensor:
    """Implement a @ b, including integers of 8 and 16 bits, and bools, whose sum is "or"."""
    a = a if isinstance(a, TensorBase) else as_tensor(a, None, "matmul")
    b = b if isinstance(b, TensorBase) else as_tensor(b, None, "matmul")
    if a.dtype.is_bool and b.dtype.is_bool:
        return cast(matmul(cast(a, int32), cast(b, int32)), a.dtype)
    return narrow_product(matmul)(a, b) if a.dtype.is_integer else matmul(a, b)


def narrow_product(op: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """Extend a product to integers of 8 and 16 bits: multiply as int32 and keep the low bits of
    the result."""
    def product(a, b):
        if any([not x.dtype.is_integer or x.dtype.itemsize >= 4 for x in (a, b)]):
            return op(a, b)
        dtype = (constant(0, a.dtype) + constant(0, b.dtype)).dtype
        return cast(op(cast(a, int32), cast(b, int32)), dtype)

    return product


bind(matmul=_operator)
