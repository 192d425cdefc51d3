"""Random programs with branches and loops, nested to depth 3, that read and assign variables, draw
random numbers and call the host.

All observable effects must match plain Python: results, exceptions of calls, variables, the
generator's counter, and the host calls in order.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dualflow as df
from dualflow.graph.passes import optimize
from dualflow.ops.control_flow.host import host_call
from tests import sampling
from tests.programs.program import difference
from tests.programs.steps import STEPS

LARGEST = 256               # elements; larger results are skipped
DEPTH = 3
ROUNDS = 5                  # maximum trip count of a data-dependent loop
SIMPLE = {"ops": 34, "number": 8, "assign": 8, "read": 6, "draw": 5, "tell": 4, "may fail": 1,
          "masked": 2}
NESTED = {"cond": 6, "switch": 3, "case": 2, "while": 6, "scan": 5, "fold": 3, "map": 3,
          "array": 3}
# Steps whose results do not depend on how a size is known, and that are fast.
TABLE = [name for name in sorted(STEPS) if name not in ("attention", "cross entropy")]


class Step(NamedTuple):
    kind: str
    name: str
    i: int
    j: int
    k: int
    blocks: tuple[Any, ...] = ()


def block(rng: np.random.Generator, depth: int, most: int) -> tuple[Step, ...]:
    """Return random steps, which may own blocks."""
    kinds = SIMPLE if depth == DEPTH else {**SIMPLE, **NESTED}
    names, weights = list(kinds), np.array(list(kinds.values()), float)
    made = []
    for _ in range(int(rng.integers(1, most))):
        kind = names[rng.choice(len(names), p=weights / weights.sum())]
        n = {"cond": 2, "switch": 3, "case": 3, "while": 1, "scan": 1, "fold": 1, "map": 1,
             "array": 1}
        blocks = tuple([block(rng, depth + 1, 5) for _ in range(n.get(kind, 0))])
        made.append(Step(kind, TABLE[rng.integers(len(TABLE))],
                         *[int(x) for x in rng.integers(0, 60, 3)], blocks))
    return tuple(made)


class State:
    """State that a program reads and writes in addition to its arguments."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.variables = [df.Variable(rng.normal(size=shape).astype("float32"), name=f"v{k}")
                          for k, shape in enumerate([(3, 4), (4,), ()])]
        self.generator = df.random.Generator(seed)
        self.table = df.constant(rng.normal(size=(4, 3)).astype("float32"))
        self.called: list[Any] = []


def settled(x: Any, like: Any) -> Any:
    """Return a value computed from `x` in the shape of `like`: carries must keep their shape."""
    if x.shape == like.shape and x.dtype is like.dtype:
        return x
    return df.tanh(like) + df.cast(df.reduce_mean(df.tanh(x)), like.dtype)


def number(x: Any, most: int) -> Any:
    """Return a data-dependent int32 from 0 to `most`."""
    x = df.reduce_sum(df.tanh(df.cast(x, df.float32)))
    x = df.where(x < 1e9, x, 0.)            # removes NaN
    return df.cast(df.abs(x) * 3., df.int32) % (most + 1)


