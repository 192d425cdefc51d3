"""Random programs of up to 30 ops with gradients: saved, run by another runtime, and loaded
again."""

import random

import numpy as np
import pytest

pytest.importorskip("onnx")

import dualflow as df
from tests.onnx.runtimes import HAS_RUNTIME, model_of, reference, runtime
from tests.programs.steps import STEPS

# Steps where rounding in another order may give another integer, that call Python, that ONNX cannot
# express, or where the reference evaluator ignores padding (pooling along one dimension).
STEP_WISE = {"floor", "compare", "integers", "argmax", "half", "in Python", "pool", "rounded",
             "of two", "bits", "logic", "hot", "sorted", "incomplete"}
NO_FORM = {"error functions", "logarithms", "accumulated", "factors"}     # for some functions
# The reference evaluator fails on loops without iterations whose rows are stacked. Products of
# integers are tested in test_quantized.py, casts of regions in tests/ops/test_autocast.py.
NO_REFERENCE = {"autocast", "integer product"}
NAMES = sorted(set(STEPS) - STEP_WISE - NO_FORM - NO_REFERENCE)
# Saved as several operators, which round in between, where the op rounds once.
FORMULAS = {"activations", "attention", "batch norm", "cross entropy", "losses", "normalization",
            "reduced", "resize"}
EXACT = sorted(set(NAMES) - FORMULAS)
SHAPES = [(3, 4), (4, 3), (4,), (3, 1)]
LARGEST = 2048


def program(steps, with_gradient):
    """Return the steps as a function of tensors; steps with incompatible operands are skipped."""
    def fn(*args):
        with df.GradientTape() as tape:
            tape.watch(list(args))
            made = list(args)
            for kind, i, j, k in steps:
                a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
                n, f = STEPS[kind]
                try:
                    y = f(a, k) if n == 1 else f(a, b, k)
                except (df.errors.DualflowError, ZeroDivisionError, IndexError):
                    continue
                if isinstance(y, df.TensorBase) and y.size <= LARGEST:
                    made.append(y)
            loss = df.add_n([df.reduce_mean(df.sin(y)) for y in made[-4:]])
        gradients = tape.gradient(loss, list(args), unconnected_gradients="zero")
        gradients = [df.convert_to_tensor(g) for g in gradients]        # may be IndexedSlices
        return [*made[-3:], loss, *(gradients if with_gradient else [])]
    return fn


def drawn(seed, names, dtype):
    """Return random steps and arrays."""
    chosen = random.Random(seed)
    steps = [(chosen.choice(names), *[chosen.randrange(n) for n in (61, 61, 12)])
             for _ in range(chosen.randrange(3, 30))]
    arrays = [np.random.default_rng(seed).normal(size=shape).astype(dtype) for shape in SHAPES]
    return steps, arrays, [df.TensorSpec(shape, dtype) for shape in SHAPES]


def check(seed):
    steps, arrays, specs = drawn(seed, NAMES, "float64")
    for with_gradient in (True, False):
        fn = program(steps, with_gradient)
        try:
            model = model_of(fn, *specs)
        except df.errors.UnimplementedError:
            continue                    # a gradient that cannot be saved
        want = [y.numpy() for y in fn(*map(df.constant, arrays))]
        back = [y.numpy() for y in df.onnx.load(model)(*arrays)]
        for made in (reference(model, *arrays), back):
            for a, b in zip(want, made, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        return


def check_bits(seed):
    """Check that loaded and traced programs have equal bits, and that another runtime agrees."""
    steps, arrays, specs = drawn(seed, EXACT, "float32")
    fn = program(steps, False)
    model = model_of(fn, *specs)
    want = [y.numpy() for y in fn(*map(df.constant, arrays))]
    loaded = df.onnx.load(model, traced=False)
    for made in (loaded, df.function(loaded)):
        for a, b in zip(want, made(*map(df.constant, arrays)), strict=True):
            np.testing.assert_array_equal(a, b.numpy())
    if HAS_RUNTIME:
        for a, b in zip(want, runtime(model, *arrays), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(25))
def test_programs(seed):
    check(seed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(25))
def test_bits(seed):
    check_bits(seed)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_many_programs():
    for seed in range(25, 500):
        check(seed)
        check_bits(seed)
