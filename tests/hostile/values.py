"""Invalid values: wrong types, numbers out of every range, unusual arrays, and objects whose
methods lie, raise, or mutate the container being read."""

import array
import ctypes
import decimal
import fractions

import numpy as np

import dualflow as df


class EvilError(Exception):
    """Raised by the objects below; callers may let it propagate."""


class Raises:
    """Raises an exception in every method."""

    def _raise(self, *args):
        raise EvilError("raised on purpose")

    __len__ = __iter__ = __getitem__ = __index__ = __int__ = __float__ = __bool__ = _raise
    __eq__ = __hash__ = __array__ = __dlpack__ = __contains__ = __call__ = _raise
    __le__ = __lt__ = __ge__ = __gt__ = __add__ = __radd__ = __mul__ = __rmul__ = _raise

    def __repr__(self):
        return "Raises()"


class Lies:
    """Returns values of the wrong type or size."""

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([1])

    def __getitem__(self, i):
        return self

    def __index__(self):
        return 2**70

    def __float__(self):
        return float("nan")

    def __eq__(self, other):
        return "yes"

    def __hash__(self):
        return -1

    def __array__(self, dtype=None, copy=None):
        return "not an array"

    def __dlpack__(self, **options):
        return "not a capsule"

    def __repr__(self):
        return "Lies()"


class Clearing(float):
    """A number that empties its list when it is converted."""

    def __new__(cls, around):
        self = super().__new__(cls, 1.0)
        self.around = around
        return self

    def __float__(self):
        self.around.clear()
        return 1.0

    def __le__(self, other):
        self.around.clear()
        return True

    __lt__ = __ge__ = __gt__ = __eq__ = __le__
    __hash__ = float.__hash__

    def __bool__(self):
        self.around.clear()
        return True


class ClearingInt(int):
    def __new__(cls, around):
        self = super().__new__(cls, 1)
        self.around = around
        return self

    def __index__(self):
        self.around.clear()
        return 1

    __int__ = __index__
    __float__ = Clearing.__float__
    __le__ = __lt__ = __ge__ = __gt__ = __eq__ = Clearing.__le__
    __bool__ = Clearing.__bool__
    __hash__ = int.__hash__


class Grows(list):
    """A list that changes each time it is read."""

    def __iter__(self):
        self.append(1)
        return super().__iter__()

    def __len__(self):
        return 2**40


def clearing(kind, n=200):
    around = []
    around.extend([kind(around)] + [float(k) for k in range(n)])
    return around


def clearing_rows(kind):
    around = []
    around.extend([[kind(around), 2.0], [3.0, 4.0], [5.0, 6.0]])
    return around


def itself():
    x = [1.0]
    x.append(x)
    return x


def deep(n):
    x = 1.0
    for _ in range(n):
        x = [x]
    return x


def self_containing_dict():
    x = {}
    x["x"] = x
    return x


def rank(n):
    return df.reshape(df.constant(1.0), [1] * n)


def read_only():
    x = np.arange(6.0, dtype="float32").reshape(2, 3)
    x.flags.writeable = False
    return x


