"""Random programs in which `with`, `try`, `match`, `:=` and starred targets introduce names.

The programs of `written.py` with statements that introduce a name, on some paths only, and read the
name on paths that assign it. A program that reads an unassigned name in eager mode must be
rejected.
"""

import contextlib
import warnings

import numpy as np

import dualflow as df
from tests import sampling
from tests.autograph.referee import compiled, forget
from tests.programs import written
from tests.programs.program import difference

NEW = {"in_with": 4, "in_try": 4, "in_match": 3, "in_walrus": 2, "in_star": 2, "star_rows": 2,
       "loop_else": 3, "nested": 3, "same_condition": 3, "flagged": 2, "deleted": 2, "branches": 4,
       "doubtful": 1}
OPENING = {"in_with", "in_try", "in_match", "in_walrus", "star_rows", "loop_else", "nested",
           "same_condition", "flagged", "branches"}


class Writer(written.Writer):
    kinds = {**written.KINDS, **NEW}            # noqa: RUF012
    opening = written.OPENING | OPENING
    doubts = False          # True if a name is read that some run may not have assigned
    aliases = False         # True if loops may return rows or variables unchanged: see `distance`

    def use(self, depth: int, name: str) -> None:
        """Write a statement that reads a name of a vector."""
        target = self.pick(written.VECTORS)
        self.add(depth, f"{target} = " + self.pick(
            [f"{name} * 0.5", f"df.tanh({target} + {name})", f"{name} - {target}",
             f"({name} * 1.1 if {self.condition()} else {target} * 0.9)"]))

    def maybe_leave(self, depth: int, inside: bool) -> None:
        if self.rng.integers(2):
            self.leave(depth, inside)

    def some(self, depth: int, inside: bool) -> None:
        if self.rng.integers(2):
            self.block(depth, inside, 2)

    def in_with(self, depth: int, inside: bool) -> None:
        t, g = self.fresh("t"), self.fresh("g")
        kind = int(self.rng.integers(4))
        self.add(depth, "with " + ["contextlib.nullcontext()", "contextlib.suppress(KeyError)",
                                   f"contextlib.nullcontext(b * 1.1) as {t}",
                                   f"df.GradientTape() as {g}"][kind] + ":")
        if kind == 3:
            self.add(depth + 1, f"{g}.watch(a)")
            self.add(depth + 1, f"{t} = df.tanh(a) * {self.vector(9)}")
            self.add(depth, f"{t} = {g}.gradient({t}, a)")
            self.add(depth, f"{t} = b * 0.9 if {t} is None else {t}")
        else:
            self.maybe_leave(depth + 1, inside)
            self.add(depth + 1, f"{t} = {self.vector() if kind < 2 else f'{t} * 0.8'}")
            self.some(depth + 1, inside)
        self.some(depth, inside)
        self.use(depth, t)

    def in_try(self, depth: int, inside: bool) -> None:
        t, u = self.fresh("t"), self.fresh("u")
        self.add(depth, "try:")
        raises = self.rng.integers(3) == 0
        if not raises:
            self.maybe_leave(depth + 1, inside)
        self.add(depth + 1, f"{t} = {self.vector()}")
        if raises:
            self.add(depth + 1, f"{t} = d['nothing']")
        self.some(depth + 1, inside)
        caught = self.rng.integers(4) > 0 or raises
        if caught:
            self.add(depth, "except KeyError:")
            self.add(depth + 1, f"{t} = {self.vector()}")
            self.maybe_leave(depth + 1, inside)
            if not raises and self.rng.integers(2):
                self.add(depth, "else:")
                self.some(depth + 1, inside)
                self.add(depth + 1, f"{t} = {t} * 0.7")
        if self.rng.integers(2) or not caught:
            self.add(depth, "finally:")
            self.add(depth + 1, f"{u} = {self.vector()}")
            self.use(depth, u)
        self.use(depth, t)

    def in_match(self, depth: int, inside: bool) -> None:
        t, p = self.fresh("t"), self.fresh("p")
        if self.rng.integers(2):
            subject = self.pick(["(a * 0.9, b * 0.7, xs[0] * 1.1)", "[a * 0.8, b * 1.2]"])
            self.add(depth, f"match {subject}:")
            self.add(depth + 1, f"case [{p}, *{t}]:")
            self.maybe_leave(depth + 2, inside)
            self.add(depth + 2, f"{t} = {p} * {t}[-1]")
        else:
            self.add(depth, "match n:")
            for case in ["0", f"{p} if {p} > 2", "_"]:
                self.add(depth + 1, f"case {case}:")
                self.maybe_leave(depth + 2, inside)
                self.add(depth + 2, f"{t} = {self.vector()}")
                self.some(depth + 2, inside)
        self.use(depth, t)

    def in_walrus(self, depth: int, inside: bool) -> None:
        t = self.fresh("t")
        test = f"df.reduce_sum({t} := {self.vector()}) > {self.pick(written.NUMBERS)}"
        perhaps = bool(self.rng.integers(2))
        self.add(depth, f"if {self.condition()} and {test}:" if perhaps else f"if {test}:")
        self.maybe_leave(depth + 1, inside)
        self.use(depth + 1, t)
        self.inner(depth, inside)
        if not perhaps:
            self.use(depth, t)

    def in_star(self, depth: int, inside: bool) -> None:
        p, q = self.fresh("p"), self.fresh("q")
        self.add(depth, f"{p}, *{q} = {self.vector()}, {self.vector()}, b * 0.9")
        self.use(depth, p)
        self.use(depth, f"{q}[{self.pick('01')}]")

    def star_rows(self, depth: int, inside: bool) -> None:
        i, r = self.fresh("i"), self.fresh("r")
        self.add(depth, f"for {i}, *{r} in {self.pick(['enumerate(xs)', 'zip(xs, xs)'])}:")
        self.maybe_leave(depth + 1, True)
        self.use(depth + 1, f"{r}[0]")
        self.inner(depth, True)
        if self.rng.integers(2):
            self.aliases = True
            self.use(depth, f"{r}[0]")

    def loop_else(self, depth: int, inside: bool) -> None:
        t, x = self.fresh("t"), self.fresh("x")
        self.add(depth, f"for {x} in xs:")
        before = len(self.lines)
        self.some(depth + 1, True)
        left = self.breaks(before)
        self.add(depth + 1, f"if {self.condition()} and df.reduce_sum({x}) > 0.:")
        self.add(depth + 2, f"{t} = {self.pick([f'{x} * 1.2', self.vector()])}")
        self.add(depth + 2, "break")
        before = len(self.lines)
        self.some(depth + 1, True)
        self.doubts |= left or self.breaks(before)
        self.add(depth, "else:")
        self.add(depth + 1, f"{t} = {self.vector()}")
        self.use(depth, t)

    def breaks(self, line: int) -> bool:
        """Return True if a loop ends early in the text from a line on."""
        return any([x.strip() == "break" for x in self.lines[line:]])

    def nested(self, depth: int, inside: bool) -> None:
        x, w, g = self.fresh("x"), self.fresh("w"), self.fresh("g")
        self.add(depth, f"for {x} in xs:")
        before = len(self.lines)
        self.some(depth + 1, True)
        self.maybe_leave(depth + 1, True)
        left = len(self.lines) > before
        self.add(depth + 1, f"{w} = {self.vector()}")
        self.add(depth + 1, self.pick([f"{g} = lambda z: z * {w} - {x}",
                                       f"def {g}(z): return df.tanh(z + {x}) * {w}"]))
        self.some(depth + 1, True)
        self.add(depth + 1, f"{self.pick(written.VECTORS)} = {g}(a) + {w} * 0.1")
        self.maybe_leave(depth + 1, True)
        if self.rng.integers(2):
            self.doubts |= left
            self.aliases = True
            self.use(depth, f"{g}(b)")

    def same_condition(self, depth: int, inside: bool) -> None:
        t, p = self.fresh("t"), self.fresh("p")
        self.add(depth, f"{p} = {self.condition()}")
        self.add(depth, f"if {p}:")
        self.add(depth + 1, f"{t} = {self.vector()}")
        self.some(depth + 1, inside)
        self.some(depth, inside)
        self.add(depth, f"if {self.pick([p, f'{p} and c > 0.'])}:")
        self.use(depth + 1, t)

    def flagged(self, depth: int, inside: bool) -> None:
        t, p, x = self.fresh("t"), self.fresh("p"), self.fresh("x")
        self.aliases = True             # iterations that do not assign it return it unchanged
        self.add(depth, f"{p} = False")
        self.add(depth, f"for {x} in xs:")
        self.add(depth + 1, f"if df.reduce_sum({x} + a) > 0.5:")
        self.add(depth + 2, f"{p}, {t} = True, {self.pick([f'{x} * 1.2', self.vector()])}")
        self.some(depth + 1, True)
        self.add(depth, f"if {p}:")
        self.use(depth + 1, t)

    def deleted(self, depth: int, inside: bool) -> None:
        t = self.fresh("t")
        self.add(depth, f"{t} = {self.vector()}")
        self.maybe_leave(depth, inside)
        self.use(depth, t)
        self.add(depth, f"del {t}")

    def branches(self, depth: int, inside: bool) -> None:
        t = self.fresh("t")
        self.add(depth, f"if {self.condition()}:")
        self.some(depth + 1, inside)
        self.leave(depth + 1, inside)
        self.add(depth + 1, f"{t} = {self.vector()}")
        self.add(depth, f"elif {self.condition()}:")
        self.add(depth + 1, f"{t} = {self.vector()}")
        self.maybe_leave(depth + 1, inside)
        self.add(depth, "else:")
        self.some(depth + 1, inside)
        self.add(depth + 1, f"{t} = {self.vector()}")
        self.use(depth, t)

    def doubtful(self, depth: int, inside: bool) -> None:
        """Write a read of a name that some runs may not have assigned."""
        t = self.fresh("t")
        self.add(depth, f"if c < {self.pick(written.NUMBERS)}:")
        self.add(depth + 1, f"{t} = b * 0.5")
        if self.rng.integers(4) == 0:
            self.doubts = True
            self.use(depth, t)


