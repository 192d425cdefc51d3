"""From a row of the table to inputs, results and their comparison; names no op."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests import sampling
from tests.ops.case import Case, sample
from tests.ops.cases import CASES


def thinned(cases: list[Case], n: int) -> list[Case]:
    """Return every n-th row of each op, the first one included; all rows with ``--exhaustive``."""
    if sampling.every:
        return cases
    place: dict[str, int] = {}
    taken = []
    for c in cases:
        place[c.op] = place.get(c.op, -1) + 1
        if place[c.op] % n == 0:
            taken.append(c)
    return taken


def rows(cases: list[Case] = CASES, dtypes: str = "all") -> list:
    """Return test parameters `case, dtype`: for each row "all" its dtypes; "two", float32 if the
    row has it, and another; or "one", successive dtypes. With ``--exhaustive`` always all."""
    def taken(k: int, case: Case) -> list[str]:
        if dtypes == "all" or sampling.every:
            return list(case.dtypes)
        if dtypes == "one":
            return [case.dtypes[k % len(case.dtypes)]]
        others = [d for d in case.dtypes if d != "float32"]
        return [d for d in case.dtypes if d == "float32" or d == others[k % len(others)]]

    return [pytest.param(c, d, id=f"{c}-{d}") for k, c in enumerate(cases) for d in taken(k, c)]


def elementwise(case: Case) -> bool:
    """Return True if shapes may be chosen freely: one formula over samples that broadcast."""
    samples = [a for a in case.args if callable(a)]
    return (_core.get_op(case.op).kind == "elementwise"
            and all(isinstance(a, sample) for a in samples) and len(samples) > 0)


def function(case: Case) -> Callable[..., Any]:
    return functools.reduce(getattr, case.function.split("."), df)


def each(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply `change` to the leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        return type(value)(each(change, v) for v in value)
    return change(value)


def make(case: Case, dtype: str, args: Any = None, seed: int = 0) -> list:
    """Draw the samples of the row's arguments, or of `args` if given."""
    rng = np.random.default_rng(seed)
    drawn = list(case.args if args is None else args)
    return each(lambda a: a(rng, dtype) if callable(a) else a, drawn)


def reshaped(case: Case, *shapes: tuple[int, ...]) -> list:
    """Return the row's arguments with samples of other shapes, taken cyclically."""
    turn = iter(range(len(case.args)))
    return [dataclasses.replace(a, shape=shapes[next(turn) % len(shapes)])
            if isinstance(a, sample) else a for a in case.args]


def tensor(value: Any) -> Any:
    return df.constant(value) if isinstance(value, np.ndarray | np.generic) else value


def wide(value: Any, extended: bool = True) -> Any:
    """Convert float arrays to a wider dtype, so that the reference is more accurate than the op:
    to float64, and float64 to NumPy's longdouble if `extended`; complex arrays likewise."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    if value.dtype.kind == "c":
        return value.astype(np.clongdouble if extended and value.dtype == np.complex128
                            else np.complex128)
    return value.astype(np.longdouble if extended and value.dtype == np.float64 else np.float64)


def results(value: Any) -> list:
    """Return the leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        return [leaf for v in value for leaf in results(v)]
    return [value]


def run(case: Case, args: list, to_tensor: Callable[[Any], Any] = tensor) -> list[np.ndarray]:
    out = function(case)(*each(to_tensor, args), **case.kwargs)
    return [y.numpy() for y in results(out)]


def expected(case: Case, args: list) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        try:
            value = case.ref(*each(wide, args), **case.kwargs)
        except TypeError:  # scipy and numpy.linalg have no longdouble
            value = case.ref(*each(lambda a: wide(a, extended=False), args), **case.kwargs)
        return [np.asarray(y) for y in results(value)]


def check(case: Case, args: list, to_tensor: Callable[[Any], Any] = tensor) -> list[np.ndarray]:
    """Run the row on `args` and compare all results with the reference."""
    got, want = run(case, args, to_tensor), expected(case, args)
    for g, w in zip(got, want, strict=True):
        assert_close(g, w, case)
    return got


def assert_close(got: np.ndarray, want: np.ndarray, case: Case) -> None:
    assert got.shape == want.shape, f"{case}: shape {got.shape}, expected {want.shape}"
    if got.dtype == bool:
        assert (got.view("uint8") <= 1).all(), f"{case}: a bool is neither 0 nor 1"
    if got.dtype.kind == "c":
        assert_complex_close(got, want, case)
        return
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, rounded))
    if case.signed_zero:
        zero = (got == 0) & (rounded == 0)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))
    size = np.abs(rounded[finite])
    # Just below the largest value the spacing is the same, and it does not overflow.
    below = np.minimum(size, np.nextafter(np.finfo(got.dtype).max, got.dtype.type(0)))
    unit = np.spacing(below).astype(float) if case.rel is None else case.rel * size.max(initial=0)
    error = np.abs(got[finite].astype(np.float64) - want[finite])
    # A correctly rounded result has an error of half a unit; the margin covers the reference.
    allowed = (max(case.ulp, 0.5000001) if case.rel is None else 1) * unit
    bad = ~(error <= allowed)
    assert not bad.any(), (
        f"{case}: {bad.sum()} of {bad.size} beyond the limit; got {got[finite][bad][:3]}, "
        f"expected {want[finite][bad][:3]}, allowed {np.broadcast_to(allowed, bad.shape)[bad][:3]}")


def assert_complex_close(got: np.ndarray, want: np.ndarray, case: Case) -> None:
    """Compare the parts, relative to the larger part. Special values: test_complex.py."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(want.astype(got.dtype))
    assert not np.isfinite(got[~finite]).any(), f"{case}: expected {want[~finite][:3]}"
    size, error = (np.maximum(abs(z.real), abs(z.imag))     # |z| may overflow
                   for z in (want[finite], got[finite] - want[finite]))
    part = got.real.dtype
    below = np.minimum(size.astype(part), np.nextafter(np.finfo(part).max, part.type(0)))
    unit = (np.spacing(below).astype(float) * case.complex_ulp if case.rel is None
            else case.rel * size.max(initial=0))
    bad = ~(error <= unit)
    assert not bad.any(), (f"{case}: {bad.sum()} of {bad.size} beyond the limit; got "
                           f"{got[finite][bad][:3]}, expected {want[finite][bad][:3]}")


@contextmanager
def threads(n: int) -> Iterator[None]:
    before = _core.num_threads()
    _core.set_num_threads(n)
    try:
        yield
    finally:
        _core.set_num_threads(before)
