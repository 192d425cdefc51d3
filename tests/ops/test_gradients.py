"""Gradients of every row against central finite differences, of order 1 and 2, in float64 and in
complex128.

A derivative is checked along one random direction: with random weights w on the results and a
random direction d of the inputs, <w, f(x + hd) - f(x - hd)> / 2h must be <gradient of <w, f>, d>.
The product <a, b> of complex arrays is the real part of conj(a) b, as their parts are independent.
"""

import numpy as np
import pytest

import dualflow as df
from tests.ops import harness
from tests.ops.cases import CASES

ROWS = [pytest.param(c, dtype, id=str(c) if dtype == "float64" else f"{c}-{dtype}")
        for c in CASES for dtype in ("float64", "complex128") if c.grad and dtype in c.dtypes]
STEP = 1e-5          # truncation ~ step^2 and rounding ~ 2e-16 / step are both ~ 1e-10
LIMIT = 1e-6         # leaves a margin for third derivatives of up to a few thousand


def inner(weights, arrays):
    return sum(float(np.sum(np.real(np.conj(w) * a))) for w, a in zip(weights, arrays, strict=True))


def size(weights, arrays):
    return sum(float(np.sum(np.abs(w * a))) for w, a in zip(weights, arrays, strict=True))


def floats(values):
    return [v for v in harness.results(values) if v.dtype.is_inexact]


class Slope:
    """A row as a function of the tensors at its `grad` positions, and its first derivative."""

    def __init__(self, case, dtype):
        self.case, self.args = case, harness.make(case, dtype)
        leaves = []
        for position in case.grad:
            harness.each(leaves.append, self.args[position])
        self.x = [a for a in leaves if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
        self.weights = None

    def call(self, tensors):
        turn = iter(tensors)

        def place(leaf):
            is_x = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"
            return next(turn) if is_x else harness.tensor(leaf)

        args = [harness.each(place if i in self.case.grad else harness.tensor, a)
                for i, a in enumerate(self.args)]
        return floats(harness.function(self.case)(*args, **self.case.kwargs))

    def values(self, x):
        return [y.numpy() for y in self.call([df.constant(a) for a in x])]

    def gradients(self, tensors, seeds=None):
        """Return the gradients of <weights, results>; zeros for unconnected tensors. `seeds`: the
        weights as tensors."""
        with df.GradientTape() as tape:
            for t in tensors:
                tape.watch(t)
            y = self.call(tensors)
        if self.weights is None:
            rng = np.random.default_rng(3)
            self.weights = [random_like(rng, v, 0.5, 1.5) for v in y]
        seeds = seeds or [df.constant(w) for w in self.weights]
        return tape.gradient(y, tensors, output_gradients=seeds)

    def slopes(self, x):
        """Return the gradients as arrays."""
        g = self.gradients([df.constant(a) for a in x])
        return [np.zeros_like(a) if v is None else v.numpy() for a, v in zip(x, g, strict=True)]


def random_like(rng, x, low=-1, high=1):
    """Return numbers of the shape of `x`, complex if `x` is."""
    drawn = rng.uniform(low, high, x.shape)
    is_complex = np.dtype(x.dtype.name).kind == "c"
    return drawn + 1j * rng.uniform(low, high, x.shape) if is_complex else drawn


def moved(x, direction, step):
    # as arrays: of shape () they would become scalars, which constant() treats as weakly typed
    return [np.asarray(a + step * d) for a, d in zip(x, direction, strict=True)]


def difference(f, x, direction):
    up, down = f(moved(x, direction, STEP)), f(moved(x, direction, -STEP))
    return [(u - d) / (2 * STEP) for u, d in zip(up, down, strict=True)]


@pytest.mark.parametrize("case, dtype", ROWS)
def test_order_1(case, dtype):
    slope = Slope(case, dtype)
    rng = np.random.default_rng(2)
    direction = [random_like(rng, a) for a in slope.x]
    g = slope.slopes(slope.x)
    for a, v in zip(slope.x, g, strict=True):
        assert v.shape == a.shape
    change = difference(slope.values, slope.x, direction)
    got, want = inner(g, direction), inner(slope.weights, change)
    scale = 1 + size(g, direction) + size(slope.weights, change)
    assert abs(got - want) <= LIMIT * scale, f"{case}: {got}, finite difference {want}"


@pytest.mark.parametrize("case, dtype", ROWS)
def test_order_2(case, dtype):
    slope = Slope(case, dtype)
    rng = np.random.default_rng(2)
    direction, weights = ([random_like(rng, a) for a in slope.x] for _ in range(2))
    x = [df.constant(a) for a in slope.x]
    with df.GradientTape() as tape:
        for t in x:
            tape.watch(t)
        g = slope.gradients(x)
    flowing = [i for i, v in enumerate(g) if v is not None]
    second = tape.gradient([g[i] for i in flowing], x,
                           output_gradients=[df.constant(weights[i]) for i in flowing],
                           unconnected_gradients="zero")
    arrays = [v.numpy() for v in second]
    change = difference(slope.slopes, slope.x, direction)
    got, want = inner(arrays, direction), inner(weights, change)
    scale = 1 + size(arrays, direction) + size(weights, change)
    assert abs(got - want) <= LIMIT * scale, f"{case}: {got}, finite difference {want}"


@pytest.mark.parametrize("case, dtype", ROWS)
def test_order_2_of_the_weights(case, dtype):
    """A gradient is linear in the weights w, so it is <its gradient of w, w>. For ops that are
    linear in x, only w has a second-order gradient."""
    slope = Slope(case, dtype)
    x = [df.constant(a) for a in slope.x]
    slope.slopes(slope.x)
    seeds = [df.constant(w) for w in slope.weights]
    with df.GradientTape() as tape:
        for t in seeds:
            tape.watch(t)
        g = slope.gradients(x, seeds)
    flowing = [v for v in g if v is not None]
    rng = np.random.default_rng(4)
    weights = [random_like(rng, v) for v in flowing]
    second = tape.gradient(flowing, seeds, output_gradients=[df.constant(w) for w in weights],
                           unconnected_gradients="zero")
    first = [v.numpy() for v in flowing]
    got, want = inner([v.numpy() for v in second], slope.weights), inner(weights, first)
    assert abs(got - want) <= 1e-10 * (1 + size(weights, first)), f"{case}: {got}, first {want}"
