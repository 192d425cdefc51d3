"""Random programs of a seed that update variables and fail: the variables after the failure.

Steps that may fail are placed between updates; an argument selects the one that fails. Eager mode
completes the updates before the failing step and none after it; every traced form must do the same,
whatever its passes merge and move.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dualflow as df
from tests import sampling
from tests.programs.program import difference

SMALL, LARGE = (3, 4), (300, 250)       # large tensors: steps run concurrently in threads
FORMS = ["call", "call", "tape inside", "tape outside", "inlined", "checked"]
OPTIMIZERS = [lambda: df.optimizers.SGD(.1), lambda: df.optimizers.SGD(.1, momentum=.9),
              lambda: df.optimizers.Adam(.01), lambda: df.optimizers.RMSprop(.01, momentum=.5),
              lambda: df.optimizers.Adagrad(.1), lambda: df.optimizers.AdamW(.01)]


def refused(x: Any) -> Any:
    """Raise in the host if an element is negative."""
    df.debugging.assert_non_negative(x)
    return x


@df.custom_gradient
def gathered(x: Any, k: Any) -> Any:
    """Return x; its gradient gathers at an index that may be out of range."""
    return x * 1., lambda g: (g * df.gather(df.ones([3], g.dtype), k), None)


# Each fails if `bad` is 1 and not if it is 0; returns a tensor that depends on the failing op.
FAILING: dict[str, Callable[[Any, Any], Any]] = {
    "gather": lambda x, bad: df.gather(x, bad * 9999),
    "gather_nd": lambda x, bad: df.gather_nd(x, [[bad * 9999]]),
    "scatter": lambda x, bad: df.scatter_nd([[bad * 9999]], df.reduce_sum(x, keepdims=True)[0],
                                            [3]),
    "one label": lambda x, bad: df.nn.sparse_softmax_cross_entropy_with_logits(
        df.fill([x.shape[0]], bad * 9999), x),
    "assert": lambda x, bad: df.debugging.assert_less(bad, 1),
    "assert values": lambda x, bad: refused(x * 0. - df.cast(bad, x.dtype)),
    "numerics": lambda x, bad: df.debugging.check_numerics(
        x / df.cast(1 - bad, x.dtype), "not finite"),
    "bincount": lambda x, bad: df.math.bincount(
        df.concat([df.cast(x[0] > 0., df.int32), df.zeros([80_000 * (x.shape[0] > 9)], df.int32)
                   - bad], 0), minlength=2, maxlength=2),
    "divide": lambda x, bad: x / df.cast(1 - bad, x.dtype),     # if numerics are checked
    "masked": lambda x, bad: df.reshape(df.boolean_mask(df.range(4), df.range(4) > bad), [3]),
    "masked sum": lambda x, bad: df.boolean_mask(df.ones([4]), df.range(4) > bad) + df.ones([3]),
}


class State:
    """Variables and optimizers of a program."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng([seed, 1])
        self.variables = [df.Variable(rng.normal(size=shape).astype("float32"), name=f"v{k}")
                          for k in range(3)]
        self.optimizers = [OPTIMIZERS[int(k)]() for k in rng.integers(0, len(OPTIMIZERS), 2)]
        for optimizer in self.optimizers:
            optimizer.build(self.variables)

    def values(self) -> list[Any]:
        more = [v for optimizer in self.optimizers for v in optimizer.variables]
        return [v.value() for v in [*self.variables, *more]]


