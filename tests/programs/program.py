"""Random programs of a seed: Python functions as users write them, called many times.

A program is a list of steps on tensors, numbers, sizes and variables, and a list of calls. It runs
as plain Python and traced; all observable effects must agree: results or exceptions of calls, and
the variables after each.
"""

import contextlib
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dualflow as df
from tests.programs.numbers import NUMBERS
from tests.programs.steps import STEPS

LARGEST = 1024              # elements; larger results are skipped
INTS = [0, 1, 2, 3, 4, 5, 7]
FLOATS = [0., -0., .1, .3, .5, .7, 2., 2.5, -1.5, 1e20]
SIZES = [1, 2, 3, 4, 5]
OTHER_STEPS = {             # kinds of steps that are not in the table, and their weights
    "ops": 30, "number": 12, "use": 8, "update": 8, "read": 4, "may fail": 2, "own gradient": 3,
    "masked": 3, "draw": 2, "function": 4, "inner tape": 2, "grad": 1, "made": 2, "given": 2,
    "half": 2, "integers": 2, "complex": 2,
}
FORMS = ["call", "call", "inside", "outside", "twice", "second order", "optimizer", "training"]


class Step(NamedTuple):
    kind: str
    name: str
    i: int
    j: int
    k: int


class Call(NamedTuple):
    """The arguments of one call."""

    x: Any
    index: Any
    numbers: dict[str, Any]
    flag: bool
    given: int              # which variable is passed
    by_name: bool


@df.custom_gradient
def straight_through(x):
    return df.round(x), lambda g: g


@df.custom_gradient
def scaled(x, y):
    return x * y, lambda g: (g * 3., g * x)


@df.custom_gradient
def handed_on(x, y):
    """Return both operands unchanged, and the result of another function with a custom gradient."""
    return (y, x, scaled(x, y)), lambda g, h, k: (h * 2. + k, df.tanh(g))


class Refused(ValueError):
    """The exception of a program that rejects an argument."""


class State:
    """State that a program reads and writes in addition to its arguments."""

    def __init__(self, seed: int, wrap: Callable[[Any], Any]) -> None:
        rng = np.random.default_rng(seed)
        self.wrap = wrap
        self.variables = [df.Variable(rng.normal(size=shape).astype("float32"), name=f"v{k}")
                          for k, shape in enumerate([(3, 4), (3, 4), (4,)])]
        self.optimizer = [df.optimizers.SGD(.1, momentum=.9), df.optimizers.Adam(.01),
                          df.optimizers.RMSprop(.01)][seed % 3]
        self.generator = df.random.Generator(seed)
        self.w = df.constant(rng.normal(size=(4, 3)).astype("float32"))


