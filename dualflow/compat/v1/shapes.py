"""Shapes of TensorFlow 1, whose sizes are Dimension objects."""

from __future__ import annotations

from typing import Any

from dualflow._core import Dim
from dualflow.ops import tensor_shape

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
        """The size as an int."""
        return int(self)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    __str__ = int.__repr__


class UnknownDimension:
    """A size that is unknown until the graph runs."""

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


class TensorShape(tensor_shape.TensorShape):
    """The sizes of a tensor; unknown sizes are None.

    Parameters
    ----------
    dims : sequence of int or None, or None
        None if the rank is unknown.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> shape = tf.placeholder(tf.float32, [None, 3]).get_shape()
    >>> shape.as_list(), shape[1].value, shape.ndims
    ([None, 3], 3, 2)
    """

    @staticmethod
    def size(n: Any) -> Any:
        """Return a size in its stored form: Dimension, Dim or None."""
        if n is None or isinstance(n, UnknownDimension):
            return None
        return n if type(n) is Dim else Dimension(n)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return UnknownDimension() if found is None else found

    def __str__(self) -> str:
        return super().__str__().replace("None", "?")

    def __repr__(self) -> str:
        if not self.known_rank:
            return "TensorShape(None)"
        return f"TensorShape([{', '.join([f'Dimension({n})' for n in self.as_list()])}])"
