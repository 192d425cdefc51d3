"""Python operations on numbers and sizes have the same results in traced functions as in eager
mode: on the first call, on the second, when the number has become a program input, and later.

The method tests list the methods of int and float at run time, so new Python methods are covered.
"""

import contextlib
import copy
import decimal
import fractions
import functools
import io
import itertools
import json
import math
import numbers
import operator
import pickle
import random
import struct
import warnings

import numpy as np
import pytest

import dualflow as df

INTS = [3, 4, 1, 7, 3, 2, 12, 7]
FLOATS = [.5, 1.5, 2., -3.25, .5, 0., -0., 8., .1]
SIZES = [3, 5, 1, 4, 2, 3, 6, 4]


def exact(y):
    """Return a comparable form of a result: types and exact bits."""
    if isinstance(y, df.Tensor):
        return "tensor", y.dtype, y.shape, y.numpy().tobytes()
    if isinstance(y, list | tuple):
        return type(y), tuple([exact(v) for v in y])
    if isinstance(y, dict):
        return type(y), tuple([(exact(k), exact(v)) for k, v in y.items()])
    if isinstance(y, np.ndarray | np.generic):
        return type(y), y.dtype, y.shape, y.tobytes()
    if isinstance(y, float | complex):
        return type(y), repr(y)
    return type(y), y


def outcome(f, *args):
    """Return the result of a call, or the class of its exception."""
    try:
        return exact(f(*args))
    except Exception as error:
        return "raises", next(k for k in type(error).__mro__ if k.__module__ == "builtins")


def check(f, calls, **options):
    """Compare eager and traced outcomes of each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = [outcome(f, *args) for args in calls]
        traced = df.function(f, **options)
        for k, args in enumerate(calls):
            got = outcome(traced, *args)
            assert got == want[k], f"call {k}, {args[1:] or args[0].shape}"


# --- the number protocol ------------------------------------------------------------------------

# Methods of the class or the object, not of its value.
NOT_OF_NUMBERS = {"__doc__", "__new__", "__init__", "__init_subclass__", "__subclasshook__",
                  "__dir__", "__sizeof__", "__class__", "__getattribute__", "__setattr__",
                  "__delattr__", "__reduce__", "__getstate__", "__getformat__", "__setformat__"}
# Arguments to try; every method accepts at least one row.
ARGUMENTS = [(), (2,), (2.5,), (-1,), (2, 5), ("",), ("05",), (3, "big"), (np.float32(2.),),
             (True,)]


def methods(kind):
    return sorted(set(dir(kind)) - NOT_OF_NUMBERS)


def apply_all(value, name):
    """Return the results or exception names of a method for all ARGUMENTS."""
    found = getattr(value, name)
    if not callable(found):
        return found
    results = []
    for args in ARGUMENTS:
        try:
            results.append(found(*args))
        except Exception as error:
            results.append(type(error).__name__)
    return results


def of_method(name):
    def f(x, n):
        return x, apply_all(n, name)
    return f


@pytest.mark.parametrize("name", methods(int))
def test_methods_of_int(name):
    check(of_method(name), [(df.constant([1., 2.]), n) for n in INTS])


@pytest.mark.parametrize("name", methods(float))
def test_methods_of_float(name):
    check(of_method(name), [(df.constant([1., 2.]), n) for n in FLOATS])


@pytest.mark.parametrize("name", methods(int))
def test_methods_of_a_size(name):
    def f(x):
        return x * 2., apply_all(x.shape[0], name)

    check(f, [(df.ones([n, 2]),) for n in SIZES])


# --- programs that use numbers ------------------------------------------------------------------

TABLE = {1: .5, 2: .25, 3: 7., .5: 3., -3.25: 4.}


class Level(int):
    """A user's subclass of int."""


def printed(n):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print("n is", n, [n])
    return out.getvalue()


def matched(n):
    match n:
        case 3 | .5:
            return "this"
        case int():
            return "int"
        case float(v) if v > 1:
            return "large"
        case _:
            return "other"


def cached():
    @functools.lru_cache
    def f(n):
        return n * 2
    return f


CACHED = cached()


def caught(n):
    try:
        return json.dumps(n)
    except TypeError:
        return "?"


