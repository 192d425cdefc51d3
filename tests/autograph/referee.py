"""Python is the referee: what a function gives for numbers, it gives for traced tensors."""

import itertools
import linecache
import textwrap

import dualflow as df
from dualflow.nest import map_structure

_made = itertools.count()


def compiled(text, name="f", **names):
    """A function made of text that tracebacks and converters can find."""
    text = textwrap.dedent(text)
    file = f"<test {next(_made)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    module = {"df": df, **names}
    exec(compile(text, file, "exec"), module)
    return module[name]


def forget(f):
    """Drop the text of a function, of which a long run makes many."""
    linecache.cache.pop(f.__code__.co_filename, None)


def tensor(x):
    """A number or a list of numbers as a tensor, as precise as Python's."""
    some = x
    while isinstance(some, list):
        some = some[0]
    return df.constant(x, df.float64 if isinstance(some, float) else None)


def numbers(x):
    """What a function returned, as numbers."""
    def leaf(y):
        return y.tolist() if isinstance(y, df.TensorBase) else y

    return map_structure(leaf, x)


def check(f, *calls, **options):
    """Compares the calls of a function, each a tuple of numbers and lists, with those of what
    `df.function` makes of it."""
    traced = df.function(f, **options)
    for args in calls:
        want = f(*args)
        given = [tensor(x) for x in args]
        eager = numbers(f(*given))
        got = numbers(traced(*given))
        assert got == want == eager, f"{args}: {got}, want {want}, eagerly {eager}"
