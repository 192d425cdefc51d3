"""Random programs of up to 25 ops, gradients included: vmap matches a loop over the batch, and
traced runs match eager ones."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dualflow as df
from tests.programs.steps import STEPS

N = 3
SHAPES = [(3, 4), (4, 3), (4,), (3, 1), ()]
LARGEST = 1024
# Products of other shapes round differently, which later floors and comparisons would amplify.
PRODUCTS = {"matmul", "gram", "layer", "two layers", "convolution", "attention", "recurrence",
            "autocast"}
# Python loops whose length depends on data: vmap refuses them outside of a traced function.
CONVERTED = {"searched"}
EXACT = sorted(set(STEPS) - PRODUCTS - CONVERTED)

step = st.tuples(st.sampled_from(EXACT), st.integers(0, 30), st.integers(0, 30),
                 st.integers(0, 11))
programs = st.lists(step, min_size=2, max_size=25)


def program(steps, *args):
    """Return the last values of the steps, and the gradients of a number computed from them."""
    with df.GradientTape() as tape:
        tape.watch(list(args))
        made = list(args)
        for kind, i, j, k in steps:
            a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
            n, f = STEPS[kind]
            try:
                y = f(a, k) if n == 1 else f(a, b, k)
            except (df.errors.DualflowError, ZeroDivisionError, IndexError):    # incompatible
                continue
            if y.size <= LARGEST:
                made.append(y)
        loss = df.add_n([df.reduce_mean(df.sin(y)) for y in made[-4:]])
    return [*made[-3:], loss, *tape.gradient(loss, args, unconnected_gradients="zero")]


def check(steps, seed, shared):
    rng = np.random.default_rng(seed)
    axes = [None if shared >> k & 1 else 0 for k in range(len(SHAPES))]    # at least one bit is 0
    args = [df.constant(rng.normal(size=shape if a is None else (N, *shape)), "float64")
            for a, shape in zip(axes, SHAPES, strict=True)]

    def lane(*given):
        return program(steps, *given)

    mapped = df.vmap(lane, in_axes=tuple(axes))
    got = mapped(*args)
    alone = [lane(*[x if a is None else x[k] for x, a in zip(args, axes, strict=True)])
             for k in range(N)]
    for y, *rows in zip(got, *alone, strict=True):
        np.testing.assert_array_equal(y, np.stack(rows))
    for y, t in zip(got, df.function(mapped)(*args), strict=True):
        np.testing.assert_array_equal(t, y)


@settings(max_examples=25, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))
@given(programs, st.integers(0, 9), st.integers(0, 15))
def test_random_programs(steps, seed, shared):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(steps, seed, shared)


@pytest.mark.soak
@settings(max_examples=400, database=None, suppress_health_check=list(HealthCheck))
@given(programs, st.integers(0, 99), st.integers(0, 15))
def test_many_random_programs(steps, seed, shared):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(steps, seed, shared)
