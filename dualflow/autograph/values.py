"""Values that a traced tensor decides about: what two branches, or a round and the next, have in
common.

Tensors and numbers may differ, in nested structures too; anything else must be the same.
"""

from __future__ import annotations

import threading
import weakref
from types import CodeType
from typing import Any, NoReturn

from dualflow import nest
from dualflow._core import Dim, Symbol, TensorBase, Variable, as_tensor, current_graph, unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array import reshape
from dualflow.ops.compare import not_equal
from dualflow.ops.creation import zeros
from dualflow.ops.join import stack


class Undefined:
    """Stands for the value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class Held:
    """Stands for a list or dict that is changed in place, wherever it is a value.

    Attributes
    ----------
    box : list or dict
    value : list or dict
        What is in it now.
    """

    def __init__(self, box: Any) -> None:
        self.box = box
        self.value: Any = nest.rebuild(box, lambda x: x)     # with copies of lists in it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.box is self.box

    __hash__ = None     # type: ignore[assignment]

    def __repr__(self) -> str:
        return nest.described(self.value)


class Differ(InvalidArgumentError):
    """Two values have nothing in common; the message says why."""


def is_traced(x: Any) -> bool:
    """Whether the truth, the items or the number of a value are known only when a graph runs."""
    if type(x) is Dim:
        return _is_of_run(x)
    x = unwrapped(x)
    return isinstance(x, Symbol | Variable) and current_graph() is not None


def in_run(x: Any) -> Any:
    """A size that only a run knows as a traced integer; anything else as it is."""
    return as_tensor(x) if type(x) is Dim and _is_of_run(x) else x


def _is_of_run(x: Dim) -> bool:
    """Whether a size that depends on data may choose branches of the graph."""
    graph = current_graph()
    if graph is None or not x.from_data or not graph.enclosed.sizes_choose:
        return False
    graph.enclosed.sizes_chose = True
    return True


def truth(x: Any) -> Any:
    """The truth of a traced tensor, as Python's `bool` of an eager one: a bool of shape ()."""
    x = scalar(x, "bool()")
    return x if x.dtype.name == "bool" else not_equal(x, 0)


def scalar(x: Any, what: str) -> Any:
    """A traced tensor with one element, of which `what` asks, in shape ()."""
    x = as_tensor(unwrapped(x))
    if x.ndim:
        if x.known_shape.count(1) + x.known_shape.count(None) != x.ndim:
            raise InvalidArgumentError(f"{what} wants a tensor with one element, got {x.dtype} "
                                       f"{x.known_shape}")
        x = reshape(x, ())
    return x


def is_number(x: Any) -> bool:
    """Whether a value is a Python number, which becomes a tensor where it must."""
    return type(x) is Dim or isinstance(x, bool | int | float)


def is_tensor(x: Any) -> bool:
    return isinstance(unwrapped(x), TensorBase) and not isinstance(x, Variable)


def tensor(x: Any, like: Any = None) -> Any:
    """A tensor, or a number as one; `like`: a dtype that a number takes if it can."""
    x = unwrapped(x)
    if like is not None and is_number(x):
        number = x.hint if type(x) is Dim else x
        if isinstance(number, bool):
            fits = like.name == "bool"
        else:
            fits = like.is_floating or (isinstance(number, int) and like.name != "bool")
        if fits:
            return as_tensor(x, like)
    return as_tensor(x)


def column(values: list[Any], what: str) -> Any:
    """Tensors and numbers as the rows of one tensor; for messages, what each is."""
    like = next((x.dtype for x in map(unwrapped, values) if isinstance(x, TensorBase)), None)
    for x in values:
        if not isinstance(unwrapped(x), TensorBase) and not is_number(x):
            raise InvalidArgumentError(f"{what} must be a tensor or a number where a traced tensor "
                                       f"decides, got {described(x)}")
    rows = [tensor(x, like) for x in values]
    for x in rows:
        if x.dtype is not rows[0].dtype or shape_of(x) != shape_of(rows[0]):
            raise InvalidArgumentError(
                f"{what} must have one dtype and shape where a traced tensor decides, got "
                f"{described(rows[0])} and {described(x)}: use dualflow.cast or dualflow.reshape")
    return stack(rows)


def shape_of(x: Any) -> tuple[int | None, ...]:
    """The sizes of a tensor, None where one is not known."""
    found: tuple[int | None, ...] = x.known_shape if isinstance(x, Symbol) else x.shape
    return found


def described(x: Any) -> str:
    """A value for a message: what it is, and where a tensor was made."""
    if isinstance(x, Undefined):
        return "undefined"
    inner = unwrapped(x)
    if isinstance(inner, Symbol):
        line = inner.node.line if inner.node is not None else None
        made = f", made at {line}" if line else ""
        return f"{inner.dtype} {inner.known_shape}{made}"
    if isinstance(inner, TensorBase):
        return f"{inner.dtype} {inner.shape}"
    if nest.is_nested(x):
        return nest.described(x)
    text = repr(x)
    return text if len(text) < 60 else f"a {type(x).__name__}"


