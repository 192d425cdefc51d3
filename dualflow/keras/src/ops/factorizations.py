"""Factorisations of matrices, which NumPy's LAPACK computes, with their gradients.

In a traced function each is a call of Python. float16 and bfloat16 are computed in float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend.common.dtypes import result_type

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, dtype_of, to_dtype


def wide(*xs: Any) -> tuple[Any, df.DType]:
    """Matrices in a dtype that LAPACK has, and the dtype of what comes of them."""
    xs = tuple(map(convert_to_tensor, xs))
    dtype = to_dtype(result_type(*map(dtype_of, xs), float))
    computed = df.float64 if dtype is df.float64 else df.float32
    return [df.cast(x, computed) for x in xs], dtype


def transposed(x: df.Tensor) -> df.Tensor:
    return df.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def _vectors(x: df.Tensor) -> df.Tensor:
    """Rows of numbers as diagonal matrices."""
    return df.linalg.diag(x)


def _rows_of(x: Any, n: int = -1) -> tuple[Any, ...]:
    return tuple(x.shape[:n])


# --- inverses ---

inverse = df.register_op("matrix_inverse", lambda x: np.linalg.inv(x.numpy()),
                         gradient=lambda g, y, x: -(transposed(y) @ g @ transposed(y)))


def _to_solution(g: df.Tensor, y: df.Tensor, a: df.Tensor, b: df.Tensor) -> Any:
    to_b = solution(transposed(a), g)
    return -(to_b @ transposed(y)), to_b


solution = df.register_op("matrix_solve", lambda a, b: np.linalg.solve(a.numpy(), b.numpy()),
                          gradient=_to_solution, infer=lambda a, b: (b.shape, b.dtype))


def _solve_triangle(a: df.Tensor, b: df.Tensor, lower: bool) -> np.ndarray:
    part = np.tril if lower else np.triu
    return np.linalg.solve(part(a.numpy()), b.numpy())


def _to_triangle(g: df.Tensor, y: df.Tensor, a: df.Tensor, b: df.Tensor, lower: bool) -> Any:
    to_b = triangular_solution(transposed(a), g, lower=not lower)
    part = df.linalg.tril if lower else df.linalg.triu
    return part(-(to_b @ transposed(y))), to_b


triangular_solution = df.register_op("triangular_solve", _solve_triangle, gradient=_to_triangle,
                                     infer=lambda a, b, lower: (b.shape, b.dtype))

# --- determinants ---


def _sign_and_log(x: df.Tensor) -> Any:
    sign, log = np.linalg.slogdet(x.numpy())
    return [np.asarray(sign, x.dtype.name), np.asarray(log, x.dtype.name)]


def _to_log(g: Any, y: Any, x: df.Tensor) -> Any:
    return df.expand_dims(df.expand_dims(g[1], -1), -1) * transposed(inverse(x))


sign_and_log = df.register_op(
    "slogdet", _sign_and_log, gradient=_to_log,
    infer=lambda x: [(_rows_of(x, -2), x.dtype), (_rows_of(x, -2), x.dtype)])

determinant = df.register_op(
    "matrix_determinant", lambda x: np.asarray(np.linalg.det(x.numpy()), x.dtype.name),
    gradient=lambda g, y, x: df.expand_dims(df.expand_dims(g * y, -1), -1) * transposed(inverse(x)),
    infer=lambda x: (_rows_of(x, -2), x.dtype))

# --- triangles ---


def _half(x: df.Tensor) -> df.Tensor:
    """The lower triangle, with half of the diagonal."""
    return df.linalg.tril(x) - _vectors(df.linalg.diag_part(x) / 2)


def _to_cholesky(g: df.Tensor, y: df.Tensor, x: df.Tensor) -> df.Tensor:
    back = inverse(y)
    middle = transposed(back) @ _half(transposed(y) @ g) @ back
    return (middle + transposed(middle)) / 2


cholesky_factor = df.register_op("cholesky", lambda x: np.linalg.cholesky(x.numpy()),
                                 gradient=_to_cholesky)


def _qr_shapes(x: Any, mode: str) -> Any:
    *batch, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    return [((*batch, m, k), x.dtype), ((*batch, k, n), x.dtype)]


def _to_qr(g: Any, y: Any, x: df.Tensor, mode: str) -> df.Tensor:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018."""
    (gq, gr), (q, r) = g, y
    if q.shape[-1] != r.shape[-1]:
        raise ValueError("the gradient of qr is known for matrices with at least as many rows as "
                         "columns, in mode 'reduced'")
    m = r @ transposed(gr) - transposed(gq) @ q
    lower = df.linalg.tril(m)
    both = lower + transposed(lower) - _vectors(df.linalg.diag_part(m))
    return transposed(triangular_solution(r, transposed(gq + q @ both), lower=False))


