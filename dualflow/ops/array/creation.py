"""Creation of tensors from values and shapes."""

from __future__ import annotations

from dualflow import _core
from dualflow._core import Symbol, Tensor, TensorBase, apply, as_tensor, current_graph, larger
from dualflow._util.arguments import one_by_one
from dualflow._util.late_binding import late
from dualflow.dtypes import float32, int32
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.shape import (
    applied_by_shape,
    broadcast_to,
    ints,
    reshape,
    static_shape,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["constant", "convert_to_tensor", "eye", "fill", "one_hot", "ones", "ones_like", "range",
           "zeros", "zeros_like"]


def constant(value: TensorLike, dtype: DTypeLike | None = None, shape: TensorLike | None = None,
             name: str | None = None) -> Tensor:
    """Return a tensor with a copy of `value`.

    Parameters
    ----------
    value : number, nested lists, array or Tensor
        Text becomes a `dualflow.strings.StringTensor`, which can be printed and compared.
    dtype : dtype, optional
        By default arrays keep their dtype, floats become float32 and ints int32.
    shape : ints, optional
        The shape of the result; a single element is repeated to fill it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.constant([1, 2, 3, 4], df.float32, shape=[2, 2]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> df.constant(7, shape=[3]).tolist()
    [7, 7, 7]
    """
    try:
        x = _core.constant(value, dtype)
    except TypeError:
        made = _text(value, dtype, "constant", shape)
        if made is None:
            raise
        return made
    if shape is None:
        return x
    want = ints(shape, "constant: shape")
    if x.size == 1 and x.shape != want:
        return broadcast_to(reshape(x, ()), want)
    try:
        return reshape(x, want)
    except ShapeError:
        raise ShapeError(f"constant: got {x.dtype} {x.shape}, expected shape {want}") from None


def _text(value: Any, dtype: Any, caller: str, shape: Any = None) -> Any:
    """Return text as a StringTensor; None if a value is not text, or another dtype is asked for."""
    strings = late("string_tensor")
    if dtype not in (str, strings.string) and (dtype is not None or not strings.is_text(value)):
        return None
    return strings.text(value, caller, shape)


def converted(value: Any, dtype: Any, caller: str) -> Any:
    """Return a value as a tensor, or as a StringTensor if it is text."""
    try:
        return as_tensor(value, dtype, caller)
    except TypeError:
        made = _text(value, dtype, caller)
        if made is None:
            raise
        return made


def convert_to_tensor(value: TensorLike, dtype: DTypeLike | None = None,
                      dtype_hint: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Convert `value` to a tensor; a tensor is returned unchanged.

    Parameters
    ----------
    value : number, nested lists, array, text, Tensor or Variable
        Or an object whose class has a method ``__df_tensor__(self)`` that returns a Tensor or
        Variable. Every op accepts the object in place of that tensor, and gradients reach the
        tensor.
    dtype : dtype, optional
        The dtype of the result. A tensor of another dtype is an error; other values are cast.
    dtype_hint : dtype, optional
        The preferred dtype for numbers and lists of numbers, used if they can be converted to it.

    Returns
    -------
    Tensor

    Raises
    ------
    DTypeError
        If `value` is a tensor of another dtype, or cannot become a tensor.

    Examples
    --------
    >>> import dualflow as df
    >>> df.convert_to_tensor([1, 2], df.float64).tolist()
    [1.0, 2.0]
    """
    if dtype is None and dtype_hint is not None and isinstance(value, int | float | list | tuple):
        try:
            return as_tensor(value, dtype_hint)
        except (DTypeError, InvalidArgumentError):
            pass                                      # ignore an incompatible hint
    made: Tensor = converted(value, dtype, "convert_to_tensor")
    return made


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of shape `dims` with `value` in every element.

    Parameters
    ----------
    dims : ints
    value : scalar

    Returns
    -------
    Tensor of the dtype of `value`

    Examples
    --------
    >>> import dualflow as df
    >>> df.fill([2, 2], 9).tolist()
    [[9, 9], [9, 9]]
    """
    if isinstance(name, int | float):
        one_by_one(f"fill({{}}, {name})", dims, value)
    x = value if isinstance(value, TensorBase) else converted(value, None, "fill")
    if x.ndim != 0:
        raise ShapeError(f"fill: value is {x.dtype} {x.shape}, expected shape ()")
    try:
        shape = ints(dims, "fill: dims")
    except DTypeError:
        made: Tensor = applied_by_shape("broadcast_to", x, dims, name)
        return made
    if any(d < 0 for d in shape):
        raise ShapeError(f"fill: dims {shape}, expected 0 or more each")
    return broadcast_to(x, shape, name=name)


def zeros(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return a tensor of `shape` and `dtype` filled with zeros.

    Examples
    --------
    >>> import dualflow as df
    >>> df.zeros([2, 3]).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _full(shape, 0, dtype, name, "zeros")


def ones(shape: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return a tensor of `shape` and `dtype` filled with ones.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ones([2], df.int64).tolist()
    [1, 1]
    """
    return _full(shape, 1, dtype, name, "ones")


def _full(shape: TensorLike, value: int, dtype: DTypeLike, name: str | None, op: str) -> Tensor:
    one_by_one(f"{op}({{}})", shape, dtype, name)
    return fill(shape, _number(value, dtype), name=name)


def _number(value: int, dtype: Any) -> Any:
    """Return a number as a tensor; 0 of the dtype of text is the empty text."""
    if value == 0 and getattr(dtype, "name", dtype) == "string":
        return late("string_tensor").text("", "zeros")
    return _core.constant(value, dtype)


def zeros_like(input: TensorLike, dtype: DTypeLike | None = None,
               name: str | None = None) -> Tensor:
    """Return zeros with the shape and, unless `dtype` is given, the dtype of `input`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.zeros_like([1.5, 2.5]).tolist()
    [0.0, 0.0]
    """
    return _full_like(input, 0, dtype, name)


def ones_like(input: TensorLike, dtype: DTypeLike | None = None,
              name: str | None = None) -> Tensor:
    """Return ones with the shape and, unless `dtype` is given, the dtype of `input`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ones_like([1.5, 2.5]).tolist()
    [1.0, 1.0]
    """
    return _full_like(input, 1, dtype, name)


def _full_like(input: TensorLike, value: int, dtype: DTypeLike | None, name: str | None) -> Tensor:
    x: Any = input if hasattr(input, "shape") and hasattr(input, "dtype") else as_tensor(input)
    made: Any = NotImplemented
    if isinstance(x, _core.Operand):
        made = x._apply_op("full_like", (x,), {"value": value, "dtype": dtype}, name)
    return broadcast_to(_number(value, dtype or x.dtype), static_shape(x),
                        name=name) if made is NotImplemented else made


def range(start: TensorLike, limit: TensorLike | None = None, delta: TensorLike = 1,
          dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return start, start + delta, ... below `limit` (above it if `delta` is negative).

    Parameters
    ----------
    start : scalar
        The limit if `limit` is None; then the range starts at 0.
    limit, delta : scalar
    dtype : dtype, optional
        By default int32 for Python ints, float32 if one is a float, else the tensors' dtype.

    Returns
    -------
    Tensor, shape (n,)

    Raises
    ------
    InvalidArgumentError
        If `delta` is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.range(3).tolist(), df.range(5, 0, -2).tolist(), df.range(0., 1., 0.25).tolist()
    ([0, 1, 2], [5, 3, 1], [0.0, 0.25, 0.5, 0.75])
    """
    values: tuple[Any, ...] = (0, start, delta) if limit is None else (start, limit, delta)
    if dtype is not None:
        values = tuple([_core.constant(v, dtype, "range") for v in values])
    return apply("range", *values, name=name, n=_known_count(values))


def _known_count(values: tuple[Any, ...]) -> Any:
    """Return the length of a traced range, an int or a Dim; -1 if known only at run time."""
    graph = current_graph()
    if graph is None:
        return -1
    if all(type(v) in (int, float, Tensor) for v in values):
        with _core.TraceContext(None):
            return apply("range", *values, n=-1).size
    start, limit, delta = [
        v.graph.dim_of(v) if isinstance(v, Symbol) and v.ndim == 0 and v.dtype.is_integer
        else v for v in values]
    for v in (start, limit, delta):
        if not isinstance(getattr(v, "hint", v), int) or getattr(v, "data_dependent", False):
            return -1
    return larger(-((start - limit) // delta), 0)


no_gradient("range", why="its length depends on the inputs")


def one_hot(indices: TensorLike, depth: int, on_value: TensorLike | None = None,
            off_value: TensorLike | None = None, axis: int | None = None,
            dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return `on_value` at each index along a new dimension, `off_value` at all other positions.

    Parameters
    ----------
    indices : Tensor, integer
        An index outside 0 to ``depth - 1`` sets no position.
    depth : int
        Size of the new dimension.
    on_value, off_value : scalar
        1 and 0 by default.
    axis : int, optional
        Position of the new dimension in the result, by default the last.
    dtype : dtype, optional
        By default the dtype of the values, float32 if neither is given.

    Returns
    -------
    Tensor with one more dimension

    Examples
    --------
    >>> import dualflow as df
    >>> df.one_hot([1, 0, 5], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """
    if dtype is None and on_value is None and off_value is None:
        dtype = float32
    if not isinstance(indices, TensorBase | _core.Operand):
        made = as_tensor(indices, None, "one_hot")
        indices = made if made.size or made.dtype.is_integer else as_tensor(indices, int32)
    on, off = 1 if on_value is None else on_value, 0 if off_value is None else off_value
    if dtype is not None:
        on, off = _core.constant(on, dtype, "one_hot"), _core.constant(off, dtype, "one_hot")
    return apply("one_hot", indices, on, off, name=name, depth=depth,
                 axis=-1 if axis is None else axis)


no_gradient("one_hot", why="its indices are integers")


def eye(num_rows: int, num_columns: int | None = None, batch_shape: TensorLike | None = None,
        dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return a matrix, or a batch of matrices, with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    num_rows, num_columns : int
        `num_columns` defaults to `num_rows`.
    batch_shape : ints, optional
        Leading dimensions of the result.
    dtype : dtype, default float32

    Returns
    -------
    Tensor, of `dtype`, shape (batch_shape..., num_rows, num_columns)

    Examples
    --------
    >>> import dualflow as df
    >>> df.eye(2, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows, columns = ints([num_rows, num_rows if num_columns is None else num_columns], "eye: size")
    if rows < 0:
        raise ShapeError(f"eye: {rows} rows, expected 0 or more")
    matrix = one_hot(range(rows), columns, dtype=dtype, name=name)
    batch = () if batch_shape is None else ints(batch_shape, "eye: batch_shape")
    return broadcast_to(matrix, (*batch, rows, columns)) if batch else matrix