PROGRAMS = {
    # keys, hash, membership
    "table": lambda x, n: x * TABLE.get(n, .01),
    "in a set": lambda x, n: x * 2. if n in {3, 5, .5} else x,
    "in a list": lambda x, n: x * 2. if n in [3, 5, .5] else x,
    "in a range": lambda x, n: x * 2. if n in range(2, 4) else x,
    "in a frozen set of pairs": lambda x, n: x * (2. if (n, 1) in {(3, 1), (.5, 1)} else 1.),
    "set of it": lambda x, n: x * float(len({n, 3, .5})),
    "dict by it": lambda x, n: (x, {n: 1, 3: 2, .5: 3}),
    "hash": lambda x, n: (x, hash(n)),
    "hash of a tuple": lambda x, n: (x, hash((n, 2))),
    "index of": lambda x, n: x * float([3, 4, .5, n].index(n)),
    "count of": lambda x, n: (x, [3, n, .5, 3].count(n)),
    "lru_cache": lambda x, n: x * CACHED(n),
    # text
    "str": lambda x, n: (x, str(n)),
    "repr": lambda x, n: (x, repr(n)),
    "f-string": lambda x, n: (x, f"{n}"),
    "f-string with a spec": lambda x, n: (x, f"{n:08.2f}"),
    "f-string as a key": lambda x, n: x * {"n3": 2., "n0.5": 3.}.get(f"n{n}", 1.),
    "format": lambda x, n: (x, "{:>{w}}".format("a", w=n)),
    "percent d": lambda x, n: (x, operator.mod("%d", n)),
    "percent s": lambda x, n: (x, operator.mod("%s and %r", (n, n))),
    "percent f": lambda x, n: (x, operator.mod("%.3f", n)),
    "in a list as text": lambda x, n: (x, str([n, (n,)])),
    "print": lambda x, n: (x, printed(n)),
    "json": lambda x, n: (x, json.dumps({"n": n, "all": [n]})),
    "json caught": lambda x, n: (x, caught(n)),
    "hex": lambda x, n: (x, hex(n)),
    "bin": lambda x, n: (x, bin(n)),
    "chr": lambda x, n: (x, chr(n)),
    # types
    "isinstance int": lambda x, n: x * (2. if isinstance(n, int) else 3.),
    "isinstance float": lambda x, n: x * (2. if isinstance(n, float) else 3.),
    "isinstance Number": lambda x, n: x * (2. if isinstance(n, numbers.Number) else 3.),
    "isinstance Integral": lambda x, n: x * (2. if isinstance(n, numbers.Integral) else 3.),
    "type is": lambda x, n: x * (2. if type(n) is int else 3.),
    "type in a table": lambda x, n: x * {int: 2., float: 3.}.get(type(n), 4.),
    "type called": lambda x, n: (x, type(n)(2)),
    "class": lambda x, n: (x, n.__class__(2)),
    "class name": lambda x, n: (x, type(n).__name__),
    "callable": lambda x, n: (x, callable(n)),
    "hasattr": lambda x, n: (x, hasattr(n, "__len__"), hasattr(n, "shape"), hasattr(n, "real")),
    "hasattr of arrays": lambda x, n: (x, hasattr(n, "__array__"), hasattr(n, "hint")),
    "match": lambda x, n: (x, matched(n)),
    "a method of the class": lambda x, n: (x, int.bit_length(n)),
    # comparisons
    "is None": lambda x, n: x * (2. if n is None else 3.),
    "== None": lambda x, n: x * (2. if n == None else 3.),      # noqa: E711
    "!= None": lambda x, n: x * (2. if n != None else 3.),      # noqa: E711
    "== a word": lambda x, n: x * (2. if n == "3" else 3.),
    "< a word": lambda x, n: x * (2. if n < "3" else 3.),
    "== itself": lambda x, n: x * (2. if n == n else 3.),
    "== a fraction": lambda x, n: x * (2. if n == fractions.Fraction(1, 2) else 3.),
    "== a decimal": lambda x, n: x * (2. if n == decimal.Decimal(3) else 3.),
    "== a complex": lambda x, n: x * (2. if n == 3 + 0j else 3.),
    "== an array": lambda x, n: (x, n == np.arange(4)),
    "< a NumPy scalar": lambda x, n: x * (2. if n < np.float32(2.) else 3.),
    "NumPy scalar <": lambda x, n: x * (2. if np.float32(2.) < n else 3.),
    "six comparisons": lambda x, n: (x, n < 3, n <= 3, n == 3, n != 3, n > 3, n >= 3),
    "chained": lambda x, n: x if 1 < n <= 3 else x * 2.,
    "bool": lambda x, n: x if n else x * 2.,
    "not": lambda x, n: x if not n else x * 2.,
    "and, or": lambda x, n: x * (n or 5.) * (n and 2.),
    "max": lambda x, n: x * max(n, 2),
    "min of several": lambda x, n: x * min(2, n, 3.),
    "sorted": lambda x, n: (x, sorted([2, n, 1.])),
    # conversions
    "int": lambda x, n: x * int(n),
    "float": lambda x, n: x * float(n),
    "complex": lambda x, n: (x, complex(n)),
    "bool()": lambda x, n: (x, bool(n)),
    "round": lambda x, n: x * round(n),
    "round to digits": lambda x, n: (x, round(n, 1)),
    "round to tens": lambda x, n: (x, round(n, -1)),
    "trunc": lambda x, n: (x, math.trunc(n)),
    "floor": lambda x, n: (x, math.floor(n)),
    "ceil": lambda x, n: (x, math.ceil(n)),
    "abs": lambda x, n: (x * abs(n), abs(n)),
    "divmod": lambda x, n: (x, divmod(n, 2), divmod(7, n)),
    "pow": lambda x, n: (x, pow(n, 2), pow(2, n), n ** 3, n ** n),
    "pow by a modulus": lambda x, n: (x, pow(n, 2, 5)),
    "pow of a negative": lambda x, n: (x, (-2) ** n, n ** -1),
    "root of a negative": lambda x, n: (x, (n - 2.) ** .5),
    "sign of zero": lambda x, n: (x, math.copysign(1., n * 0.)),
    # arithmetic
    "returned": lambda x, n: (x, n),
    "returned twice": lambda x, n: {"n": n, "x": x, "twice": [n * 2, (n, n / 2)]},
    "alone": lambda x, n: n,
    "arithmetic": lambda x, n: (x, n + 1, 1 - n, n * 2.5, n / 2, 7 // (n + 20), n % 3, -n, +n),
    "bits": lambda x, n: (x, n & 1, n | 4, n ^ 3, n << 2, n >> 1, ~n),
    "bits of others": lambda x, n: (x, 6 & n, 4 | n, 3 ^ n, 1 << n, 256 >> n),
    "bits of floats": lambda x, n: n << 1.,
    "with a bool": lambda x, n: (x, n + True, True * n, n & True),
    "with a complex": lambda x, n: (x, n * 1j, 1j - n),
    "with a fraction": lambda x, n: (x, n * fractions.Fraction(1, 2), fractions.Fraction(1, 2) - n),
    "with a decimal": lambda x, n: (x, n * decimal.Decimal(2)),
    "with a word": lambda x, n: (x, "ab" * n, n * "c"),
    "with a list": lambda x, n: (x, [1, 2] * n, n * (0,)),
    "sum": lambda x, n: (x, sum([n, n, 1.])),
    "prod": lambda x, n: (x, math.prod([n, 2, n])),
    "reduce": lambda x, n: (x, functools.reduce(operator.mul, [2, n, n])),
    "math": lambda x, n: (x, math.sqrt(abs(n)), math.exp(n), math.isnan(n), math.hypot(n, 2.)),
    "math of ints": lambda x, n: (x, math.gcd(n, 6), math.comb(9, n), math.isqrt(n)),
    "x times": lambda x, n: x * n + n - n / 2,
    "x to the": lambda x, n: x ** n,
    "to the x": lambda x, n: n ** x,
    "x compared": lambda x, n: (x < n, n >= x, x == n),
    "x modulo": lambda x, n: (x % (n + 20), x // (n + 20)),
    # use as a length or an index
    "range": lambda x, n: df.add_n([x] + [x * k for k in range(n)]),
    "index": lambda x, n: x * [1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13.][n],
    "slice": lambda x, n: x * len("abcdefgh"[:n]),
    "index of x": lambda x, n: df.range(20.)[n],
    "slice of x": lambda x, n: df.range(20.)[n:2 * n],
    "bytes": lambda x, n: (x, bytes(n), bytearray(n)),
    "bytes of": lambda x, n: (x, bytes([n])),
    "struct": lambda x, n: (x, struct.pack("<d", n)),
    "enumerate": lambda x, n: (x, list(enumerate("ab", n))),
    "islice": lambda x, n: (x, list(itertools.islice(itertools.count(n), 3))),
    "repeat": lambda x, n: (x, list(itertools.repeat(1, n))),
    "zeros": lambda x, n: df.zeros([n, 2]),
    "reshape": lambda x, n: df.reshape(df.range(12.), [-1, n]),
    "expand_dims": lambda x, n: df.expand_dims(df.ones([2] * 7), n % 7),
    # copies and objects
    "copy": lambda x, n: (x, copy.copy(n), copy.deepcopy([n])),
    "pickle": lambda x, n: (x, pickle.loads(pickle.dumps(n))),
    "Fraction": lambda x, n: (x, fractions.Fraction(n)),
    "Decimal": lambda x, n: (x, decimal.Decimal(n)),
    "subclass": lambda x, n: (x, Level(n)),
    "random": lambda x, n: (x, random.Random(n).random()),
    "partial": lambda x, n: functools.partial(operator.mul, n)(x),
    "closure": lambda x, n: [f(x) for f in [lambda y: y * n, lambda y: y + n]][1],
    "attributes": lambda x, n: (x, n.real, n.imag, n.conjugate()),
    "methods of ints": lambda x, n: (x, n.bit_length(), n.numerator, n.to_bytes(2, "big")),
    "methods of floats": lambda x, n: (x, n.is_integer(), n.hex(), n.as_integer_ratio()),
    "no such method": lambda x, n: n.no_such_method(),
    # NumPy
    "np.cos": lambda x, n: (x, np.cos(n)),
    "np.array": lambda x, n: (x, np.array(n), np.array([n, 2])),
    "np.float64": lambda x, n: (x, np.float64(n), np.float32(n), np.int64(n)),
    "np.float32 times": lambda x, n: (x, np.float32(2.) * n, n * np.float32(2.), n + np.int64(1)),
    "np.float64 times": lambda x, n: (x * (np.float64(2.) * n), n / np.float64(3.)),
    "array times": lambda x, n: (x, np.arange(3) * n, n - np.ones(2, np.float32)),
    "np.add": lambda x, n: (x, np.add(n, 1), np.maximum(n, 2)),
    "np.zeros": lambda x, n: (x, np.zeros(n), np.arange(n), np.full(2, n)),
    "np.random": lambda x, n: (x, np.random.default_rng(n).random()),
    "np.bool_": lambda x, n: (x, n * np.bool_(True), np.bool_(True) - n, x * (n + np.bool_(True))),
    "NumPy scalars on the right": lambda x, n: (
        x * (n + np.int64(4)), n - np.int32(2), n / np.float16(3.), n // np.int8(3),
        n % np.uint8(3), n ** np.float32(2.), divmod(n, np.int64(3))),
    "NumPy scalars on the left": lambda x, n: (
        x * (np.int64(4) - n), np.int32(2) + n, np.float16(3.) / (n + 20), np.int8(3) // (n + 20),
        np.uint8(3) % (n + 20), np.float32(2.) ** n, divmod(np.int64(3), n + 20)),
    "NumPy scalars compared": lambda x, n: (
        n < np.int64(3), np.int64(3) < n, n == np.float32(.5), np.float32(.5) != n,
        n >= np.bool_(True), np.bool_(True) <= n, n != np.float64(3.)),
    "bits of NumPy scalars": lambda x, n: (
        n & np.int64(6), np.int64(6) | n, n ^ np.int32(3), n << np.int64(1), n >> np.int64(1),
        np.int64(1) << n),
    # tensors
    "constant": lambda x, n: (df.constant(n), df.constant([n, 2]), df.constant([[n], [.1]])),
    "constant of float64": lambda x, n: (df.constant(n, df.float64),
                                         df.constant([n, .1], df.float64)),
    "constant of an array": lambda x, n: df.constant(np.array([n, 1.])),
    "cast": lambda x, n: df.cast(n, df.float64),
    "fill": lambda x, n: df.fill([2], n) * x,
    "where": lambda x, n: df.where(x > n, x, n),
    "of float16": lambda x, n: df.cast(x, df.float16) * n,
    "of float64": lambda x, n: df.cast(x, df.float64) * n + x * n,
    "of int64": lambda x, n: df.cast(x, df.int64) * n,
    "of bool": lambda x, n: (x > 1.) * n,
    "leaky_relu": lambda x, n: df.nn.leaky_relu(x - 2., alpha=n),
    "df.range": lambda x, n: df.range(n),
    "df.print": lambda x, n: df.print("n", n, output_stream=io.StringIO()) or x * n,
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("values", [INTS, FLOATS], ids=["int", "float"])
def test_programs(program, values):
    x = df.constant([1., 2., 3.])
    check(PROGRAMS[program], [(x, n) for n in values])


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_sizes(program):
    f = PROGRAMS[program]
    check(lambda x: f(df.reduce_sum(x, 0), x.shape[0]), [(df.ones([n, 2]),) for n in SIZES])


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_numpy_scalars(program):
    f = PROGRAMS[program]
    for kind, values in [(np.float64, FLOATS), (np.float32, FLOATS[:4]), (np.int64, INTS[:4])]:
        check(f, [(df.constant([1., 2., 3.]), kind(n)) for n in values[:5]])


SCALARS = [np.int64(4), np.int32(4), np.int8(4), np.uint16(4), np.float16(4.), np.float32(4.),
           np.float64(4.), np.bool_(True)]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: type(scalar).__name__)
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv, operator.floordiv,
                                operator.mod, operator.pow, operator.ge])
