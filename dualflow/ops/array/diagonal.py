"""Diagonals and bands of matrices, and their gradients. Matrices are the last two dimensions."""

from __future__ import annotations

from functools import lru_cache

from dualflow._core import (
    Tensor,
    TensorBase,
    apply,
    apply_ordered,
    as_index,
    as_tensor,
    get_op,
    larger,
    smaller,
)
from dualflow._util.arguments import shown
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.join import stack
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import (
    expand_dims,
    identity,
    ints,
    product,
    reshape,
    same_shape,
    static_shape,
)
from dualflow.ops.array.slicing import MISSING, SLICE, STRIDED_SLICE, cut
from dualflow.ops.elementwise.arithmetic import add_n
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.reduction.reduce import REDUCE_SUM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

RESHAPE = get_op("reshape")

__all__ = ["band_part", "diag", "diag_part", "set_diag", "tensor_diag", "tensor_diag_part",
           "trace", "tril", "triu"]


def band_part(input: TensorLike, num_lower: int, num_upper: int, name: str | None = None) -> Tensor:
    """Return `input` with zeros outside a band around the diagonal.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    num_lower, num_upper : int
        Number of diagonals kept below and above the main one; a negative number keeps all.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.band_part([[1, 2], [3, 4]], -1, 0).tolist()
    [[1, 0], [3, 4]]
    """
    return apply("band_part", input, name=name, num_lower=num_lower, num_upper=num_upper)


@gradient("band_part", saves="none")
def _(g, y, x, num_lower, num_upper):
    return band_part(g, num_lower, num_upper)


def tril(input: TensorLike, name: str | None = None) -> Tensor:
    """Return `input` with zeros above the diagonal of its matrices.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return band_part(input, -1, 0, name=name)


def triu(input: TensorLike, name: str | None = None) -> Tensor:
    """Return `input` with zeros below the diagonal of its matrices.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return band_part(input, 0, -1, name=name)


# --- layout of diagonals -----------------------------------------------------------------------


def _band(op: str, k: Any) -> tuple[int, int]:
    """Return the lowest and the highest diagonal of a band."""
    if type(k) is int:
        return k, k
    given = ints(k, f"{op}: k")
    if len(given) not in (1, 2) or given[0] > given[-1]:
        raise InvalidArgumentError(f"{op}: k is {shown(k)}, expected a diagonal, or the lowest and "
                                   "the highest of a band")
    return given[0], given[-1]


def _length(m: Any, n: Any, k: int) -> Any:
    """Return the length of diagonal `k` of m x n matrices."""
    return smaller(m + k, n) if k < 0 else smaller(m, n - k)


def _longest(m: Any, n: Any, low: int, high: int) -> Any:
    """Return the length of the longest diagonal of a band."""
    return smaller(m + smaller(high, 0), n - larger(low, 0))


def _before(op: str, align: str, k: int, missing: Any) -> Any:
    """Return the number of padding elements before a shorter diagonal in its row."""
    if align not in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise InvalidArgumentError(f"{op}: align is {shown(align)}, expected 'RIGHT_LEFT', "
                                   "'LEFT_RIGHT', 'LEFT_LEFT' or 'RIGHT_RIGHT'")
    above, _, below = align.partition("_")
    return missing if (above if k >= 0 else below) == "RIGHT" else 0


def _diagonals(op: str, x: TensorBase, low: int, high: int, m: Any, n: Any,
               align: str) -> list[tuple[int, TensorBase]]:
    """Return (k, diagonal) of a band, each cut out of its row of `x`; row 0 is the highest."""
    if low == high:
        return [(low, x)]
    longest = static_shape(x)[-1]
    found: list[tuple[int, TensorBase]] = []
    for k in range(low, high + 1):
        length = _length(m, n, k)
        start = _before(op, align, k, longest - length)
        found.append((k, x[..., high - k, start:start + length]))
    return found


