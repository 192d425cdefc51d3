"""Export rules of arithmetic, comparisons, bits and rounding."""

from __future__ import annotations

from typing import Any

from dualflow.dtypes import ALL, bool_, float32
from dualflow.onnx.exporters.registry import REDUCED, direct, formula, refuse, rule
from dualflow.onnx.package import code_of
from dualflow.onnx.writer import Refused

direct(add="Add", subtract="Sub", multiply="Mul", divide="Div", abs="Abs", sign="Sign", pow="Pow",
       reciprocal="Reciprocal", equal="Equal", where="Where",
       logical_and="And", logical_or="Or", logical_xor="Xor", logical_not="Not",
       identity="Identity", stop_gradient="Identity", exp="Exp", log="Log", sqrt="Sqrt",
       sin="Sin", cos="Cos", tan="Tan", asin="Asin", acos="Acos", atan="Atan", sinh="Sinh",
       cosh="Cosh", tanh="Tanh", asinh="Asinh", acosh="Acosh", atanh="Atanh",
       is_nan="IsNaN", is_inf="IsInf", sigmoid="Sigmoid", erf="Erf", maximum="Max", minimum="Min")

PI = 3.141592653589793
LOGICAL = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "bitwise_not": "Not"}
BITS = {name: f"Bitwise{kind}" for name, kind in LOGICAL.items()}
COMPARE = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
           "greater_equal": "GreaterOrEqual"}


@rule("negative")
def _(w, node, x):
    return -x


@rule("square")
def _(w, node, x):
    return x * x


