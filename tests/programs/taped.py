"""Random programs as text, with tapes, transforms and function calls at any position.

The statements of `written` and more: tapes in loops and branches, watching outputs of control flow;
variables first read in nested bodies that assign them; optimizers; `df.cond`, `df.while_loop` and
`df.scan`; nested functions and separately traced functions; inner loops with varying trip count. A
program is smooth apart from its branches, so that finite differences are a reference for its
derivatives.

If a tape watches an output of control flow, no other name may refer to the same tensor: a traced
branch returns a new tensor, eager mode the one that was passed in.
"""

import textwrap
from collections.abc import Sequence

from tests.programs import written

NUMBERS = ["0.13", "0.31", "-0.47", "1.53"]         # constants that no value equals by chance
KINDS = {"assign": 8, "number": 3, "choice": 7, "while": 3, "count": 8, "rows": 2, "leave": 2,
         "update": 4, "draw": 1, "keep": 1, "item": 1, "help": 1, "stacked": 2,
         "tape": 7, "training": 2, "cond": 2, "while loop": 4, "scan": 3, "function": 2, "call": 4,
         "transform": 3, "match": 1, "walrus": 1, "stop": 1}
OPENING = {"choice", "while", "count", "rows", "stacked", "tape", "while loop", "scan", "match",
           "walrus"}
DERIVING, DERIVED = {"tape", "transform"}, 4        # maximum number of nested derivatives
SIMPLE = ["assign", "number", "update"]     # the only statements after many lines
PLAIN = {"keep", "item"}        # not allowed in functions of `df.while_loop`
NAMING = {"while", "count", "rows", "stacked", "tape", "training", "while loop", "scan", "function",
          "match", "walrus"}    # assign names that a branch inside a `with` must not
HEAD = """
    @df.custom_gradient
    def curved(x, y):
        z = df.tanh(x)
        return z * y, lambda g: (g * y * (1. - z * z), g * z)

    @df.custom_gradient
    def cubed(x, n):
        y = x * 0.5
        for _ in range(2):
            y = y * x

        def gradient(g):
            g = df.while_loop(lambda k, g: k < 2, lambda k, g: (k + 1, g * x), (0, g))[1]
            return g * 1.5, None

        return y, gradient

    def help(x, y):
        if df.reduce_sum(x) > 0.21:
            return x * y
        return y - x
"""


