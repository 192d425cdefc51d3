"""Random programs that read Python's state, which changes between calls.

A program has a module with globals, classes, helpers, lists and dicts, all of text that is
executed, and a function that reads some of them. After each of a sequence of changes the traced
function, with passes and without, must do what eager mode does.
"""

import itertools
import types

import numpy as np

import dualflow as df

MODULE = """
class Part:
    scale = {a}
    flag = True

    def __init__(self, k):
        self.k, self.on, self.act, self.parts = k, True, df.tanh, []
        self.options = {{"rate": {b}, "inner": {{"n": 2}}}}

    def rate(self):
        return self.k * self.scale

    @property
    def doubled(self):
        return self.k * 2.0

    @classmethod
    def of_class(cls, x):
        return x * cls.scale

    @staticmethod
    def moved(x):
        return x + G

    def call(self, x):
        y = self.act(x * self.k) if self.on else x
        for part in self.parts:
            y = part.call(y) + part.k
        return y


class Slotted:
    __slots__ = ("k", "net")

    def __init__(self, k, net):
        self.k, self.net = k, net


G, FLAG, WORD = {a}, True, "a"
LIST = [{a}, {b}]
CFG = {{"k": {c}, "on": True, "list": [{a}]}}
NET = Part({c})
NET.parts += [Part({a}), Part({b})]
SLOTS = Slotted({b}, NET.parts[0])
TENSOR = df.constant([{a}, {b}, {c}])


def helper(x, box=CFG, *, power=2):
    return x * box["k"] if FLAG else x ** power


def number():
    return G + len(LIST)


def maker():
    count = {b}

    def change(value):
        nonlocal count
        count = value

    def f(x):
        return x * count

    return f, change


closure, set_count = maker()
"""

READS = [
    "x * G", "x + NET.k", "NET.call(x)", "x * NET.rate()", "x - NET.doubled", "helper(x)",
    "x + number()", "closure(x)", "x * CFG['k']", "x + sum(LIST)", "x * len(CFG)",
    "Part.of_class(x)", "Part.moved(x)", "x * SLOTS.k + SLOTS.net.k", "x + TENSOR",
    "x * NET.options['rate'] + NET.options['inner']['n']", "(x if WORD == 'a' else -x)",
    "x * getattr(NET, 'k')", "df.add_n([x * v for v in LIST] + [x])",
    "df.add_n([part.call(x) for part in NET.parts] + [x])", "list(map(helper, [x, x]))[1]",
    "x * NET.parts[0].k", "(x * CFG['list'][0] if CFG['on'] else x)", "NET.act(x)",
    "x * max([part.k for part in NET.parts] + [0.])", "x + Part.scale",
    "df.cond(df.reduce_sum(x) > 0., lambda: x * NET.k, lambda: x + G)", "inner(x)",
]
CHANGES = [
    "G = {}", "FLAG = not FLAG", "WORD = 'b' if WORD == 'a' else 'a'", "LIST.append({})",
    "LIST[0] = {}", "LIST = [{}]", "del LIST[1:]", "CFG['k'] = {}", "CFG['on'] = not CFG['on']",
    "CFG['list'][0] = {}", "CFG['more'] = {}", "CFG.pop('more', None)", "NET.k = {}",
    "NET.on = not NET.on", "NET.act = df.sin if NET.act is df.tanh else df.tanh",
    "NET.parts.append(Part({}))", "NET.parts.reverse()", "del NET.parts[1:]", "Part.scale = {}",
    "NET.scale = {}", "vars(NET).pop('scale', None)", "NET = Part({})", "SLOTS.k = {}",
    "SLOTS.net = Part({})", "TENSOR = df.constant([{}, 1., 2.])", "set_count({})",
    "NET.options['inner']['n'] = {}", "NET.options = {{'rate': {}, 'inner': {{'n': 1}}}}",
    "helper = lambda x: x - {}", "number = lambda: {}", "Part.rate = lambda self: {}",
    "NET.call = lambda x: x * {}", "vars(NET).pop('call', None)", "pass",
]


def check(seed):
    """Compare the modes on the program of a seed, after each change."""
    rng = np.random.default_rng([seed, 32])

    def value():
        return repr(float(rng.integers(-8, 9)) / 4)

    module = types.ModuleType("module_of_state")
    module.df = df
    space = vars(module)
    exec(MODULE.format(a=value(), b=value(), c=value()), space)
    reads = [READS[k] for k in rng.permutation(len(READS))[:int(rng.integers(1, 7))]]
    body = "\n".join([f"    x = df.tanh({read})" if rng.integers(2) else f"    x = ({read}) * 0.5"
                      for read in reads])
    exec(f"def deep(x):\n    return x * NET.k\ninner = df.function(deep)\ndef f(x):\n{body}\n"
         "    return x\n", space)
    f = space["f"]
    traced = [df.function(f), df.function(f, passes=False)]
    x = df.constant(rng.normal(size=3).astype(np.float32))
    done = []
    for _ in range(int(rng.integers(2, 9))):
        for g in itertools.chain(traced, traced):
            want, got = outcome(f, x), outcome(g, x)
            assert want == got, f"seed {seed}:\n{body}\nafter {done}: {got}, want {want}"
        done.append(CHANGES[int(rng.integers(len(CHANGES)))].format(value()))
        exec(done[-1], space)


def outcome(f, x):
    """The bits of a result, or the kind of the error."""
    try:
        return f(x).numpy().tobytes()
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        return type(error).__name__
