"""Algebraic simplification: rewrites that are exact to the bit and, with `fast_math`, some that
are not. A new exact rule needs a reason in this table. Sign and payload of a NaN do not count.
Integers wrap around, so their rules are the identities of whole numbers.

    x + 0, 0 + x       integers; floats only for -0.0, as -0.0 + 0.0 is 0.0
    x - 0              integers; floats only for 0.0, as -0.0 - 0.0 is -0.0
    0 - x              is -x for integers; for floats -0.0 - x is, but 0.0 - 0.0 is not -0.0
    x + (-y), x - (-y) are x - y and x + y by definition (IEEE 754), zeros included
    x * 1, x / 1       any x; by -1 only the sign changes, also of zeros and infinities
    x / c              c a power of two: x * (1 / c) rounds the same exact quotient
    x *, / c, no nan   are the product and the quotient if c is not 0
    1 / x, x * x       use the formulas of reciprocal and square
    --x, not not x     flip a bit twice
    square(-x)         the signs of equal factors cancel; (-x) * (-y) likewise
    abs(-x)            is abs(x) if signed; an unsigned -x is 2^n - x, and its own abs
    f(f(x))            rounding, limiting, sign: results are fixed points
    min(x, x)          also max, and, or
    where(c, a, a)     is a; if c is constant, the operand that it selects
    cast               to the same dtype; after a lossless cast
    add_n              of few terms: adds in order by the formula of add
    reductions         of one element: prod (1 * x), max, min, any, all; sums of integers only, as
                       a float sum starts from 0.0 and turns -0.0 into 0.0
    sums of squares    and means, in float32 and float64: equal sums of equal products
    pow                with small exponents; not of 16-bit floats, which would round twice

A rule does not apply if the result has another shape than the node, due to a broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

from dualflow._core import Op, Symbol, constant, get_op
from dualflow.dtypes import DType
from dualflow.graph.ir import Graph, Node, edit
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known, is_zero, made_by, number, replacement

ADD_N_MAX = 4  # a longer sum stays one node: it joins a cluster, or reads each term once
POWER_MAX = 64

ABS, ADD, CAST, LOGICAL_NOT, MULTIPLY = map(
    get_op, ("abs", "add", "cast", "logical_not", "multiply"))
NEGATIVE, RECIPROCAL, RESHAPE, RSQRT, SQRT, SQUARE, SUBTRACT, SUM, WHERE = map(
    get_op, ("negative", "reciprocal", "reshape", "rsqrt", "sqrt", "square", "subtract",
             "reduce_sum", "where"))
OF_SQUARES = {get_op(name): get_op(f"{name}_of_squares") for name in ("reduce_sum", "reduce_mean")}
WITH_NAN = {get_op("multiply_no_nan"): MULTIPLY, get_op("divide_no_nan"): get_op("divide")}

# A rule is (make, y, *inputs) -> Symbol or None: make(op, *inputs, **attrs) adds a node and returns
# its output, y is the output to replace.
Rule = Callable[..., Symbol | None]
RULES: dict[Op, list[tuple[Rule, bool]]] = {}


def rule(*ops: str, fast: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for some ops; `fast`: the rule is inexact."""
    def register(f: Rule) -> Rule:
        for op in ops:
            RULES.setdefault(get_op(op), []).append((f, fast))
        return f

    return register


def run(graph: Graph, options: Options) -> Graph:
    """Apply the first matching rule to each node, in order."""
    def visit(graph: Graph, node: Node) -> Sequence[Symbol] | None:
        rules = RULES.get(node.op)
        if rules is None:
            return None
        y = node.outputs[0]
        start = len(graph.nodes)
        make = partial(replacement, graph, node)
        for apply, fast in rules:
            if fast and not options.fast_math:
                continue
            found = apply(make, y, *node.inputs)
            if found is not None and found.known_shape == y.known_shape and _is_clear(node):
                return (found,)
            del graph.nodes[start:]
        return None

    return edit(graph, visit)


def _is_clear(node: Node) -> bool:
    """Return True if at most one input has sizes that depend on data and no known size has to be
    compared with them in a run."""
    unknown = {x for x in node.inputs if not is_known(x)}
    return not unknown or (len(unknown) == 1 and not is_known(node.outputs[0]))


# --- identities ---------------------------------------------------------------------------------

@rule("identity", "stop_gradient")
def _(make, y, x):
    return x


@rule("unbroadcast")
def _(make, y, g, x):
    if not (is_known(g) and is_known(x)):
        return None
    if g.known_shape == x.known_shape:
        return g
    lead = g.ndim - x.ndim
    axes = [d for d, n in enumerate(g.known_shape) if d < lead or n != x.known_shape[d - lead]]
    return make(RESHAPE, make(SUM, g, axes=axes, keepdims=True), shape=x.known_shape)


