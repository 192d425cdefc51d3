"""Every row as part of a graph: traced, without passes, with unknown dimensions, and among
elementwise ops that fuse with it; results and gradients have the bits of eager mode.

By default a row is traced in one dtype, and every second row of an op is traced without passes,
with unknown dimensions and in a cluster; with ``pytest --exhaustive`` all rows in all dtypes.
"""

import numpy as np

import dualflow as df
from tests.ops import harness
from tests.ops.cases import CASES


def pytest_generate_tests(metafunc):
    cases = CASES if metafunc.function is test_traced else harness.thinned(CASES, 2)
    metafunc.parametrize("case, dtype", harness.rows(cases, "one"))


def leaves(args):
    """Return the arrays among the arguments as tensors, in order."""
    found = []
    harness.each(lambda a: found.append(harness.tensor(a))
                 if isinstance(a, np.ndarray | np.generic) else None, list(args))
    return found


def calling(case, args, n_grad):
    """Return a function of the row's tensors: results, then gradients of the first `n_grad`
    floats."""
    def call(*tensors):
        rest = iter(tensors)
        filled = harness.each(lambda a: next(rest) if isinstance(a, np.ndarray | np.generic) else a,
                              list(args))
        with df.GradientTape() as tape:
            for x in tensors[:n_grad]:
                if x.dtype.is_floating:
                    tape.watch(x)
            out = harness.results(harness.function(case)(*filled, **case.kwargs))
            floats = [y for y in out if isinstance(y, df.Tensor) and y.dtype.is_floating]
            target = [y * df.cast(df.cos(df.cast(y, df.float64)), y.dtype) for y in floats]
        watched = [x for x in tensors[:n_grad] if x.dtype.is_floating]
        if not (watched and target and case.grad):
            return out
        return out + tape.gradient(target, watched, unconnected_gradients="zero")
    return call


def bits(outputs):
    return [(y.shape, y.dtype, df.cast(y, df.float32).numpy().tobytes()
             if y.dtype is df.bfloat16 else y.numpy().tobytes())
            for y in outputs if isinstance(y, df.Tensor)]


def compare(case, dtype, args, make):
    compare_call(calling(case, args, len(leaves(args))), leaves(args), make)


def compare_call(call, tensors, make):
    want = bits(call(*tensors))
    traced = make(call, tensors)
    for _ in range(2):                  # the second run reuses the frame
        got = bits(traced(*tensors))
        assert got == want, traced.graph_for(*tensors)


def test_traced(case, dtype):
    compare(case, dtype, harness.make(case, dtype), lambda call, _: df.function(call))


def test_passes_off(case, dtype):
    compare(case, dtype, harness.make(case, dtype),
            lambda call, _: df.function(call, passes=False))


def test_unknown_dimensions(case, dtype):
    def make(call, tensors):
        return df.function(call, input_signature=[
            df.TensorSpec([None] * x.ndim, x.dtype) for x in tensors])

    compare(case, dtype, harness.make(case, dtype), make)


def surrounded(call):
    """Return `call` with elementwise ops before its float arguments and after its float results;
    each has several readers, of the same and of another dtype, and is reduced."""
    def around(*tensors):
        before = [x * 1. + 0. if x.dtype.is_floating else x for x in tensors]
        side = [df.exp(df.minimum(df.cast(x, df.float32), 1.)) for x in before]
        out = call(*before)
        behind = []
        for y in out:
            if isinstance(y, df.Tensor) and y.dtype.is_floating:
                scaled = y * .5
                wide = df.cast(df.nn.relu(scaled), df.float64) + df.cast(y, df.float64)
                signs = df.cast(scaled > y, df.int32) * 2
                behind += [scaled - y, wide, df.where(signs > 1, y, -scaled), signs]
                if y.ndim:
                    behind += [df.reduce_sum(scaled * y, axis=-1), df.nn.softmax(y)]
        return [*out, *side, *behind]

    return around


def test_inside_a_larger_cluster(case, dtype, request):
    args = harness.make(case, dtype)
    tensors = leaves(args)
    call = surrounded(calling(case, args, len(tensors)))
    want = bits(call(*tensors))
    traced = df.function(call)
    everywhere = request.config.getoption("exhaustive") or len(case.op) % 4 == 0
    for n_threads in (1, 2) if everywhere else (2,):
        with harness.threads(n_threads):
            assert bits(traced(*tensors)) == want, traced.graph_for(*tensors)