def _placed(x: TensorBase, k: int, m: Any, n: Any) -> Tensor:
    """Return m x n matrices with `x` on diagonal `k` and zeros elsewhere."""
    *batch, length = static_shape(x)
    # n times an element and n zeros: rows of n + 1 elements; read as rows of n, this is the matrix.
    rows = pad(expand_dims(x, -1), [[0, 0]] * x.ndim + [[0, length]])
    flat = reshape(rows, (*batch, length * (length + 1)))
    keep = (MISSING,) * len(batch)
    whole = cut(flat, (*keep, 0), (*keep, length * length), (1,) * x.ndim, (SLICE,) * x.ndim)
    square = reshape(whole, (*batch, length, length))
    if k == 0 and m is length and n is length:
        return square
    down, right = max(-k, 0), max(k, 0)
    return pad(square, [[0, 0]] * len(batch) + [[down, m - down - length],
                                                [right, n - right - length]])


def _offsets(m: Any, n: Any) -> Tensor:
    """Return the diagonal index of each element of m x n matrices."""
    return range_(n) - expand_dims(range_(m), -1)


# --- diagonals ---------------------------------------------------------------------------------


def diag(diagonal: TensorLike, name: str | None = None, k: int | Sequence[int] = 0,
         num_rows: int = -1, num_cols: int = -1, padding_value: TensorLike = 0,
         align: str = "RIGHT_LEFT") -> Tensor:
    """Return matrices with `diagonal` on a diagonal or band, and `padding_value` elsewhere.

    Parameters
    ----------
    diagonal : Tensor, shape (..., n), or (..., diagonals, n) for a band
    k : int, or pair of them
        0 is the main diagonal, positive numbers are above it. A pair is the lowest and the highest
        diagonal of a band, whose rows start with the highest.
    num_rows, num_cols : int
        The size of the matrices; by default the smallest that contains the diagonals, square if
        neither is given.
    padding_value : scalar
    align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}
        Alignment of shorter diagonals in their rows: first for diagonals above the main one, then
        for diagonals below it.

    Returns
    -------
    Tensor, shape (..., num_rows, num_cols), dtype of `diagonal`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    >>> df.linalg.diag([1, 2], k=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    x = diagonal if isinstance(diagonal, TensorBase) else as_tensor(diagonal, None, "diag")
    low, high = _band("diag", k)
    if x.ndim < 1 + (low < high):
        raise ShapeError(f"diag: {x.dtype} {x.shape}, expected {1 + (low < high)} dimension or "
                         "more")
    longest = static_shape(x)[-1]
    m, n = longest + larger(-high, 0), longest + larger(low, 0)
    num_rows, num_cols = as_index(num_rows), as_index(num_cols)
    if num_rows == num_cols == -1:
        num_rows = num_cols = longest + larger(larger(-high, low), 0)
    m, n = m if num_rows == -1 else num_rows, n if num_cols == -1 else num_cols
    parts = [_placed(part, at, m, n) for at, part in _diagonals("diag", x, low, high, m, n, align)]
    whole = parts[0] if len(parts) == 1 else add_n(parts)
    if isinstance(padding_value, int | float) and padding_value == 0:
        return identity(whole, name) if name else whole
    offsets = _offsets(m, n)
    return where((offsets >= low) & (offsets <= high), whole, cast(padding_value, x.dtype),
                 name=name)


def diag_part(input: TensorLike, name: str | None = None, k: int | Sequence[int] = 0,
              padding_value: TensorLike = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return a diagonal or a band of matrices.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    k : int, or pair of them
        0 is the main diagonal, positive numbers are above it; a pair is a band from low to high.
    padding_value : scalar
        The padding of diagonals that are shorter than the longest.
    align : str
        As in `diag`.

    Returns
    -------
    Tensor, shape (..., length), or (..., diagonals, length) for a band, highest diagonal first

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.diag_part([[1, 2], [3, 4]]).tolist()
    [1, 4]
    >>> df.linalg.diag_part([[1, 2], [3, 4]], k=(0, 1)).tolist()
    [[0, 2], [1, 4]]
    """
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, "diag_part")
    if x.ndim < 2:
        raise ShapeError(f"diag_part: {x.dtype} {x.shape}, expected 2 dimensions or more")
    low, high = _band("diag_part", k)
    if low == high:
        return _diagonal(x, low, name)
    *batch, m, n = static_shape(x)
    longest, filler, rows = _longest(m, n, low, high), cast(padding_value, x.dtype), []
    for at in range(high, low - 1, -1):
        missing = longest - _length(m, n, at)
        start = _before("diag_part", align, at, missing)
        around = [[0, 0]] * len(batch) + [[start, missing - start]]
        rows.append(pad(_diagonal(x, at), around, constant_values=filler))
    return stack(rows, -2, name=name)