qr_factors = df.register_op("qr", lambda x, mode: list(np.linalg.qr(x.numpy(), mode)),
                            gradient=_to_qr, infer=_qr_shapes)


def _lower_upper(x: df.Tensor) -> Any:
    """Doolittle's elimination, the largest of each column first, one matrix after the other."""
    packed = np.array(x.numpy())
    pivots = np.empty((*packed.shape[:-2], min(packed.shape[-2:])), np.int32)
    for at in np.ndindex(packed.shape[:-2]):
        a: Any = packed[at]
        for k in range(min(a.shape)):
            p = pivots[at][k] = k + np.argmax(np.abs(a[k:, k]))
            a[[k, p]] = a[[p, k]]
            if a[k, k]:
                a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return [packed, pivots]


lower_upper = df.register_op(
    "lu_factor", _lower_upper,
    infer=lambda x: [(x.shape, x.dtype), ((*x.shape[:-2], min(x.shape[-2:])), df.int32)])

# --- eigenvalues and singular values ---


def _apart(values: df.Tensor) -> df.Tensor:
    """1 / (v_j - v_i) off the diagonal, and 0 where they are equal."""
    return df.math.divide_no_nan(df.ones((), values.dtype),
                                 df.expand_dims(values, -2) - df.expand_dims(values, -1))


def _to_eigen(g: Any, y: Any, x: df.Tensor) -> df.Tensor:
    (values, vectors), (gw, gv) = y, g
    inner = _vectors(gw) + _apart(values) * (transposed(vectors) @ gv)
    found = vectors @ inner @ transposed(vectors)
    return (found + transposed(found)) / 2


eigen = df.register_op(
    "eigh", lambda x: list(np.linalg.eigh(x.numpy())), gradient=_to_eigen,
    infer=lambda x: [(_rows_of(x), x.dtype), (x.shape, x.dtype)])


def _svd_shapes(x: Any, full_matrices: bool) -> Any:
    *batch, m, n = x.shape
    k = min(m, n)
    return [((*batch, m, m if full_matrices else k), x.dtype), ((*batch, k), x.dtype),
            ((*batch, n if full_matrices else k, n), x.dtype)]


singular = df.register_op(
    "svd", lambda x, full_matrices: list(np.linalg.svd(x.numpy(), full_matrices)),
    infer=_svd_shapes)
singular_values = df.register_op(
    "svdvals", lambda x: np.linalg.svd(x.numpy(), compute_uv=False),
    gradient=lambda g, y, x: _to_values(g, x),
    infer=lambda x: ((*x.shape[:-2], min(x.shape[-2:])), x.dtype))


def _to_values(g: df.Tensor, x: df.Tensor) -> df.Tensor:
    u, _, v = singular(x, full_matrices=False)
    return (u * df.expand_dims(g, -2)) @ v


def in_dtype(op: Callable[..., Any], *xs: Any, **attrs: Any) -> Any:
    """What an op gives, in the dtype that Keras's rules give it."""
    xs, dtype = wide(*xs)
    found = op(*xs, **attrs)
    if isinstance(found, list | tuple):
        return tuple([df.cast(y, dtype) for y in found])
    return df.cast(found, dtype)
