"""Sums of products over named indices, composed of transposes, reshapes and matrix products.

An equation and the shapes of its operands are compiled into a plan; plans are cached. A plan first
takes diagonals and sums over indices of a single operand, then joins two operands at a time,
starting with the pair whose product adds the fewest elements. If two operands share a summed index,
the join is one matrix product, batched over the shared indices that are kept. There is no kernel.
"""

from __future__ import annotations

import functools
import math

from dualflow._core import Dim, Tensor, TensorBase, as_tensor, larger
from dualflow._util.named_tuple import NamedTuple
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.diagonal import diag_part
from dualflow.ops.array.shape import identity, ints, reshape, same_size, static_shape, transpose
from dualflow.ops.autocast import lowered
from dualflow.ops.axes import by_axes
from dualflow.ops.elementwise.arithmetic import multiply
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.reduction.reduce import reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["einsum", "tensordot"]

# A letter of the equation, or -1, -2, ...: a dimension of the ellipsis, counted from the right.
Label: TypeAlias = str | int
Labels: TypeAlias = tuple[Label, ...]
Shape: TypeAlias = tuple[int, ...]           # -1: unknown


class _Term(NamedTuple):
    """The labels and the shape of an operand."""

    labels: Labels
    shape: Shape


class _Arrange(NamedTuple):
    """The transpose and reshape that a product requires of an operand; None if not needed."""

    perm: Shape | None
    shape: Shape | None


class _Pair(NamedTuple):
    """The join of operands i and j; the result is appended to the list."""

    i: int
    j: int
    a: _Arrange
    b: _Arrange
    transposed: tuple[bool, bool] | None      # of a matrix product; None: multiply
    axes: Shape                               # to sum after multiply
    shape: Shape | None


class _Plan(NamedTuple):
    diagonals: tuple[tuple[Shape, ...], ...]  # per operand: a perm before each diagonal
    sums: tuple[Shape, ...]                   # per operand: axes
    pairs: tuple[_Pair, ...]
    perm: Shape | None


