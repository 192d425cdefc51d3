"""Values of a graph that is being written; arithmetic on them adds nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualflow.dtypes import DType, bool_

if TYPE_CHECKING:
    from dualflow.onnx.writer import Writer

Operand = Any               # a Value, or a number of the other value's dtype


class Value:
    """A named value. Arithmetic adds nodes; a number takes the value's dtype."""

    __slots__ = ("dtype", "name", "writer")

    def __init__(self, writer: Writer, name: str, dtype: DType) -> None:
        self.writer: Writer = writer
        self.name: str = name
        self.dtype: DType = dtype

    def number(self, x: Operand) -> Value:
        """Return a number as a value of the same dtype."""
        return x if isinstance(x, Value) else self.writer.scalar(x, self.dtype)

    def _op(self, kind: str, other: Operand, dtype: DType | None = None) -> Value:
        return self.writer.op(kind, self, self.number(other), dtype=dtype)

    def _swapped(self, kind: str, other: Operand) -> Value:
        return self.writer.op(kind, self.number(other), self)

    def __add__(self, other: Operand) -> Value: return self._op("Add", other)
    def __radd__(self, other: Operand) -> Value: return self._swapped("Add", other)
    def __sub__(self, other: Operand) -> Value: return self._op("Sub", other)
    def __rsub__(self, other: Operand) -> Value: return self._swapped("Sub", other)
    def __mul__(self, other: Operand) -> Value: return self._op("Mul", other)
    def __rmul__(self, other: Operand) -> Value: return self._swapped("Mul", other)
    def __truediv__(self, other: Operand) -> Value: return self._op("Div", other)
    def __rtruediv__(self, other: Operand) -> Value: return self._swapped("Div", other)
    def __gt__(self, other: Operand) -> Value: return self._op("Greater", other, bool_)
    def __lt__(self, other: Operand) -> Value: return self._op("Less", other, bool_)
    def __ge__(self, other: Operand) -> Value: return self._op("GreaterOrEqual", other, bool_)
    def __le__(self, other: Operand) -> Value: return self._op("LessOrEqual", other, bool_)

    def __neg__(self) -> Value:
        return self.number(0) - self if self.dtype.is_unsigned else self.writer.op("Neg", self)

    def is_(self, other: Operand) -> Value:
        """Write elementwise equality; `==` compares the Python objects."""
        return self._op("Equal", other, bool_)

    def cast(self, dtype: DType) -> Value:
        """Return the value in another dtype."""
        return self if self.dtype is dtype else self.writer.cast(self, dtype)