class Program:
    """The program of a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng([seed, 11])
        self.shape = LARGE if rng.integers(8) == 0 else SMALL
        self.form = FORMS[int(rng.integers(len(FORMS)))]
        kinds = ["update", "update", "update", "fail", "fail", "compute", "compute", "read", "step",
                 "heavy", "wide"]
        self.steps = [(kinds[int(rng.integers(len(kinds)))], *[int(k) for k in
                       rng.integers(0, 60, 4)]) for _ in range(int(rng.integers(3, 20)))]
        self.n_failing = sum(kind == "fail" for kind, *_ in self.steps)
        self.x = df.constant(rng.normal(size=self.shape).astype("float32"))

    def body(self, state: State, x: Any, which: Any) -> list[Any]:
        """The function that is traced; failing step number `which` fails."""
        made, results, failing = [x], [], 0
        for kind, i, j, k, n in self.steps:
            a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
            v, w = state.variables[k % 3], state.variables[n % 3]
            if kind == "fail":
                failing += 1
                bad = df.cast(df.equal(which, failing), df.int32)
                name = sorted(FAILING)[i % len(FAILING)]
                y = FAILING[name]([a, v][j % 2] + 0., bad)
                if y is not None and n % 2:
                    results.append(y)
                elif y is not None:         # only an update reads it
                    [v.assign, v.assign_add][n // 2 % 2](df.broadcast_to(
                        df.reduce_mean(df.cast(y, v.dtype)), v.shape)
                        if y.shape != v.shape else y)
            elif kind == "update":
                [v.assign_add, v.assign_sub, v.assign][i % 3](
                    [a, df.tanh(b), w * .5, v + a, a * b, w][j % 6])
            elif kind == "step":
                optimizer = state.optimizers[i % 2]
                if j % 3:
                    optimizer.apply_gradients([(df.tanh(a), v)])
                else:
                    with df.GradientTape() as tape:
                        loss = df.reduce_mean(df.sin(v * a) + w)
                    optimizer.minimize(loss, [v, w] if v is not w else [v], tape=tape)
            else:
                made.append(self.value(kind, i, a, b, v))
        loss = df.add_n([df.reduce_mean(df.sin(y)) for y in made[-3:]])
        return [loss, *made[-2:], *results]

    def value(self, kind: str, i: int, a: Any, b: Any, v: Any) -> Any:
        """Return the result of a step that only computes."""
        if kind == "read":
            return [v.value(), v + 1., v * v][i % 3]
        if kind == "heavy":
            return [lambda: df.matmul(df.matmul(a, b, transpose_b=True), v) * .01 + 1.,
                    lambda: df.nn.softmax(a), lambda: df.cumsum(a, 0) * .1,
                    lambda: df.reduce_sum(a, -1, keepdims=True) * b][i % 4]()
        if kind == "wide":
            return [lambda: df.concat([a, b], 0)[:a.shape[0]], lambda: df.stack([a, b])[1],
                    lambda: df.split(df.concat([a, b], 0), 2)[0],
                    lambda: df.transpose(df.transpose(a) * 2.),
                    lambda: df.gather(a, df.range(a.shape[0]))][i % 5]()
        return [df.tanh(a), a + b, a * .5, df.maximum(a, b), df.sin(a) * b, a - b][i % 6]

    def run(self, which: int, wrap: Callable[[Any], Any]) -> list[Any]:
        """Return the outcomes of calls that fail at `which`, and the variables after each."""
        state, seen = State(self.seed, self.shape), list[Any]()
        f = wrap(lambda x, which: self.body(state, x, which))
        form = {"tape inside": wrap(lambda *args: self.differentiated(state, f, *args)),
                "tape outside": lambda *args: self.differentiated(state, f, *args),
                "inlined": wrap(lambda *args: [y * 2. for y in f(*args)])}.get(self.form, f)
        for at in (0, which):
            try:
                seen.append(form(self.x, df.constant(at, df.int32)))
            except df.errors.DualflowError as error:
                seen.append(type(error))
            seen.append(state.values())
        return seen

    def differentiated(self, state: State, f: Any, x: Any, which: Any) -> Any:
        """A training step around the function; its gradient may fail as well."""
        bad = df.cast(df.equal(which, self.n_failing + 1), df.int32)
        with df.GradientTape() as tape:
            y = f(x, which)
            total = y[0] + df.reduce_sum(state.variables[0] ** 2.)
            loss = gathered(total, bad * 9999)
        state.variables[1].assign_add(df.ones(self.shape))
        grads = tape.gradient(loss, state.variables[:1])
        state.optimizers[0].apply_gradients([(grads[0], state.variables[0])])
        return y


def check(seed: int) -> None:
    """Check that the variables of a seed's program match eager mode, wherever it fails."""
    program = Program(seed)
    numerics = df.debugging
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for which in range(1, program.n_failing + 1 + ("tape" in program.form)):
            try:
                if program.form == "checked":
                    numerics.enable_check_numerics()
                want = program.run(which, lambda f: f)
                for passes in sampling.passes(seed + which):
                    got = program.run(which, lambda f, p=passes: df.function(f, passes=p))
                    wrong = difference(got, want)
                    assert wrong is None, (f"seed {seed}, {program.form}, fails at {which}, passes "
                                           f"{passes}: {wrong}")
            finally:
                numerics.disable_check_numerics()
