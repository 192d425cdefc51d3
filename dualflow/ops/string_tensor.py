"""StringTensor: arrays of text, the result of ``dualflow.constant("text")``.

Outside traced functions a StringTensor holds an array of bytes. In a traced function an argument,
and each result computed from it, is a `TracedStringTensor` with a symbol of handles
(`string_handles.py`): ops apply to the handles, and functions of text are host calls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dualflow._core import (
    Operand,
    Shape,
    Symbol,
    Tensor,
    TensorBase,
    TensorSpec,
    apply,
    as_tensor,
    current_graph,
)
from dualflow._util.arguments import shown
from dualflow.dtypes import int64
from dualflow.errors import DTypeError
from dualflow.nest import Composite
from dualflow.ops import ragged
from dualflow.ops.array.creation import constant
from dualflow.ops.control_flow.registered import call_python
from dualflow.ops.string_handles import handles_of, texts_of
from dualflow.ops.tensor_shape import TensorShape

__all__ = ["StringTensor"]

CAN = "text can be printed, compared, joined with +, moved and changed by dualflow.strings"

# The ops that accept text: the operands that are text (the rest are numbers), and the number of
# results that are text (-1: all).
FIRST, ALL = slice(0, 1), slice(0, None)
OPS: dict[str, tuple[slice, int]] = {
    **dict.fromkeys(("reshape", "split", "unstack", "expand_dims", "squeeze", "transpose", "gather",
                     "strided_slice", "gather_nd", "broadcast_to", "identity", "roll", "repeat",
                     "stop_gradient"), (FIRST, -1)),
    **dict.fromkeys(("concat", "stack", "pad"), (ALL, -1)),
    **dict.fromkeys(("equal", "not_equal"), (ALL, 0)),
    **dict.fromkeys(("shape", "size"), (FIRST, 0)),
    **dict.fromkeys(("unique", "unique_with_counts"), (FIRST, 1)),
    "where": (slice(1, None), -1), "tensor_scatter_nd_update": (slice(0, 3, 2), -1),
}


class StringType:
    """The dtype of text."""

    name = "string"
    is_floating = is_integer = is_bool = is_unsigned = is_reduced_float = False
    is_complex = is_inexact = False
    as_numpy_dtype = object

    @property
    def base_dtype(self) -> StringType:
        """The dtype itself."""
        return self

    def __repr__(self) -> str:
        return "dualflow.string"

    def __eq__(self, other: object) -> Any:
        return other is self or other == "string"

    def __hash__(self) -> int:
        return hash("string")


string: StringType = StringType()


class StringTensor(Operand):
    """A tensor of text, created by ``dualflow.constant("text")``.

    Attributes
    ----------
    shape : tuple of int
    dtype : dualflow.string

    Notes
    -----
    Ops that move elements accept it: `gather`, `concat`, `reshape`, `where`, `unique` and others.
    It may be an argument and a result of traced functions, which are not traced again for other
    text.

    Examples
    --------
    >>> import dualflow as df
    >>> names = df.constant(["a", "b"])
    >>> names
    <dualflow.StringTensor shape=(2,) dtype=string [b'a' b'b']>
    >>> df.print("of", names, df.constant("end"), (names == "b").tolist())
    of ["a" "b"] end [False, True]
    """

    dtype: StringType = string
    _value_type: Any = None         # the type in skeletons of structures
    __array_priority__ = 100

    def __init__(self, value: Any) -> None:
        import numpy as np

        found = as_bytes(value)
        self._array = np.array(found, object) if isinstance(found, bytes) else found
        self._array.flags.writeable = False

    @classmethod
    def _made(cls, handles: Any) -> StringTensor:
        """Return the text of a tensor of handles; a symbol or a placeholder is held as it is."""
        if type(handles) is Tensor:
            return StringTensor(texts_of(handles.numpy()))
        return TracedStringTensor(handles)

    @property
    def _handles(self) -> Any:
        """The handles as a tensor."""
        return as_tensor(handles_of(self._array, current_graph() is not None))

    def _traced(self) -> StringTensor:
        """Return the text as a value of the current trace."""
        return TracedStringTensor(self._handles)

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        """Apply an op that moves text to the handles; see `Operand`."""
        if op not in OPS:
            return NotImplemented
        operands = list(inputs)
        places, n = OPS[op]
        for k in range(len(operands))[places]:
            if op == "pad" and type(operands[k]) is int and operands[k] == 0:
                operands[k] = as_tensor(0, int64)               # the empty text
                continue
            if not is_text(operands[k]):
                return NotImplemented
            operands[k] = text(operands[k], op)._handles
        if any([isinstance(x, Operand) for x in operands]):
            return NotImplemented
        made = apply(op, *operands, name=name, **attrs)
        if not isinstance(made, tuple):
            return made if n == 0 else self._made(made)
        return tuple([self._made(x) if n < 0 or k < n else x for k, x in enumerate(made)])

    @property
    def shape(self) -> Shape:
        """The shape."""
        return Shape(self._array.shape)

    def get_shape(self) -> Any:
        """Return the shape as a TensorShape."""
        return TensorShape(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numpy(self) -> Any:
        """Return the bytes of a scalar, or an object array."""
        return self._array[()]

    def tolist(self) -> Any:
        """Return nested lists of bytes."""
        return self._array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._array.astype(dtype or object, copy=bool(copy))

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[StringTensor]:
        return map(StringTensor, self._array)

    def __getitem__(self, key: Any) -> StringTensor:
        keys = key if isinstance(key, tuple) else (key,)
        if any([isinstance(x, TensorBase) for x in keys]):
            return self._made(self._handles[key])
        return StringTensor(self._array[key])

    def __add__(self, other: Any) -> StringTensor:
        return elementwise("+", operator.add, [self, text(other, "+")])

    def __radd__(self, other: Any) -> StringTensor:
        return elementwise("+", operator.add, [text(other, "+"), self])

    def _compared(self, other: Any, op: str, compare: Callable[[Any, Any], bool]) -> Any:
        if not is_text(other):
            return NotImplemented
        parts = [self, text(other, op)]
        if any([type(x) is TracedStringTensor for x in parts]):
            return apply(op, *parts)
        return constant(each(compare, *parts).astype(bool))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, "equal", operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, "not_equal", operator.ne)

    def __hash__(self) -> int:
        return hash((self.shape, *self._array.ravel()))

    def __bool__(self) -> bool:
        raise DTypeError(f"bool(): {self!r} has no truth value: {CAN}")

    def __str__(self) -> str:
        if self.ndim == 0:
            return str(self.numpy().decode(errors="replace"))
        return f"[{' '.join([f'{chr(34)}{x}{chr(34)}' if x.ndim == 0 else str(x) for x in self])}]"

    def __repr__(self) -> str:
        return f"<dualflow.StringTensor shape={self.shape} dtype=string {self._array}>"


StringTensor._value_type = StringTensor


class TracedStringTensor(StringTensor, Composite):
    """The text of a traced function. Its part is the symbol of handles; a placeholder in a
    structure may hold any object."""

    _fields = ("_handles",)

    def __init__(self, handles: Any) -> None:
        self._held: Any = handles

    def _remade(self, values: Sequence[Any]) -> Any:
        return self._made(*values)

    def _spec(self) -> TensorSpec:
        return TensorSpec(self._held.known_shape, string)

    @property
    def _handles(self) -> Any:
        return self._held

    def _traced(self) -> StringTensor:
        return self

    @property
    def _array(self) -> Any:            # type: ignore[override]
        return self._held.numpy()       # raises TracedValueError

    @property
    def shape(self) -> Any:
        """The shape; sizes that depend on data are Dims."""
        return Shape(self._held.shape)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[StringTensor]:
        return map(self._made, self._held)

    def __getitem__(self, key: Any) -> StringTensor:
        return self._made(self._held[key])

    def __hash__(self) -> int:
        return id(self)

    __eq__, __ne__ = StringTensor.__eq__, StringTensor.__ne__

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        held = self._held
        return f"<text {held.name} {held.shape}>" if isinstance(held, Symbol) else repr(held)


def is_text(value: Any) -> bool:
    """Return True if a value is text, or an array or nested lists of text."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "O":
        import numpy as np  # the value may be a Series of pandas

        return all([isinstance(x, str | bytes) for x in np.asarray(value).ravel()])
    if hasattr(value, "dtype") and not isinstance(value, list | str | bytes | StringTensor):
        return kind in ("U", "S")
    while isinstance(value, list | tuple) and len(value):
        value = value[0]
    return isinstance(value, str | bytes | StringTensor)