class Program:
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng([seed, 7])
        names, weights = list(OTHER_STEPS), np.array(list(OTHER_STEPS.values()), float)
        table, numbers = sorted(STEPS), sorted(NUMBERS)
        self.steps = []
        for _ in range(int(rng.integers(2, 22))):
            kind = names[rng.choice(len(names), p=weights / weights.sum())]
            name = str(rng.choice(table if kind == "ops" else numbers))
            self.steps.append(Step(kind, name, *[int(k) for k in rng.integers(0, 60, 3)]))
        self.form = FORMS[int(rng.integers(len(FORMS)))]
        self.refused = int(rng.integers(0, 40))
        self.nested = bool(rng.integers(2))
        self.passes = bool(rng.integers(4))
        pools = [[pool[int(k)] for k in rng.integers(0, len(pool), rng.integers(1, 5))]
                 for pool in (INTS, FLOATS, SIZES)]
        self.calls = [self._call(rng, *pools) for _ in range(8)]
        self.parts = self._cut(rng)

    def _cut(self, rng: np.random.Generator) -> list[tuple[int, list[Step]]]:
        """Return the steps in parts, each with the number of functions around it."""
        cuts = sorted({0, *rng.integers(0, len(self.steps) + 1, 3).tolist(), len(self.steps)})
        depths = rng.choice([0, 0, 1, 2], len(cuts)).tolist()
        return [(depth, self.steps[a:b])
                for a, b, depth in zip(cuts, cuts[1:], depths, strict=False)]

    def _call(self, rng: np.random.Generator, ints: Any, floats: Any, sizes: Any) -> Call:
        pick = lambda pool: pool[int(rng.integers(len(pool)))]  # noqa: E731
        shape = (pick(sizes), 4) if rng.integers(12) else (2, pick(sizes), 4)
        x = df.constant(rng.normal(size=shape), df.float32 if rng.integers(12) else df.float64)
        numbers = {"n": pick(ints), "r": pick(floats)}
        if rng.integers(2):
            numbers = dict(reversed(numbers.items()))
        index = df.constant(int(rng.choice([0, 1, 2, 2, 1, 9])), df.int32)
        return Call(x, index, numbers, bool(rng.integers(2)), int(rng.integers(0, 8) == 0),
                    bool(rng.integers(4) == 0))

    # --- the function ---

    def body(self, state: State, inner: Callable[..., Any], x: Any, index: Any,
             numbers: dict[str, Any], flag: bool, given: Any) -> dict[str, Any]:
        """The function that is traced."""
        if numbers["n"] == self.refused:
            raise Refused
        made, found = [x, state.w], [1.]

        def do(steps: list[Step]) -> None:
            for step in steps:
                with contextlib.suppress(df.errors.ShapeError, df.errors.DTypeError):
                    self.do(step, made, found, state, inner, index, numbers, flag, given)

        for depth, steps in self.parts:
            part = functools.partial(do, steps)
            for _ in range(depth):
                part = state.wrap(part)
            part()                      # leaves tensors in `made` that it does not return
        loss = df.add_n([df.reduce_mean(df.sin(df.cast(y, df.float32))) for y in made[-5:]])
        return {"loss": loss, "made": made[-3:], "found": found[-3:]}

    def do(self, step: Step, made: list[Any], found: list[Any], state: State,
           inner: Callable[..., Any], index: Any, numbers: dict[str, Any], flag: bool,
           given: Any) -> None:
        """Append the results of one step."""
        a, b = made[-1 - step.i % len(made)], made[-1 - step.j % len(made)]
        v = state.variables[step.k % len(state.variables)]
        y = None
        if step.kind == "ops":
            arity, f = STEPS[step.name]
            try:
                y = f(a, step.k) if arity == 1 else f(a, b, step.k)
            except (df.errors.DualflowError, ZeroDivisionError, IndexError):    # incompatible
                return
        elif step.kind == "number":
            try:
                found.append(NUMBERS[step.name](numbers["n"], numbers["r"], made[0].shape, flag))
            except (ValueError, OverflowError, ZeroDivisionError) as error:
                found.append(type(error).__name__)
        elif step.kind == "use":
            p = found[step.j % len(found)]
            if isinstance(p, str):
                return
            y = [a * p, a + p, p - a, a / (p + 1.5), df.maximum(a, p), df.pow(df.abs(a) + .1, p),
                 df.where(a > p, a, -a), df.cast(a, df.float64) * p, p * v,
                 df.clip_by_value(a, -1., abs(p))][step.k % 10]
        elif step.kind == "update":
            new = df.tanh(df.reduce_sum(df.cast(a, v.dtype)))
            [lambda: v.assign_add(df.broadcast_to(new, v.shape)),
             lambda: v.assign_sub(df.broadcast_to(new, v.shape)),
             lambda: v.assign(df.broadcast_to(new, v.shape)), lambda: v[1:].assign(new),
             lambda: v[step.j % 3].assign(v[0] + new),
             lambda: v.scatter_nd_add([[step.j % 3]], df.broadcast_to(new, (1, *v.shape[1:])))][
                 step.i % 6]()
        elif step.kind == "given":
            if step.k % 3 == 0:
                given.assign_sub(df.tanh(given))
            y = given * 1.5
        elif step.kind == "read":
            y = [v.value(), v + 0., v * 2., v[0]][step.i % 4]
        elif step.kind == "may fail":
            if step.k % 2:
                y = df.gather(state.w, index)
            else:
                df.debugging.assert_less(index, 5)
        elif step.kind == "own gradient":
            total = df.cast(df.reduce_sum(b), a.dtype)
            y = [lambda: scaled(a, total), lambda: straight_through(a),
                 lambda: handed_on(a, df.cast(v, a.dtype))[step.i % 2],
                 lambda: df.grad(lambda t: df.reduce_sum(handed_on(t, total)[step.i % 3]))(a)][
                     step.k % 4]()
        elif step.kind == "masked":
            y = [lambda: df.reduce_sum(df.boolean_mask(a, a > 0.) * 2.),
                 lambda: df.reduce_max(df.concat([df.boolean_mask(a, a > 1.),
                                                  df.zeros([1], a.dtype)], 0)),
                 lambda: df.reduce_sum(df.sort(df.unique(df.round(df.reshape(a, [-1])))[0])),
                 lambda: df.cast(df.size(df.where(a > 0.)), a.dtype)][step.k % 4]()
        elif step.kind == "draw":
            mean, seed = df.reduce_mean(df.cast(a, df.float32)), [step.i, step.j]
            y = [lambda: state.generator.normal([3, 4]) + mean,
                 lambda: state.generator.uniform([3, 4]) * mean,
                 lambda: df.random.stateless_truncated_normal([4], seed) + mean,
                 lambda: df.cast(df.random.stateless_categorical(
                     df.reshape(mean, [1, 1]) * [[0., 1., 2.]], 4, seed), df.float32),
                 lambda: df.random.stateless_gamma([4], seed, 2.) * mean][step.k % 5]()
        elif step.kind == "function":
            y = inner(a, numbers["r" if step.k % 2 else "n"])
        elif step.kind == "inner tape":
            with df.GradientTape() as tape:
                tape.watch(a)
                z = df.tanh(a) * a + df.reduce_sum(df.cast(state.variables[2], a.dtype))
            y = tape.gradient(z, a)
        elif step.kind == "grad":
            y = df.grad(lambda t: df.reduce_sum(df.sin(t) * t))(a)
        elif step.kind == "made":
            size, n = made[0].shape[0], numbers["n"]
            with contextlib.suppress(df.errors.InvalidArgumentError):       # incompatible
                y = [lambda: df.ones([size, 4]) * 3., lambda: df.zeros([n + 1, 4]) + 1.,
                     lambda: df.cast(df.range(n), df.float32), lambda: df.reshape(a, [size, -1]),
                     lambda: df.fill([2, size], numbers["r"])][step.k % 5]()
        elif step.kind == "half":
            half = [df.float16, df.bfloat16][step.i % 2]
            z = df.cast(df.clip_by_value(a, -100., 100.), half)
            y = df.cast([lambda: z * z + z, lambda: df.tanh(z) * numbers["r"],
                         lambda: df.reduce_sum(z), lambda: df.matmul(z, z, transpose_b=True)][
                             step.k % 4](), df.float32)
        elif step.kind == "integers":
            z = df.cast(df.clip_by_value(a, -9., 9.), df.int32)
            y = df.cast([lambda: z // index, lambda: z % (index - 1), lambda: z * index + z,
                         lambda: df.cumsum(z) if z.ndim else z][step.k % 4](), df.float32)
        elif step.kind == "complex":
            z = df.complex(*[df.cast(df.clip_by_value(x, -9., 9.), df.float32)
                             for x in (a, a * numbers["r"])])
            y = [lambda: df.abs(z * z + 1j), lambda: df.math.real(df.math.conj(z) / (z + 10.)),
                 lambda: df.math.imag(df.reduce_sum(z * 2j)),
                 lambda: df.math.angle(df.where(df.equal(z, z), z, 1.) + (11 + 1j))][step.k % 4]()
        if y is not None and y.dtype.is_floating and y.size <= LARGEST:
            made.append(y)

    # --- execution ---

    def run(self, wrap: Callable[[Any], Any]) -> list[Any]:
        """Return the results of the calls, and the variables after each."""
        state = State(self.seed, wrap)
        inner_function = lambda a, p: df.tanh(a) * p + df.cast(  # noqa: E731
            df.reduce_sum(state.variables[2]), a.dtype)
        inner = wrap(inner_function) if self.nested else inner_function
        f = wrap(lambda *args, **named: self.body(state, inner, *args, **named))
        loss = wrap(lambda *args, **named: self.body(state, inner, *args, **named)["loss"])
        if self.form in ("inside", "training"):
            plain = lambda *args, **named: self.body(state, inner, *args, **named)  # noqa: E731
            made = wrap(lambda *args, **named: FORM[self.form](state, plain, plain, *args, **named))
        else:
            made = lambda *args, **named: FORM[self.form](state, f, loss, *args, **named)  # noqa: E731
        seen: list[Any] = []
        for call in self.calls:
            args = (call.x, call.index, call.numbers)
            try:
                given = state.variables[call.given]
                if call.by_name:
                    seen.append(made(*args, given=given, flag=call.flag))
                else:
                    seen.append(made(*args, call.flag, given))
            except (df.errors.DualflowError, IndexError, OverflowError, Refused) as error:
                seen.append(type(error))
            seen.append([v.value() for v in state.variables])
        return seen