def einsum(equation: str, *inputs: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of products that `equation` describes.

    Parameters
    ----------
    equation : str
        Labels of the dimensions of each operand, then of the result: ``"bij,bjk->bik"``. Labels
        missing in the result are summed. A label that occurs twice in an operand takes the
        diagonal. ``...`` matches dimensions that broadcast. Without ``->`` the result has the
        ellipsis and all labels that occur once, in alphabetical order.
    *inputs : Tensor
        One operand per term of the equation.

    Returns
    -------
    Tensor, of the promoted dtype

    Raises
    ------
    InvalidArgumentError
        If the equation is malformed, or its number of terms is not the number of operands.
    ShapeError
        If a rank does not match its term, or one label has two sizes.

    Notes
    -----
    There are gradients of any order, composed of the gradients of the ops that einsum applies.

    Examples
    --------
    >>> import dualflow as df
    >>> a = df.constant([[1., 2.], [3., 4.]])
    >>> df.einsum("ij,kj->ik", a, a).numpy().tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    >>> df.einsum("ii", a).item()
    5.0
    """
    if not isinstance(equation, str):
        raise DTypeError(f"einsum: the equation is a {type(equation).__name__}, expected a str")
    tensors = [x if isinstance(x, TensorBase) else as_tensor(x, None, "einsum") for x in inputs]
    shapes = tuple([static_shape(x) for x in tensors])
    traced = any(isinstance(n, Dim) for shape in shapes for n in shape)
    plan = (_make_plan if traced else _plan)(equation, shapes)
    for k, x in enumerate(tensors):
        for perm in plan.diagonals[k]:
            x = diag_part(transpose(x, perm))
        tensors[k] = reduce_sum(x, plan.sums[k]) if plan.sums[k] else x
    for pair in plan.pairs:
        b, a = tensors.pop(pair.j), tensors.pop(pair.i)
        tensors.append(_join(a, b, pair))
    y = tensors[0] if plan.perm is None else transpose(tensors[0], plan.perm)
    return y if name is None and isinstance(y, Tensor) else identity(y, name)


def tensordot(a: TensorLike, b: TensorLike, axes: int | Iterable[int | Iterable[int]],
              name: str | None = None) -> Tensor:
    """Sum the product of a and b over pairs of axes; remaining dimensions of a precede those in b.

    Parameters
    ----------
    a, b : Tensor
    axes : int, or two ints, or two sequences of ints
        The number of last dimensions of a to pair with the first of b; or dimensions of a and the
        dimensions of b to pair them with. Negative ones count from the end.

    Returns
    -------
    Tensor, of the promoted dtype

    Raises
    ------
    InvalidArgumentError
        If axes are out of range or repeated, or a and b have different numbers of them.
    ShapeError
        If the sizes of a pair differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensordot([[1., 2.], [3., 4.]], [10., 1.], 1).numpy().tolist()
    [12.0, 34.0]
    """
    x = a if isinstance(a, TensorBase) else as_tensor(a, None, "tensordot")
    y = b if isinstance(b, TensorBase) else as_tensor(b, None, "tensordot")
    if isinstance(axes, list | tuple) and len(axes) == 2:
        i, j = [list(ints(d, "tensordot: axes")) for d in axes]
        chosen = by_axes([*i, *j], [x.ndim] * len(i) + [y.ndim] * len(j), "tensordot",
                         lambda ij: tensordot(x, y, [ij[:len(i)], ij[len(i):]], name))
        if chosen is not None:
            return chosen
    axes_a, axes_b = _paired_axes(axes, static_shape(x), static_shape(y))
    to_a = dict(zip(axes_b, axes_a, strict=True))
    term_a = _Term(tuple(range(x.ndim)), static_shape(x))
    term_b = _Term(tuple([to_a.get(d, x.ndim + d) for d in range(y.ndim)]), static_shape(y))
    keep = frozenset(term_a.labels).symmetric_difference(term_b.labels)
    out = _join(x, y, _plan_pair(0, 1, term_a, term_b, keep)[0])
    return out if name is None else identity(out, name)


def _paired_axes(axes: int | Iterable[int | Iterable[int]], a: Shape,
                 b: Shape) -> tuple[list[int], list[int]]:
    """Return the checked non-negative dimensions of a and b to sum over."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(a), len(b)):
            raise InvalidArgumentError(f"tensordot: axes is {axes} for shapes {a} and {b}, "
                                       f"expected 0 to {min(len(a), len(b))}")
        given = [list(range(len(a) - axes, len(a))), list(range(axes))]
    else:
        try:
            first, second = axes
            given = [[d] if isinstance(d, int) else [int(i) for i in d] for d in (first, second)]
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"tensordot: axes is {axes!r}, expected an int or two sequences of ints") from None
    found = []
    for caller, listed, shape in zip("ab", given, (a, b), strict=True):
        wrong = [d for d in listed if not -len(shape) <= d < len(shape)]
        if wrong:
            raise InvalidArgumentError(f"tensordot: axis {wrong[0]} is out of range for {caller} "
                                       f"with shape {shape}")
        found.append([d % len(shape) for d in listed])
        if len(set(found[-1])) != len(listed):
            raise InvalidArgumentError(f"tensordot: axes of {caller} are {listed}, one is repeated")
    if len(found[0]) != len(found[1]):
        raise InvalidArgumentError(f"tensordot: {len(found[0])} axes of a, {len(found[1])} of b")
    for i, j in zip(*found, strict=True):
        if not same_size(a[i], b[j]):
            raise ShapeError(f"tensordot: dimension {i} of a with shape {a} and {j} of b with "
                             f"shape {b} differ in size")
    return found[0], found[1]


# --- equations ----------------------------------------------------------------------------------

def _parse(equation: str, n: int) -> tuple[list[str], str]:
    """Return the terms and the (possibly implicit) result of an equation, without spaces."""
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    for term in [*terms, right]:
        letters = term.replace("...", "", 1)
        if letters and not letters.isalpha():
            raise InvalidArgumentError(f"einsum: {term!r} in the equation {equation!r}, expected "
                                       "letters and at most one ellipsis")
    if len(terms) != n:
        raise InvalidArgumentError(f"einsum: the equation {equation!r} has {len(terms)} terms "
                                   f"for {n} operands")
    letters = left.replace("...", "").replace(",", "")
    if not arrow:
        right = "..." if "..." in left else ""
        right += "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    named = right.replace("...", "")
    for c in named:
        if named.count(c) > 1 or c not in letters:
            raise InvalidArgumentError(f"einsum: {c!r} in the result of {equation!r} "
                                       f"{'is repeated' if c in letters else 'is in no term'}")
    return terms, right