def bare(value: Any) -> Any:
    """Return nested lists with the bytes of the StringTensors in them."""
    if isinstance(value, list | tuple):
        return [bare(x) for x in value]
    return value.tolist() if isinstance(value, StringTensor) else value


def as_bytes(value: Any) -> Any:
    """Return text in TensorFlow's form: bytes, or an object array of bytes."""
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    if isinstance(value, StringTensor):
        return value.numpy()
    import numpy as np

    array = np.array(bare(value), object)
    flat = array.ravel().tolist()
    for k, x in enumerate(flat):
        if isinstance(x, str):
            flat[k] = x.encode()
        elif not isinstance(x, bytes):
            raise DTypeError(f"StringTensor: got {shown(x)}, expected text")
    made = np.empty(array.size, object)
    made[:] = flat
    return made.reshape(array.shape)


def text(value: Any, caller: str, shape: Any = None) -> StringTensor:
    """Return a value as a StringTensor."""
    if isinstance(value, StringTensor) and shape is None:
        return value
    if isinstance(value, list | tuple) and any([type(x) is TracedStringTensor for x in value]):
        made = apply("stack", *[text(x, caller) for x in value], axis=0)
        return made if shape is None else apply("reshape", made, shape=shape)
    empty = isinstance(value, list) and not value
    if isinstance(value, TensorBase) or not (empty or is_text(value)):
        raise DTypeError(f"{caller}: got {shown(value)}, expected text: {CAN}")
    made = StringTensor(value)
    if shape is not None:
        import numpy as np

        made = StringTensor(np.broadcast_to(made._array, shape) if made._array.size == 1
                            else made._array.reshape(shape))
    return made


