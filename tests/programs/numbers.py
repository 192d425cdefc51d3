"""Python expressions that compute a number from numbers or sizes: by name, a function of an int, a
float, a shape and a flag."""

import copy
import math
import operator

import numpy as np

TABLE = {0: .5, 1: 1.5, 2: -1., 3: .25, .5: 3., .1: 7.}
LIST = [1., -2., 3., .5]

NUMBERS = {
    "int": lambda n, r, s, flag: n,
    "float": lambda n, r, s, flag: r,
    "size": lambda n, r, s, flag: s[0],
    "sum": lambda n, r, s, flag: n + r - 1,
    "product": lambda n, r, s, flag: n * r * s[0],
    "ratio": lambda n, r, s, flag: r / (n + 1),
    "inverse": lambda n, r, s, flag: 1 / (s[0] + r * r),
    "floor": lambda n, r, s, flag: (n * 7) // 3 + s[0] % 3,
    "modulo": lambda n, r, s, flag: divmod(n, 3)[1] - divmod(s[0], 2)[0],
    "square": lambda n, r, s, flag: n ** 2 + r ** 2,
    "power": lambda n, r, s, flag: 2 ** n,
    "modular power": lambda n, r, s, flag: pow(n, 2, 5),
    "negative": lambda n, r, s, flag: -n + +r - abs(-r),
    "table": lambda n, r, s, flag: TABLE.get(n, 9.),
    "float table": lambda n, r, s, flag: TABLE.get(r, 9.),
    "size table": lambda n, r, s, flag: TABLE.get(s[0], .01),
    "shape table": lambda n, r, s, flag: {(2, 4): 3., (3, 4): 5.}.get(tuple(s), 1.),
    "in a set": lambda n, r, s, flag: 2. if n in {3, 5} or s[0] in {2, 4} else 3.,
    "in a list": lambda n, r, s, flag: 2. if r in [.5, 2.] else 3.,
    "hash": lambda n, r, s, flag: hash(n) % 5 + hash(r) % 3,
    "text": lambda n, r, s, flag: len(str(n)) + len(repr(r)) + len(f"{s[0]:>4}{r:.2f}{n!r}"),
    "percent": lambda n, r, s, flag: float("%d.%d" % (n, s[0])),  # noqa: UP031
    "bits": lambda n, r, s, flag: (n & 1) + (n | 2) + (n ^ 3) + (1 << n) + (n >> 1) + ~n,
    "methods": lambda n, r, s, flag: n.bit_length() + r.is_integer() + s[0].bit_length(),
    "conversions": lambda n, r, s, flag: int(r) + float(n) + bool(n) + int(s[0]),
    "round": lambda n, r, s, flag: round(r, 1) + round(n) + round(r),
    "math": lambda n, r, s, flag: math.sin(r) + math.sqrt(n) + math.floor(r) + math.ceil(r),
    "numpy": lambda n, r, s, flag: float(np.cos(n) + np.exp(-abs(r)) + np.prod(s)),
    "sign of zero": lambda n, r, s, flag: math.copysign(2., r),
    "less": lambda n, r, s, flag: 100. if flag and r > .5 else 1.,
    "equal": lambda n, r, s, flag: 4. if n == 2 or r == .5 or s[0] != 3 else 1.,
    "not a number": lambda n, r, s, flag: 4. if n == None or s[0] == "a" else 1.,  # noqa: E711
    "truth": lambda n, r, s, flag: 3. if n and r and s[0] else -3.,
    "instance": lambda n, r, s, flag: 2. * isinstance(n, int) + isinstance(r, float) + isinstance(
        s[0], int),
    "type": lambda n, r, s, flag: 2. * (type(n) is int) + (type(r) is float) + (type(s[0]) is int),
    "sorted": lambda n, r, s, flag: sorted([n, 2, s[0]])[1],
    "largest": lambda n, r, s, flag: max(n, 2) + min(r, 1.) + max(s),
    "added": lambda n, r, s, flag: sum([n, r, *s]),
    "index": lambda n, r, s, flag: LIST[n % 4] + LIST[operator.index(s[0]) % 4],
    "loop": lambda n, r, s, flag: sum(k * r for k in range(n)),
    "repeated": lambda n, r, s, flag: len("ab" * n) + len([0] * s[0]),
    "slice": lambda n, r, s, flag: sum(LIST[:n]) - sum(LIST[s[0]:]),
    "prod": lambda n, r, s, flag: math.prod(s),
    "copied": lambda n, r, s, flag: copy.copy(n) + copy.deepcopy(r),
    "matched": lambda n, r, s, flag: _matched(n),
    "complex": lambda n, r, s, flag: complex(n, r).real - complex(r).imag,
    "of a scalar": lambda n, r, s, flag: (
        s[0] * np.int64(4) + n // np.int32(3) - r * np.float32(2.) + s[0] ** np.float64(2.)),
    "scalar of": lambda n, r, s, flag: (
        np.int64(4) - s[0] + np.float32(2.) * n + np.bool_(True) * s[0] - np.float16(r < 1.)),
    "beside a scalar": lambda n, r, s, flag: 3. if (
        s[0] < np.int64(3) or np.float32(.5) == r) and np.int8(2) != n else 1.5,
    "divided by a scalar": lambda n, r, s, flag: divmod(s[0], np.int64(2))[1] + n % np.uint8(3),
    "wide scalar": lambda n, r, s, flag: np.float64(r),
    "narrow scalar": lambda n, r, s, flag: np.float32(r) * np.int64(n),
}


def _matched(n):
    match n:
        case 0:
            return 5.
        case 1 | 2:
            return 6.
        case _:
            return 7.