def _labels(term: str, n_dots: int) -> Labels:
    """Return one label per dimension."""
    before, dots, after = term.partition("...")
    return (*before, *(range(-n_dots, 0) if dots else ()), *after)


def _terms(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[_Term], Labels]:
    """Return the operands with their labels, and the labels of the result."""
    terms, right = _parse(equation, len(shapes))
    found = []
    sizes: dict[Label, int] = {}
    most_dots = 0
    for k, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        n_dots = len(shape) - len(term.replace("...", ""))
        if n_dots < 0 or (n_dots and "..." not in term):
            raise ShapeError(f"einsum: operand {k} has shape {shape}, the equation {equation!r} "
                             f"expects {term!r}")
        most_dots = max(most_dots, n_dots)
        labels = _labels(term, n_dots)
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            joined = _joined_size(known, size, broadcasts=isinstance(label, int))
            if joined is None:
                what = "a dimension under the ellipsis" if isinstance(label, int) else f"{label!r}"
                raise ShapeError(f"einsum: {what} of {equation!r} is {known} and {size} in the "
                                 f"shapes {', '.join(map(str, shapes))}")
            sizes[label] = joined
        found.append(_Term(labels, shape))
    if most_dots and "..." not in right:
        raise InvalidArgumentError(f"einsum: the result of {equation!r} has no ellipsis for the "
                                   f"{most_dots} dimensions of the operands' ellipsis")
    return found, _labels(right, most_dots)


def _joined_size(a: Any, b: Any, broadcasts: bool) -> Any:
    """Return the common size of a dimension with sizes `a` and `b`, or None if they conflict."""
    if a is b or _is_free(b, broadcasts):
        return a
    if _is_free(a, broadcasts):
        return b
    if not broadcasts:
        return (b if isinstance(a, Dim) else a) if same_size(a, b) else None
    if any(isinstance(n, Dim) and n.data_dependent for n in (a, b)):
        return larger(a, b)
    return a if a == b else None


def _is_free(size: Any, broadcasts: bool) -> bool:
    """Return True if any size matches this one: it is unknown, or 1 and broadcasts."""
    return not isinstance(size, Dim) and (size == -1 or (broadcasts and size == 1))


# --- plans --------------------------------------------------------------------------------------

def _make_plan(equation: str, shapes: tuple[Shape, ...]) -> _Plan:
    terms, result = _terms(equation, shapes)
    diagonals, sums, pairs = [], [], []
    for k, term in enumerate(terms):
        term, found = _plan_diagonals(term)
        others = {x for i, t in enumerate(terms) if i != k for x in t.labels}.union(result)
        axes = tuple([d for d, x in enumerate(term.labels) if x not in others])
        left = [d for d in range(len(term.labels)) if d not in axes]
        terms[k] = _Term(tuple([term.labels[d] for d in left]),
                         tuple([term.shape[d] for d in left]))
        diagonals.append(found)
        sums.append(axes)
    while len(terms) > 1:
        pair, joined = min(_all_pairs(terms, result), key=lambda p: _growth(terms, *p))
        del terms[pair.j], terms[pair.i]
        terms.append(joined)
        pairs.append(pair)
    perm = tuple([terms[0].labels.index(x) for x in result])
    return _Plan(tuple(diagonals), tuple(sums), tuple(pairs),
                 None if perm == tuple(range(len(perm))) else perm)


# For known sizes; symbolic sizes belong to the graph that is being traced, so they are not cached.
_plan = functools.lru_cache(maxsize=1024)(_make_plan)


def _all_pairs(terms: list[_Term], result: Labels) -> Iterable[tuple[_Pair, _Term]]:
    for j in range(1, len(terms)):
        for i in range(j):
            rest = {x for k, t in enumerate(terms) if k not in (i, j) for x in t.labels}
            yield _plan_pair(i, j, terms[i], terms[j], frozenset(rest.union(result)))


def _growth(terms: list[_Term], pair: _Pair, joined: _Term) -> int:
    """Return the number of elements that a join adds; an unknown dimension counts as 1."""
    sizes = [math.prod([abs(n) for n in t.shape]) for t in (joined, terms[pair.i], terms[pair.j])]
    return sizes[0] - sizes[1] - sizes[2]


