"""Random programs of `composites` whose functions have input signatures with unknown sizes and
unknown ranks, called with arguments of several sizes.

Plain Python in float64 is also compared with finite differences.
"""

import warnings
from typing import Any

import numpy as np

import dualflow as df
from tests.programs import composites
from tests.programs.composites import Pair, Step, kind_of, mean


def spec_of(x: Any, k: int) -> Any:
    """Return a spec of values like `x` with unknown sizes; `k` decides whether the rank of a dense
    tensor is unknown."""
    kind = kind_of(x)
    if kind == "pair":
        return Pair.Spec(spec_of(x.x, 1), spec_of(x.s, 1), spec_of(x.r, 1), spec_of(x.t, 1),
                         x.name, x.n)
    shape = [None] * x.ndim
    if kind == "sparse":
        return df.SparseTensorSpec(shape, x.dtype)
    if kind.startswith("ragged"):
        return df.RaggedTensorSpec(shape, x.dtype, x.ragged_rank)
    return df.TensorSpec(None if k % 4 == 0 and kind == "dense" else shape, x.dtype)


class Program(composites.Program):
    """A program whose calls have arguments of different sizes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = np.random.default_rng([seed, 42])
        self.args = [self._args(rng, int(n)) for n in rng.integers(1, 4, 3)]
        self.signature = [spec_of(x, seed + k) for k, x in enumerate(self.args[0])]

    def outer(self, wrap: Any, f: Any) -> Any:
        return wrap(f, self.signature)

    def wrapped(self, wrap: Any, function: Any, step: Step, values: list[Any]) -> Any:
        if step.i % 2:
            return wrap(function)
        return wrap(function, [spec_of(x, step.i // 2 + k) for k, x in enumerate(values)])


class Differences(composites.Program):
    """A program in float64, for finite differences."""

    def _args(self, rng: np.random.Generator, n: int) -> list[Any]:
        x, s, r, t, p = super()._args(rng, n)
        x, r, a, c = [df.cast(y, df.float64) for y in (x, r, p.x, p.r)]
        s, b = [y.with_values(df.cast(y.values, df.float64)) for y in (s, p.s)]
        return [x, s, r, t, Pair(a, b, c, p.t)]

    def slopes(self) -> tuple[Any, Any]:
        """Return the derivatives in random directions by gradients of the traced function, and by
        differences in plain Python."""
        self.reference()
        rng = np.random.default_rng([self.seed, 43])
        v = df.Variable(np.linspace(-1., 1., 9).reshape(3, 3))

        def loss(wrap: Any, *args: Any) -> Any:
            pool = [v.value(), *args]
            self.do(wrap, self.steps, pool)
            return df.add_n([df.cast(mean(y), df.float64) for y in pool[-5:]])

        def moved(args: list[Any], d: list[Any], h: float) -> list[Any]:
            x, s, r, t, p = args
            return [x + h * d[0], s.with_values(s.values + h * d[1]),
                    r.with_flat_values(r.flat_values + h * d[2]), t, p]

        def graded(*args: Any) -> Any:
            sources = [args[0], args[1].values, args[2].flat_values]
            with df.GradientTape() as tape:
                tape.watch(sources)
                y = loss(wrap, *args)
            return tape.gradient(y, sources, unconnected_gradients="zero")

        def wrap(f: Any, signature: Any = None) -> Any:
            return df.function(f, passes=self.seed % 2 == 0)

        found, want = [], []
        for args in self.args:
            gradients = wrap(graded)(*args)
            d = [rng.normal(size=g.shape) for g in gradients]
            found.append(sum([np.sum(np.asarray(g) * e)
                              for g, e in zip(gradients, d, strict=True)]))
            up, down = [float(loss(lambda f, signature=None: f, *moved(args, d, h)))
                        for h in (1e-5, -1e-5)]
            want.append((up - down) / 2e-5)
        return found, want


def check(seed: int) -> None:
    """Check the program of a seed like `composites.check`."""
    composites.check(seed, Program)


def matches_differences(seed: int) -> bool:
    """Return True if the gradients of the program of a seed are close to finite differences."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found, want = Differences(seed).slopes()
    return bool(np.allclose(found, want, rtol=1e-4, atol=1e-6))