@rule("negative", "logical_not", "bitwise_not")
def _(make, y, x):
    twice = made_by(x, y.node.op)
    return twice[0] if twice else None


@rule("abs", "sign", "floor", "ceil", "round", "trunc", "relu", "relu6")
def _(make, y, x):
    return x if x.node.op is y.node.op and not x.dtype.is_complex else None


@rule("maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and", "logical_or")
def _(make, y, a, b):
    return a if a is b else None


# --- sums ---------------------------------------------------------------------------------------

@rule("add")
def _(make, y, a, b):
    for x, zero in ((a, number(b)), (b, number(a))):
        if zero is not None and is_zero(zero, negative=y.dtype.is_inexact):
            return x
    return None


@rule("add", fast=True)
def _(make, y, a, b):
    for x, zero in ((a, number(b)), (b, number(a))):
        if is_zero(zero):
            return x
    return None


@rule("add")
def _(make, y, a, b):
    minus_b, minus_a = made_by(b, NEGATIVE), made_by(a, NEGATIVE)
    if minus_b:
        return make(SUBTRACT, a, minus_b[0])
    return make(SUBTRACT, b, minus_a[0]) if minus_a else None


@rule("subtract")
def _(make, y, a, b):
    if is_zero(number(b)):
        return a
    if is_zero(number(a), negative=y.dtype.is_inexact):
        return make(NEGATIVE, b)
    minus_b = made_by(b, NEGATIVE)
    return make(ADD, a, minus_b[0]) if minus_b else None


@rule("add", "multiply")
def _(make, y, a, b):
    return None if y.dtype.is_inexact else _gather_constants(make, y, a, b)


@rule("add", "multiply", fast=True)
def _(make, y, a, b):
    return _gather_constants(make, y, a, b)


def _gather_constants(make, y, a, b):
    """(x + c) + d as x + (c + d), and products likewise."""
    op = y.node.op
    for outer, d in ((a, b), (b, a)):
        inner = made_by(outer, op)
        if inner is None or number(d) is None:
            continue
        for x, c in (inner, inner[::-1]):
            if number(c) is not None:
                return make(op, x, make(op, c, d))
    return None


@rule("add", fast=True)
def _(make, y, a, b):
    """a c + b c as (a + b) c."""
    left, right = made_by(a, MULTIPLY), made_by(b, MULTIPLY)
    if left and right:
        for p, c in (left, left[::-1]):
            for q, d in (right, right[::-1]):
                if c is d and p.known_shape == q.known_shape:
                    return make(MULTIPLY, make(ADD, p, q), c)
    return None


@rule("add_n")
def _(make, y, *terms):
    if len(terms) > ADD_N_MAX or not all(map(is_known, terms)):     # terms are not broadcast
        return None
    return reduce(partial(make, ADD), terms)


# --- products -----------------------------------------------------------------------------------

@rule("multiply")
def _(make, y, a, b):
    if a is b:
        return make(SQUARE, a)
    for x, one in ((a, number(b)), (b, number(a))):
        if one == 1:
            return x
        if one == -1:
            return make(NEGATIVE, x)
    minus_a, minus_b = made_by(a, NEGATIVE), made_by(b, NEGATIVE)
    return make(MULTIPLY, minus_a[0], minus_b[0]) if minus_a and minus_b else None


@rule("divide")
def _(make, y, a, b):
    divisor = number(b)
    if divisor == 1:
        return a
    if divisor == -1:
        return make(NEGATIVE, a)
    if number(a) == 1:
        return make(RECIPROCAL, b)
    if divisor and abs(math.frexp(divisor)[0]) == 0.5:
        return _times_inverse(make, y, a, divisor)
    return None


@rule("divide", fast=True)
def _(make, y, a, b):
    divisor = number(b)
    return _times_inverse(make, y, a, divisor) if divisor and math.isfinite(divisor) else None


def _times_inverse(make, y, a, divisor):
    """a * (1 / divisor) if the inverse is neither 0 nor infinite in the dtype."""
    inverse = constant(1 / divisor, y.dtype)
    exact = inverse.item() * divisor
    if not math.isclose(exact, 1, rel_tol=1e-6):
        return None
    return make(MULTIPLY, a, y.graph.constant(inverse))


@rule("multiply_no_nan", "divide_no_nan")
def _(make, y, a, b):
    return make(WITH_NAN[y.node.op], a, b) if number(b) else None


@rule("square", "abs")
def _(make, y, x):
    if y.node.op is ABS and x.dtype.is_unsigned:
        return x
    inside = made_by(x, NEGATIVE) or (made_by(x, ABS) if y.node.op is SQUARE else None)
    if inside is None or (y.node.op is SQUARE and inside[0].dtype is not y.dtype):
        return None                     # |z|**2 of a complex number is not its square
    return make(y.node.op, inside[0])


