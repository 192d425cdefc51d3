"""Comparison with Python: results of a function are equal for tensors, eager and traced, and for
Python numbers."""

import itertools
import linecache
import textwrap

import dualflow as df
from dualflow.nest import map_structure

_made = itertools.count()


def compiled(text, name="f", **names):
    """Return a function compiled from text that tracebacks and converters can find."""
    text = textwrap.dedent(text)
    file = f"<test {next(_made)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    module = {"df": df, **names}
    exec(compile(text, file, "exec"), module)
    return module[name]


def forget(f):
    """Drop the source text of a function; long runs compile many functions."""
    linecache.cache.pop(f.__code__.co_filename, None)


def tensor(x):
    """Convert a number or a nested list of numbers to a tensor with Python's precision."""
    some = x
    while isinstance(some, list):
        some = some[0]
    return df.constant(x, df.float64 if isinstance(some, float) else None)


def numbers(x):
    """Convert the result of a function to numbers."""
    def leaf(y):
        return y.tolist() if isinstance(y, df.TensorBase) else y

    return map_structure(leaf, x)


def check(f, *calls, **options):
    """Compare calls of a function with numbers, eager tensors and traced tensors; the arguments of
    a call are numbers and lists."""
    traced = df.function(f, **options)
    for args in calls:
        want = f(*args)
        given = [tensor(x) for x in args]
        eager = numbers(f(*given))
        got = numbers(traced(*given))
        assert got == want == eager, f"{args}: {got}, expected {want}, eager {eager}"
