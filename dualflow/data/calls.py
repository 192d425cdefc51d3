"""User functions of transformations. Their errors get a note with the line that passed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow._util.arguments import shown
from dualflow._util.frames import user_frame
from dualflow.data.structure import as_element
from dualflow.errors import DTypeError


class UserFunction:
    """A function that a user passed to a transformation.

    Parameters
    ----------
    function : callable
    caller : str
        The name of the transformation.
    """

    function: Callable[..., Any]
    caller: str

    def __init__(self, function: Callable[..., Any], caller: str) -> None:
        if not callable(function):
            raise DTypeError(f"{caller}: got {shown(function)}, expected a function")
        frame, _ = user_frame(1)
        self.function, self.caller = function, caller
        self.line: str | None = frame and f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def __call__(self, *args: Any) -> Any:
        """Return the function's unmodified result; add a note to its errors."""
        try:
            return self.function(*args)
        except StopIteration as error:
            raise self.noted(RuntimeError(f"{self.caller}: the function raised StopIteration, "
                                          "which "
                                          "would end the dataset early")) from error
        except Exception as error:
            raise self.noted(error)         # noqa: B904

    def of(self, element: Any) -> Any:
        """Call the function with an element; the parts of a tuple become separate arguments. A list
        that it returns stands for a tuple, as in tf.data; a list inside it is one tensor."""
        made = self(*element) if type(element) is tuple else self(element)
        return tuple(made) if type(made) is list else made

    def noted(self, error: Exception) -> Exception:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        note = f"in {name}, which {self.line} passed to Dataset.{self.caller}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return error

    def element(self, element: Any) -> Any:
        """Return the function's result for an element, converted to an element."""
        return as_element(self.of(element), self.caller)

    def truth(self, element: Any) -> bool:
        """Return the truth value of the function's result for an element."""
        found = self.of(element)
        try:
            return bool(found)
        except Exception as error:          # for example, of an array with several elements
            raise self.noted(error)         # noqa: B904