def _plan_diagonals(term: _Term) -> tuple[_Term, tuple[Shape, ...]]:
    """Move the first two dimensions with equal labels to the end until no label repeats."""
    found = []
    labels, shape = term
    while len(set(labels)) < len(labels):
        i = next(d for d, x in enumerate(labels) if labels.count(x) > 1)
        j = labels.index(labels[i], i + 1)
        perm = (*[d for d in range(len(labels)) if d not in (i, j)], i, j)
        found.append(perm)
        labels, shape = tuple([labels[d] for d in perm[:-1]]), tuple([shape[d] for d in perm[:-1]])
    return _Term(labels, shape), tuple(found)


def _size(sizes: Iterable[int]) -> int:
    listed = list(sizes)
    return -1 if any(not isinstance(n, Dim) and n == -1 for n in listed) else math.prod(listed)


def _plan_pair(i: int, j: int, a: _Term, b: _Term,
               keep: frozenset[Label]) -> tuple[_Pair, _Term]:
    """Plan the join of two operands; the result has the labels of both that are in `keep`."""
    of_a, of_b = dict(zip(*a, strict=True)), dict(zip(*b, strict=True))
    both = [x for x in a.labels if x in of_b]
    batch = [x for x in both if x in keep]
    summed = [x for x in both if x not in keep]
    own_a = [x for x in a.labels if x not in of_b]
    own_b = [x for x in b.labels if x not in of_a]
    batch_shape = [_joined_size(of_a[x], of_b[x], isinstance(x, int)) for x in batch]
    joined = _Term((*batch, *own_a, *own_b),
                   (*batch_shape, *[of_a[x] for x in own_a], *[of_b[x] for x in own_b]))
    # No matrix product is needed if nothing is summed, or if each sum has a single element.
    if not summed or (batch and not own_a and not own_b):
        first = _arrangement(a, (*batch, *own_a, *summed), [
            *[(x,) for x in batch + own_a], *[()] * len(own_b), *[(x,) for x in summed]])
        second = _arrangement(b, (*batch, *own_b, *summed), [
            *[(x,) for x in batch], *[()] * len(own_a), *[(x,) for x in own_b + summed]])
        n = len(joined.labels)
        return _Pair(i, j, first, second, None, tuple(range(n, n + len(summed))), None), joined
    # Use the transposed form of a matrix if that avoids a copy.
    turn_a = a.labels == (*batch, *summed, *own_a)
    turn_b = b.labels == (*batch, *own_b, *summed)
    first = _matrices(a, batch, summed if turn_a else own_a, own_a if turn_a else summed)
    second = _matrices(b, batch, own_b if turn_b else summed, summed if turn_b else own_b)
    shape = None if len(own_a) == len(own_b) == 1 else joined.shape
    return _Pair(i, j, first, second, (turn_a, turn_b), (), shape), joined


def _matrices(term: _Term, batch: list[Label], rows: list[Label],
              columns: list[Label]) -> _Arrange:
    return _arrangement(term, (*batch, *rows, *columns),
                        [*[(x,) for x in batch], tuple(rows), tuple(columns)])


def _arrangement(term: _Term, order: Labels, groups: list[Labels]) -> _Arrange:
    """Order dimensions by `order` and merge each group; an empty group is a dimension of 1."""
    size = dict(zip(*term, strict=True))
    shape = tuple([_size(size[x] for x in group) for group in groups])
    return _Arrange(None if order == term.labels else tuple([term.labels.index(x) for x in order]),
                    None if all([len(group) == 1 for group in groups]) else shape)


# --- execution of plans -------------------------------------------------------------------------

def _arrange(x: Any, how: _Arrange) -> Any:
    if how.perm is not None:
        x = transpose(x, how.perm)
    return x if how.shape is None else reshape(x, how.shape)


def _join(a: TensorLike, b: TensorLike, pair: _Pair) -> Tensor:
    a, b = _arrange(a, pair.a), _arrange(b, pair.b)
    if pair.transposed is None:
        y = multiply(*lowered(a, b))
        return reduce_sum(y, pair.axes) if pair.axes else y
    y = matmul(a, b, *pair.transposed)
    return y if pair.shape is None else reshape(y, pair.shape)
