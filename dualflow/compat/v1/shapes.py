"""Shapes as TensorFlow 1 shows them: a tuple that knows unknown sizes, and an unknown rank."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dualflow._core import Dim

__all__ = ["Dimension", "TensorShape"]


class Dimension(int):
    """A known size.

    Attributes
    ----------
    value : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.Dimension(3).value + 1
    4
    """

    @property
    def value(self) -> int:
        """The size as a plain number."""
        return int(self)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    __str__ = int.__repr__


class UnknownDimension:
    """A size that is known only when the graph runs."""

    value = None

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __str__(self) -> str:
        return "?"

    def __eq__(self, other: object) -> Any:
        return other is None or isinstance(other, UnknownDimension)

    def __hash__(self) -> int:
        return hash(None)

    def __int__(self) -> int:
        raise TypeError("__int__ returned non-int (type NoneType)")


class TensorShape(tuple[Any, ...]):
    """The sizes of a tensor, None where one is unknown.

    Parameters
    ----------
    dims : sequence of int or None, or None
        None: even how many there are is unknown.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> shape = tf.placeholder(tf.float32, [None, 3]).get_shape()
    >>> shape.as_list(), shape[1].value, shape.ndims
    ([None, 3], 3, 2)
    """

    known_rank: bool

    def __new__(cls, dims: Iterable[Any] | int | None) -> TensorShape:
        if isinstance(dims, int):
            dims = (dims,)
        made = super().__new__(cls, () if dims is None else map(_size, dims))
        made.known_rank = dims is not None and getattr(dims, "known_rank", True)
        return made

    def __getitem__(self, key: Any) -> Any:
        if not self.known_rank:
            return TensorShape(None) if isinstance(key, slice) else UnknownDimension()
        found = super().__getitem__(key)
        if isinstance(key, slice):
            return TensorShape(found)
        return UnknownDimension() if found is None else found

    @property
    def ndims(self) -> int | None:
        """How many dimensions there are."""
        return len(self) if self.known_rank else None

    rank = ndims

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions, None if their number is unknown."""
        return [self[k] for k in range(len(self))] if self.known_rank else None

    def as_list(self) -> list[int | None]:
        """The sizes as plain numbers or None."""
        if not self.known_rank:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return [None if n == None else int(n) for n in self]  # noqa: E711  as Dims are compared

    def num_elements(self) -> int | None:
        """The product of the sizes, None if one is unknown."""
        return math.prod(map(int, self)) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self.known_rank and None not in self.as_list()

    def is_compatible_with(self, other: Any) -> bool:
        """Whether a tensor may have both shapes."""
        other = TensorShape(other)
        if not (self.known_rank and other.known_rank):
            return True
        pairs = zip(self.as_list(), other.as_list(), strict=False)
        return len(self) == len(other) and all([None in (a, b) or a == b for a, b in pairs])

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError if a tensor cannot have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def concatenate(self, other: Any) -> TensorShape:
        """This shape followed by another."""
        return TensorShape((*self, *TensorShape(other)))

    def __add__(self, other: Any) -> Any:
        return TensorShape((*self, *other)) if isinstance(other, TensorShape) else (*self, *other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | list):
            return NotImplemented
        wanted = TensorShape(other)
        return self.known_rank == wanted.known_rank and (
            not self.known_rank or self.as_list() == wanted.as_list())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self.as_list()) if self.known_rank else None)

    def __str__(self) -> str:
        if not self.known_rank:
            return "<unknown>"
        sizes = ["?" if n is None else str(n) for n in self.as_list()]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __repr__(self) -> str:
        if not self.known_rank:
            return "TensorShape(None)"
        return f"TensorShape([{', '.join([f'Dimension({n})' for n in self.as_list()])}])"


def _size(n: Any) -> Any:
    if n is None or isinstance(n, UnknownDimension):
        return None
    return n if type(n) is Dim else Dimension(n)
