"""Values of variables in both branches of an `if`, or before and after an iteration: comparison,
merging, and conversion to tensors.

Tensors and numbers may differ, also inside nested structures; any other value must be equal.
"""

from __future__ import annotations

import threading
import weakref
from types import CodeType
from typing import Any, NoReturn

from dualflow import nest
from dualflow._core import Dim, Symbol, TensorBase, Variable, as_tensor, current_graph, unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import zeros
from dualflow.ops.array.join import stack
from dualflow.ops.array.shape import reshape
from dualflow.ops.elementwise.compare import not_equal


class Undefined:
    """The type of `UNDEFINED`, the value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class MutableRef:
    """A handle that represents a list or dict that is changed in place, wherever it is a value.

    Attributes
    ----------
    box : list or dict
    value : list or dict
        Its current content.
    """

    def __init__(self, box: Any) -> None:
        self.box = box
        self.value: Any = nest.rebuild(box, lambda x: x)     # copies nested lists

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MutableRef) and other.box is self.box

    __hash__ = None     # type: ignore[assignment]

    def __repr__(self) -> str:
        return nest.described(self.value)


class Differ(InvalidArgumentError):
    """Two values cannot be merged; the message states why."""


def is_traced(x: Any) -> bool:
    """Return True if the truth, items or number of a value are known only when a graph runs."""
    if type(x) is Dim:
        return _is_of_run(x)
    x = unwrapped(x)
    return isinstance(x, Symbol | Variable) and current_graph() is not None


def in_run(x: Any) -> Any:
    """Return a size known only at run time as a traced integer; any other value unchanged."""
    return as_tensor(x) if type(x) is Dim and _is_of_run(x) else x


def _is_of_run(x: Dim) -> bool:
    """Return True if a size that depends on data may select branches of the graph."""
    graph = current_graph()
    if graph is None or not x.data_dependent or not graph.outliner.sizes_choose:
        return False
    graph.outliner.sizes_chose = True
    return True


def truth(x: Any) -> Any:
    """Return the truth value of a traced tensor, a bool of shape (), like eager `bool(x)`."""
    x = scalar(x, "bool()")
    return x if x.dtype.name == "bool" else not_equal(x, 0)


def scalar(x: Any, what: str) -> Any:
    """Return a traced tensor with one element in shape (); `what` is the caller, for messages."""
    x = as_tensor(unwrapped(x))
    if x.ndim:
        if x.known_shape.count(1) + x.known_shape.count(None) != x.ndim:
            raise InvalidArgumentError(f"{what} expected a tensor with one element, got {x.dtype} "
                                       f"{x.known_shape}")
        x = reshape(x, ())
    return x


def is_number(x: Any) -> bool:
    """Return True if a value is a Python number, which is converted to a tensor on demand."""
    return type(x) is Dim or isinstance(x, bool | int | float | complex)


def is_tensor(x: Any) -> bool:
    return isinstance(unwrapped(x), TensorBase) and not isinstance(x, Variable)


def tensor(x: Any, like: Any = None) -> Any:
    """Convert a tensor or number to a tensor; a number takes the dtype `like` if it can."""
    x = unwrapped(x)
    if like is not None and is_number(x):
        number = x.hint if type(x) is Dim else x
        if isinstance(number, bool):
            fits = like.name == "bool"
        elif isinstance(number, complex):
            fits = like.is_complex
        else:
            fits = like.is_inexact or (isinstance(number, int) and like.name != "bool")
        if fits:
            return as_tensor(x, like)
    return as_tensor(x)


def column(values: list[Any], what: str) -> Any:
    """Stack tensors and numbers as the rows of one tensor; `what` names a row in messages."""
    like = next((x.dtype for x in map(unwrapped, values) if isinstance(x, TensorBase)), None)
    for x in values:
        if not isinstance(unwrapped(x), TensorBase) and not is_number(x):
            raise InvalidArgumentError(f"{what} must be a tensor or a number if a traced tensor "
                                       f"decides, got {described(x)}")
    rows = [tensor(x, like) for x in values]
    for x in rows:
        if x.dtype is not rows[0].dtype or shape_of(x) != shape_of(rows[0]):
            raise InvalidArgumentError(
                f"{what} must have one dtype and shape if a traced tensor decides, got "
                f"{described(rows[0])} and {described(x)}: use dualflow.cast or dualflow.reshape")
    return stack(rows)


def shape_of(x: Any) -> tuple[int | None, ...]:
    """Return the sizes of a tensor, None for unknown ones."""
    found: tuple[int | None, ...] = x.known_shape if isinstance(x, Symbol) else x.shape
    return found


def described(x: Any) -> str:
    """Describe a value for a message: type or dtype and shape, and the line that created it."""
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
    """Return True if two values are interchangeable to Python code."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, TensorBase) or type(a) is Dim:
        return False
    if isinstance(a, bool | int | float | complex | str | bytes | type(None)):
        return bool(a == b) and repr(a) == repr(b)
    try:
        return not is_number(a) and not nest.is_nested(a) and bool(a == b)
    except Exception:               # raised by the values' own ==
        return False


