"""The operators of ragged tensors, and the methods that `df.data` calls (`spec.py`)."""

from __future__ import annotations

from dualflow._core import Operand, apply_binary, apply_unary
from dualflow._util.late_binding import late_method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Operators"]


class Operators(Operand):
    """Operators that apply elementwise ops."""

    __slots__ = ()

    _spec: Any = late_method("dualflow.ops.ragged.spec")
    _batched: Any = late_method("dualflow.ops.ragged.spec")
    _join: Any = late_method("dualflow.ops.ragged.spec")
    _as_rows: Any = late_method("dualflow.ops.ragged.spec")

    def __add__(self, other: Any) -> Any:
        return apply_binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return apply_binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return apply_binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return apply_binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return apply_binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return apply_binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return apply_binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return apply_binary("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return apply_binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return apply_binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return apply_binary("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return apply_binary("floormod", other, self)

    def __pow__(self, other: Any) -> Any:
        return apply_binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return apply_binary("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return apply_binary("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return apply_binary("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return apply_binary("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return apply_binary("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return apply_binary("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return apply_binary("bitwise_xor", other, self)

    def __lt__(self, other: Any) -> Any:
        return apply_binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return apply_binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return apply_binary("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return apply_binary("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return apply_binary("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return apply_binary("not_equal", self, other)

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return apply_unary("negative", self)

    def __abs__(self) -> Any:
        return apply_unary("abs", self)

    def __invert__(self) -> Any:
        return apply_unary("bitwise_not", self)
