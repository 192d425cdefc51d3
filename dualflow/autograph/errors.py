"""What converted code says where a traced tensor decides about something it cannot decide."""

from __future__ import annotations

from typing import Any, NoReturn

from dualflow._core import current_graph
from dualflow.autograph.values import Differ, DifferentTypes, Undefined, described
from dualflow.errors import InvalidArgumentError, TracedValueError


def called(word: str) -> str:
    """What a message calls a variable."""
    return "what the function returns" if word.startswith("ag_result") else word


def one_branch(word: str, a: Any, b: Any, where: str, error: Differ) -> Exception:
    """For two branches that leave a variable in ways that no tensor can be both."""
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
        return ("a list that only one of them grows has no length: append in both, a value that "
                "stands for none perhaps, or write to a tensor")
    if a is None or b is None:
        return "give both a tensor or a number"
    return "only tensors, numbers and equal structures of them may differ"


def note_escape(error: BaseException, what: str, where: str) -> None:
    """Note that an exception leaves a branch or an iteration that is recorded. Whoever catches it
    outside of that would catch it in every run."""
    enclosed = current_graph().enclosed
    if enclosed.escaped is None and isinstance(error, Exception):
        enclosed.escaped = TracedValueError(
            f"{type(error).__name__} ({error}) is caught outside of the {what} at {where}, which a "
            "traced tensor decides and in which it is raised: catch it inside, or decide by a "
            "value that is known while tracing")


def left_early(what: str) -> NoReturn:
    """A jump that Python made out of something recorded."""
    raise TracedValueError(
        f"`return`, `break` or `continue` leaves an `{what}` that a traced tensor decides, inside "
        "a `try` whose `finally` jumps, too: set a variable there, and jump by it after the `try`")


def not_carried(word: str, start: Any, end: Any, what: str,
                kind: type[Exception] | None) -> NoReturn:
    """A variable that a loop cannot hand from round to round."""
    raise refusal(word, start, end, what, kind)


def first_iteration(word: str, what: str) -> Exception:
    """For a variable that an iteration reads before anything assigns it."""
    return InvalidArgumentError(
        f"{word} has no value in the first iteration of the {what}, which a traced tensor decides, "
        "and is read later: give it a value before the loop")


def refusal(word: str, start: Any, end: Any, what: str,
            kind: type[Exception] | None) -> Exception:
    """Why a loop cannot carry a variable."""
    word = called(word)
    if isinstance(start, Undefined):
        return InvalidArgumentError(
            f"{word} is assigned in the {what} and read later, but perhaps there is no iteration: "
            f"give it a value before the loop; in an iteration it becomes {described(end)}")
    if isinstance(start, list) and isinstance(end, list) and len(start) != len(end):
        return InvalidArgumentError(
            f"{word} has {len(start)} items before the {what} and {len(end)} after a round, which "
            "cannot be stacked: let each round append the same number of tensors of one shape by "
            f"{word}.append(x), and do nothing else with it in the loop; or write to a TensorArray")
    error = kind or InvalidArgumentError
    name = error.__name__
    advice = ("cast one of them, as by dualflow.cast(x, dtype)" if name == "DTypeError" else
              "begin with that shape, or use dualflow.while_loop with shape_invariants"
              if name == "ShapeError" else
              "only tensors and numbers may change from round to round")
    return error(f"{word} is {described(start)} before the {what} and {described(end)} after a "
                 f"round; {advice}")


def not_stacked(word: str, items: list[Any], what: str) -> NoReturn:
    """A list that grows by different things."""
    raise InvalidArgumentError(
        f"{word}: a round of the {what} appends {', '.join(map(described, items))}, which cannot "
        "be stacked; append tensors of one dtype and shape")