class Merge:
    """The merge of variables at the end of two branches: collects tensors that depend on the
    branch.

    Attributes
    ----------
    first, second : list of Tensor
        The tensors to choose between, by index of their Slot.
    """

    def __init__(self) -> None:
        self.first: list[Any] = []
        self.second: list[Any] = []

    def add(self, a: Any, b: Any) -> Any:
        """Merge two values, with a Slot for each chosen tensor. Raise Differ if impossible."""
        if same(a, b):
            return a
        if (is_tensor(a) or is_number(a)) and (is_tensor(b) or is_number(b)):
            return self._leaf(a, b)
        if type(a) is MutableRef or type(b) is MutableRef:
            return self.add(*[x.value if type(x) is MutableRef else x for x in (a, b)])
        if (nest.is_nested(a) and nest.is_nested(b) and type(a) is type(b)
                and list(nest.level(a)[0]) == list(nest.level(b)[0])):
            return nest.remade(a, [self.add(x, y) for x, y in zip(
                nest.parts(a), nest.parts(b), strict=True)])
        raise Differ(f"{described(a)} in one, {described(b)} in the other")

    def fill(self, a: Any, first: bool, numbers: bool = True) -> Any:
        """Merge a value of one branch with fillers for the other, in which it has no value;
        `numbers`: whether numbers in it become tensors."""
        def leaf(x: Any) -> Any:
            if not is_tensor(x) and not (numbers and is_number(x)):
                return x
            x = as_tensor(unwrapped(x))
            nothing = filler(x)
            return self._leaf(x, nothing) if first else self._leaf(nothing, x)

        return nest.rebuild(a, leaf)

    def _leaf(self, a: Any, b: Any) -> Hole:
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
        return Hole(len(self.first) - 1)


class DifferentTypes(Differ):
    """Two tensors differ in dtype or rank; `kind` is the class of the error."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind = kind


class RestartTrace(BaseException):
    """Leaves a trace in order to restart it. `except Exception` does not catch it."""


def restart_trace() -> NoReturn:
    """Leave the trace, which its caller restarts."""
    current_graph().outliner.left = True
    raise RestartTrace


class Guesses(threading.local):
    """Loops whose current recording relies on guessed dtypes of numbers, and, by code and line, the
    loops that must not guess."""

    def __init__(self) -> None:
        self.open: list[tuple[CodeType, int]] = []
        self._known: weakref.WeakKeyDictionary[CodeType, set[int]] = weakref.WeakKeyDictionary()

    def known(self, place: tuple[CodeType, int]) -> bool:
        """Return True if a loop infers the dtypes before it records an iteration."""
        return place[1] in self._known.get(place[0], ())

    def check(self) -> None:
        """On a dtype mismatch: restart the trace without guesses, if there are any."""
        if self.open:
            for code, line in self.open:
                self._known.setdefault(code, set()).add(line)
            self.open.clear()
            restart_trace()


guesses: Guesses = Guesses()


class Hole:
    """A placeholder in a structure for a tensor that does not exist yet."""

    def __init__(self, place: int) -> None:
        self.place = place


def filled(structure: Any, made: Any) -> Any:
    """Return a structure with its slots replaced by tensors."""
    if isinstance(structure, Hole):
        return made[structure.place]
    return nest.rebuild(structure, lambda x: made[x.place] if isinstance(x, Hole) else x)


def filler(x: Any) -> Any:
    """Return zeros like a tensor, with 0 for unknown sizes; their values are never used."""
    shape = [n or 0 for n in shape_of(x)]
    zero = False if x.dtype.name == "bool" else 0
    return zeros(shape, x.dtype) if shape else as_tensor(zero, x.dtype)
