"""What parameters of a trace stand for, and what Python decided by those that may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dualflow._core import Dim, Tensor
from dualflow.dtypes import DType
from dualflow.graph.ir import Line


class Argument(NamedTuple):
    """What a parameter stands for: leaf `leaf` of the call's arguments, called `path`."""

    leaf: int
    path: str

    def __repr__(self) -> str:
        return self.path


class Feed(NamedTuple):
    """A parameter that is asked for at each run: the next key of a generator, say.

    `make(*args)` gives it; Dims among `args` are evaluated first. `give_back()` is called for what
    Python would not have asked for, where a run fails before.
    """

    make: Callable[..., Tensor]
    args: tuple[Any, ...]
    give_back: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"from {self.make.__qualname__} at each run"


class Number(NamedTuple):
    """A parameter computed from Python numbers among the arguments, or from sizes."""

    dim: Dim
    dtype: DType

    def __repr__(self) -> str:
        return f"a number, {self.dim!r}"


class Guard(NamedTuple):
    """A decision Python made by numbers that may change: operator, operands, answer."""

    op: str
    args: tuple[Any, ...]
    answer: Any
    line: Line | None
