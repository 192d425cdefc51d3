"""The kinds of parameters of a trace (values of `Node.data`), and guards.

Created by traces and passes; compilers and exporters select the source of an argument by type.
"""

from __future__ import annotations

from collections.abc import Callable

from dualflow._core import Dim, Symbol, Tensor
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError
from dualflow.graph.ir import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Argument(NamedTuple):
    """Leaf `leaf` of the call's arguments, shown as `path`."""

    leaf: int
    path: str

    def __repr__(self) -> str:
        return self.path


class Feed(NamedTuple):
    """A value that each run computes on the host, such as the next key of a generator.

    `make(*args)` returns it; Dims among `args` are evaluated first. `give_back()` undoes the call
    if a run fails before the point at which Python would have made it.
    """

    make: Callable[..., Tensor]
    args: tuple[Any, ...]
    give_back: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"from {self.make.__qualname__} at each run"


class CachedParameter(NamedTuple):
    """Output `place` of `Graph.cached`, which is computed from variables, and computed again only
    after they have changed."""

    place: int

    def __repr__(self) -> str:
        return f"cached value {self.place}"


class Cotangent(NamedTuple):
    """In a backward program, the cotangent or an accumulator of the value `of`."""

    of: Symbol

    def __repr__(self) -> str:
        return f"cotangent of {self.of.name}"


class Number(NamedTuple):
    """A number computed from Python numbers among the arguments, or from sizes."""

    dim: Dim
    dtype: DType

    def __repr__(self) -> str:
        return f"a number, {self.dim!r}"


class DoesNotHold(InvalidArgumentError):
    """A guard, possibly one of a gradient rule, does not hold for these sizes."""


class Guard(NamedTuple):
    """A decision by Python that depends on numbers that may change: operator, operands, answer."""

    op: str
    args: tuple[Any, ...]
    answer: Any
    line: Line | None


def is_number(x: Symbol) -> bool:
    """Return True if a value is a Python number."""
    return isinstance(x.node.data, Number)


def hint(x: Any) -> Any:
    """Return a number, or the hint of a Dim."""
    return x.hint if isinstance(x, Dim) else x