class Program:
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 11])
        self.seed = seed
        self.steps = block(rng, 0, 12)
        self.args = [[df.constant(rng.normal(size=shape).astype("float32") * 2.)
                      for shape in [(3, 4), (4,), ()]] for _ in range(3)]

    def body(self, state: State, *args: Any) -> list[Any]:
        """The function that is traced."""
        pool = [state.table, *args]
        self.do(state, self.steps, pool)
        return pool[-6:]

    def do(self, state: State, steps: tuple[Step, ...], pool: list[Any]) -> list[Any]:
        """Append the results of the steps to the pool."""
        for step in steps:
            a, b = pool[-1 - step.i % len(pool)], pool[-1 - step.j % len(pool)]
            y = getattr(self, step.kind.replace(" ", "_"))(state, step, a, b, pool)
            if y is not None and y.size <= LARGEST:
                pool.append(y)
        return pool

    def inside(self, state: State, step: Step, k: int, pool: list[Any], like: Any) -> Any:
        """Return the result of block `k` of a step, in the shape of another tensor."""
        return settled(self.do(state, step.blocks[k], list(pool))[-1], like)

    # --- steps ---

    def ops(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        n, f = STEPS[step.name]
        try:
            return f(a, step.k) if n == 1 else f(a, b, step.k)
        except (df.errors.DualflowError, ZeroDivisionError, IndexError):    # incompatible
            return None

    def number(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        return [a * 1.5, 2. - a, a + 0.25, -a][step.k % 4]

    def assign(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> None:
        v = state.variables[step.k % 3]
        [v.assign_add, v.assign_sub, v.assign][step.i % 3](settled(a, v.value()))

    def read(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        v = state.variables[step.k % 3]
        return [v.value(), v * 2., v + a if v.ndim == 0 else v + 1.][step.i % 3]

    def draw(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        return [state.generator.normal(a.shape) + a, state.generator.uniform([4])][step.k % 2]

    def tell(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> None:
        host_call(lambda *xs: state.called.append([step.k, *xs]), [a, state.variables[2]])

    def may_fail(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        k = number(b, 5)
        if step.k % 2:
            return df.gather(state.table, k)
        df.debugging.assert_less(k, 4)
        return None

    def masked(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        a = df.reshape(a, [-1])
        return df.reduce_sum(df.boolean_mask(a, a > 0.) * 2.)

    def cond(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        x, y = df.cond(df.equal(number(a, 1), step.k % 2),
                       lambda: (self.inside(state, step, 0, pool, b), a),
                       lambda: (self.inside(state, step, 1, pool, b), a + 1.))
        return x if step.k % 3 else x + df.reduce_sum(y)

    def switch(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        return df.switch_case(number(a, 3), [
            lambda k=k: self.inside(state, step, k, pool, b) for k in range(3)])

    def case(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        k = number(a, 3)
        return df.case([(k < 1, lambda: self.inside(state, step, 0, pool, b)),
                        (k < 2, lambda: self.inside(state, step, 1, pool, b))],
                       default=lambda: self.inside(state, step, 2, pool, b))

    def while_(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        def body(i: Any, x: Any, y: Any) -> Any:
            if step.k % 4 == 0:
                x, y = y, x
            return i + 1, self.inside(state, step, 0, [*pool, y, x], x), y

        n = number(b, ROUNDS)
        limit = [None, 2, n, number(a, 3)][step.j % 4]
        _, x, y = df.while_loop(lambda i, x, y: i < n, body, (0, a, settled(b, a)),
                                maximum_iterations=limit)
        return x if step.k % 3 else x + y

    def scan(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        def body(carry: Any, row: Any) -> Any:
            made = self.do(state, step.blocks[0], [*pool, carry, row])
            return settled(made[-1], carry), (made[-2], carry)

        carry, (y, z) = df.scan(body, b, a, reverse=step.k % 2 == 0) if a.ndim and a.shape[0] else (
            df.scan(lambda c, _: body(c, c), b, None, length=3))
        pool += [x for x in (y, z) if x.size <= LARGEST]
        return carry

    def fold(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        if not a.ndim or not a.shape[0]:
            return None
        f = [df.foldl, df.foldr, df.scan][step.k % 3]
        return f(lambda c, row: self.inside(state, step, 0, [*pool, c, row], c), a,
                 initializer=b if step.j % 2 else None)

    def map(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        if not a.ndim or not a.shape[0]:
            return None
        return df.map_fn(lambda row: self.do(state, step.blocks[0], [*pool, row])[-1], a)

    def array(self, state: State, step: Step, a: Any, b: Any, pool: list[Any]) -> Any:
        def body(i: Any, t: Any) -> Any:
            return i + 1, t.write(i + 1, self.inside(state, step, 0, [*pool, t.read(i)], a))

        n = number(b, ROUNDS)
        start = df.TensorArray(a.dtype, 1 if step.k % 2 else ROUNDS + 1, step.k % 2 == 1,
                               element_shape=a.shape).write(0, a)
        _, t = df.while_loop(lambda i, t: i < n, body, (0, start))
        return t.read(0) + df.reduce_sum(t.stack(), 0)

    def run(self, wrap: Callable[[Any], Any]) -> list[Any]:
        """Return the results and other effects of the calls."""
        state = State(self.seed)
        f = wrap(lambda *args: self.body(state, *args))
        seen: list[Any] = []
        for args in self.args:
            try:
                seen.append(f(*args))
            except df.errors.DualflowError as error:
                seen.append(type(error))
            seen.append([v.value() for v in state.variables])
            seen += [state.generator.counter, list(state.called)]
        return seen


setattr(Program, "while", Program.while_)


def check(seed: int) -> None:
    """Check that the program of a seed, traced with or without passes, matches plain Python."""
    program = Program(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = program.run(lambda f: f)
        for passes in sampling.passes(seed):
            wrong = difference(program.run(lambda f, on=passes: df.function(f, passes=on)), want)
            assert wrong is None, f"seed {seed}, passes={passes}: {wrong}"
        state = State(seed)
        f = df.function(lambda *args: program.body(state, *args))
        compiled = f.compiled_for(*program.args[0])
        optimize(compiled.traced, compiled.options._replace(check=True))