def inside(state: State, f: Any, loss: Any, x: Any, *args: Any, **named: Any) -> Any:
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x, *args, **named)
    return y, tape.gradient(y["loss"], [x, *state.variables], unconnected_gradients="zero")


def twice(state: State, f: Any, loss: Any, x: Any, *args: Any, **named: Any) -> Any:
    with df.GradientTape() as tape:
        tape.watch(x)
        z = x * 2. + df.tanh(x)
        y = f(z, *args, **named)
        more = f(df.sin(x), *args, **named)
        total = y["loss"] * more["loss"] + df.reduce_sum(x * z) + df.reduce_sum(
            state.variables[0]) + df.add_n([df.reduce_sum(t * t) for t in y["made"]
                                            if t.dtype is df.float32] + [y["loss"]])
    return y, more, tape.gradient(total, [x, z, *state.variables], unconnected_gradients="zero")


def second_order(state: State, f: Any, loss: Any, x: Any, *args: Any, **named: Any) -> Any:
    sources = [x, *state.variables]
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *args, **named)
        first = tape.gradient(y["loss"], sources, unconnected_gradients="zero")
        total = df.add_n([df.reduce_sum(df.sin(g)) for g in first])
    return y, first, outer.gradient(total, sources, unconnected_gradients="zero")


