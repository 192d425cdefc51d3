"""Elements that are text: str, bytes and lists that also have the attributes of text tensors.

They equal plain str, bytes and lists. As operands of ops, arguments of functions of text and
arguments of traced functions they are StringTensors, so traces do not depend on their content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualflow._core import Operand
from dualflow.ops.string_tensor import StringTensor, string
from dualflow.ops.tensor_shape import TensorShape

__all__: list[str] = []


class TextElement(Operand):
    """Base class of elements that are text."""

    __slots__ = ()
    dtype = string
    _value_type = StringTensor

    @property
    def _text(self) -> StringTensor:
        return StringTensor(self)

    @property
    def _handles(self) -> Any:
        return self._text._handles

    def _traced(self) -> StringTensor:
        return self._text._traced()

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        return self._text._apply_op(op, tuple([
            x._text if isinstance(x, TextElement) else x for x in inputs]), attrs, name)

    @property
    def shape(self) -> TensorShape:
        """The shape of the array of texts."""
        return TensorShape(self._text.shape)

    get_shape = StringTensor.get_shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._text.ndim

    def _item(self, key: Any, plain: Any) -> Any:
        """Return ``self[key]``: with None, dimensions are added as with a StringTensor."""
        return self._text[key] if key is None or isinstance(key, tuple) else plain(key)

    def numpy(self) -> Any:
        """Return the bytes of a scalar, or an object array of bytes."""
        return self._text.numpy()


class Text(str, TextElement):
    """A str that is an element."""

    __slots__ = ()

    def __getnewargs__(self) -> tuple[str]:
        return (str(self),)

    def __getitem__(self, key: Any) -> Any:
        return self._item(key, super().__getitem__)


class ByteString(bytes, TextElement):
    """A bytes object that is an element."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return self._item(key, super().__getitem__)


class TextList(list[Any], TextElement):
    """Nested lists of str or bytes."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return TextList(found) if isinstance(key, slice) else wrapped(found)

    def __iter__(self) -> Iterator[Any]:
        return map(wrapped, super().__iter__())

    def tolist(self) -> Any:
        """Return nested lists of bytes."""
        return self._text.tolist()

    __hash__ = None         # type: ignore[assignment]


KINDS: dict[type, type] = {str: Text, bytes: ByteString}


def wrapped(value: Any) -> Any:
    """Return text, or nested lists that begin with text, as an element; other values unchanged."""
    if type(value) is list:
        first: Any = value
        while type(first) is list and first:
            first = first[0]
        return TextList(value) if isinstance(first, str | bytes | TextList) else value
    return KINDS.get(type(value), _same)(value)


def _same(value: Any) -> Any:
    return value