def _diagonal(x: TensorBase, k: int, name: str | None = None) -> Tensor:
    known = type(x) is Tensor and type(k) is int
    flat, keys = _recent_keys(x.shape, k) if known else _diagonal_keys(static_shape(x), k)
    return apply_ordered(STRIDED_SLICE, (apply_ordered(RESHAPE, (x,), flat),), keys, name)


def _diagonal_keys(shape: Sequence[int], k: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the attributes of `reshape`, to rows of a whole matrix each, and `strided_slice`."""
    *batch, m, n = shape
    whole, ones = (MISSING,) * len(batch), (1,) * len(batch)
    begin = larger(-k, 0) * n + larger(k, 0)
    end = begin + larger(_length(m, n, k), 0) * (n + 1)
    return ((*batch, m * n),), ((*whole, begin), (*whole, end), (*ones, n + 1),
                                (SLICE,) * (len(batch) + 1))


_recent_keys = lru_cache(maxsize=64)(_diagonal_keys)    # `apply` packs the same objects once


def set_diag(input: TensorLike, diagonal: TensorLike, name: str | None = None,
             k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return `input` with a diagonal or a band of its matrices replaced by `diagonal`.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    diagonal : Tensor, in the layout that `diag_part` returns for the same `k` and `align`
    k, align
        As in `diag_part`.

    Returns
    -------
    Tensor, shape and dtype of `input`

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).tolist()
    [[0, 2], [3, 0]]
    """
    x, y = as_tensor(input, None, "set_diag"), as_tensor(diagonal, None, "set_diag")
    if x.ndim < 2:
        raise ShapeError(f"set_diag: {x.dtype} {x.shape}, expected 2 dimensions or more")
    low, high = _band("set_diag", k)
    m, n = static_shape(x)[-2:]
    want = (*x.shape[:-2], *([high - low + 1] if low < high else []), _longest(m, n, low, high))
    if not same_shape(y.shape, want):
        raise ShapeError(f"set_diag: diagonal has shape {tuple(y.shape)}, expected {want}")
    offsets = _offsets(m, n)
    whole = diag(y, None, (low, high), m, n, align=align)
    return where((offsets >= low) & (offsets <= high), whole, x, name=name)


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of twice the rank, with ``diagonal[i...]`` at (i..., i...) and 0 elsewhere.

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.tensor_diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    """
    x = as_tensor(diagonal, None, "tensor_diag")
    shape = tuple(static_shape(x))
    return reshape(diag(reshape(x, (-1,))), (*shape, *shape), name=name)


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the elements at (i..., i...), the inverse of `tensor_diag`.

    Parameters
    ----------
    input : Tensor, shape (n..., n...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.tensor_diag_part([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    x = as_tensor(input, None, "tensor_diag_part")
    half = x.ndim // 2
    if x.ndim % 2 or half == 0 or not same_shape(x.shape[:half], x.shape[half:]):
        raise ShapeError(f"tensor_diag_part: shape {tuple(x.shape)}, expected the same dimensions "
                         "twice")
    shape = tuple(static_shape(x))[:half]
    size = product(shape)
    return reshape(diag_part(reshape(x, (size, size))), shape, name=name)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sums of the diagonals of matrices.

    Parameters
    ----------
    x : Tensor, shape (..., m, n)

    Returns
    -------
    Tensor, dtype of `x`, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.linalg.trace([[1, 2], [3, 4]]).item()
    5
    """
    return apply_ordered(REDUCE_SUM, (diag_part(x),), (-1, False), name)