class Writer(written.Writer):
    """Writes the text of `f(s, xs, n, a, b, c)` and of functions that it calls.

    `order` is the order of the derivatives of the program: the higher, the fewer nested tapes.
    """

    kinds = KINDS
    opening = OPENING

    def __init__(self, seed: int, order: int = 0) -> None:
        self.derived = order
        super().__init__(seed)

    def program(self) -> str:
        self.counters: list[str] = []       # of enclosing loops
        self.plain = False                  # in a function of `df.while_loop`
        self.left = int(self.rng.integers(6, 30))       # lines until only simple statements follow
        self.within = 0                     # number of enclosing tape blocks
        self.outlined: list[str] = []       # functions consisting of one statement
        parts = [self.part(k) for k in range(int(self.rng.integers(1, 3)))]
        self.parts = len(parts)
        self.lines = []
        self.block(0, False, 4)
        return textwrap.dedent(HEAD) + "".join(self.outlined) + "".join(parts) + textwrap.dedent("""
            def f(s, xs, n, a, b, c):
                a, b, c = a * 1., b + 0., c * 1.
                e, d = c * 2., {"k": a * 0.5, "m": [b * 0.7, c - 1.]}
                s.kept = c + 0.3
                if n > 7:
                    a = a * 0.5
            """) + textwrap.indent("\n".join(self.lines), "    ") + (
            "\n    return a, b, c, e, d, s.kept\n")

    def part(self, k: int) -> str:
        """Write a function that others call, traced separately or with its caller."""
        self.lines, self.parts, self.plain = [], k, True
        self.derived += 1           # it may be called in a tape block
        self.block(0, False, 3)
        self.derived -= 1
        self.plain = False
        body = textwrap.indent("\n".join(self.lines), "    ").replace("s.kept", "(c * 1.5)")
        self.outlined = [text.replace("s.kept", "(c * 1.5)") for text in self.outlined]
        wrapped = "@wrap\n" if self.rng.integers(2) else ""
        return (f"\n{wrapped}def part{k}(s, xs, n, a, b, c):\n"
                '    e, d = c * 0.7, {"k": a * 0.5, "m": [b * 0.7, c - 1.]}\n'
                f"    if n > 7:\n        a = a * 0.5\n{body}\n    return a * 1., b, c\n")

    def chance(self, of: int) -> bool:
        return not self.rng.integers(of)

    # --- expressions ---

    def number_text(self) -> str:
        return str(self.pick(NUMBERS))

    def vector(self, depth: int = 0) -> str:
        x, y, c = self.pick("ab"), self.pick("ab"), self.pick("ce")
        made = self.pick([
            f"df.tanh({x})", f"{x} * {y} * 0.5", f"{x} - {y}", f"df.sin({x} * {c})",
            f"df.tanh({x}) * {c}", f"{x} @ s.w", f"s.v * {x}", f"s.u * 1.5 - {x}", "d['k'] + 1.",
            f"df.tanh({x} + d['m'][0])", f"{x} / ({y} * {y} + 1.)", "df.tanh(xs[1]) * a",
            f"curved({x}, {y})", f"df.sin(cubed({x}, n))", f"df.sin(s.u * {x}) * {y}"])
        if depth < 2 and self.chance(6):
            made = f"({made} if {self.condition(depth + 1)} else {self.vector(depth + 1)})"
        return str(made)

    def scalar(self) -> str:
        x, c, k = self.pick("ab"), self.pick("ce"), self.number_text()
        return str(self.pick([
            f"df.reduce_sum({x})", f"{c} * 0.5", f"df.sin({c}) + {k}", "s.kept - 1.",
            f"df.tanh({c}) * df.reduce_sum({x} * s.v)", f"d['m'][1] + df.tanh({c})"]))

    def condition(self, depth: int = 0) -> str:
        x, c, k = self.pick("ab"), self.pick("ce"), self.number_text()
        choices = [f"df.reduce_sum({x}) > {k}", f"{c} < {k}", f"-1.17 < {c} <= {k} + 1.", "n > 2",
                   "n > 1", "n < 1"]
        choices += [f"{i} {self.pick(['> 0', '< 1', '% 2 == 0'])}" for i in self.counters]
        made = self.pick(choices)
        if depth < 2 and self.chance(4):
            made = f"({made} {self.pick(['and', 'or'])} {self.condition(depth + 1)})"
        return str(made)

    # --- statements ---

    def block(self, depth: int, inside: bool, most: int) -> None:
        given = self.kinds
        if self.plain:
            self.kinds = {k: w for k, w in self.kinds.items() if k not in PLAIN}
        if self.derived >= DERIVED:
            self.kinds = {k: w for k, w in self.kinds.items() if k not in DERIVING}
        if self.within > 1:
            names = {k: w for k, w in self.kinds.items() if k in NAMING}
            self.kinds = {k: w for k, w in self.kinds.items() if k not in NAMING}
            self.kinds["function of one"] = sum(names.values()) // 2
        if self.left < 0:
            self.kinds = {k: w for k, w in self.kinds.items() if k in SIMPLE}
        super().block(depth, inside, most)
        self.kinds = given

    def add(self, depth: int, line: str) -> None:
        self.left -= 1
        super().add(depth, line)

    def function_of_one(self, depth: int, inside: bool) -> None:
        """Write a statement that assigns names, moved to a separate function."""
        name, lines, within, plain = self.fresh("one"), self.lines, self.within, self.plain
        counters = self.counters
        self.lines, self.within, self.plain, self.counters = [], 0, True, []
        kinds = [k for k in sorted(NAMING) if (depth < self.deepest or k not in self.opening)
                 and (self.derived < DERIVED or k not in DERIVING)]
        getattr(self, self.pick(kinds).replace("while loop", "while_loop"))(depth, False)
        body = textwrap.indent(textwrap.dedent("\n".join(self.lines)), "    ")
        self.outlined.append(f"\ndef {name}(s, xs, n, d, a, b, c, e):\n    if n > 7:\n"
                             f"        a = a * 0.5\n{body}\n    return a, b, c, e\n")
        self.lines, self.within, self.plain, self.counters = lines, within, plain, counters
        n = self.pick(["n", *self.counters])
        self.add(depth, f"a, b, c, e = {name}(s, xs, df.cast({n}, df.int32), d, a, b, c, e)")

    def assign(self, depth: int, inside: bool) -> None:
        if self.chance(6):
            self.add(depth, self.pick(["a, b = b, a", "a = b", "b = a", "a = xs[0]",
                                       "b = d['k'] * 1." if self.plain else "b = d['k']"]))
        else:
            self.add(depth, f"{self.pick('ab')} = {self.vector()}")

    def inner(self, depth: int, inside: bool) -> None:
        self.within += self.within > 0
        self.block(depth + 1, inside, 3)
        self.within -= self.within > 0

    def count(self, depth: int, inside: bool) -> None:
        i = self.fresh("i")
        trips = [*self.counters, f"({self.counters[-1]} + n) % 3"] if self.counters else []
        name = self.pick(["range", "df.range"])
        self.add(depth, f"for {i} in {name}({self.pick(['n', 'n', '2', *trips, *trips])}):")
        if self.chance(2):
            self.add(depth + 1, f"c = c * 0.5 + df.cast({i}, c.dtype) * 0.1")
        if self.chance(3):
            self.add(depth + 1, f"c = c * 0.5 + df.reduce_sum(df.sin(xs[:, {i} % 2]) * c)")
        self.counters.append(i)
        self.inner(depth, True)
        self.counters.pop()
        self.after(depth, inside)

    def rows(self, depth: int, inside: bool) -> None:
        x, i = self.fresh("x"), self.fresh("i")
        line, more = self.pick([(f"for {x} in xs:", x), (f"for {i}, {x} in enumerate(xs):", x),
                                (f"for {x}, {i} in zip(xs, reversed(xs)):", f"({x} - {i})")])
        self.add(depth, line)
        self.add(depth + 1, f"{self.pick('ab')} = df.tanh({self.pick('ab')} + {more})")
        self.inner(depth, True)
        self.after(depth, inside)

    def leave(self, depth: int, inside: bool) -> None:
        """Write a jump; tape blocks and functions of `df.while_loop` contain no return."""
        if inside or not (self.within or self.plain):
            jumps = ["break", "continue", "break"] if inside else []
            returns = [] if self.within or self.plain else [f"return {self.leaves}"]
            self.add(depth, f"if {self.condition()}:")
            self.add(depth + 1, self.pick([*jumps, *returns]))
        else:
            self.number(depth, inside)

    def update(self, depth: int, inside: bool) -> None:
        v = self.pick(["s.v", "s.u"])
        self.add(depth, self.pick([
            f"{v}.assign(df.tanh({self.vector()}))", f"{v}.assign_sub({v} * 0.3)",
            f"{v}.assign_add(df.tanh({self.vector()}) * 0.3)"]))
        self.add(depth, "s.note()")

    def draw(self, depth: int, inside: bool) -> None:
        self.add(depth, f"{self.pick('ab')} = b + s.g.normal([2], dtype=a.dtype)")

    def stop(self, depth: int, inside: bool) -> None:
        self.add(depth, f"{self.pick('ab')} = {self.vector()} + s.stop({self.pick('ab')})")

    def function(self, depth: int, inside: bool) -> None:
        """Write a nested function that returns early and reads names of enclosing scopes."""
        name, x = self.fresh("inner"), self.pick("ab")
        self.add(depth, f"def {name}(z):")
        self.add(depth + 1, f"if df.reduce_sum(z) > {self.number_text()}:")
        self.add(depth + 2, f"return df.tanh(z) * {self.pick(['c', 'b', 's.v', 's.u'])}")
        self.add(depth + 1, f"return z * 0.5 - {self.pick('ab')}")
        self.add(depth, f"{x} = {name}({self.vector()})")

    def call(self, depth: int, inside: bool) -> None:
        """Write a call of a function, which has its own variables and loops."""
        if not self.parts:
            return self.help(depth, inside)
        n = self.pick(["n", *self.counters])
        names = self.pick(["a, b, c", "b, a, e", "a, _, c"])
        return self.add(depth, f"{names} = {self.of_part(n, 'a', 'b')}")

    def of_part(self, n: str, a: str, b: str) -> str:
        k = int(self.rng.integers(self.parts))
        return f"part{k}(s, xs, df.cast({n}, df.int32), {a}, {b}, c)"

    def match(self, depth: int, inside: bool) -> None:
        self.add(depth, f"match {self.pick(['n', *self.counters])}:")
        for case in ["0", "1 | 2", "_"]:
            self.add(depth + 1, f"case {case}:")
            self.add(depth + 2, f"{self.pick('ab')} = {self.vector()}")
            self.inner(depth + 1, inside)

    def walrus(self, depth: int, inside: bool) -> None:
        q = self.fresh("q")
        self.add(depth, f"if ({q} := {self.scalar()}) > {self.number_text()}:")
        self.add(depth + 1, f"{self.pick('ab')} = {self.pick('ab')} * df.tanh({q})")
        self.inner(depth, inside)

    # --- control flow functions ---

    def cond(self, depth: int, inside: bool) -> None:
        self.add(depth, f"{self.pick('ab')} = df.cond({self.condition()}, lambda: {self.vector()}, "
                        f"lambda: {self.vector()})")

    def body(self, depth: int, head: str, last: str) -> str:
        """Write a function of loop variables."""
        name = self.fresh("body")
        self.add(depth, f"def {name}{head}:")
        plain, self.plain = self.plain, True
        within, self.within = self.within, 0
        counters, self.counters = self.counters, self.counters + ["k"] * head.startswith("(k")
        if not head.startswith("(k"):
            self.add(depth + 1, "a, b, c, e = carry")
            self.add(depth + 1, "a = df.tanh(a + row)")
        self.inner(depth, False)
        self.add(depth + 1, f"return {last}")
        self.plain, self.within, self.counters = plain, within, counters
        return name

    def while_loop(self, depth: int, inside: bool) -> None:
        name = self.body(depth, "(k, a, b, c, e)", "k + 1, a, b, c, e")
        test = f"k < {self.pick(['n', '2', *self.counters])}"
        if self.chance(3):
            test = f"df.logical_and({test}, df.reduce_sum(a) < {self.number_text()})"
        self.add(depth, f"_, a, b, c, e = df.while_loop(lambda k, a, b, c, e: {test}, {name}, "
                        f"(0, a, b, c, e), recompute={self.chance(4)})")

    def scan(self, depth: int, inside: bool) -> None:
        name = self.body(depth, "(carry, row)", "(a, b, c, e), b * c")
        ys = self.fresh("ys")
        self.add(depth, f"(a, b, c, e), {ys} = df.scan({name}, (a, b, c, e), xs, "
                        f"reverse={self.chance(2)})")
        self.add(depth, f"b = b + df.reduce_sum(df.sin({ys}), 0)")

    # --- derivatives ---

    def apart(self, depth: int, watched: Sequence[str]) -> None:
        """Copy all other names, so that none refers to a tensor that a tape is about to watch."""
        others = [x for x in "abce" if x not in watched]
        self.add(depth, f"{', '.join(others)} = {', '.join([f'{x} * 1.' for x in others])}")
        if not self.plain:
            self.add(depth, "d['k'], s.kept = d['k'] * 1., s.kept * 1.")
            self.add(depth, "d['m'] = [d['m'][0] * 1., d['m'][1] * 1.]")

    def tape(self, depth: int, inside: bool) -> None:
        t, y, g = self.fresh("t"), self.fresh("y"), self.fresh("g")
        watched = self.pick([["a"], ["b"], ["a", "c"], ["b", "e"], ["a", "b"]])
        sources = [self.fresh("w") for _ in watched]
        persistent = self.chance(3)
        if len(watched) > 1 or self.chance(3):
            self.add(depth, f"{', '.join(watched)} = {', '.join([f'{x} * 1.' for x in watched])}")
        self.apart(depth, watched)
        late = persistent and self.chance(2)
        if depth or self.chance(2):     # a `with` may not assign names, so in a loop all
            self.add(depth, f"{y}, {g} = c, [a]")    # names that it assigns need a value before it
            self.add(depth, f"{', '.join(sources)}, = {', '.join(watched)},")
        self.add(depth, f"with df.GradientTape({'persistent=True' * persistent}) as {t}:")
        if self.chance(4):      # computed before the watch: not differentiated
            self.add(depth + 1, f"e = df.reduce_sum({watched[0]}) * e")
        self.add(depth + 1, f"{', '.join(sources)} = {', '.join(watched)}")
        self.add(depth + 1, f"{t}.watch([{', '.join(sources)}])")
        self.within += 1
        self.derived += 1
        self.block(depth + 1, False, 4)
        self.derived -= 1
        self.within -= 1
        if self.chance(3):
            self.add(depth + 1, f"with {t}.stop_recording():")
            self.add(depth + 2, f"{self.pick('ab')} = {self.vector()}")
        self.add(depth + 1, f"{y} = df.reduce_sum(df.sin({self.pick('ab')}) * "
                            f"{self.vector()}) + {self.pick('ce')}")
        at = depth + 1 if late else depth
        if self.chance(3):
            sources += [self.pick(["s.v", "s.u"])]
        kind = "gradient" if len(sources) > 1 or self.chance(2) else "jacobian"
        target = y if kind == "gradient" else self.pick([y, "a"])
        self.add(at, f"{g} = {t}.{kind}({target}, [{', '.join(sources)}], "
                       "unconnected_gradients='zero')")
        if persistent and self.chance(2):
            self.add(at, f"c = c + df.reduce_sum({t}.gradient([{y}, a], {sources[0]}, "
                           "unconnected_gradients='zero')) * 0.1")
        x = self.pick("ab")
        self.add(depth, f"{x} = {x} + df.tanh(df.add_n([df.reduce_sum(z * z) for z in {g}])) * "
                        f"{self.pick(['a', 'b', '0.3'])}")
        if self.chance(2):
            self.add(depth, f"e = e * 0.5 + df.tanh(df.reduce_sum({g}[0]))")

    def training(self, depth: int, inside: bool) -> None:
        """Write an optimizer step, which leaves variables without a gradient unchanged."""
        t, y = self.fresh("t"), self.fresh("y")
        v, u = self.pick([("s.v", "s.u"), ("s.u", "s.v")])
        self.add(depth, f"{y} = c")
        self.add(depth, f"with df.GradientTape() as {t}:")
        self.add(depth + 1, f"{y} = df.reduce_sum(df.sin({v} * a))")
        self.add(depth + 1, f"if {self.condition()}:")
        self.add(depth + 2, f"{y} = {y} + df.reduce_sum({u} * {self.vector()})")
        self.add(depth, f"s.{self.pick(['sgd', 'adam'])}.apply_gradients(zip({t}.gradient({y}, "
                        f"[{v}, {u}]), [{v}, {u}]))")
        self.add(depth, "s.note()")

    def transform(self, depth: int, inside: bool) -> None:
        x = self.pick("ab")
        y = "b" if x == "a" else "a"
        several = self.derived + 2 <= DERIVED
        f = self.of_part("n", "z", y) + "[0]" if several and self.parts and self.chance(2) else (
            self.pick([
            f"df.tanh(z) * {y}", f"help(z, {y})", "curved(z, s.v)", "df.sin(cubed(z, n)) * s.u"]))
        loss = f"lambda z: df.reduce_sum(df.sin({f}))"
        first = [f"{x} = df.jvp(lambda z: {f}, ({x},), ({y},))[1]",
                 f"{x} = {x} - df.grad({loss})({x}) * 0.2",
                 f"{x} = df.tanh(df.vjp(lambda z: {f}, {x})[1]({y})[0])"]
        second = [f"{x} = df.tanh(df.hvp({loss}, ({x},), ({y},))[-1])",
                  f"c = c + df.tanh(df.reduce_sum(df.jvp(df.grad({loss}), ({x},), ({y},))[1]))"]
        self.add(depth, self.pick(first + second * several))


setattr(Writer, "while loop", Writer.while_loop)
setattr(Writer, "function of one", Writer.function_of_one)
