"""Linear algebra: norms, factorisations, equations."""

from typing import Any

from keras.src import tree

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, float_of, to_dtype
from dualflow.keras.src.ops.factorizations import (
    cholesky_factor,
    determinant,
    eigen,
    in_dtype,
    inverse,
    lower_upper,
    qr_factors,
    singular,
    singular_values,
    solution,
    transposed,
    triangular_solution,
    wide,
)


def norm(x, ord=None, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        x = df.cast(x, to_dtype(float_of(x.dtype)))
    axes = [axis] if isinstance(axis, int) else list(range(x.ndim)) if axis is None else list(axis)
    if axis is None and ord is not None and x.ndim > 2:
        raise ValueError(f"norm: x has {x.ndim} dimensions, want an axis where `ord` is given")
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ValueError(f"norm: axis is {axis}, x has {x.ndim} dimensions")
    if len(axes) > 2 or (ord is None and len(axes) != 1):
        return df.sqrt(df.reduce_sum(x * x, axes, keepdims))
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
        return df.sqrt(df.reduce_sum(x * x, axis, keepdims))
    return df.pow(df.reduce_sum(df.pow(size, ord), axis, keepdims), 1 / ord)


def _matrices(x: df.Tensor, ord: Any, axes: list[int], keepdims: bool) -> df.Tensor:
    row, column = (a % x.ndim for a in axes)
    if ord == "fro":
        return df.sqrt(df.reduce_sum(x * x, [row, column], keepdims))
    if ord in ("nuc", 2, -2):
        values = singular_values(df.transpose(
            x, [*[a for a in range(x.ndim) if a not in (row, column)], row, column]))
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

def cholesky(a, upper=False):
    found = in_dtype(cholesky_factor, a)
    return transposed(found) if upper else found


def cholesky_inverse(a, upper=False):
    (a,), dtype = wide(a)
    back = inverse(transposed(df.linalg.triu(a)) if upper else df.linalg.tril(a))
    return df.cast(transposed(back) @ back, dtype)


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError("`mode` argument value not supported. Expected one of "
                         f"{{'reduced', 'complete'}}. Received: mode={mode}")
    return in_dtype(qr_factors, x, mode=mode)


def eigh(x):
    return in_dtype(eigen, x)


def svd(x, full_matrices=True, compute_uv=True):
    if not compute_uv:
        return in_dtype(singular_values, x)
    return in_dtype(singular, x, full_matrices=full_matrices)


def lu_factor(x):
    (x,), dtype = wide(x)
    factors, pivots = lower_upper(x)
    return df.cast(factors, dtype), pivots


# --- equations ---

def inv(a):
    return in_dtype(inverse, a)


def det(a):
    return in_dtype(determinant, a)


def _solved(op: Any, a: Any, b: Any, **attrs: Any) -> df.Tensor:
    (a, b), dtype = wide(a, b)
    if b.ndim == a.ndim - 1:
        return df.cast(df.squeeze(op(a, df.expand_dims(b, -1), **attrs), -1), dtype)
    return df.cast(op(a, b, **attrs), dtype)


def solve(a, b):
    return _solved(solution, a, b)


def solve_triangular(a, b, lower=False):
    return _solved(triangular_solution, a, b, lower=lower)


def pinv(x, rcond=None):
    (x,), dtype = wide(x)
    u, s, v = singular(x, full_matrices=False)
    least = 10 * max(x.shape[-2:]) * EPSILON[x.dtype.name] if rcond is None else rcond
    kept = s > least * df.reduce_max(s, -1, True)
    back = df.where(kept, 1 / df.where(kept, s, df.ones_like(s)), df.zeros_like(s))
    return df.cast((transposed(v) * df.expand_dims(back, -2)) @ transposed(u), dtype)


EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def lstsq(a, b, rcond=None):
    (a, b), dtype = wide(a, b)
    least = EPSILON[a.dtype.name] * max(a.shape[-2:]) if rcond is None else rcond
    flat = b.ndim == 1
    found = pinv(a, least) @ (df.expand_dims(b, -1) if flat else b)
    return df.cast(df.squeeze(found, -1) if flat else found, dtype)


def matrix_rank(x, tol=None):
    (x,), _ = wide(x)
    s = singular_values(x)
    least = max(x.shape[-2:]) * EPSILON[x.dtype.name] * df.reduce_max(s, -1, True)
    return df.reduce_sum(df.cast(s > (least if tol is None else tol), df.int32), -1)


def jvp(fun, primals, tangents, has_aux=False):
    """The derivative along `tangents`: the gradient of what flows back, by what flowed in."""
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
