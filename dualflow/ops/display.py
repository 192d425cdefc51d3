"""Python protocols of tensors: text, lists, HTML, formatting and containment."""

from __future__ import annotations

from math import prod

from dualflow._core import Symbol, Tensor, TensorBase, TraceContext, Variable, apply, bind
from dualflow._util.late_binding import late
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import reshape
from dualflow.ops.elementwise.compare import where
from dualflow.ops.shortest import shortest, shortest_of_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.tensor_shape import TensorShape

__all__ = ["contains", "short_list", "to_text", "tolist", "values_text"]

_NUMPY_NDIM = 64           # the highest rank NumPy and memoryviews have


def _readable(x: Tensor) -> Tensor:
    """Return `x` in a dtype that memoryviews and NumPy support; computed eagerly even while
    tracing."""
    if not x.dtype.is_reduced_float:
        return x
    with TraceContext(None):
        return apply("cast", x, dtype="float32")


def _flat_list(x: Tensor) -> list[Any]:
    """Return the elements as Python numbers. Memoryviews read no complex numbers, only pairs."""
    with TraceContext(None):
        x = reshape(x, (-1,))
        if x.dtype.is_complex:
            x = apply("bitcast", x, dtype=x.dtype.real_dtype)
    found: list[Any] = memoryview(x).tolist()
    return [complex(*pair) for pair in found] if x.ndim == 2 else found


def tolist(x: Tensor) -> Any:
    """Return the data as nested lists; for a scalar, a plain number."""
    value = _readable(x)
    if x.ndim <= _NUMPY_NDIM and not x.dtype.is_complex:
        return memoryview(value).tolist()
    if x.ndim == 0:
        return x.item()
    flat = _flat_list(value)
    for k in range(x.ndim - 1, 0, -1):
        n = x.shape[k]
        flat = [flat[i * n:(i + 1) * n] for i in range(prod(x.shape[:k]))]
    return flat


def short_list(x: Tensor) -> Any:
    """Return the data as nested lists, for printing: floats have the shortest text."""
    def shortened(value: Any) -> Any:
        if isinstance(value, list):
            return [shortened(item) for item in value]
        return _shortest(value, x.dtype.name)

    return shortened(tolist(x))


def values_text(x: Tensor, summarize: int | None = None) -> str:
    """Return the elements as NumPy prints them. `summarize` is the number of elements at each end
    of a dimension, -1 for all, None for NumPy's default."""
    if x.ndim == 0:
        return str(_shortest_item(x))
    if x.ndim > _NUMPY_NDIM:
        return "..."
    import numpy as np  # loaded when first needed

    options = np.get_printoptions()
    if summarize is not None:
        options["threshold"] = x.size if summarize < 0 else 0
        options["edgeitems"] = max(summarize, 1)
    edge, threshold = options["edgeitems"], options["threshold"]
    array = np.asarray(_readable(x))
    if x.dtype.name in ("bfloat16", "float16"):
        shown = edge if x.size > threshold else x.size
        array = shortest_of_array(array, x.dtype.name, shown)
    return np.array2string(array, separator=" ", threshold=threshold, edgeitems=edge)


def _shortest(value: Any, dtype: str) -> Any:
    """Return a number of a dtype as the Python number with the shortest text."""
    if isinstance(value, complex):
        part = {"complex64": "float32"}.get(dtype, dtype)
        return complex(shortest(value.real, part), shortest(value.imag, part))
    return shortest(value, dtype) if isinstance(value, float) else value


def _shortest_item(x: Tensor | Variable) -> Any:
    """Return the value of a tensor with one element; of a float, the value with the shortest
    text."""
    return _shortest(x.numpy() if x.dtype.name == "string" else x.item(), x.dtype.name)


def to_text(x: Tensor | Variable, variable: str | None = None) -> str:
    """Return the repr: shape, dtype and the values, summarised if there are many.

    `variable` is the name of the variable if the Tensor is a variable's value.
    """
    if isinstance(x, Variable):
        variable, x = x.name, x.value()
    kind = "Tensor" if variable is None else f"Variable {variable!r}"
    gap = " " if x.ndim == 0 else "\n"
    return f"<dualflow.{kind} shape={x.shape} dtype={x.dtype}{gap}{values_text(x)}>"


def to_html(x: Tensor | Variable) -> str:
    """Return the HTML repr of notebooks, with shape and dtype above the values."""
    import html  # loaded at first use

    if isinstance(x, Symbol):
        return f"<code>{html.escape(repr(x))}</code>"
    kind = f"Variable {x.name!r}" if isinstance(x, Variable) else "Tensor"
    values = values_text(x.value() if isinstance(x, Variable) else x)
    return (f"<div><code>{html.escape(kind)} shape={x.shape} dtype={x.dtype}</code>"
            f'<pre style="font-family: monospace">{html.escape(values)}</pre></div>')


def to_format(x: Tensor | Variable, spec: str) -> str:
    """Implement `format`: a scalar by its format, other tensors as text. A format without a number
    of digits, such as ``>8``, has the shortest text."""
    if x.ndim == 0:
        exact = "." in spec or spec[-1:] in ("e", "E", "f", "F", "g", "G", "n", "%")
        return format(x.item() if exact else _shortest_item(x), spec)
    try:
        return format(str(x), spec)
    except ValueError:
        raise InvalidArgumentError(
            f"format(): {spec!r} is for one number, got {x.dtype} {x.shape}; use x.tolist() and "
            "format its numbers, or numpy.array2string(x.numpy(), precision=2)") from None


def contains(x: TensorBase, item: Any) -> bool:
    """Return True if an element of `x` equals `item`."""
    if isinstance(item, Symbol):
        return bool(x == item)              # raises: the value is not known yet
    with TraceContext(None):
        found = x == item
        return found is not NotImplemented and isinstance(found, Tensor) \
            and where(found).shape[0] > 0


def get_shape(x: TensorBase) -> TensorShape:
    """Return the shape, with None for sizes known only at run time."""
    # of a Symbol: set in graphs built by hand, with unknown ranks
    methods: Any = x.graph.methods if isinstance(x, Symbol) else None
    if methods is not None:
        shape: TensorShape = methods.get_shape(x)
    else:
        shape = late("tensor_shape").TensorShape(
            x.known_shape if isinstance(x, Symbol) else x.shape)
    return shape


def set_shape(x: TensorBase, shape: Any) -> None:
    """Check that a tensor may have a shape. In a graph built by hand, refine the static shape.
    Declare the shape of a result of a Python function that promised only its dtype."""
    want = late("tensor_shape").TensorShape(shape)
    if isinstance(x, Symbol) and late("declare_shape")(x, want):
        return
    methods: Any = x.graph.methods if isinstance(x, Symbol) else None
    if methods is not None:
        methods.set_shape(x, shape)
        return
    have = get_shape(x)
    if not have.is_compatible_with(want):
        raise ValueError(f"Tensor's shape {have} is not compatible with supplied shape {want}")


def check_shape(x: Variable, shape: Any) -> None:
    """Raise ShapeError unless a variable has the declared shape."""
    expected = late("tensor_shape").TensorShape(shape)
    if not expected.is_compatible_with(x.shape):
        raise ShapeError(f"Variable: the initial value has shape {x.shape}, expected {expected}")


bind(repr=to_text, tolist=tolist, contains=contains, format=to_format, html=to_html,
     get_shape=get_shape, set_shape=set_shape, check_shape=check_shape)