def each(function: Callable[..., Any], *parts: StringTensor) -> Any:
    """Apply a function of bytes to each element, with broadcasting; return an object array."""
    return each_of(function, [x._array for x in parts])


def elementwise(name: str, function: Callable[..., Any], inputs: Sequence[Any],
                dtype: Any = string) -> Any:
    """Return the results of a function of bytes for each element, with broadcasting: a StringTensor
    or, with a dtype of numbers, a Tensor. In a traced function the function runs in each run.
    If an input is ragged, the result is ragged."""
    if any([isinstance(x, Composite) and not isinstance(x, StringTensor) for x in inputs]):
        return ragged.elementwise.on_flat_values(
            name, [x if isinstance(x, Composite) else text(x, name) for x in inputs],
            lambda flat: elementwise(name, function, flat, dtype))
    parts = [text(x, name) for x in inputs]
    shape: Any = ()
    if any([type(x) is TracedStringTensor for x in parts]):
        total = parts[0]._handles
        for x in parts[1:]:             # for its shape only
            total = total + x._handles
        shape = tuple(total.shape)
    return whole(name, lambda *arrays: [each_of(function, arrays)], parts, [(dtype, shape)])[0]


def whole(name: str, function: Callable[..., Sequence[Any]], parts: Sequence[Any],
          types: list[tuple[Any, Any]]) -> list[Any]:
    """Return the results of a function of arrays: an object array of bytes for each StringTensor
    among the parts, an array of numbers for each tensor.

    The function returns an array for each type, a pair of dtype and shape, object arrays of bytes
    for text. It is called now or, if a part is traced, in each run of the graph.
    """
    if not any([isinstance(x, TracedStringTensor | Symbol) for x in parts]):
        found = function(*[x._array if isinstance(x, StringTensor) else x.numpy() for x in parts])
        return [StringTensor(y) if dtype is string else constant(_numbers(y, dtype), dtype)
                for y, (dtype, _) in zip(found, types, strict=True)]
    texts = [isinstance(x, StringTensor) for x in parts]
    dtypes = [dtype for dtype, _ in types]

    def run(*values: Tensor) -> list[Any]:
        arrays = [texts_of(x.numpy()) if is_text else x.numpy()
                  for x, is_text in zip(values, texts, strict=True)]
        return [handles_of(y, False) if dtype is string else constant(_numbers(y, dtype), dtype)
                for y, dtype in zip(function(*arrays), dtypes, strict=True)]

    made = call_python(name, run, [x._handles if isinstance(x, StringTensor) else x for x in parts],
                       [(int64 if dtype is string else dtype, shape) for dtype, shape in types],
                       None, name if name.isidentifier() else "text")
    return [StringTensor._made(y) if dtype is string else y
            for y, dtype in zip(made, dtypes, strict=True)]


def _numbers(array: Any, dtype: Any) -> Any:
    return array.astype(dtype.name) if array.dtype == object else array


def each_of(function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """Apply a function to each element of arrays, with broadcasting; return an object array."""
    import numpy as np

    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)
