"""Arithmetic, comparisons, bits and rounding."""

from __future__ import annotations

from typing import Any

from dualflow.dtypes import ALL, bool_
from dualflow.onnx.package import code_of
from dualflow.onnx.rules.registry import direct, refuse, rule
from dualflow.onnx.writer import Refused

direct(add="Add", subtract="Sub", multiply="Mul", divide="Div", abs="Abs", sign="Sign", pow="Pow",
       reciprocal="Reciprocal", equal="Equal", where="Where",
       logical_and="And", logical_or="Or", logical_xor="Xor", logical_not="Not",
       identity="Identity", stop_gradient="Identity", exp="Exp", log="Log", sqrt="Sqrt",
       sin="Sin", cos="Cos", tan="Tan", asin="Asin", acos="Acos", atan="Atan", sinh="Sinh",
       cosh="Cosh", tanh="Tanh", asinh="Asinh", acosh="Acosh", atanh="Atanh",
       is_nan="IsNaN", is_inf="IsInf", sigmoid="Sigmoid", erf="Erf", maximum="Max", minimum="Min")

LOGICAL = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "bitwise_not": "Not"}
BITS = {name: f"Bitwise{kind}" for name, kind in LOGICAL.items()}
COMPARE = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
           "greater_equal": "GreaterOrEqual"}


@rule("negative")
def _(w, at, x):
    return -x


@rule("square")
def _(w, at, x):
    return x * x


@rule("add_n")
def _(w, at, *xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return w.op("Identity", total) if len(xs) == 1 else total


@rule("squared_difference")
def _(w, at, a, b):
    return (a - b) * (a - b)


@rule("multiply_no_nan")
def _(w, at, a, b):
    return w.where(b.is_(0), 0, a * b)


@rule("divide_no_nan")
def _(w, at, a, b):
    return w.where(b.is_(0), 0, a / b)


def remainder(w: Any, a: Any, b: Any) -> Any:
    """a - floor(a / b) * b, which has the sign of b."""
    if not a.dtype.is_floating:
        return w.op("Mod", a, b)
    r = w.op("Mod", a, b, fmod=1)               # has the sign of a
    other = w.op("Xor", r < 0, b < 0)
    return w.where(w.op("And", w.op("Not", r.is_(0)), other), r + b, r)


@rule("floormod")
def _(w, at, a, b):
    return remainder(w, a, b)


@rule("floordiv")
def _(w, at, a, b):
    whole = (a - remainder(w, a, b)) / b
    return w.op("Round", whole) if a.dtype.is_floating else whole


@rule("clip_by_value")
def _(w, at, x, low, high):
    return w.op("Min", w.op("Max", x, low), high)


@rule(*COMPARE)
def _(w, at, a, b):
    return w.op(COMPARE[at.node.type], a, b, dtype=bool_)


@rule("not_equal")
def _(w, at, a, b):
    return w.op("Not", a.is_(b))


@rule(*BITS)
def _(w, at, *xs):
    kinds = LOGICAL if at.x.dtype.is_bool else BITS
    return w.op(kinds[at.node.type], *xs)


def _too_far(w, n):
    """Where a shift is by the width or more; one by less than 0 counts as such."""
    far = n >= 8 * n.dtype.itemsize
    return far if n.dtype.is_unsigned else w.op("Or", far, n < 0)


def _unsigned(dtype):
    return next(d for d in ALL if d.is_integer and d.is_unsigned and d.itemsize == dtype.itemsize)


def _shifted(w, x, n, direction):
    """Shifts of bits, of which the standard has those of unsigned integers."""
    far, bits = _too_far(w, n), _unsigned(x.dtype)
    by = w.where(far, 0, n)
    y = w.op("BitShift", _as(w, x, bits), _as(w, by, bits), direction=direction)
    return far, by, _as(w, y, x.dtype)


def _as(w, x, dtype):
    """The same bits."""
    return x if x.dtype is dtype else w.op("BitCast", x, dtype=dtype, to=code_of(dtype))


@rule("left_shift")
def _(w, at, x, n):
    far, _, y = _shifted(w, x, n, "LEFT")
    return w.where(far, 0, y)


@rule("right_shift")
def _(w, at, x, n):
    if x.dtype.is_unsigned:
        far, _, y = _shifted(w, x, n, "RIGHT")
        return w.where(far, 0, y)
    less = x < 0                                # ~(~x >> n) brings in ones
    far, _, y = _shifted(w, w.where(less, w.op("BitwiseNot", x), x), n, "RIGHT")
    y = w.where(far, 0, y)
    return w.where(less, w.op("BitwiseNot", y), y)


@rule("cast")
def _(w, at, x):
    dtype = at.outputs[0].dtype
    if x.dtype.is_floating and dtype.is_integer and dtype.itemsize < 4:
        low, high = dtype.limits                # beyond them a runtime may do anything
        x = w.op("Clip", x, x.number(float(low)), x.number(float(high)))
    elif x.dtype.is_floating and dtype.is_integer and dtype.is_unsigned:
        x = w.op("Max", x, x.number(0))
    return w.cast(x, dtype)


@rule("round", "floor", "ceil")
def _(w, at, x):
    kind = at.node.type.capitalize()
    return w.op(kind if x.dtype.is_floating else "Identity", x)


@rule("bitcast")
def _(w, at, x):
    if at.x.dtype.itemsize != at.outputs[0].dtype.itemsize:
        raise Refused("the standard casts the bits of dtypes of one size only")
    return _as(w, x, at.outputs[0].dtype)


@rule("trunc")
def _(w, at, x):
    return w.op("Sign", x) * w.op("Floor", w.op("Abs", x))


@rule("is_finite")
def _(w, at, x):
    return w.op("Not", w.op("Or", w.op("IsNaN", x, dtype=bool_), w.op("IsInf", x, dtype=bool_)))


@rule("rsqrt")
def _(w, at, x):
    return w.op("Reciprocal", w.op("Sqrt", x))


@rule("atan2")
def _(w, at, y, x):
    pi = 3.141592653589793
    a = w.op("Atan", y / x)
    left = w.where(y < 0, a - pi, a + pi)
    up = w.where(y.is_(0), y, w.op("Sign", y) * (pi / 2))
    return w.where(x > 0, a, w.where(x < 0, left, up))


refuse("the standard has no operator for it, and no short formula of those it has is exact",
       "gcd", "lcm", "lgamma", "digamma", "polygamma", "erfinv", "erfcinv", "ndtri",
       "igamma", "igammac", "igamma_grad_a", "gamma_density", "betainc", "beta_density", "zeta")