def optimizer(state: State, f: Any, loss: Any, x: Any, *args: Any, **named: Any) -> Any:
    state.optimizer.minimize(lambda: loss(x, *args, **named) + df.reduce_sum(
        state.variables[0] * state.variables[0]), state.variables[:1])
    return df.reduce_sum(state.variables[0])


def training(state: State, f: Any, loss: Any, x: Any, *args: Any, **named: Any) -> Any:
    with df.GradientTape() as tape:
        y = f(x, *args, **named)
        total = y["loss"] + df.add_n([df.reduce_sum(v * v) for v in state.variables])
    grads = tape.gradient(total, state.variables)
    grads, norm = df.clip_by_global_norm(grads, 1.)
    state.optimizer.apply_gradients(zip(grads, state.variables, strict=True))
    return y, norm


FORM = {"call": lambda state, f, loss, *args, **named: f(*args, **named), "inside": inside,
        "outside": inside, "twice": twice, "second order": second_order, "optimizer": optimizer,
        "training": training}


def difference(got: Any, want: Any, at: str = "") -> str | None:
    """Describe the first difference of two results in type, shape or bits; NaNs count as equal."""
    if type(got) is not type(want):
        return f"{at}: {got!r}, want {want!r}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"{at}: keys {list(got)}, want {list(want)}"
        got, want = list(got.values()), list(want.values())
    if isinstance(want, df.IndexedSlices):
        got, want = [[x.values, x.indices, x.dense_shape] for x in (got, want)]
    if isinstance(want, list | tuple):
        if len(got) != len(want):
            return f"{at}: {len(got)} items, want {len(want)}"
        return next((d for k, (g, w) in enumerate(zip(got, want, strict=True))
                     if (d := difference(g, w, f"{at}[{k}]"))), None)
    if isinstance(want, df.Tensor):
        g, w = got.numpy(), want.numpy()
        same = g.dtype == w.dtype and g.shape == w.shape and _bits(g) == _bits(w)
        return None if same else f"{at}: {g!r}, want {w!r}"
    same = repr(got) == repr(want) if isinstance(want, float) else got == want
    return None if same else f"{at}: {got!r}, want {want!r}"


def _bits(x: np.ndarray) -> bytes:
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.array(math.nan, x.dtype), x)
    return x.tobytes()


def check(seed: int) -> None:
    """Check that the traced program of a seed matches plain Python."""
    program = Program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = program.run(lambda f: f)
        got = program.run(lambda f: df.function(f, passes=program.passes))
    wrong = difference(got, want)
    assert wrong is None, f"seed {seed}, {program.form}: {wrong}"
