"""StringTensor: constants of text, the result of ``dualflow.constant("text")``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from dualflow._core import TensorBase
from dualflow._util.arguments import shown
from dualflow.errors import DTypeError
from dualflow.ops.array.creation import constant

__all__ = ["StringTensor"]

CAN = "text can be printed, compared with == and !=, joined with + and changed by dualflow.strings"


class StringType:
    """The dtype of text."""

    name = "string"
    is_floating = is_integer = is_bool = is_unsigned = False
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


class StringTensor:
    """A tensor of text, created by ``dualflow.constant("text")``.

    Attributes
    ----------
    shape : tuple of int
    dtype : dualflow.string

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
    __array_priority__ = 100

    def __init__(self, value: Any) -> None:
        import numpy as np

        found = as_bytes(value)
        self._array = np.empty((), object) if isinstance(found, bytes) else found
        if isinstance(found, bytes):
            self._array[()] = found
        self._array.flags.writeable = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self._array.shape)

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

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[StringTensor]:
        return map(StringTensor, self._array)

    def __getitem__(self, key: Any) -> StringTensor:
        return StringTensor(self._array[key])

    def __add__(self, other: Any) -> StringTensor:
        return StringTensor(each(operator.add, self, text(other, "+")))

    def __radd__(self, other: Any) -> StringTensor:
        return StringTensor(each(operator.add, text(other, "+"), self))

    def _compared(self, other: Any, compare: Callable[[Any, Any], bool]) -> Any:
        if not isinstance(other, StringTensor) and not is_text(other):
            return NotImplemented
        return constant(each(compare, self, text(other, "==")).astype(bool))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne)

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


def is_text(value: Any) -> bool:
    """Return True if a value is text, or an array or nested lists of text."""
    if isinstance(value, StringTensor):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "O":
        import numpy as np  # the value may be a Series of pandas

        return all([isinstance(x, str | bytes) for x in np.asarray(value).ravel()])
    if hasattr(value, "dtype"):
        return kind in ("U", "S")
    while isinstance(value, list | tuple) and len(value):
        value = value[0]
    return isinstance(value, str | bytes)


def as_bytes(value: Any) -> Any:
    """Return text in TensorFlow's form: bytes, or an object array of bytes."""
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    if isinstance(value, StringTensor):
        return value.numpy()
    import numpy as np

    array = np.array(value, object)
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
    if isinstance(value, TensorBase) or not is_text(value):
        raise DTypeError(f"{caller}: got {shown(value)}, expected text: {CAN}")
    made = StringTensor(value)
    if shape is not None:
        import numpy as np

        made = StringTensor(np.broadcast_to(made._array, shape) if made._array.size == 1
                            else made._array.reshape(shape))
    return made


def each(function: Callable[..., Any], *parts: StringTensor) -> Any:
    """Apply a function of bytes to each element, with broadcasting; return an object array."""
    import numpy as np

    return np.asarray(np.frompyfunc(function, len(parts), 1)(*[x._array for x in parts]), object)