# name -> callable that creates a new value
VALUES = {
    "None": lambda: None,
    "NotImplemented": lambda: NotImplemented,
    "Ellipsis": lambda: ...,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "3": lambda: 3,
    "-2**31-1": lambda: -2**31 - 1,
    "2**40": lambda: 2**40,
    "2**63-1": lambda: 2**63 - 1,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -2**63,
    "2**64": lambda: 2**64,
    "10**30": lambda: 10**30,
    "1.5": lambda: 1.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-0.0": lambda: -0.0,
    "1e300": lambda: 1e300,
    "1j": lambda: 1j,
    "str": lambda: "a",
    "empty str": lambda: "",
    "surrogate": lambda: "\ud800",
    "zero char": lambda: "a\0b",
    "bytes": lambda: b"12",
    "bytearray": lambda: bytearray(b"12"),
    "type": lambda: int,
    "type of an array": lambda: np.float64,
    "class": lambda: Lies,
    "object": object,
    "function": lambda: lambda *args: args[0] if args else None,
    "raising function": lambda: Raises()._raise,
    "generator": lambda: (k for k in range(3)),
    "iterator": lambda: iter([1, 2]),
    "map": lambda: map(int, "12"),
    "module": lambda: array,
    "exception": lambda: ValueError("x"),
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1.0},
    "dict of itself": self_containing_dict,
    "slice": lambda: slice(None, 2**70),
    "range": lambda: range(3),
    "Decimal": lambda: decimal.Decimal("NaN"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "[]": list,
    "()": tuple,
    "[[]]": lambda: [[]],
    "[None]": lambda: [None],
    "['a']": lambda: ["a"],
    "[nan]": lambda: [float("nan")],
    "[-1]": lambda: [-1],
    "[-5, 2]": lambda: [-5, 2],
    "[0, 0]": lambda: [0, 0],
    "[2**62, 2**62]": lambda: [2**62, 2**62],
    "[2**64]": lambda: [2**64],
    "[1.5]": lambda: [1.5],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "itself": itself,
    "deep": lambda: deep(300),
    "very deep": lambda: deep(50_000),
    "long": lambda: [0] * 300,
    "Raises": Raises,
    "[Raises]": lambda: [Raises()],
    "Lies": Lies,
    "[Lies]": lambda: [Lies()],
    "Grows": lambda: Grows([1, 2]),
    "clearing floats": lambda: clearing(Clearing),
    "clearing ints": lambda: clearing(ClearingInt),
    "clearing rows": lambda: clearing_rows(Clearing),
    "clearing int rows": lambda: clearing_rows(ClearingInt),
    "tensor": lambda: df.constant([[1.0, 2.0], [3.0, 4.0]]),
    "ones (3,)": lambda: df.constant([1.0, 2.0, 3.0]),
    "scalar tensor": lambda: df.constant(-7),
    "bool tensor": lambda: df.constant([True, False]),
    "int8 tensor": lambda: df.constant([-128, 127], "int8"),
    "int64 tensor": lambda: df.constant([2**62, -2**63], "int64"),
    "float16 tensor": lambda: df.cast(df.constant([1.0, 2.0]), df.float16),
    "bfloat16 tensor": lambda: df.cast(df.constant([1.0, 2.0]), df.bfloat16),
    "float64 tensor": lambda: df.constant(np.array([1.0, np.nan])),
    "zero-size tensor": lambda: df.zeros((0, 3)),
    "(0, 2**40) tensor": lambda: df.zeros((0, 2**40)),
    "(2, 0, 2) ints": lambda: df.zeros((2, 0, 2), df.int32),
    "rank 254": lambda: rank(254),
    "rank 65": lambda: rank(65),
    "variable": lambda: df.Variable([1.0, 2.0]),
    "int variable": lambda: df.Variable([1, 2]),
    "spec": lambda: df.TensorSpec([None, 3]),
    "dtype": lambda: df.float32,
    "numpy dtype": lambda: np.dtype(">f4"),
    "read-only array": read_only,
    "swapped array": lambda: np.arange(3, dtype=">f4"),
    "strided array": lambda: np.arange(12.0)[::-3],
    "broadcast array": lambda: np.broadcast_to(np.float32(1), (2, 3)),
    "fortran array": lambda: np.asfortranarray(np.ones((2, 3))),
    "unaligned array": lambda: np.frombuffer(bytes(17), "uint8")[1:].view("float32"),
    "structured array": lambda: np.zeros(2, [("a", "f4"), ("b", "i4")]),
    "object array": lambda: np.array([1, "a", None], object),
    "str array": lambda: np.array(["a"]),
    "datetime array": lambda: np.array(["2000"], "datetime64[D]"),
    "complex array": lambda: np.zeros(2, complex),
    "uint64 array": lambda: np.full(2, 2**64 - 1, "uint64"),
    "long double": lambda: np.zeros(2, np.longdouble),
    "float16 array": lambda: np.zeros(2, "float16"),
    "zero-size array": lambda: np.zeros((0, 2)),
    "0-d array": lambda: np.array(3),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "matrix": lambda: np.asmatrix([[1.0]]),
    "np.int8": lambda: np.int8(-1),
    "np.float64": lambda: np.float64("nan"),
    "np.bool": lambda: np.True_,
    "np.str": lambda: np.str_("a"),
    "memoryview": lambda: memoryview(np.ones((2, 2)))[::-1],
    "released memoryview": lambda: _released(),
    "array.array": lambda: array.array("d", [1.0, 2.0]),
    "ctypes array": lambda: (ctypes.c_int * 3)(1, 2, 3),
    "ctypes pointers": lambda: (ctypes.c_void_p * 2)(),
}


def _released():
    view = memoryview(b"abc")
    view.release()
    return view