def distance(got: object, want: object) -> str | None:
    """Describe the first tensor whose difference is larger than reordering of sums explains."""
    pairs = zip(df.nest.flatten(got), df.nest.flatten(want), strict=True)
    for x, y in pairs:
        x, y = (z.numpy() if isinstance(z, df.TensorBase) else np.asarray(z) for z in (x, y))
        largest = np.max(np.abs(y[np.isfinite(y)]), initial=1.)
        if not np.allclose(x, y, rtol=1e-3, atol=1e-4 * largest, equal_nan=True):
            return f"{x!r}, want {y!r}"
    return None


def check(seed: int) -> str:
    """Compare the traced program of a seed with plain Python, and return the kind of outcome."""
    writer = Writer(seed)
    f = compiled(writer.text, contextlib=contextlib)
    refused = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = written.run(seed, f, lambda g: g)
        except NameError:
            want = None
        for passes in sampling.passes(seed):
            try:
                got = written.run(seed, f, lambda g, on=passes: df.function(g, passes=on))
            except df.errors.InvalidArgumentError as error:
                assert "read at" in str(error), f"seed {seed}, passes={passes}: {error}"
                assert writer.doubts, f"seed {seed}: {error}"
                refused += 1
                continue
            assert want is not None, f"seed {seed}: reads an unassigned name"
            wrong = distance(got, want) if writer.aliases else difference(got, want)
            assert wrong is None, f"seed {seed}, passes={passes}: {wrong}"
    forget(f)
    return "refused" if refused else "ran"
