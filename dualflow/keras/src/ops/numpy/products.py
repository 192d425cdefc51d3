"""Products of vectors and matrices."""

import builtins
import math
from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import dualflow as df
from dualflow.keras.src.ops.convert import (
    convert_to_tensor,
    dtype_of,
    tensors,
    to_dtype,
)
from dualflow.keras.src.ops.linalg import slogdet as slogdet


def _factors(*xs: Any) -> tuple[list[df.Tensor], df.DType]:
    """Return factors in a dtype that supports matrix products, and the dtype of the result."""
    dtype = result_type(*[dtype_of(convert_to_tensor(x)) for x in xs])
    computed = dtype
    if dtype in ("bool", "int8", "int16", "uint8", "uint16", "uint32"):
        computed = "int32"
    return [convert_to_tensor(x, computed) for x in xs], to_dtype(dtype)


def matmul(x1: Any, x2: Any) -> Any:
    both = [convert_to_tensor(x) for x in (x1, x2)]
    if _are_int8(both):
        return df.matmul(both[0], both[1], output_type=df.int32)
    (x1, x2), dtype = _factors(x1, x2)
    if isinstance(x1, df.SparseTensor) != isinstance(x2, df.SparseTensor):
        return df.cast(df.sparse.sparse_dense_matmul(x1, x2), dtype)
    if [x.dtype for x in both] == [df.int8, df.int8]:
        dtype = df.int32
    return df.cast(df.matmul(x1, x2), dtype)


def _are_int8(xs: list[df.Tensor]) -> bool:
    return all([x.dtype is df.int8 and not isinstance(x, df.SparseTensor) for x in xs])


