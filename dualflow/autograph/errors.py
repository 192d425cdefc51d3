"""The errors of converted code, if a traced tensor decides and the values cannot be merged."""

from __future__ import annotations

from typing import Any, NoReturn

from dualflow._core import current_graph
from dualflow.autograph.values import Differ, DifferentTypes, Undefined, described
from dualflow.errors import InvalidArgumentError, TracedValueError


def called(word: str) -> str:
    """Return the name of a variable for messages."""
    return "the return value" if word.startswith("ag_result") else word


def one_branch(word: str, a: Any, b: Any, where: str, error: Differ) -> Exception:
    """Return the error for a variable whose values in two branches cannot be merged."""
    word = called(word)
    if isinstance(a, Undefined) or isinstance(b, Undefined):
        in_second = isinstance(a, Undefined)
        only, other = ("second", "first") if in_second else ("first", "second")
        value = described(b if in_second else a)
        return InvalidArgumentError(
            f"{word} is assigned in one branch only of the `if` at {where}, which a traced tensor "
            f"decides, and is read later: in the {only} one it is {value}, "
            f"in the {other} one it has no value; give it a value before the `if`, or in both "
            "branches")
    kind = error.kind if isinstance(error, DifferentTypes) else InvalidArgumentError
    return kind(
        f"{word} differs between the branches at {where}, which a traced tensor decides: "
        f"{described(a)} in the first, {described(b)} in the second{_detail(error, a, b)}; "
        f"{_advice(kind, a, b)}")


def _detail(error: Differ, a: Any, b: Any) -> str:
    text = str(error)
    return "" if text == f"{described(a)} in one, {described(b)} in the other" else f" ({text})"


def _advice(kind: type[Exception], a: Any, b: Any) -> str:
    if kind.__name__ == "DTypeError":
        return "cast one of them, as by dualflow.cast(x, dtype)"
    if kind.__name__ == "ShapeError":
        return "give both the same rank, as by dualflow.reshape"
    if isinstance(a, list) and isinstance(b, list):
        return ("a list that only one branch appends to has no static length: append in both, for "
                "example a placeholder value, or write to a tensor")
    if a is None or b is None:
        return "give both a tensor or a number"
    return "only tensors, numbers and equal structures of them may differ"


def note_escape(error: BaseException, what: str, where: str) -> None:
    """Store the error for an exception that leaves a branch or an iteration while it is recorded. A
    handler outside would catch it in every run."""
    outliner = current_graph().outliner
    if outliner.escaped is None and isinstance(error, Exception):
        outliner.escaped = TracedValueError(
            f"{type(error).__name__} ({error}) is caught outside of the {what} at {where}, which a "
            "traced tensor decides: catch it inside, or test a value that is known while tracing")


def left_early(what: str) -> NoReturn:
    """Raise the error for a jump out of a body that is being recorded."""
    raise TracedValueError(
        f"`return`, `break` or `continue` leaves the {what} that a traced tensor decides, inside "
        "a `try` whose `finally` also jumps: set a flag there, and test the flag after the `try`")


def not_carried(word: str, start: Any, end: Any, what: str,
                kind: type[Exception] | None) -> NoReturn:
    """Raise the error for a variable that a loop cannot carry."""
    raise refusal(word, start, end, what, kind)


def first_iteration(word: str, what: str) -> Exception:
    """Return the error for a variable that an iteration reads before it is assigned."""
    return InvalidArgumentError(
        f"{word} has no value in the first iteration of the {what}, which a traced tensor decides, "
        "and is read later: give it a value before the loop")


def refusal(word: str, start: Any, end: Any, what: str,
            kind: type[Exception] | None) -> Exception:
    """Return the error that describes why a loop cannot carry a variable."""
    word = called(word)
    if isinstance(start, Undefined):
        return InvalidArgumentError(
            f"{word} is assigned in the {what} and read later, but there may be no iteration: "
            f"give it a value before the loop; in an iteration it becomes {described(end)}")
    if isinstance(start, list) and isinstance(end, list) and len(start) != len(end):
        return InvalidArgumentError(
            f"{word} has {len(start)} items before the {what} and {len(end)} after an iteration, "
            "which cannot be stacked: append the same number of tensors of one shape in each "
            f"iteration by {word}.append(x), without any other use of {word} in the loop; or write "
            "to a TensorArray")
    error = kind or InvalidArgumentError
    name = error.__name__
    advice = ("cast one of them, as by dualflow.cast(x, dtype)" if name == "DTypeError" else
              "begin with that shape, or use dualflow.while_loop with shape_invariants"
              if name == "ShapeError" else
              "only tensors and numbers may change between iterations")
    return error(f"{word} is {described(start)} before the {what} and {described(end)} after an "
                 f"iteration; {advice}")


def not_stacked(word: str, items: list[Any], what: str) -> NoReturn:
    """Raise the error for appended items that cannot be stacked."""
    raise InvalidArgumentError(
        f"{word}: an iteration of the {what} appends {', '.join(map(described, items))}, which "
        "cannot be stacked; append tensors of one dtype and shape")
