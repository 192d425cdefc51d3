"""Schedules against their formulas in plain Python."""

import math

import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError

s = df.optimizers.schedules
STEPS = [0, 1, 4, 5, 9, 10, 11, 25, 1000]


def polynomial(step, power=1.0, cycle=False):
    steps = 10 * max(math.ceil(step / 10), 1) if cycle else 10
    return 0.75 * (1 - min(step, steps) / steps) ** power + 0.25


def cosine(step, top=1.0, steps=10, alpha=0.0):
    share = min(step, steps) / steps
    return top * ((1 - alpha) * 0.5 * (1 + math.cos(math.pi * share)) + alpha)


ROWS = [
    (s.ExponentialDecay(0.5, 10, 0.9), lambda t: 0.5 * 0.9 ** (t / 10)),
    (s.ExponentialDecay(0.5, 10, 0.9, True), lambda t: 0.5 * 0.9 ** (t // 10)),
    (s.InverseTimeDecay(0.5, 10, 0.9), lambda t: 0.5 / (1 + 0.9 * t / 10)),
    (s.InverseTimeDecay(0.5, 10, 0.9, True), lambda t: 0.5 / (1 + 0.9 * (t // 10))),
    (s.PolynomialDecay(1.0, 10, 0.25), polynomial),
    (s.PolynomialDecay(1.0, 10, 0.25, 2.0), lambda t: polynomial(t, 2.0)),
    (s.PolynomialDecay(1.0, 10, 0.25, 0.5, True), lambda t: polynomial(t, 0.5, True)),
    (s.PiecewiseConstantDecay([4, 10], [1.0, 0.5, 0.1]),
     lambda t: 1.0 if t <= 4 else 0.5 if t <= 10 else 0.1),
    (s.CosineDecay(1.0, 10), cosine),
    (s.CosineDecay(0.5, 10, 0.1), lambda t: cosine(t, 0.5, 10, 0.1)),
    (s.CosineDecay(0.25, 10, 0.1, 1.0, 5),
     lambda t: 0.25 + 0.75 * t / 5 if t < 5 else cosine(t - 5, 1.0, 10, 0.1)),
]


@pytest.mark.parametrize("schedule, formula", ROWS)
def test_values(schedule, formula):
    counter = df.Variable(0, dtype=df.int64)
    for step in STEPS:
        want = pytest.approx(formula(step), rel=1e-13, abs=1e-15)
        assert schedule(step).numpy().item() == want
        counter.assign(step)
        assert schedule(counter).numpy().item() == want
    assert schedule(3).dtype is df.float64 and schedule(3).shape == ()


@pytest.mark.parametrize("call", [
    lambda: s.ExponentialDecay(0.1, 0, 0.5), lambda: s.CosineDecay(0.1, -1),
    lambda: s.PiecewiseConstantDecay([1, 2], [0.1]),
    lambda: s.PiecewiseConstantDecay([2, 1], [0.1, 0.2, 0.3]),
])
def test_bad_input(call):
    with pytest.raises(InvalidArgumentError, match="Decay"):
        call()
