"""The values of one feature of an example: lists of bytes, floats or integers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, ClassVar

from dualflow._util.arguments import shown
from dualflow._util.wire_format import varint
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.io.message import Message

__all__ = ["BytesList", "Feature", "FloatList", "Int64List"]


class _List(Message):
    """A list of values."""

    _fields = ("value",)
    value: list[Any]

    def __init__(self, *, value: Iterable[Any] | None = None) -> None:
        self.value = []
        if value is not None:
            self.value = self._checked(value)

    def _load(self, message: Any) -> None:
        self.value = list(message.value)

    def _checked(self, values: Any) -> list[Any]:
        """Return values as a list of the Python type; raise DTypeError for other types."""
        values = values.numpy() if hasattr(values, "numpy") else values
        if isinstance(values, str | bytes):
            raise self._refused(values)
        values = values.tolist() if hasattr(values, "tolist") else values
        try:
            return self._converted(list(values))
        except (TypeError, OverflowError):
            raise self._refused(values) from None

    def _converted(self, values: list[Any]) -> list[Any]:
        raise NotImplementedError

    def _refused(self, values: Any) -> DTypeError:
        return DTypeError(f"{type(self).__name__}: value is {shown(values)}, expected a list of "
                          f"{self._expected}")

    _expected: ClassVar[str]


class BytesList(_List):
    """A list of bytes.

    Parameters
    ----------
    value : list of bytes

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.BytesList(value=[b"a", b"b"])
    BytesList(value=[b'a', b'b'])
    """

    _expected = "bytes"

    def _converted(self, values: list[Any]) -> list[bytes]:
        if not all([isinstance(x, bytes) for x in values]):
            raise TypeError
        return values

    def _parts(self) -> list[tuple[int, bytes]]:
        return [(1, x) for x in self._checked(self.value)]


class FloatList(_List):
    """A list of float32 numbers.

    Parameters
    ----------
    value : list of float, or array

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.FloatList(value=[0.5, 1]).SerializeToString()
    b'\\n\\x08\\x00\\x00\\x00?\\x00\\x00\\x80?'
    """

    _expected = "numbers"

    def _converted(self, values: list[Any]) -> list[float]:
        return array("f", values).tolist()

    def _parts(self) -> list[tuple[int, bytes]]:
        numbers = array("f", self._checked(self.value))
        return [(1, numbers.tobytes())] if numbers else []


class Int64List(_List):
    """A list of integers of 64 bits.

    Parameters
    ----------
    value : list of int, or array

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.Int64List(value=[1, 300]).SerializeToString()
    b'\\n\\x03\\x01\\xac\\x02'
    """

    _expected = "integers of 64 bits"

    def _converted(self, values: list[Any]) -> list[int]:
        return array("q", values).tolist()

    def _parts(self) -> list[tuple[int, bytes]]:
        numbers = self._checked(self.value)
        return [(1, b"".join([varint(x) for x in numbers]))] if numbers else []


class Feature(Message):
    """The values of a feature: one of three kinds of lists.

    Parameters
    ----------
    bytes_list : BytesList, optional
    float_list : FloatList, optional
    int64_list : Int64List, optional
        At most one of them. The others are empty lists; an element that is appended to one of them
        sets it, in place of the first list.

    Examples
    --------
    >>> import dualflow as df
    >>> feature = df.train.Feature(int64_list=df.train.Int64List(value=[3]))
    >>> feature.WhichOneof("kind"), feature.int64_list.value[0]
    ('int64_list', 3)
    """

    _kinds: ClassVar[dict[str, tuple[int, type[_List]]]] = {
        "bytes_list": (1, BytesList), "float_list": (2, FloatList), "int64_list": (3, Int64List)}
    bytes_list: BytesList
    float_list: FloatList
    int64_list: Int64List

    def __init__(self, *, bytes_list: BytesList | None = None, float_list: FloatList | None = None,
                 int64_list: Int64List | None = None) -> None:
        self._set: str | None = None
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        chosen = [name for name, x in given.items() if x is not None]
        if len(chosen) > 1:
            raise InvalidArgumentError(f"Feature: got {' and '.join(chosen)}, expected one of them")
        for name in chosen:
            kind = self._kinds[name][1]
            if not isinstance(given[name], kind):
                raise DTypeError(f"Feature: {name} is {shown(given[name])}, expected a "
                                 f"{kind.__name__}")
            vars(self)[name], self._set = given[name], name

    def __getattr__(self, name: str) -> Any:
        if name not in self._kinds:
            raise AttributeError(f"'Feature' object has no attribute {name!r}")
        made = vars(self)[name] = self._kinds[name][1]()
        return made

    def WhichOneof(self, oneof_group: str = "kind") -> str | None:
        """Return the name of the list that is set, or None."""
        for name in self._kinds:
            if name != self._set and name in vars(self) and vars(self)[name].value:
                if self._set is not None:
                    del vars(self)[self._set]
                self._set = name
                break
        return self._set

    def HasField(self, field_name: str) -> bool:
        """Return True if a list is set."""
        return self.WhichOneof() == field_name

    def _load(self, message: Any) -> None:
        for name in self._kinds:
            vars(self).pop(name, None)
        self._set = None
        for name in vars(message):
            self._set = name            # of several lists, the last one
        if self._set is not None:
            getattr(self, self._set)._load(getattr(message, self._set))

    def _parts(self) -> list[tuple[int, bytes]]:
        name = self.WhichOneof()
        if name is None:
            return []
        return [(self._kinds[name][0], vars(self)[name].SerializeToString())]

    @property
    def _fields(self) -> tuple[str, ...]:       # type: ignore[override]
        name = self.WhichOneof()
        return () if name is None else (name,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        return self._fields == other._fields and super().__eq__(other)