def test_sizes_with_numpy_scalars_share_traces(op, scalar):
    for f in [lambda n: op(n, scalar), lambda n: op(scalar, n)]:
        traced = df.function(lambda x, f=f: x * (2. if f(x.shape[0]) else 3.) if op is operator.ge
                             else x * f(x.shape[0]))
        for n in range(2, 8):
            traced(df.ones([n]))
        assert traced.experimental_get_tracing_count() <= 4

# --- programs that use shapes -------------------------------------------------------------------

SHAPES = {
    "in a table": lambda x: x * {(3, 2): 2., (4, 2): 5.}.get(x.shape, 1.),
    "in a set": lambda x: x * (2. if x.shape in {(3, 2), (1, 2)} else 3.),
    "equal": lambda x: x * (2. if x.shape == (3, 2) else 3.),
    "unequal": lambda x: x * (2. if x.shape != (3, 2) else 3.),
    "less": lambda x: x * (2. if x.shape < (4,) else 3.),
    "hash": lambda x: (x, hash(x.shape)),
    "str": lambda x: (x, str(x.shape), f"{x.shape}", repr(x.shape)),
    "joined": lambda x: (x, "x".join(map(str, x.shape))),
    "returned": lambda x: (x, x.shape, list(x.shape), {"shape": x.shape[:1]}),
    "in": lambda x: x * (2. if 3 in x.shape else 3.),
    "count and index": lambda x: (x, x.shape.count(3), x.shape.index(2)),
    "unpacked": lambda x: (lambda n, m: x * (n + m))(*x.shape),
    "prod": lambda x: (x, math.prod(x.shape), np.prod(x.shape), sum(x.shape), max(x.shape)),
    "sorted": lambda x: (x, sorted(x.shape)),
    "added": lambda x: df.zeros((1, *x.shape)),
    "np.zeros": lambda x: df.constant(np.zeros(x.shape, np.float32)) + x,
    "np.array": lambda x: (x, np.array(x.shape), np.asarray(x.shape[0])),
    "len": lambda x: x * float(len(x)),
    "size": lambda x: (x * x.size, x.size, x.nbytes),
    "None": lambda x: x * (2. if None in x.shape else 3.),
    "is None": lambda x: df.reshape(x, [-1 if d is None else d for d in x.shape]),
    "types": lambda x: x * (2. if all(type(d) is int for d in x.shape) else 3.),
    "all ints": lambda x: x * (2. if all(isinstance(d, int) for d in x.shape) else 3.),
    "json": lambda x: (x, json.dumps(x.shape)),
    "cached": lambda x: x * cached_area(x.shape),
    "broadcast": lambda x: (x, np.broadcast_shapes(x.shape, (1, 1))),
    "range": lambda x: df.add_n([x[k] for k in range(x.shape[0])]),
    "half": lambda x: x[:x.shape[0] // 2] if x.shape[0] % 2 == 0 else x[x.shape[0] >> 1:],
    "power of two": lambda x: df.zeros([1 << (x.shape[0] - 1).bit_length(), 2]),
    "padded": lambda x: df.pad(x, [[0, -x.shape[0] % 8], [0, 0]]),
    "scaled": lambda x: x / math.sqrt(x.shape[0]) * x.shape[0] ** -.5,
    "zip": lambda x: df.add_n([x * float(d * k) for k, d in enumerate(x.shape)]),
    "printed": lambda x: (x, printed(x.shape)),
    "size of a mean": lambda x: df.reduce_sum(x) / (x.shape[0] * x.shape[1]),
    "divided": lambda x: (x, 12 / (x.shape[0] - 20), 6 % x.shape[0]),
    "refused": lambda x: x if x.shape[0] == 3 else x * (1 / (x.shape[0] - 3)),
}


@functools.lru_cache
def cached_area(shape):
    return shape[0] * shape[1]


@pytest.mark.parametrize("program", SHAPES)
def test_programs_of_shapes(program):
    calls = [(df.ones([n, 2]),) for n in SIZES]
    check(SHAPES[program], calls)
    check(SHAPES[program], calls, input_signature=[df.TensorSpec([None, 2])])
