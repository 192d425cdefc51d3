"""NumPy's universal functions of tensors. Those that correspond to Python operators return tensors;
all others are computed on arrays and return arrays. A traced tensor has no array; the error names
the dualflow function to use."""

from __future__ import annotations

from dualflow._core import TensorBase, array_for, bind
from dualflow.errors import DTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["instead_of"]

# The operators for a tensor on the left and on the right.
OPERATORS = {
    "add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"), "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"), "remainder": ("__mod__", "__rmod__"),
    "divmod": ("__divmod__", "__rdivmod__"), "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"), "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"), "bitwise_xor": ("__xor__", "__rxor__"),
    "left_shift": ("__lshift__", "__rlshift__"), "right_shift": ("__rshift__", "__rrshift__"),
}
COMPARISONS = {
    "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"), "greater_equal": ("__ge__", "__le__"),
    "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"),
}

# Functions of dualflow whose names or modules differ from NumPy's.
NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "math.conj",
    "fabs": "abs", "float_power": "pow", "floor_divide": "math.floordiv", "fmax": "maximum",
    "fmin": "minimum", "isfinite": "math.is_finite", "isinf": "math.is_inf",
    "isnan": "math.is_nan", "matvec": "linalg.matvec", "positive": "identity", "power": "pow",
    "remainder": "math.floormod", "expit": "sigmoid", "gammaln": "math.lgamma",
    "invert": "bitwise.invert",
    **{f"bitwise_{name}": f"bitwise.bitwise_{name}" for name in ("and", "or", "xor")},
    **{f"{side}_shift": f"bitwise.{side}_shift" for side in ("left", "right")},
    **{name: f"math.{name}" for name in (
        "ceil", "digamma", "erf", "erfc", "erfcinv", "erfinv", "expm1", "gcd", "lcm", "log1p",
        "logical_xor", "ndtri", "nextafter", "polygamma", "reciprocal", "rint", "trunc", "xlog1py",
        "xlogy")},
    **{name: name for name in (
        "add", "cos", "cosh", "divide", "equal", "exp", "floor", "greater", "greater_equal",
        "less", "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul",
        "maximum", "minimum", "multiply", "negative", "not_equal", "sign", "sin", "sinh", "sqrt",
        "square", "subtract", "tan", "tanh")},
}
# dualflow functions for the methods of universal functions.
METHODS = {("add", "reduce"): "reduce_sum", ("multiply", "reduce"): "reduce_prod",
           ("maximum", "reduce"): "reduce_max", ("minimum", "reduce"): "reduce_min",
           ("logical_and", "reduce"): "reduce_all", ("logical_or", "reduce"): "reduce_any",
           ("add", "accumulate"): "cumsum", ("multiply", "accumulate"): "math.cumprod"}


def instead_of(name: str, method: str) -> str:
    """Return the function to suggest if a universal function is called with a traced tensor."""
    found = NAMES.get(name) if method == "__call__" else METHODS.get((name, method))
    return f"dualflow.{found}" if found else "ops of dualflow, or dualflow.numpy_function"


def operators() -> dict[Any, tuple[str, str, bool]]:
    """Return for each universal function the operators of a tensor on the left and on the right,
    and whether it is a comparison."""
    import numpy as np  # already imported, because NumPy called this

    found = {getattr(np, name): (*both, False) for name, both in OPERATORS.items()}
    return found | {getattr(np, name): (*both, True) for name, both in COMPARISONS.items()}


def ufunc(function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Compute ``function.method(*inputs, **options)`` on arrays, for tensors among the inputs of a
    function that is not an operator."""
    name = function.__name__
    for out in options.get("out", ()):
        if isinstance(out, TensorBase):
            raise DTypeError(f"numpy.{name}: out is a {type(out).__name__}, expected an array: "
                             "tensors are immutable")
    operation = name if method == "__call__" else f"{name}.{method}"
    instead = instead_of(name, method)

    def array(x: Any) -> Any:
        return array_for(x, f"NumPy's {operation}", instead) if isinstance(x, TensorBase) else x

    return getattr(function, method)(*map(array, inputs),
                                     **{key: array(x) for key, x in options.items()})


bind(ufunc=ufunc, operators=operators)
