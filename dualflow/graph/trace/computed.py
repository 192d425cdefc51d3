"""Parameters that each run computes from Python numbers among its arguments.

`specialize` creates them, specifications of programs contain them. A number that cannot be
computed, or has another type than while tracing, must raise GuardError: the trace does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dualflow._core import GuardError, NumberArgument, Tensor, constant
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import DType
from dualflow.errors import DualflowError
from dualflow.graph.trace.dims import Formula

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Computed(NamedTuple):
    """A parameter of `dtype` that each run computes from Python numbers among its arguments."""

    formula: Formula
    dtype: DType

    def __repr__(self) -> str:
        return f"a number, {self.formula}"

    def number(self, leaves: Sequence[Any]) -> Any:
        """Return the number for the leaves of a call's arguments."""
        return fitting(lambda: self.formula.value(leaves), self.formula.type)

    def source(self) -> Callable[[Sequence[Any]], Tensor]:
        """Return a callable from the leaves of a call's arguments to the tensor."""
        steps, kind = self.formula
        if len(steps) == 1 and steps[0][0] == "argument" and kind in (int, float):
            return NumberArgument(steps[0][1], kind, self.dtype)
        return self.make

    def make(self, leaves: Sequence[Any]) -> Tensor:
        """Return the tensor for the leaves of a call's arguments."""
        number = self.number(leaves)
        try:
            return constant(number, self.dtype)
        except DualflowError as error:
            raise GuardError(str(error)) from error


def fitting(compute: Callable[[], Any], wanted: type) -> Any:
    """Return the computed number; raise GuardError if Python would raise or its type differs."""
    try:
        value = compute()
    except (ArithmeticError, ValueError) as error:
        raise GuardError(str(error)) from error
    if type(value) is not wanted:
        raise GuardError(f"{value!r} is not of type {wanted.__name__}")
    return value
