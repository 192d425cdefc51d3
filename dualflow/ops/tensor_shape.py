"""TensorFlow's shapes: tuples with None for unknown sizes, possibly of unknown rank."""

from __future__ import annotations

import math

from dualflow._core import Dim, Shape, TensorBase, TensorSpec
from dualflow._util.arguments import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Self

__all__ = ["TensorShape", "as_tensor_shape", "spec_accepts", "spec_merged"]


def as_tensor_shape(shape: Iterable[Any]) -> TensorShape:
    """Return the shape of a tensor as a TensorShape, with None for sizes that depend on data."""
    return TensorShape([None if type(n) is Dim and n.data_dependent else n for n in shape])


class _ShapeClass(type):
    """The class of `TensorShape`, to which the shapes of tensors belong as well."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is TensorShape and type(instance) is Shape)


class TensorShape(tuple, metaclass=_ShapeClass):
    """The sizes of a tensor; unknown sizes are None.

    Parameters
    ----------
    dims : sequence of int or None, int, or None
        None for unknown rank.

    Notes
    -----
    A tuple of the sizes: it equals that tuple, and the list of the sizes, and can be passed as a
    shape. ``x.shape`` is a tuple of another class that has the same attributes, as in
    ``x.shape.as_list()``, and for which ``isinstance(x.shape, df.TensorShape)`` is true;
    ``x.get_shape()`` returns a TensorShape. Shapes of unknown rank have no length and cannot be
    iterated over.

    Examples
    --------
    >>> import dualflow as df
    >>> shape = df.TensorShape([None, 3])
    >>> shape.as_list(), shape.rank, shape.is_fully_defined()
    ([None, 3], 2, False)
    >>> shape.is_compatible_with([5, 3])
    True
    """

    known_rank: bool

    def __new__(cls, dims: Iterable[Any] | int | None) -> Self:
        if isinstance(dims, int):
            dims = (dims,)
        known = dims is not None and getattr(dims, "known_rank", True)
        made = super().__new__(cls, map(cls.size, dims) if known and dims is not None else ())
        made.known_rank = known
        return made

    @staticmethod
    def size(n: Any) -> Any:
        """Return a size in its stored form."""
        return n if n is None or type(n) is Dim else integer(n, "TensorShape: a size")

    def __getitem__(self, key: Any) -> Any:
        if not self.known_rank:
            return type(self)(None) if isinstance(key, slice) else None
        found = super().__getitem__(key)
        return type(self)(found) if isinstance(key, slice) else found

    def __iter__(self) -> Iterator[Any]:
        if not self.known_rank:
            raise ValueError("Cannot iterate over a shape with unknown rank")
        return super().__iter__()

    def __len__(self) -> int:
        if not self.known_rank:
            raise ValueError("Cannot take the length of a shape with unknown rank")
        return super().__len__()

    def __getnewargs__(self) -> tuple[Any]:
        return (tuple(self) if self.known_rank else None,)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return len(self) if self.known_rank else None

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, or None."""
        return self.rank

    @property
    def dims(self) -> list[Any] | None:
        """The sizes as a list, or None if the rank is unknown."""
        return [self[k] for k in range(len(self))] if self.known_rank else None

    def as_list(self) -> list[int | None]:
        """Return the sizes as a list of int or None."""
        if not self.known_rank:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return [None if n == None else int(n) for n in self]  # noqa: E711  as Dims are compared

    def num_elements(self) -> int | None:
        """Return the product of the sizes, or None if one is unknown."""
        return math.prod(map(int, self)) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return True if every size is known."""
        return self.known_rank and None not in self.as_list()

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError if a size is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    # --- comparisons and merging ---

    def is_compatible_with(self, other: Any) -> bool:
        """Return True if a tensor can have both shapes."""
        other = type(self)(other)
        if not (self.known_rank and other.known_rank):
            return True
        pairs = zip(self.as_list(), other.as_list(), strict=False)
        return len(self) == len(other) and all([None in (a, b) or a == b for a, b in pairs])

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError if a tensor cannot have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {type(self)(other)} are incompatible")

    def is_subtype_of(self, other: Any) -> bool:
        """Return True if every tensor of this shape has the other shape as well."""
        other = type(self)(other)
        if not (self.known_rank and other.known_rank):
            return not other.known_rank
        pairs = zip(self.as_list(), other.as_list(), strict=False)
        return len(self) == len(other) and all([b is None or a == b for a, b in pairs])

    def merge_with(self: Self, other: Any) -> Self:
        """Combine the known sizes of both; raise ValueError if they are incompatible."""
        other = type(self)(other)
        self.assert_is_compatible_with(other)
        if not (self.known_rank and other.known_rank):
            return self if self.known_rank else other
        pairs = zip(self.as_list(), other.as_list(), strict=True)
        return type(self)([b if a is None else a for a, b in pairs])

    def most_specific_compatible_shape(self: Self, other: Any) -> Self:
        """Return the most specific shape compatible with both: None for sizes that differ."""
        other = type(self)(other)
        if not (self.known_rank and other.known_rank and len(self) == len(other)):
            return type(self)(None)
        pairs = zip(self.as_list(), other.as_list(), strict=True)
        return type(self)([a if a == b else None for a, b in pairs])

    def concatenate(self: Self, other: Any) -> Self:
        """Return this shape followed by another."""
        other = type(self)(other)
        known = self.known_rank and other.known_rank
        return type(self)((*self, *other) if known else None)

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError if the ranks are known and differ."""
        other = type(self)(other)
        if self.known_rank and other.known_rank and len(self) != len(other):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    # --- rank ---

    def with_rank(self: Self, rank: int) -> Self:
        """Return this shape with known `rank`; raise ValueError if it has another rank."""
        if self.known_rank and len(self) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self if self.known_rank else type(self)([None] * rank)

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the rank is known and differs from `rank`."""
        self.with_rank(rank)

    def with_rank_at_least(self: Self, rank: int) -> Self:
        """Return this shape; raise ValueError if its rank is less than `rank`."""
        if self.known_rank and len(self) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self: Self, rank: int) -> Self:
        """Return this shape; raise ValueError if its rank is greater than `rank`."""
        if self.known_rank and len(self) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    # --- tuple methods ---

    def __add__(self, other: Any) -> Any:
        return self.concatenate(other) if isinstance(other, TensorShape) else (*self, *other)

    def __bool__(self) -> bool:
        return self.known_rank

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | list):
            return NotImplemented
        wanted = type(self)(other)
        return self.known_rank == wanted.known_rank and (
            not self.known_rank or self.as_list() == wanted.as_list())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self.as_list()) if self.known_rank else None)

    def __str__(self) -> str:
        if not self.known_rank:
            return "<unknown>"
        sizes = [str(n) for n in self.as_list()]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        return f"TensorShape({self.as_list() if self.known_rank else None})"


# --- specs ---------------------------------------------------------------------------------------

def spec_accepts(spec: TensorSpec, other: Any, how: str) -> bool:
    """Implement `TensorSpec.is_compatible_with` and `is_subtype_of`, which `how` names."""
    if not isinstance(other, TensorBase | TensorSpec) or spec.dtype is not other.dtype:
        return False
    accepts: bool = getattr(TensorShape(spec.shape), how)(other.shape)
    return accepts


def spec_merged(spec: TensorSpec, other: TensorSpec) -> TensorSpec:
    """Implement `TensorSpec.most_specific_compatible_type`."""
    if not isinstance(other, TensorSpec) or spec.dtype is not other.dtype:
        raise ValueError(f"No TensorSpec is compatible with both {spec} and {other}")
    shape = TensorShape(spec.shape).most_specific_compatible_shape(other.shape)
    return TensorSpec(shape, spec.dtype)