@rule("add_n")
def _(w, node, *xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return w.op("Identity", total) if len(xs) == 1 else total


@formula("squared_difference")
def _(w, node, a, b):
    return (a - b) * (a - b)


@rule("multiply_no_nan")
def _(w, node, a, b):
    return w.where(b.is_(0), 0, a * b)


@rule("divide_no_nan")
def _(w, node, a, b):
    return w.where(b.is_(0), 0, a / b)


def remainder(w: Any, a: Any, b: Any) -> Any:
    """Write a - floor(a / b) * b, which has the sign of b even if it is zero."""
    if not a.dtype.is_floating:
        return w.op("Mod", a, _without_minus_one(b)[0])
    r = w.op("Mod", a, b, fmod=1)               # has the sign of a
    r = w.where(r.is_(0), w.op("Sign", b) * 0, r)
    return w.where(w.op("And", w.op("Not", r.is_(0)), _signs_differ(w, r, b)), r + b, r)


def _signs_differ(w: Any, a: Any, b: Any) -> Any:
    return w.op("Xor", a < 0, b < 0)


def _without_minus_one(b: Any) -> tuple[Any, Any]:
    """Return an integer divisor with -1 replaced by 1, and the sign to apply to the quotient.

    The quotient of the smallest integer and -1 overflows, which is a fatal signal on x86.
    """
    if b.dtype.is_unsigned:
        return b, None
    twice = b.is_(-1).cast(b.dtype) * 2
    return b + twice, 1 - twice


def _quotient(w: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the quotient rounded towards zero, and a mask of elements whose floor is one less.

    The remainder has the sign of `a`, so that subtracting it cannot overflow.
    """
    r = w.op("Mod", a, b, fmod=1)
    less = w.op("And", w.op("Not", r.is_(0)), _signs_differ(w, r, b))
    return (a - r) / b, less


@rule("floormod")
def _(w, node, a, b):
    return remainder(w, a, b)


@formula("floordiv")
def _(w, node, a, b):
    if a.dtype.is_unsigned:
        return a / b
    if a.dtype.is_floating:
        return _floating_floordiv(w, a, b)
    b, factor = _without_minus_one(b)
    whole, less = _quotient(w, a, b)
    return (whole - less.cast(a.dtype)) * factor


def _floating_floordiv(w: Any, a: Any, b: Any) -> Any:
    """Return a / b if b is zero; a quotient of zero has the sign of a / b."""
    plain = a / b
    whole, less = _quotient(w, a, b)
    whole = w.op("Round", whole) - less.cast(a.dtype)
    whole = w.where(whole.is_(0), plain * 0, whole)
    return w.where(b.is_(0), plain, whole)


@rule("clip_by_value")
def _(w, node, x, low, high):
    return w.op("Max", w.op("Min", x, high), low)


@rule(*COMPARE)
def _(w, node, a, b):
    return w.op(COMPARE[node.ir_node.type], a, b, dtype=bool_)


@rule("not_equal")
def _(w, node, a, b):
    return w.op("Not", a.is_(b))


@rule(*BITS)
def _(w, node, *xs):
    kinds = LOGICAL if node.x.dtype.is_bool else BITS
    return w.op(kinds[node.ir_node.type], *xs)


def _too_far(w, n):
    """Return a mask of shifts by the width or more; negative shifts count as such."""
    far = n >= 8 * n.dtype.itemsize
    return far if n.dtype.is_unsigned else w.op("Or", far, n < 0)


def _unsigned(dtype):
    return next(d for d in ALL if d.is_integer and d.is_unsigned and d.itemsize == dtype.itemsize)


def _shifted(w, x, n, direction):
    """Write a shift through unsigned integers, the only ones that BitShift supports."""
    far, bits = _too_far(w, n), _unsigned(x.dtype)
    by = w.where(far, 0, n)
    y = w.op("BitShift", _as(w, x, bits), _as(w, by, bits), direction=direction)
    return far, by, _as(w, y, x.dtype)


def _as(w, x, dtype):
    """Reinterpret the bits as another dtype."""
    return x if x.dtype is dtype else w.op("BitCast", x, dtype=dtype, to=code_of(dtype))


@rule("left_shift")
def _(w, node, x, n):
    far, _, y = _shifted(w, x, n, "LEFT")
    return w.where(far, 0, y)


@rule("right_shift")
def _(w, node, x, n):
    if x.dtype.is_unsigned:
        far, _, y = _shifted(w, x, n, "RIGHT")
        return w.where(far, 0, y)
    less = x < 0                                # ~(~x >> n) brings in ones
    far, _, y = _shifted(w, w.where(less, w.op("BitwiseNot", x), x), n, "RIGHT")
    y = w.where(far, 0, y)
    return w.where(less, w.op("BitwiseNot", y), y)


@rule("cast")
def _(w, node, x):
    dtype = node.outputs[0].dtype
    if x.dtype in REDUCED and dtype.is_integer:
        x = x.cast(float32)                     # holds the limits of 16-bit integers
    if x.dtype.is_floating and dtype.is_integer and dtype.itemsize < 4:
        low, high = dtype.limits                # runtimes differ for values out of range
        x = w.op("Clip", x, x.number(float(low)), x.number(float(high)))
    elif x.dtype.is_floating and dtype.is_integer and dtype.is_unsigned:
        x = w.op("Max", x, x.number(0))
    return w.cast(x, dtype)


@rule("round", "floor", "ceil")
def _(w, node, x):
    kind = node.ir_node.type.capitalize()
    return w.op(kind if x.dtype.is_floating else "Identity", x)


@rule("bitcast")
def _(w, node, x):
    if node.x.dtype.itemsize != node.outputs[0].dtype.itemsize:
        raise Refused("BitCast supports dtypes of equal size only")
    return _as(w, x, node.outputs[0].dtype)


@rule("trunc")
def _(w, node, x):
    return w.where(x < 0, w.op("Ceil", x), w.op("Floor", x))


@rule("is_finite")
def _(w, node, x):
    return w.op("Not", w.op("Or", w.op("IsNaN", x, dtype=bool_), w.op("IsInf", x, dtype=bool_)))


@formula("rsqrt")
def _(w, node, x):
    return w.op("Reciprocal", w.op("Sqrt", x))


@formula("atan2")
def _(w, node, y, x):
    """Find the angle of (|x|, |y|). Equal operands, which may be 0 or infinite, are not divided."""
    size, other = w.op("Abs", y), w.op("Abs", x)
    ratio = w.where(size.is_(other), w.op("Sign", size), size / other)
    angle = w.op("Atan", ratio)
    angle = w.where(_is_negative(w, x), PI - angle, angle)
    return angle * (1 - _is_negative(w, y).cast(y.dtype) * 2)


def _is_negative(w: Any, x: Any) -> Any:
    """Return a mask of the sign bits, zeros included."""
    return w.op("Or", x < 0, w.op("Reciprocal", x) < 0)


refuse("the standard has no operator for it, and no short formula of its operators is exact",
       "gcd", "lcm", "lgamma", "digamma", "polygamma", "erfinv", "erfcinv", "ndtri",
       "igamma", "igammac", "igamma_grad_a", "gamma_density", "betainc", "beta_density", "zeta")
