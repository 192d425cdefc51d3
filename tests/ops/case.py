"""A row of the op test table. Everything the suite does with an op is derived from its rows.

    case("exp", args=[normal(3, 4)], ref=np.exp, ulp=2)

One module of `tests.ops.cases` per family, named like the module of `dualflow.ops`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*UNSIGNED, "int8", "int16", "int32", "int64")
NUMBERS = FLOATS + INTS
BOOL = ("bool",)
ANY = NUMBERS + BOOL
MOVABLE = (*ANY, "float16")     # what ops that only move data take

Sample = Callable[[np.random.Generator, str], Any]   # (rng, dtype) -> array


@dataclass(frozen=True, eq=False)     # rows hold arrays; each equals itself alone
class Case:
    """One op on one set of sample inputs.

    op : name of the C op it covers
    function : path below `dualflow` of the function called, e.g. "nn.relu"
    args : samples (made per dtype), arrays, plain values, and lists of these
    kwargs : keyword arguments
    ref : the same on NumPy arrays; float inputs come as float64
    dtypes : dtypes the samples are made in
    ulp : allowed error of float results in units in the last place of the expected value
    rel : instead, error relative to the largest magnitude of the expected result (sums)
    grad : positions of args whose gradient is checked, () for none
    edges : whether an elementwise op is also run at the ends of its dtypes (NaN, inf, denormals)
    signed_zero : whether the sign of a zero must be the reference's
    large : arguments of a run on 1 and 2 threads, big enough to be split; elementwise ops have one
    """

    op: str
    args: Sequence[Any]
    ref: Callable[..., Any]
    function: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    ulp: float = 0
    rel: float | None = None
    grad: tuple[int, ...] = (0,)
    edges: bool = True
    signed_zero: bool = True
    large: Sequence[Any] | None = None
    name: str = ""

    def __str__(self) -> str:
        """`reduce_sum(3x4, axis=1)`: what the ids of tests are made of."""
        if self.name:
            return self.name
        given = [*map(_short, self.args), *(f"{k}={_short(v)}" for k, v in self.kwargs.items())]
        function = "" if self.function in (self.op, f"nn.{self.op}") else f"{self.function} "
        return f"{self.op}({function}{', '.join(given)})"[:70]


def _short(value: Any) -> str:
    """An argument in an id: samples and arrays by their shapes."""
    if isinstance(value, list | tuple) and any(callable(v) for v in value):
        return f"[{', '.join(map(_short, value))}]"
    if hasattr(value, "shape"):
        return "x".join(map(str, value.shape)) or "scalar"
    return getattr(value, "__name__", "sample") if callable(value) else str(value)


CASES: list[Case] = []


def case(op: str, args: Sequence[Any], ref: Callable[..., Any], function: str | None = None,
         **rest: Any) -> None:
    """Adds a row to the table."""
    CASES.append(Case(op=op, args=args, ref=ref, function=function or op, **rest))


@dataclass(frozen=True)
class sample:
    """Random input of a shape; `low` and `high` bound it. What `accepts` rejects becomes 1."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    accepts: Callable[[np.ndarray], np.ndarray] | None = None

    def keep(self, x: np.ndarray) -> np.ndarray:
        return x if self.accepts is None else np.where(self.accepts(x), x, x.dtype.type(1))

    def __call__(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        return self.keep(self.draw(rng, dtype))

    def draw(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        if dtype == "bool":
            return rng.random(self.shape) < 0.5
        if dtype in INTS:
            low = 0 if dtype in UNSIGNED else min(round(self.low), 0)
            return rng.integers(low, max(round(self.high), low + 1) + 1, self.shape).astype(dtype)
        return rng.uniform(self.low, self.high, self.shape).astype(dtype)


def normal(*shape: int) -> sample:
    """Numbers of both signs, a few units large."""
    return sample(shape, -3.0, 3.0)


def positive(*shape: int) -> sample:
    return sample(shape, 0.1, 4.0)
