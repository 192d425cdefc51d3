"""Derivatives of order k of a function, with a choice of transform for each order.

`derivative` applies one transform per order and can wrap the function at every level in between, so
that tapes and transforms are inside a traced function, around it, or on both sides. The generator
of derivatives and the sweep over forms of control flow use it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import dualflow as df

Function = Callable[..., Any]


class Question(NamedTuple):
    """How a derivative is computed.

    `ways` names the transform of each order, the innermost first. `wrapped` holds the levels at
    which the function is traced: level 0 is the function itself, level k the k-th derivative.
    """

    ways: tuple[str, ...]
    wrapped: frozenset[int]


class Problem(NamedTuple):
    """A function ``f(n, *xs)`` of an integer and floating tensors that returns a number, the
    variables it reads, and a direction of each order: a tensor for each of `xs` and `variables`."""

    f: Function
    variables: Sequence[Any]
    directions: Sequence[Sequence[Any]]


def derivative(problem: Problem, question: Question, wrap: Callable[[Any], Any]) -> Function:
    """Return a function of ``(n, *xs)`` that computes a list of tensors.

    Each order but the last takes the derivative along its direction. The last returns all
    gradients, or, if its transform is forward, the derivative along its direction.
    """
    g = problem.f
    for level, way in enumerate(question.ways):
        if level in question.wrapped:
            g = wrap(g)
        last = level == len(question.ways) - 1
        made = WAYS[way](g, problem.variables, problem.directions[level])
        g = made if last else number(made, problem.directions[level])
    return wrap(g) if len(question.ways) in question.wrapped else g


def slope(problem: Problem, question: Question) -> Function:
    """Return the derivative of a question as a function whose result is a number."""
    if not question.ways:
        return problem.f
    made = derivative(problem, question, lambda f: f)
    return number(made, problem.directions[len(question.ways) - 1])


def number(gradients: Function, direction: Sequence[Any]) -> Function:
    """Return the inner product of the gradients and a direction."""
    def f(n: Any, *xs: Any) -> Any:
        found = gradients(n, *xs)
        if not isinstance(found, list):         # already the derivative along the direction
            return found
        return df.add_n([df.reduce_sum(g * u) for g, u in zip(found, direction, strict=False)])

    return f


# --- transforms: each returns a function of (n, *xs) that returns gradients or a number ---

def tape(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    def g(n: Any, *xs: Any) -> Any:
        with df.GradientTape() as tape:
            tape.watch(xs)
            y = f(n, *xs)
        return tape.gradient(y, [*xs, *variables], unconnected_gradients="zero")

    return g


def persistent(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    """Several gradients of one persistent tape, whose block continues after each."""
    def g(n: Any, *xs: Any) -> Any:
        with df.GradientTape(persistent=True) as tape:
            for x in xs:
                tape.watch(x)
            y = f(n, *xs)
            z = df.sin(y)
        sources = [*xs, *variables]
        both = [g for some in (sources[:1], sources[1:])
                for g in tape.gradient([y, z], some, unconnected_gradients="zero")]
        again = tape.gradient(z, sources, unconnected_gradients="zero")
        return [a - b for a, b in zip(both, again, strict=True)]

    return g


def grad(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    def g(n: Any, *xs: Any) -> Any:
        return list(df.grad(f, tuple(range(1, len(xs) + 1)))(n, *xs))

    return g


def vjp(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    def g(n: Any, *xs: Any) -> Any:
        y, back = df.vjp(lambda *xs: f(n, *xs), *xs)
        return list(back(df.ones_like(y)))

    return g


def jvp(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    def g(n: Any, *xs: Any) -> Any:
        return df.jvp(lambda *xs: f(n, *xs), xs, tuple(direction[:len(xs)]))[1]

    return g


def jacrev(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    """The gradient as a Jacobian with one row."""
    def g(n: Any, *xs: Any) -> Any:
        rows = df.jacrev(lambda *xs: df.stack([f(n, *xs)]), tuple(range(len(xs))))(*xs)
        return [df.reduce_sum(r, 0) for r in rows]

    return g


def jacfwd(f: Function, variables: Sequence[Any], direction: Sequence[Any]) -> Function:
    def g(n: Any, *xs: Any) -> Any:
        return list(df.jacfwd(lambda *xs: f(n, *xs), tuple(range(len(xs))))(*xs))

    return g


WAYS = {"tape": tape, "persistent": persistent, "grad": grad, "vjp": vjp, "jvp": jvp,
        "jacrev": jacrev, "jacfwd": jacfwd}
OF_VARIABLES = {"tape", "persistent"}       # these compute gradients of variables as well


# --- comparing ---

def flat(result: Any) -> list[np.ndarray]:
    """Return the tensors of a result as float64 arrays."""
    return [np.asarray(x.numpy(), np.float64) for x in df.nest.flatten(result)]


def far(got: Any, want: Any, tolerance: float) -> str | None:
    """Describe the largest error if it exceeds a tolerance relative to the largest value."""
    got, want = flat(got), flat(want)
    shapes = [x.shape for x in got], [x.shape for x in want]
    if shapes[0] != shapes[1]:
        return f"shapes {shapes[0]}, expected {shapes[1]}"
    largest = max([1., *[np.abs(x[np.isfinite(x)]).max(initial=0.) for x in want]])
    for k, (x, y) in enumerate(zip(got, want, strict=True)):
        finite = np.isfinite(y)
        if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return f"[{k}]: {x}, expected {y}"
        error = np.abs(x - y)[finite].max(initial=0.)
        if not error <= tolerance * largest:
            return f"[{k}]: {x}, expected {y}; error {error:.2g} beside values to {largest:.2g}"
    return None
