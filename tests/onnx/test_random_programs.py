"""Random programs of up to 30 ops, with their gradients: written, read by another runtime, and
loaded again."""

import random

import numpy as np
import pytest

pytest.importorskip("onnx")

import dualflow as df
from tests.onnx.runtimes import model_of, reference
from tests.programs.steps import STEPS

# Where rounding in another order may give another whole number, Python is called, or the reference
# evaluator forgets the padding: of pooling along one dimension.
STEP_WISE = {"floor", "compare", "integers", "argmax", "half", "in Python", "pool"}
NAMES = sorted(set(STEPS) - STEP_WISE)
SHAPES = [(3, 4), (4, 3), (4,), (3, 1)]
LARGEST = 2048


def program(steps, with_gradient):
    """The steps as a function of tensors; those that do not fit their operands are left out."""
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
        gradients = [df.convert_to_tensor(g) for g in gradients]        # some are rows
        return [*made[-3:], loss, *(gradients if with_gradient else [])]
    return fn


def check(seed):
    chosen = random.Random(seed)
    steps = [(chosen.choice(NAMES), *[chosen.randrange(n) for n in (61, 61, 12)])
             for _ in range(chosen.randrange(3, 30))]
    arrays = [np.random.default_rng(seed).normal(size=shape) for shape in SHAPES]
    specs = [df.TensorSpec(shape, df.float64) for shape in SHAPES]
    for with_gradient in (True, False):
        fn = program(steps, with_gradient)
        try:
            model = model_of(fn, *specs)
        except df.errors.UnimplementedError:
            continue                    # a gradient that has no form
        want = [y.numpy() for y in fn(*map(df.constant, arrays))]
        back = [y.numpy() for y in df.onnx.load(model)(*arrays)]
        for made in (reference(model, *arrays), back):
            for a, b in zip(want, made, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        return


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(25))
def test_programs(seed):
    check(seed)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_many_programs():
    for seed in range(25, 500):
        check(seed)