@rule("reciprocal", fast=True)
def _(make, y, x):
    inside = made_by(x, SQRT)
    return make(RSQRT, inside[0]) if inside else None


# --- powers -------------------------------------------------------------------------------------

@rule("pow")
def _(make, y, x, exponent):
    half = y.dtype.is_floating and y.dtype.itemsize == 2
    return None if half else _small_power(make, y, x, number(exponent))


@rule("pow", fast=True)
def _(make, y, x, exponent):
    return _small_power(make, y, x, number(exponent))


def _small_power(make, y, x, n):
    if n in (-1, -2) and y.dtype.is_floating:
        x, n = make(RECIPROCAL, x), -n
    return power(make, x, int(n)) if n in (1, 2, 3, 4) else None


def power(make: Callable[..., Symbol], x: Symbol, n: int) -> Symbol:
    """x^n by squaring; n at least 1."""
    found = x
    for bit in bin(n)[3:]:
        found = make(SQUARE, found)
        if bit == "1":
            found = make(MULTIPLY, found, x)
    return found


@rule("multiply", fast=True)
def _(make, y, a, b):
    """x x x x as two squares: fewer products for a power written as a product."""
    for x in (a, b):
        n, products = _exponent(y, x)
        if 4 <= n <= POWER_MAX and products > n.bit_length() + n.bit_count() - 2:
            return power(make, x, n)
    return None


def _exponent(y, x):
    """Return n and the number of products if y is x^n by products with x and squares; else 0, 0."""
    n, weight, products, at = 0, 1, 0, y
    while at is not x and products < POWER_MAX:
        products += 1
        square, product = made_by(at, SQUARE), made_by(at, MULTIPLY)
        if square:
            weight *= 2
            at = square[0]
        elif product and (product[0] is x or product[1] is x):
            n += weight
            at = product[0] if product[1] is x else product[1]
        else:
            return 0, 0
    return (n + weight, products) if at is x else (0, 0)


# --- choices and dtypes -------------------------------------------------------------------------

@rule("where")
def _(make, y, condition, a, b):
    known = number(condition)
    if a is b or known is not None:
        return a if a is b or known else b
    opposite = made_by(condition, LOGICAL_NOT)
    return make(WHERE, opposite[0], b, a) if opposite else None


@rule("cast")
def _(make, y, x):
    if x.dtype is y.dtype:
        return x
    inside = made_by(x, CAST)
    if inside and passes_through(inside[0].dtype, x.dtype, y.dtype):
        return make(CAST, inside[0], dtype=y.dtype)
    return None


def passes_through(a: DType, b: DType, c: DType) -> bool:
    """Return True if a cast from a to b to c equals a cast from a to c: b holds all of a, and no
    integer, which wraps in c, has become a float, which saturates."""
    exact = holds(b, a) and (c.is_complex or not b.is_complex)
    return exact and (not (a.is_integer and b.is_floating and c.is_integer) or holds(c, a))


def holds(wide: DType, narrow: DType) -> bool:
    """Return True if every value of `narrow` is a value of `wide`."""
    if narrow.is_bool or wide is narrow:
        return True
    if narrow.is_complex or wide.is_complex:
        return wide.is_complex and holds(wide.real_dtype, narrow.real_dtype)
    if wide.is_bool or narrow.is_floating:
        return wide.is_floating and wide.itemsize > narrow.itemsize
    unsigned = narrow.name.startswith("u")
    if wide.is_floating:
        return wide.digits >= 8 * narrow.itemsize - (not unsigned)
    return wide.itemsize > narrow.itemsize and (unsigned or not wide.name.startswith("u"))


# --- reductions ---------------------------------------------------------------------------------

@rule("reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all")
def _(make, y, x):
    return _of_one(make, y, x)


@rule("reduce_sum")
def _(make, y, x):
    return None if y.dtype.is_inexact else _of_one(make, y, x)


@rule("reduce_sum", "reduce_mean")
def _(make, y, x):
    squared = made_by(x, SQUARE)
    if squared is None or y.dtype.name not in ("float32", "float64"):
        return None
    return make(OF_SQUARES[y.node.op], squared[0], **y.node.attrs.as_dict())


@rule("reduce_sum", "reduce_mean", fast=True)
def _(make, y, x):
    return _of_one(make, y, x)


def _of_one(make, y, x):
    """x in the shape of y, if each element of y is a reduction of one element of x."""
    if not is_known(x) or x.size != y.size:
        return None
    return make(RESHAPE, x, shape=y.known_shape)
