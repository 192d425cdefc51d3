"""Functions of the user: called with an element; what they raise says where they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow.arguments import shown
from dualflow.data.structure import as_element
from dualflow.errors import DTypeError
from dualflow.frames import user_frame


class UserFunction:
    """A function that the user gave to a transformation.

    Parameters
    ----------
    function : callable
    who : str
        The transformation.
    """

    function: Callable[..., Any]
    who: str

    def __init__(self, function: Callable[..., Any], who: str) -> None:
        if not callable(function):
            raise DTypeError(f"{who}: got {shown(function)}, want a function")
        frame, _ = user_frame(1)
        self.function, self.who = function, who
        self.line: str | None = frame and f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def __call__(self, *args: Any) -> Any:
        """What the function gives, as it is."""
        try:
            return self.function(*args)
        except StopIteration as error:
            raise self.noted(RuntimeError(f"{self.who}: the function raised StopIteration, which "
                                          "would end the dataset early")) from error
        except Exception as error:
            raise self.noted(error)         # noqa: B904

    def of(self, element: Any) -> Any:
        """The same, of the parts of a tuple or of an element that is none."""
        return self(*element) if type(element) is tuple else self(element)

    def noted(self, error: Exception) -> Exception:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        note = f"in {name}, which {self.line} gave to Dataset.{self.who}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return error

    def element(self, element: Any) -> Any:
        """What it makes of an element, as an element."""
        return as_element(self.of(element), self.who)

    def truth(self, element: Any) -> bool:
        """What it says of an element."""
        found = self.of(element)
        try:
            return bool(found)
        except Exception as error:          # of an array with many elements, say
            raise self.noted(error)         # noqa: B904
