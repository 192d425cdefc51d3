"""A row of the op test table; the tests of each op are derived from its rows.

    case("exp", args=[normal(3, 4)], ref=np.exp, ulp=2)

The folder of a family has a module of rows for each module of `dualflow.ops` with ops of that
family; `tests.ops.cases` imports them all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*UNSIGNED, "int8", "int16", "int32", "int64")
NUMBERS = FLOATS + INTS
COMPLEX = ("complex64", "complex128")
RING = NUMBERS + COMPLEX        # dtypes of ops that only add, subtract and multiply
FIELD = FLOATS + COMPLEX        # the same, of ops that divide too
BOOL = ("bool",)
ANY = NUMBERS + BOOL
MOVABLE = (*ANY, "float16", *COMPLEX)      # dtypes of ops that only move data

Sample = Callable[[np.random.Generator, str], Any]   # (rng, dtype) -> array


@dataclass(frozen=True, eq=False)     # rows hold arrays, so they compare by identity
class Case:
    """One op with one set of sample inputs.

    op : name of the C op that the row covers
    function : path below `dualflow` of the function to call, e.g. "nn.relu"
    args : samples (drawn per dtype), arrays, plain values, and lists of these
    kwargs : keyword arguments
    ref : the same function on NumPy arrays; it gets float inputs as float64
    dtypes : dtypes of the samples
    ulp : allowed error of float results in units in the last place of the expected value
    complex_ulp : the same of complex results, in units of the larger part
    rel : alternatively, error relative to the largest magnitude of the expected result (for sums)
    grad : positions of the args whose gradient is checked, () for none
    edges : also run an elementwise op at the limits of its dtypes (NaN, inf, subnormals)
    signed_zero : the sign of a zero must match the reference
    large : arguments for runs on 1 and 2 threads, large enough to be split; optional if elementwise
    """

    op: str
    args: Sequence[Any]
    ref: Callable[..., Any]
    function: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    ulp: float = 0
    complex_ulp: float = 0.8        # two parts, each within half a unit
    rel: float | None = None
    grad: tuple[int, ...] = (0,)
    edges: bool = True
    signed_zero: bool = True
    large: Sequence[Any] | None = None
    name: str = ""

    def __str__(self) -> str:
        """Return `reduce_sum(3x4, axis=1)`, which test ids contain."""
        if self.name:
            return self.name
        given = [*map(_short, self.args), *(f"{k}={_short(v)}" for k, v in self.kwargs.items())]
        function = "" if self.function in (self.op, f"nn.{self.op}") else f"{self.function} "
        return f"{self.op}({function}{', '.join(given)})"[:70]


def _short(value: Any) -> str:
    """Return the text of an argument in an id: the shape of samples and arrays."""
    if isinstance(value, list | tuple) and any(callable(v) for v in value):
        return f"[{', '.join(map(_short, value))}]"
    if hasattr(value, "shape"):
        return "x".join(map(str, value.shape)) or "scalar"
    return getattr(value, "__name__", "sample") if callable(value) else str(value)


CASES: list[Case] = []


def case(op: str, args: Sequence[Any], ref: Callable[..., Any], function: str | None = None,
         **rest: Any) -> None:
    """Add a row to the table."""
    CASES.append(Case(op=op, args=args, ref=ref, function=function or op, **rest))


@dataclass(frozen=True)
class sample:
    """Random input of a shape between `low` and `high`. Values that `accepts` rejects become 1."""

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
        drawn = rng.uniform(self.low, self.high, self.shape)
        if dtype in COMPLEX:
            drawn = drawn + 1j * rng.uniform(self.low, self.high, self.shape)
        return drawn.astype(dtype)


def normal(*shape: int) -> sample:
    """Return a sample of values of both signs and of magnitude up to a few units."""
    return sample(shape, -3.0, 3.0)


def positive(*shape: int) -> sample:
    return sample(shape, 0.1, 4.0)
