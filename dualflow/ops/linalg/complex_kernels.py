"""Kernels of the ops on complex matrices, functions of NumPy arrays.

LAPACK computes them through `numpy.linalg`. LU factors and triangular substitution, which
`numpy.linalg` lacks, are loops over matrix products. As in the kernels for real matrices, errors
name the first matrix of a batch that has no result and the row of its pivot, and the triangle that
an op ignores is never read.
"""

import math
from bisect import bisect_left
from typing import Any

from dualflow.errors import InvalidArgumentError
from dualflow.ops.linalg.lapack import lapack, one_blas_thread

__all__ = ["cholesky", "inv", "lu", "solve", "triangular_solve"]

PANEL = 16      # columns of LU panels, and rows of triangles that are solved row by row


def adjoints(a: Any) -> Any:
    """Return conjugate transposes, contiguous."""
    return a.conj().swapaxes(-1, -2).copy()


def diagonals(a: Any) -> Any:
    return a.diagonal(0, -2, -1)


def fault(op: str, at: tuple[int, ...], kind: str, row: int, pivot: str) -> InvalidArgumentError:
    """Return the error about an invalid pivot of matrix `at`."""
    which = f" {at}" if at else ""
    return InvalidArgumentError(f"{op}: matrix{which} is {kind}: the pivot of row {row} is {pivot}")


def check_pivots(op: str, pivots: Any) -> None:
    """Raise an error for the first pivot that is 0; `pivots` has shape (..., n)."""
    zero = (pivots == 0).nonzero()
    if len(zero[0]):
        *at, row = [int(index[0]) for index in zero]
        raise fault(op, tuple(at), "singular", row, "0")


# --- Cholesky factors ----------------------------------------------------------------------------


def cholesky(a: Any) -> Any:
    """Return lower triangular factors; only the lower triangles are read."""
    import numpy as np

    factor = definite(a)
    if factor is not None:
        return factor
    at = next(at for at in np.ndindex(a.shape[:-2]) if definite(a[at]) is None)
    one = a[at]
    row = bisect_left(range(1, len(one)), True, key=lambda k: definite(one[:k, :k]) is None)
    raise fault("cholesky", at, "not positive definite", row, "not positive")


def definite(a: Any) -> Any:
    """Return the Cholesky factors, or None if a matrix is not positive definite."""
    import numpy as np

    try:
        factor = lapack("cholesky", "cholesky", a)
    except InvalidArgumentError:
        return None
    return None if np.isnan(diagonals(factor)).any() else factor


# --- LU factors --------------------------------------------------------------------------------


def lu(a: Any) -> tuple[Any, Any]:
    """Return LU factors and the order of the rows, as the op `lu` for real matrices does.

    The pivot is the first element of largest absolute value. Panels of columns are factored one
    column at a time; matrix products update the columns on the right.
    """
    import numpy as np

    *batch, m, n = a.shape
    a = a.reshape(math.prod(batch), m, n).copy()
    rows = np.tile(np.arange(m, dtype=np.int32), (len(a), 1))
    with one_blas_thread(), np.errstate(all="ignore"):
        for start in range(0, min(m, n), PANEL):
            end = min(start + PANEL, m, n)
            order = factor_panel(a[:, start:, start:end])[:, :, None]
            rows[:, start:] = np.take_along_axis(rows[:, start:], order[..., 0], 1)
            for beside in a[:, start:, :start], a[:, start:, end:]:
                beside[...] = np.take_along_axis(beside, order, 1)
            right = a[:, start:end, end:]
            right[...] = substitute(a[:, start:end, start:end], right, unit=True)
            a[:, end:, end:] -= a[:, end:, start:end] @ right
    return a.reshape(*batch, m, n), rows.reshape(*batch, m)


def factor_panel(a: Any) -> Any:
    """Factor matrices of a few columns in place; return the order of the rows."""
    import numpy as np

    count, m, n = a.shape
    each = np.arange(count)
    order = np.tile(np.arange(m), (count, 1))
    for j in range(n):
        pivot = j + np.abs(a[:, j:, j]).argmax(1)
        for x in a, order:
            x[each, j], x[each, pivot] = x[each, pivot], x[each, j]
        below, top = a[:, j + 1:, j], a[:, j, None, j]
        np.divide(below, top, out=below, where=top != 0)
        a[:, j + 1:, j + 1:] -= below[:, :, None] * a[:, j, None, j + 1:]
    return order


# --- equations ---------------------------------------------------------------------------------


def substitute(a: Any, b: Any, unit: bool = False) -> Any:
    """Solve ``a @ x == b`` with lower triangular matrices, whose diagonals are ones if `unit`."""
    import numpy as np

    n = a.shape[-1]
    if n > PANEL:
        half = n // 2
        top = substitute(a[..., :half, :half], b[..., :half, :], unit)
        rest = b[..., half:, :] - a[..., half:, :half] @ top
        return np.concatenate([top, substitute(a[..., half:, half:], rest, unit)], -2)
    x = np.array(b)
    for i in range(n):
        row = x[..., i, None, :]
        row -= a[..., i, None, :i] @ x[..., :i, :]
        if not unit:
            row /= a[..., i, None, i, None]
    return x


def triangular_solve(a: Any, b: Any, lower: bool, adjoint: bool) -> Any:
    import numpy as np

    check_pivots("triangular_solve", diagonals(a))
    if adjoint:
        a, lower = adjoints(a), not lower
    with one_blas_thread(), np.errstate(all="ignore"):
        if lower:
            return substitute(a, b)
        reverse = slice(None, None, -1)     # an upper triangle is a lower one in reverse order
        x = substitute(a[..., reverse, reverse].copy(), b[..., reverse, :])
        return np.ascontiguousarray(x[..., reverse, :])


def solve(a: Any, b: Any, adjoint: bool) -> Any:
    try:
        return lapack("solve", "solve", adjoints(a) if adjoint else a, b)
    except InvalidArgumentError:
        check_pivots("solve", diagonals(lu(a)[0]))
        raise


def inv(a: Any) -> Any:
    try:
        return lapack("inv", "inv", a)
    except InvalidArgumentError:
        check_pivots("inv", diagonals(lu(a)[0]))
        raise
