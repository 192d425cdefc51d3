"""Linear algebra: norms, factorisations, linear systems."""

from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common.dtypes import result_type

import dualflow as df
from dualflow.keras.src.ops.convert import (
    convert_to_tensor,
    dtype_of,
    floating,
    tensors,
)


def _floats(*xs: Any) -> Any:
    """Return matrices as tensors of the floating dtype of Keras's promotion rules."""
    xs = tuple(map(convert_to_tensor, xs))
    return tensors(*xs, dtype=result_type(*map(dtype_of, xs), float))


def _transposed(x: df.Tensor) -> df.Tensor:
    return df.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


# --- norms ---

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = floating(x)
    axes = [axis] if isinstance(axis, int) else list(range(x.ndim)) if axis is None else list(axis)
    if axis is None and ord is not None and x.ndim > 2:
        raise ValueError(f"norm: x has {x.ndim} dimensions, expected `axis` with `ord`")
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ValueError(f"norm: axis is {axis}, x has {x.ndim} dimensions")
    if len(axes) > 2 or (ord is None and len(axes) != 1):
        return df.math.reduce_euclidean_norm(x, axes, keepdims)
    return _vectors(x, 2 if ord is None else ord, axes[0], keepdims) if len(axes) == 1 else \
        _matrices(x, ord, axes, keepdims)


def _vectors(x: df.Tensor, ord: Any, axis: int, keepdims: bool) -> df.Tensor:
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = df.abs(x)
    if ord == float("inf"):
        return df.reduce_max(size, axis, keepdims)
    if ord == float("-inf"):
        return df.reduce_min(size, axis, keepdims)
    if ord == 0:
        return df.reduce_sum(df.cast(df.not_equal(x, 0), x.dtype), axis, keepdims)
    if ord == 1:
        return df.reduce_sum(size, axis, keepdims)
    if ord == 2:
        return df.math.reduce_euclidean_norm(x, axis, keepdims)
    return df.pow(df.reduce_sum(df.pow(size, ord), axis, keepdims), 1 / ord)


def _matrices(x: df.Tensor, ord: Any, axes: list[int], keepdims: bool) -> df.Tensor:
    row, column = (a % x.ndim for a in axes)
    if ord == "fro":
        return df.math.reduce_euclidean_norm(x, [row, column], keepdims)
    if ord in ("nuc", 2, -2):
        matrices = df.transpose(
            x, [*[a for a in range(x.ndim) if a not in (row, column)], row, column])
        values = df.linalg.svd(matrices, compute_uv=False)
        reduce = {"nuc": df.reduce_sum, 2: df.reduce_max, -2: df.reduce_min}[ord]
        found = reduce(values, -1)
        for axis in sorted((row, column)) if keepdims else ():
            found = df.expand_dims(found, axis)
        return found
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    first, then = (row, column) if abs(ord) == 1 else (column, row)
    sums = df.reduce_sum(df.abs(x), first, True)
    found = (df.reduce_max if ord > 0 else df.reduce_min)(sums, then, True)
    return found if keepdims else df.squeeze(found, [row, column])


# --- factorisations ---

def cholesky(a: Any, upper: Any = False) -> Any:
    a, = _floats(a)
    found = df.linalg.cholesky(a)
    return _transposed(found) if upper else found


def cholesky_inverse(a: Any, upper: Any = False) -> Any:
    a, = _floats(a)
    back = df.linalg.inv(_transposed(df.linalg.triu(a)) if upper else df.linalg.tril(a))
    return _transposed(back) @ back


