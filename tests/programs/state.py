"""Random programs that read Python state, which changes between calls.

A program is a module with globals, classes, helpers, lists and dicts, generated as text, and a
function that reads some of them. After each change the traced function, with and without passes,
must match eager mode.
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
        self.state = df.constant({c})
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
SAME = TENSOR
TENSORS = [TENSOR * 2., df.constant({a}), df.constant([{b}, 1., {c}])]
PAIR = TENSORS[1], TENSORS[2]
NET.state = df.constant([{c}, {b}, {a}])
CFG["tensor"] = df.constant({b})
COUNT = df.constant(2)


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


@df.custom_gradient
def with_rule(x):
    return x * NET.state, lambda g: g * NET.state * TENSOR


def in_loop(x):
    x = df.reshape(x, [-1])[:3]
    n = df.reduce_sum(df.cast(x > 0., df.int32))
    return df.while_loop(lambda k, y: k < n, lambda k, y: (
        k + 1, df.tanh(df.reshape(y * NET.state, [-1])[:3]) + CFG["tensor"]), [0, x])[1]


def tensor_maker():
    t = df.constant({c})

    def change(value):
        nonlocal t
        t = value

    return lambda x: x - t, change


closure, set_count = maker()
with_tensor, set_tensor = tensor_maker()
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
READS_OF_TENSORS = [
    "x * TENSOR", "x + SAME - TENSOR", "x * NET.state", "x + CFG['tensor']", "x * TENSORS[1]",
    "df.add_n([x * t for t in TENSORS])", "x * PAIR[0] + PAIR[1]", "x * int(COUNT)",
    "x * df.cast(COUNT, x.dtype)", "x * (2. if COUNT > 1 else 3.)", "in_loop(x)",
    "df.cond(df.reduce_sum(x) > 0., lambda: x * df.reduce_sum(NET.state), "
    "lambda: x + df.reduce_max(TENSOR))",
    "x + df.reshape(TENSOR, [-1])[:3]", "(x if NET.state is None else x * NET.state)",
    "with_rule(x)", "x + df.reduce_sum(df.zeros([COUNT]) + 1.)", "with_tensor(x)",
    "x * len(TENSOR.shape)", "inner_of_tensor(x)", "(NET.state + x if NET.on else TENSOR * x)",
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
CHANGES_OF_TENSORS = [
    "TENSOR = df.constant([{}, 1., 2.])", "TENSOR = df.constant([2., {}, 0.5])",
    "NET.state = df.constant([1., {}, 2.])", "NET.state = NET.state * {}", "NET.state = TENSOR",
    "NET.state = df.constant({})", "CFG['tensor'] = df.constant({})", "CFG['tensor'] = {}",
    "TENSORS[1] = df.constant({})", "TENSORS[0] = TENSORS[2]", "TENSORS.append(df.constant({}))",
    "PAIR = PAIR[1], df.constant({})", "SAME = TENSOR", "SAME = df.constant([{}, 3., 4.])",
    "COUNT = COUNT + 1", "COUNT = df.constant(1)", "TENSOR = df.constant([[{}], [1.], [2.]])",
    "NET.state = df.constant([[1., {}, 2.]])", "NET.on = not NET.on", "set_tensor(df.constant({}))",
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
    all_reads, all_changes = READS, CHANGES
    if seed % 2:
        all_reads, all_changes = READS_OF_TENSORS, CHANGES_OF_TENSORS
        if rng.integers(3) == 0:
            all_reads, all_changes = READS + READS_OF_TENSORS, CHANGES + CHANGES_OF_TENSORS
    reads = [all_reads[k] for k in rng.permutation(len(all_reads))[:int(rng.integers(1, 7))]]
    body = "\n".join([f"    x = df.tanh({read})" if rng.integers(2) else f"    x = ({read}) * 0.5"
                      for read in reads])
    exec("def deep(x):\n    return x * NET.k\ninner = df.function(deep)\n"
         "inner_of_tensor = df.function(lambda x: df.sin(x * TENSOR) - NET.state)\n"
         f"def f(x):\n{body}\n    return x\n", space)
    f = space["f"]
    traced = [df.function(f), df.function(f, passes=False)]
    x = df.constant(rng.normal(size=3).astype(np.float32))
    done = []
    for _ in range(int(rng.integers(2, 9))):
        for g in itertools.chain(traced, traced):
            tape = seed % 4 == 3 and rng.integers(2) == 0
            want, got = outcome(f, x, tape and space), outcome(g, x, tape and space)
            assert same(want, got), f"seed {seed}:\n{body}\nafter {done}: {got}, want {want}"
        done.append(all_changes[int(rng.integers(len(all_changes)))].format(value()))
        exec(done[-1], space)


def same(want, got):
    """Return True if two outcomes are equal. One tensor may be found in two places: the terms of
    its gradient are then added in another order, so gradients are compared with a tolerance."""
    if not isinstance(want, list) or not isinstance(got, list):
        return want == got
    return want[0].tobytes() == got[0].tobytes() and all(
        (a is None) == (b is None) and (a is None or np.allclose(a, b, 1e-4, 1e-4, equal_nan=True))
        for a, b in zip(want, got, strict=True))


def outcome(f, x, space):
    """Return the bits of a result, or the kind of the error; given the module of the program, the
    result and the gradients with respect to its argument and the tensors of the module."""
    try:
        if not space:
            return f(x).numpy().tobytes()
        sources = [x, space["TENSOR"], space["NET"].state, space["CFG"]["tensor"]]
        sources = [s for s in sources if isinstance(s, df.Tensor)]
        with df.GradientTape() as tape:
            for s in sources:
                tape.watch(s)
            y = f(x)
        gradients = tape.gradient(y, sources)
        return [t if t is None else df.convert_to_tensor(t).numpy() for t in (y, *gradients)]
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        return type(error).__name__