def same(a: Any, b: Any) -> bool:
    """Whether two values are one and the same to Python."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, TensorBase) or type(a) is Dim:
        return False
    if isinstance(a, bool | int | float | str | bytes | type(None)):
        return bool(a == b) and repr(a) == repr(b)
    try:
        return not is_number(a) and not nest.is_nested(a) and bool(a == b)
    except Exception:               # the values' own ==
        return False


class Merge:
    """What two branches make of variables: tensors that depend on the branch, and the rest.

    Attributes
    ----------
    first, second : list of Tensor
        What is to be chosen between.
    """

    def __init__(self) -> None:
        self.first: list[Any] = []
        self.second: list[Any] = []

    def add(self, a: Any, b: Any) -> Any:
        """Two values as one, with a Slot where a tensor is chosen. Raises Differ."""
        if same(a, b):
            return a
        if (is_tensor(a) or is_number(a)) and (is_tensor(b) or is_number(b)):
            return self._leaf(a, b)
        if type(a) is Held or type(b) is Held:
            return self.add(*[x.value if type(x) is Held else x for x in (a, b)])
        if (nest.is_nested(a) and nest.is_nested(b) and type(a) is type(b)
                and list(nest.level(a)[0]) == list(nest.level(b)[0])):
            return nest.remade(a, [self.add(x, y) for x, y in zip(
                nest.parts(a), nest.parts(b), strict=True)])
        raise Differ(f"{described(a)} in one, {described(b)} in the other")

    def fill(self, a: Any, first: bool, numbers: bool = True) -> Any:
        """A value that only one branch makes, of which the other has none to give; `numbers`:
        whether numbers in it become tensors."""
        def leaf(x: Any) -> Any:
            if not is_tensor(x) and not (numbers and is_number(x)):
                return x
            x = as_tensor(unwrapped(x))
            nothing = filler(x)
            return self._leaf(x, nothing) if first else self._leaf(nothing, x)

        return nest.rebuild(a, leaf)

    def _leaf(self, a: Any, b: Any) -> Slot:
        a, b = unwrapped(a), unwrapped(b)
        x = tensor(a, b.dtype if isinstance(b, TensorBase) else None)
        y = tensor(b, x.dtype)
        if x.dtype is not y.dtype and is_number(a) and is_number(b):
            x = tensor(a, y.dtype)
        if x.dtype is not y.dtype or x.ndim != y.ndim:
            kind = DTypeError if x.dtype is not y.dtype else ShapeError
            if kind is DTypeError:
                guesses.check()
            raise DifferentTypes(kind, f"{described(a)} in one, {described(b)} in the other")
        self.first.append(x)
        self.second.append(y)
        return Slot(len(self.first) - 1)


class DifferentTypes(Differ):
    """Two tensors have different dtypes or ranks; `kind`: the class of the error."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Wanted(BaseException):
    """Leaves a trace, to begin anew with what was found out. No `except Exception` stops it."""


def begin_anew() -> NoReturn:
    """Leaves the trace."""
    current_graph().enclosed.left = True
    raise Wanted


class Guesses(threading.local):
    """Loops whose round is recorded with guesses at the dtypes of numbers, and those that must not
    guess, by code and line."""

    def __init__(self) -> None:
        self.open: list[tuple[CodeType, int]] = []
        self._known: weakref.WeakKeyDictionary[CodeType, set[int]] = weakref.WeakKeyDictionary()

    def known(self, place: tuple[CodeType, int]) -> bool:
        """Whether the loop at a place learns the dtypes before it records a round."""
        return place[1] in self._known.get(place[0], ())

    def check(self) -> None:
        """Where two dtypes do not fit: begins anew without guesses, if there are any."""
        if self.open:
            for code, line in self.open:
                self._known.setdefault(code, set()).add(line)
            self.open.clear()
            begin_anew()


guesses: Guesses = Guesses()


class Slot:
    """Stands in a structure for a tensor that is yet to be made."""

    def __init__(self, place: int) -> None:
        self.place = place


def filled(structure: Any, made: Any) -> Any:
    """A structure with tensors for its slots."""
    if isinstance(structure, Slot):
        return made[structure.place]
    return nest.rebuild(structure, lambda x: made[x.place] if isinstance(x, Slot) else x)


def filler(x: Any) -> Any:
    """Zeros like a tensor, whose unknown sizes are taken to be 0: nobody reads them."""
    shape = [n or 0 for n in shape_of(x)]
    zero = False if x.dtype.name == "bool" else 0
    return zeros(shape, x.dtype) if shape else as_tensor(zero, x.dtype)
