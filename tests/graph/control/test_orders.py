"""Derivatives of order 1 to 3 of each form of control flow: traced as in eager mode, in float64.

Eager mode runs Python's own control flow, so it is an independent reference. The derivatives are
computed in six ways: by tapes around the traced function, inside it, on both sides, around each of
several functions that call each other, by `df.grad` of `df.grad`, and by forward derivatives of
gradients.
"""

import itertools
import types
import warnings

import numpy as np
import pytest

import dualflow as df
from tests.graph.control import shapes
from tests.programs.orders import Problem, Question, derivative, far, slope
from tests.programs.reference import differences, moved

ORDERS, TRIPS = [1, 2, 3], [0, 1, 2, 3]
ASSIGNING = {"variable_in_nested_bodies", "variable_assigned_in_branch", "variable_read_before",
             "training_in_loop"}


def ways(order):
    """Return the ways to compute derivatives of an order, by name."""
    tapes = ("tape",) * order
    return {"around": Question(tapes, frozenset({0})),
            "inside": Question(tapes, frozenset({order})),
            "both sides": Question(tapes, frozenset({1})),
            "at each level": Question(tapes, frozenset(range(order))),
            "grad of grad": Question(("grad",) * order, frozenset({0})),
            "forward": Question(("grad", "jvp", "jvp")[:order] if order > 1 else ("jvp",),
                                frozenset({0}))}


def cases(orders):
    return [(f, order, way) for f, order in itertools.product(shapes.SHAPES, orders)
            for way in ways(order)]


CASES = cases(ORDERS)
# Each form once, since 11 is coprime with its 12 cases; of order 3, which takes long, three.
SAMPLED = cases([1, 2])[::11] + cases([3])[::101]


class Point:
    """Arguments, variables and directions in float64."""

    def __init__(self):
        rng = np.random.default_rng(5)
        self.xs = [rng.uniform(.3, .9, size=size) for size in [2, 2, (3, 2)]]
        self.variables = [rng.uniform(.3, .9, size=2) for _ in range(2)]
        self.directions = [[rng.normal(size=x.shape) for x in [*self.xs, *self.variables]]
                           for _ in range(3)]

    def problem(self, f, wrap, xs_and_variables=None):
        """Return the problem of a form with new variables, and its arguments."""
        values = xs_and_variables or [*self.xs, *self.variables]
        xs = [df.constant(x) for x in values[:3]]
        v, u = [df.Variable(x) for x in values[3:]]
        optimizer = df.optimizers.SGD(.1, weight_decay=.2)
        optimizer.build([v, u])
        s = types.SimpleNamespace(v=v, u=u, call=wrap(shapes.call), optimizer=optimizer)
        directions = [[df.constant(u) for u in us] for us in self.directions]
        return Problem(lambda n, *xs: f(s, n, *xs), [v, u], directions), xs


POINT = Point()


def run(f, question, n, wrap):
    problem, xs = POINT.problem(f, wrap)
    return derivative(problem, question, wrap)(df.constant(n), *xs), problem.variables


def check(f, question, trips):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", df.errors.GradientWarning)
        problem, xs = POINT.problem(f, df.function)
        traced = derivative(problem, question, df.function)
        for n in trips:
            want, variables = run(f, question, n, lambda f: f)
            for v, value in zip(problem.variables, POINT.variables, strict=True):
                v.assign(value)
            wrong = far([traced(df.constant(n), *xs), problem.variables], [want, variables], 1e-10)
            assert wrong is None, f"n = {n}: {wrong}"


@pytest.mark.parametrize(("f", "order", "way"), [
    pytest.param(*case, id=f"{case[0].__name__}-{case[1]}-{case[2].replace(' ', '_')}")
    for case in SAMPLED])
def test_sampled_derivatives_match_eager(f, order, way):
    check(f, ways(order)[way], TRIPS)


def test_all_derivatives_match_eager(request):
    if not request.config.getoption("exhaustive"):
        pytest.skip("slow: run with --exhaustive")
    wrong = {}
    for f, order, way in CASES:
        try:
            check(f, ways(order)[way], TRIPS)
        except Exception as error:
            wrong[f.__name__, order, way] = f"{type(error).__name__}: {error}"
    assert not wrong, "\n".join([f"{case}: {why}" for case, why in wrong.items()])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", shapes.SHAPES, ids=lambda f: f.__name__)
def test_eager_derivatives_match_differences(f, order):
    """Check the reference: eager derivatives against finite differences along a direction."""
    if f.__name__ in ASSIGNING:
        pytest.skip("assigned values have no gradient")
    tapes, seen = ("tape",) * order, 0
    for n in TRIPS:
        direction = POINT.directions[order - 1]

        def value(t, n=n, direction=direction):
            values = moved([*POINT.xs, *POINT.variables], direction, t)
            problem, xs = POINT.problem(f, lambda f: f, values)
            below = slope(problem, Question(tapes[1:], frozenset()))
            return float(below(df.constant(n), *xs).numpy())

        want = differences(value)
        problem, xs = POINT.problem(f, lambda f: f)
        got = float(slope(problem, Question(tapes, frozenset()))(df.constant(n), *xs).numpy())
        if want is not None:
            seen += 1
            assert abs(got - want) <= 1e-5 * max(1., abs(want)), (n, got, want)
    assert seen