def qr(x: Any, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError("`mode` argument value not supported. Expected one of "
                         f"{{'reduced', 'complete'}}. Received: mode={mode}")
    x, = _floats(x)
    return df.linalg.qr(x, full_matrices=mode == "complete")


def eig(x: Any) -> Any:
    x, = _floats(x)
    return df.linalg.eig(x)


def eigh(x: Any) -> Any:
    x, = _floats(x)
    return df.linalg.eigh(x)


def svd(x: Any, full_matrices: Any = True, compute_uv: Any = True) -> Any:
    x, = _floats(x)
    if not compute_uv:
        return df.linalg.svd(x, compute_uv=False)
    s, u, v = df.linalg.svd(x, full_matrices)
    return u, s, _transposed(v)


def _swaps(order: df.Tensor, n: int) -> np.ndarray:
    """Return pivots: the row that each of the first `n` rows is exchanged with, in order."""
    rows = order.numpy()
    swaps = np.empty((*rows.shape[:-1], n), "int32")
    for at in np.ndindex(rows.shape[:-1]):
        now = np.arange(rows.shape[-1])
        for k in range(n):
            swaps[*at, k] = j = np.flatnonzero(now == rows[*at, k])[0]
            now[[k, j]] = now[[j, k]]
    return swaps


_pivots = df.register_op("lu_pivots", _swaps,
                         infer=lambda order, n: ((*order.shape[:-1], n), df.int32))


def lu_factor(x: Any) -> Any:
    x, = _floats(x)
    factors, order = df.linalg.lu(x)
    return factors, _pivots(order, n=min(x.shape[-2:]))


# --- linear systems ---

def inv(a: Any) -> Any:
    a, = _floats(a)
    return df.linalg.inv(a)


def det(a: Any) -> Any:
    a, = _floats(a)
    return df.linalg.det(a)


def slogdet(x: Any) -> Any:
    x, = _floats(x)
    return df.linalg.slogdet(x)


def _solved(op: Any, a: Any, b: Any, **attrs: Any) -> df.Tensor:
    a, b = _floats(a, b)
    if b.ndim == a.ndim - 1:
        return df.squeeze(op(a, df.expand_dims(b, -1), **attrs), -1)
    found: df.Tensor = op(a, b, **attrs)
    return found


def solve(a: Any, b: Any) -> Any:
    return _solved(df.linalg.solve, a, b)


def solve_triangular(a: Any, b: Any, lower: Any = False) -> Any:
    return _solved(df.linalg.triangular_solve, a, b, lower=lower)


def _wide(x: df.Tensor) -> df.Tensor:
    """Return `x` in the dtype in which singular values are compared."""
    return df.cast(x, df.float32) if x.dtype.itemsize == 2 else x


def pinv(x: Any, rcond: Any = None) -> Any:
    x, = _floats(x)
    s, u, v = df.linalg.svd(_wide(x))
    least = 10 * max(x.shape[-2:]) * EPSILON[s.dtype.name] if rcond is None else rcond
    mask = s > least * df.reduce_max(s, -1, True)
    back = df.where(mask, 1 / df.where(mask, s, df.ones_like(s)), df.zeros_like(s))
    return df.cast((v * df.expand_dims(back, -2)) @ _transposed(u), x.dtype)


EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = _floats(a, b)
    dtype, a, b = a.dtype, _wide(a), _wide(b)
    least = EPSILON[a.dtype.name] * max(a.shape[-2:]) if rcond is None else rcond
    flat = b.ndim == 1
    found = pinv(a, least) @ (df.expand_dims(b, -1) if flat else b)
    return df.cast(df.squeeze(found, -1) if flat else found, dtype)


def matrix_rank(x: Any, tol: Any = None) -> Any:
    x, = _floats(x)
    s = df.linalg.svd(_wide(x), compute_uv=False)
    least = max(x.shape[-2:]) * EPSILON[s.dtype.name] * df.reduce_max(s, -1, True)
    return df.math.count_nonzero(s > (least if tol is None else tol), -1, dtype=df.int32)


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: Any = False) -> Any:
    """Forward-mode derivative along `tangents`: differentiate the VJP by its cotangent."""
    primals = tree.map_structure(convert_to_tensor, primals)
    with df.GradientTape() as outer:
        with df.GradientTape() as tape:
            tape.watch(primals)
            found = fun(*primals)
            y, aux = found if has_aux else (found, None)
        weights = tree.map_structure(df.zeros_like, y)
        outer.watch(weights)
        back = tape.gradient(y, primals, weights, "zero")
    along = outer.gradient(back, weights, tree.map_structure(convert_to_tensor, tangents), "zero")
    return (y, along, aux) if has_aux else (y, along)
