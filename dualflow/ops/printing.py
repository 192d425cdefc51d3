"""Printing as an op: in program order, at once or each time a graph runs.

`print` is dualflow's; `python_print` replaces Python's own while a thread traces.
"""

from __future__ import annotations

import builtins
import sys

from dualflow._core import (
    Dim,
    PatchedAttribute,
    Symbol,
    Tensor,
    TensorBase,
    Variable,
    current_graph,
    known,
)
from dualflow._util.arguments import shown
from dualflow._util.late_binding import late
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.nest import flatten_tensors, map_structure, pack_sequence_as, rebuild
from dualflow.ops import control_flow
from dualflow.ops.display import to_text, values_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["print"]


def print(*values: Any, sep: str = " ", end: str = "\n", output_stream: Any = None,
          summarize: int | None = None, name: str | None = None) -> None:
    """Print values; in a traced function in each run, in program order.

    Parameters
    ----------
    *values : Tensor, Variable, any Python value, or nested lists, tuples, dicts of them
        The elements of tensors are printed.
    sep, end : str
        Text between and after the values, as in Python's print.
    output_stream : file, optional
        File to print to; by default ``sys.stdout`` at the time of printing.
    summarize : int, optional
        Number of elements to print at both ends of a dimension; -1 for all. By default NumPy's.
    name : str, optional

    Returns
    -------
    None

    Notes
    -----
    Python's own ``print(x)`` prints traced tensors in the same way, in the form of their repr. A
    traced tensor in an f-string is formatted while Python is traced: by shape and dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> df.print("x:", df.constant([1., 2.]), {"n": df.constant(3)})
    x: [1. 2.] {'n': 3}
    """
    for what, text in (("sep", sep), ("end", end)):
        if not isinstance(text, str):
            raise DTypeError(f"print: {what} is {shown(text)}, expected a str")
    if output_stream is not None and not callable(getattr(output_stream, "write", None)):
        raise DTypeError(f"print: output_stream is {shown(output_stream)}, expected a file")
    _emit(values, lambda x, of: values_text(x, summarize), sep, end, output_stream, False, name)


class _Text:
    """Replaces a tensor in nested values by its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _freeze(value: Any) -> Any:
    """Return the text of a value, or its structure with the tensors if it has any."""
    value = _with_numbers(value)
    leaves = flatten_tensors(value)
    if not any(isinstance(x, TensorBase) for x in leaves):
        return str(value)
    return map_structure(lambda x: x if isinstance(x, TensorBase) else _Text(repr(x)),
                         pack_sequence_as(value, leaves))


def _with_numbers(value: Any) -> Any:
    """Replace Dims in a value by their values in this call, for printing."""
    try:
        leaves = flatten_tensors(value)
    except InvalidArgumentError:        # a list that contains itself is printable
        return value
    if not any(isinstance(x, Dim) for x in leaves):
        return value
    return pack_sequence_as(value, [known(x) for x in leaves])


def _emit(values: tuple[Any, ...], show: Callable[[Tensor, Any], str], sep: str, end: str,
          stream: Any, flush: bool, name: str | None) -> None:
    """Write values now, or when the current graph runs. `show` returns the text of a tensor, given
    its value and the original object."""
    parts = [_freeze(v) for v in values]
    traced = [x for part in parts for x in flatten_tensors(part) if isinstance(x, TensorBase)]
    handles: set[int] = set()           # the ids of the tensors of handles among them

    def find(x: Any) -> bool:
        handles.update([id(x._handles)] if getattr(type(x), "_handles", None) else ())
        return False

    for part in parts:
        rebuild(part, lambda x: x, find)

    def write(*now: Tensor) -> None:
        rest = iter(now)

        def shown_now(x: Any) -> Any:
            if not isinstance(x, TensorBase):
                return x
            if id(x) in handles:
                return _Text(str(late("string_tensor").StringTensor._made(next(rest))))
            return _Text(show(next(rest), x))

        texts = [str(map_structure(shown_now, part)) for part in parts]
        file = sys.stdout if stream is None else stream
        file.write(sep.join(texts) + end)
        if flush:
            file.flush()

    control_flow.host.host_call(write, traced, name or "print")


def _show_as_python(x: Tensor, of: Any) -> str:
    return to_text(x, of.name if isinstance(of, Variable) else None)


# --- Python's own print, while a thread traces ---------------------------------------------------

def _holds_traced(values: tuple[Any, ...]) -> bool:
    try:
        return any(isinstance(x, Symbol | Variable) for x in flatten_tensors(values))
    except InvalidArgumentError:        # a list that contains itself
        return False


def python_print(*values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None,
                 flush: bool = False) -> None:
    """Python's print, except that traced tensors are printed when their graph runs."""
    if current_graph() is None:
        printing_when_run.old(*values, sep=sep, end=end, file=file, flush=flush)
        return
    if not _holds_traced(values):
        values = tuple(map(_with_numbers, values))
        printing_when_run.old(*values, sep=sep, end=end, file=file, flush=flush)
        return
    _emit(values, _show_as_python, " " if sep is None else sep, "\n" if end is None else end, file,
          flush, None)


# A context: other threads, and calls without traced tensors, use the original function.
printing_when_run: PatchedAttribute = PatchedAttribute(builtins, "print", python_print)
