"""Building graphs for tests, and comparing a graph with the result of a pass."""

from collections.abc import Callable
from textwrap import dedent
from typing import Any
from unittest import mock

import numpy as np

import dualflow as df
from dualflow.graph import ir, passes
from dualflow.graph.passes.options import Options
from dualflow.graph.trace.trace import Trace
from tests.graph.interpret import interpret

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.5, np.inf, -np.inf, np.nan, 1e-42, 3e38, 7.25]


def x(*shape: int, dtype: str = "float32") -> tuple[str, tuple[int, ...]]:
    """Return the (dtype, shape) of a parameter."""
    return dtype, shape


def traced(f: Callable[..., Any], *parameters: tuple[str, tuple[int, ...]]) -> ir.Graph:
    """Return the specialised graph of `f`, which returns tensors."""
    trace = Trace("f")
    with trace.recording():
        args = [trace.parameter(i, "abcdefgh"[i], df.as_dtype(dtype), shape, shape)
                for i, (dtype, shape) in enumerate(parameters)]
        found = f(*args)
    trace.outputs = list(found) if isinstance(found, tuple | list) else [found]
    return ir.copy(trace)


def clone(graph: ir.Graph) -> ir.Graph:
    """Return a copy that a pass may change."""
    return ir.copy(graph)


def text(graph: ir.Graph) -> str:
    return graph.text(lines=False)


def lines(graph: ir.Graph) -> list[str]:
    """Return the printed nodes without types, and the return line: `%2 = add(%0, %1)`."""
    return [line.partition(" : ")[0].strip() for line in text(graph).splitlines()[1:]]


def body(graph: ir.Graph) -> list[str]:
    """Return `lines` without parameters and variables."""
    return [line for line in lines(graph)
            if "= parameter(" not in line and "= variable(" not in line]


def ops(graph: ir.Graph) -> list[str]:
    """Return the names of the ops that compute."""
    return [node.type for node in graph.nodes if node.op not in ir.LEAVES]


def random_args(graph: ir.Graph, seed: int = 0) -> list[df.Tensor]:
    """Return random arguments that include NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    return [df.constant(values(rng, p.shape, p.dtype.name)) for p in graph.inputs]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        drawn = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.5, drawn, rng.integers(0, 4, shape)).astype(dtype)
    special = rng.choice(SPECIAL, shape)
    with np.errstate(over="ignore"):
        drawn = np.where(rng.random(shape) < 0.5, special, rng.normal(size=shape))
        return drawn.astype(df.as_dtype(dtype).as_numpy_dtype)


def assert_same(got: Any, want: Any) -> None:
    """Assert equal bits; all NaNs count as equal."""
    a, b = got.numpy(), want.numpy()
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if got.dtype is df.bfloat16:        # not a floating dtype for NumPy
        a, b = a.astype("f4"), b.astype("f4")
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        number = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


def assert_exact(before: ir.Graph, after: ir.Graph, seeds: int = 3) -> None:
    """Assert that both graphs return the same bits and leave the same values in variables."""
    for seed in range(seeds):
        args = random_args(before, seed)
        want, got = interpret(before, args), interpret(after, args)
        for g, w in zip(got.outputs, want.outputs, strict=True):
            assert_same(g, w)
        for written in {**got.variables, **want.variables}:
            assert_same(*[run.variables.get(written, written.value()) for run in (got, want)])


def passed(module: Any, graph: ir.Graph, exact: bool = True, **options: Any) -> ir.Graph:
    """Return a copy of the graph after a pass, checked and compared with the original."""
    after = module.run(clone(graph), Options(**options))
    ir.check(after)
    if exact:
        assert_exact(graph, after)
    return after


def simplified(graph: ir.Graph, **options: Any) -> ir.Graph:
    """Return the graph after all passes except fusion, so that single ops remain visible."""
    with mock.patch.object(passes, "LAST", ()):
        return passes.optimize(graph, Options(check=True, **options))


def is_block(expected: str, graph: ir.Graph) -> None:
    """Assert that the printed body is `expected`."""
    assert body(graph) == [line.strip() for line in dedent(expected).strip().splitlines()]


def variable(*shape: int, name: str = "v") -> df.Variable:
    return df.Variable(np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape), name=name)


