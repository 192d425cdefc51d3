"""Derivatives of order 0 to 3 of random written programs, in float64.

The program of a seed runs in eager mode, traced, and traced without passes; tapes and transforms
are inside the traced function, around it, or on both sides. Results, derivatives and variables must
agree up to rounding: a traced branch returns a new tensor, so cotangents may be summed in another
order. The eager derivatives must agree with finite differences along a direction.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dualflow as df
from tests import sampling
from tests.autograph.referee import compiled, forget
from tests.programs.orders import OF_VARIABLES, Problem, Question, derivative, far, slope
from tests.programs.reference import differences, moved
from tests.programs.taped import Writer
from tests.programs.written import losses

TOLERANCE = 1e-9            # of traced against eager mode, relative to the largest value
SHAPES = [(3, 2), (2,), (2,), ()]       # of xs, a, b and c
WAYS = ["tape"] * 6 + ["persistent", "grad", "grad", "jvp", "vjp"]


class State:
    """State that a program reads and writes in addition to its arguments.

    An assignment has no gradient, so finite differences must hold assigned values fixed. A first
    run with a list as `trail` records the variables after each assignment; a run with `shift` sets
    them to the recorded values plus `shift`. `stop` does the same for `stop_gradient`.
    """

    def __init__(self, seed: int, values: list[np.ndarray]) -> None:
        rng = np.random.default_rng([seed, 3])
        self.w = df.constant(rng.normal(size=(2, 2)) * .7)
        self.v, self.u = df.Variable(values[0], name="v"), df.Variable(values[1], name="u")
        self.sgd = df.optimizers.SGD(.1, momentum=.9)
        self.adam = df.optimizers.Adam(.05)
        self.variables = [self.v, self.u]
        for optimizer in (self.sgd, self.adam):
            optimizer.build(self.variables)
        self.g = df.random.Generator(seed)
        self.trail: list[Any] | None = None
        self.shift: list[np.ndarray] | None = None
        self.at = 0
        slots = [*self.sgd.variables, *self.adam.variables]
        self.begin = [(v, v.value()) for v in [*self.variables, *slots]]

    def reset(self) -> None:
        """Reset the variables to their initial values."""
        for v, value in self.begin:
            v.assign(value)

    def note(self) -> None:
        """Record or replay the variables; programs call it after each assignment."""
        if self.shift is not None:
            for v, value, by in zip(self.variables, self.next(), self.shift, strict=True):
                v.assign(value + by)
        elif self.trail is not None:
            self.trail.append([v.numpy() for v in self.variables])

    def stop(self, x: Any) -> Any:
        if self.shift is not None:
            return df.constant(self.next())
        if self.trail is not None:
            self.trail.append(x.numpy())
        return df.stop_gradient(x)

    def next(self) -> Any:
        self.at += 1
        if self.trail is None or self.at > len(self.trail):
            raise Elsewhere
        return self.trail[self.at - 1]


def unwrapped(f: Any) -> Any:
    return f


class Elsewhere(Exception):
    """Raised if a run near the first one takes another branch."""


class Program:
    """The program of a seed, the derivative to compute, and the arguments."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng([seed, 19])
        order = int(rng.choice(4, p=[.05, .3, .35, .3]))
        self.text = Writer(seed, order).text
        self.plain = compiled(self.text, wrap=unwrapped)
        forget(self.plain)
        ways = tuple([WAYS[int(k)] for k in rng.integers(0, len(WAYS), order)])
        levels = [k for k in range(order + 1) if rng.integers(2)]
        self.question = Question(ways, frozenset(levels or [int(rng.integers(order + 1))]))
        self.values = [rng.normal(size=shape) for shape in [*SHAPES, (2,), (2,)]]
        self.directions = [[rng.normal(size=x.shape) for x in self.values] for _ in range(order)]
        for way, direction in zip(ways, self.directions, strict=True):
            if way not in OF_VARIABLES:
                direction[4:] = [np.zeros(2), np.zeros(2)]
        self.trips = [int(n) for n in rng.permutation(4)[:2]]

    def problem(self, f: Callable[..., Any], values: list[np.ndarray]) -> tuple[Problem, State]:
        """Return the program with new variables, at given values of arguments and variables."""
        state = State(self.seed, values[4:])
        directions = [[df.constant(u) for u in us] for us in self.directions]
        return Problem(lambda n, xs, a, b, c: losses(f(state, xs, n, a, b, c)), state.variables,
                       directions), state

    def run(self, wrap: Callable[[Any], Any]) -> list[Any]:
        """Return the derivatives and the variables of each call."""
        f = compiled(self.text, wrap=wrap)
        problem, state = self.problem(f, self.values)
        xs = [df.constant(x) for x in self.values[:4]]
        function, seen = derivative(problem, self.question, wrap), list[Any]()
        for n in self.trips:
            state.reset()
            seen += [function(df.constant(n), *xs), [v.value() for v in state.variables]]
        forget(f)
        return seen

    # --- finite differences ---

    def below(self, n: int, t: float, trail: list[Any], first: bool) -> float:
        """Return the derivative of the next lower order at a distance along the last direction."""
        direction = self.directions[-1]
        problem, state = self.problem(self.plain, moved(self.values, direction, t))
        state.trail = trail
        state.shift = None if first else [t * u for u in direction[4:]]
        question = Question(self.question.ways[:-1], frozenset())
        xs = [df.constant(x) for x in moved(self.values, direction, t)[:4]]
        return float(slope(problem, question)(df.constant(n), *xs).numpy())

    def reference(self, n: int) -> float | None:
        """Return the last derivative along its direction, or None if another branch is taken
        nearby."""
        trail: list[Any] = []
        try:
            self.below(n, 0., trail, True)
            return differences(lambda t: self.below(n, t, trail, False))
        except Elsewhere:
            return None

    def eager(self, n: int) -> float:
        problem, _ = self.problem(self.plain, self.values)
        xs = [df.constant(x) for x in self.values[:4]]
        return float(slope(problem, self.question)(df.constant(n), *xs).numpy())


def check(seed: int) -> None:
    """Check the derivatives of a seed's program against eager mode and finite differences."""
    program = Program(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = program.run(unwrapped)
        for passes in sampling.passes(seed):
            got = program.run(lambda f, on=passes: df.function(f, passes=on))
            wrong = far(got, want, TOLERANCE)
            assert wrong is None, f"seed {seed}, {program.question}, passes={passes}: {wrong}"
        against_differences(program)


def against_differences(program: Program) -> int:
    """Compare eager mode with differences; return the number of calls that could be compared."""
    if not program.question.ways:
        return 0
    compared = 0
    for n in program.trips:
        want = program.reference(n)
        if want is not None and np.isfinite(want):
            compared += 1
            got = program.eager(n)
            assert abs(got - want) <= 1e-4 * max(1., abs(want)), (
                f"seed {program.seed}, {program.question}, n = {n}: eager {got}, finite difference "
                f"{want}")
    return compared
