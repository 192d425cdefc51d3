"""What parameters of a trace stand for, and decisions of Python's based on changing numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dualflow._core import Dim, Symbol, Tensor
from dualflow.dtypes import DType
from dualflow.graph.ir import Line


class Argument(NamedTuple):
    """What a parameter stands for: leaf `leaf` of the call's arguments, called `path`."""

    leaf: int
    path: str

    def __repr__(self) -> str:
        return self.path


class Feed(NamedTuple):
    """A parameter that each run asks for: the next key of a generator, say.

    `make(*args)` gives it; Dims among `args` are evaluated first. `give_back()` undoes that if a
    run fails before the point at which Python would have asked.
    """

    make: Callable[..., Tensor]
    args: tuple[Any, ...]
    give_back: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"from {self.make.__qualname__} at each run"


class Kept(NamedTuple):
    """A parameter that is computed of variables, and only when these have changed: output `place`
    of the graph that computes what is kept."""

    place: int

    def __repr__(self) -> str:
        return f"kept value {self.place}"


class Cotangent(NamedTuple):
    """A parameter of a backward program: the cotangent, or an accumulator, of the value `of`."""

    of: Symbol

    def __repr__(self) -> str:
        return f"cotangent of {self.of.name}"


class Number(NamedTuple):
    """A parameter computed from Python numbers among the arguments, or from sizes."""

    dim: Dim
    dtype: DType

    def __repr__(self) -> str:
        return f"a number, {self.dim!r}"


class Guard(NamedTuple):
    """A decision Python made based on numbers that may change: operator, operands, answer."""

    op: str
    args: tuple[Any, ...]
    answer: Any
    line: Line | None


def is_number(x: Symbol) -> bool:
    """Whether a value is a Python number."""
    return isinstance(x.node.data, Number)


def hint(x: Any) -> Any:
    """A number, or what stands for it while Python is traced."""
    return x.hint if isinstance(x, Dim) else x