def dot(x1: Any, x2: Any) -> Any:
    (x1, x2), dtype = _factors(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        found = x1 * x2
    elif x2.ndim <= 2 and x1.ndim >= 1:
        found = df.tensordot(x1, x2, [[x1.ndim - 1], [max(x2.ndim - 2, 0)]])
    else:
        found = df.tensordot(x1, x2, [[x1.ndim - 1], [x2.ndim - 2]])
    return df.cast(found, dtype)


def inner(x1: Any, x2: Any) -> Any:
    (x1, x2), dtype = _factors(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return df.cast(x1 * x2, dtype)
    return df.cast(df.tensordot(x1, x2, [[x1.ndim - 1], [x2.ndim - 1]]), dtype)


def outer(x1: Any, x2: Any) -> Any:
    x1, x2 = tensors(x1, x2)
    if x1.dtype.is_bool:
        return df.logical_and(df.reshape(x1, (-1, 1)), df.reshape(x2, (1, -1)))
    return df.reshape(x1, (-1, 1)) * df.reshape(x2, (1, -1))


def vdot(x1: Any, x2: Any) -> Any:
    (x1, x2), dtype = _factors(x1, x2)
    x1 = df.math.conj(df.reshape(x1, (-1,)))
    return df.cast(df.tensordot(x1, df.reshape(x2, (-1,)), 1), dtype)


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    (x1, x2), dtype = _factors(x1, x2)
    if not isinstance(axes, int):
        axes = [[a] if isinstance(a, int) else list(a) for a in axes]
    return df.cast(df.tensordot(x1, x2, axes), dtype)


def einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    given = [convert_to_tensor(x) for x in operands]
    made = _product_of_int8(subscripts, *given) if len(given) == 2 and _are_int8(given) else None
    if made is not None:
        return made
    xs, dtype = _factors(*operands)
    if all(standardize_dtype(x.dtype) == "int8" for x in given):
        dtype = df.int32
    return df.cast(df.einsum(subscripts, *xs), dtype)


def _product_of_int8(subscripts: str, a: Any, b: Any) -> df.Tensor | None:
    """Return an einsum as one int32 product of int8 matrices, or None if it is not one."""
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    of_a, _, of_b = terms.partition(",")
    labels = (of_a, of_b, result)
    if not arrow or not all([not x or x.isalpha() for x in labels]) or any(
            [len(set(x)) < len(x) for x in labels]) or [len(of_a), len(of_b)] != [a.ndim, b.ndim]:
        return None
    batch = [x for x in of_a if x in of_b and x in result]
    summed = [x for x in of_a if x in of_b and x not in result]
    rows, columns = [x for x in of_a if x not in of_b], [x for x in of_b if x not in of_a]
    if not summed or sorted(result) != sorted(batch + rows + columns):
        return None
    size = dict(zip(of_b, b.shape, strict=True)) | dict(zip(of_a, a.shape, strict=True))
    if None in size.values() or any([size[x] != n for x, n in zip(of_b, b.shape, strict=True)]):
        return None

    def matrices(x: Any, of_x: str, *groups: list[str]) -> df.Tensor:
        return df.reshape(_ordered(x, [of_x.index(k) for k in sum(groups, batch)]),
                          [*sizes(batch), *[math.prod(sizes(group)) for group in groups]])

    def sizes(group: list[str]) -> list[Any]:
        return [size[x] for x in group]

    y = df.matmul(matrices(a, of_a, rows, summed), matrices(b, of_b, summed, columns),
                  output_type=df.int32)
    order = batch + rows + columns
    return _ordered(df.reshape(y, sizes(order)), [order.index(x) for x in result])


def _ordered(x: Any, perm: list[int]) -> df.Tensor:
    return x if perm == [*range(len(perm))] else df.transpose(x, perm)


def kron(x1: Any, x2: Any) -> Any:
    x1, x2 = tensors(x1, x2)
    n = max(x1.ndim, x2.ndim)
    first = [1] * (n - x1.ndim) + list(x1.shape)
    second = [1] * (n - x2.ndim) + list(x2.shape)
    if x1.dtype.is_bool:
        x1, x2 = df.cast(x1, df.int32), df.cast(x2, df.int32)
        return df.cast(kron(x1, x2), df.bool_)
    product = (df.reshape(x1, [s for a in first for s in (a, 1)])
               * df.reshape(x2, [s for b in second for s in (1, b)]))
    return df.reshape(product, [a * b for a, b in zip(first, second, strict=True)])


def cross(x1: Any, x2: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1,
          axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = tensors(x1, x2)
    a, b = list(df.unstack(x1, axis=axisa)), list(df.unstack(x2, axis=axisb))
    for x, parts in ((x1, a), (x2, b)):
        if len(parts) not in (2, 3):
            raise ValueError("`x1`'s and `x2`'s dim on the axis of the vectors must be 2 or 3, got "
                             f"shape {x.shape}")
    last = a[0] * b[1] - a[1] * b[0]
    if len(a) == len(b) == 2:
        return last
    zero = df.zeros_like(a[0] * b[0])
    az, bz = a[2] if len(a) == 3 else zero, b[2] if len(b) == 3 else zero
    parts = [a[1] * bz - az * b[1], az * b[0] - a[0] * bz, last]
    return df.stack(parts, axisc)


def corrcoef(x: Any) -> Any:
    x = convert_to_tensor(x)
    x = df.cast(x, to_dtype(result_type(x.dtype.name, float)))
    if x.ndim == 0:
        return x / x
    rows = x if x.ndim == 2 else df.expand_dims(x, 0)
    apart = rows - df.reduce_mean(rows, 1, True)
    together = df.matmul(apart, df.transpose(apart))
    spread = df.sqrt(df.linalg.diag_part(together))
    found = together / df.expand_dims(spread, 0) / df.expand_dims(spread, 1)
    found = df.clip_by_value(found, -1.0, 1.0)
    return found if x.ndim == 2 else df.reshape(found, ())


def correlate(x1: Any, x2: Any, mode: Any = "valid") -> Any:
    dtype = result_type(dtype_of(convert_to_tensor(x1)), dtype_of(convert_to_tensor(x2)))
    if "int" in dtype or dtype == "bool":
        dtype = result_type(dtype, "float32")
    a, b = convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"correlate: expected vectors, got shapes {a.shape} and {b.shape}")
    n, m = a.shape[0], b.shape[0]
    before, after = {"full": (m - 1, m - 1), "same": ((m - 1) - (m - 1) // 2, (m - 1) // 2),
                     "valid": (0, 0)}[mode]
    swapped = n < m
    if swapped:
        a, b, n, m = b, a, m, n
        before, after = {"full": (m - 1, m - 1), "same": ((m - 1) - (m - 1) // 2, (m - 1) // 2),
                         "valid": (0, 0)}[mode]
    a = df.pad(a, [[before, after]])
    windows = builtins.max(n + before + after - m + 1, 0)
    places = df.expand_dims(df.range(windows), 1) + df.expand_dims(df.range(m), 0)
    found = df.reduce_sum(df.gather(a, places) * b, 1)
    return df.reverse(found, [0]) if swapped else found
