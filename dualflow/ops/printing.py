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
    from collections.abc import Sequence
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
    _emit(values, False, summarize, sep, end, output_stream, False, name)


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


class Printing:
    """The host function of a print: texts and, between them, the values of its inputs.

    Parameters
    ----------
    pieces : sequence of str
        The texts before, between and after the inputs.
    names : sequence of str or None
        For each input the name that Python's print shows, "" if it shows none; None for
        `dualflow.print`.
    handles : sequence of bool
        For each input, whether it holds handles of text.
    summarize : int, optional
    stream : file, optional
    flush : bool
    """

    def __init__(self, pieces: Sequence[str], names: Sequence[str | None],
                 handles: Sequence[bool], summarize: int | None, stream: Any, flush: bool) -> None:
        self.pieces, self.names, self.handles = pieces, names, handles
        self.summarize, self.stream, self.flush = summarize, stream, flush

    def __call__(self, *values: Tensor) -> None:
        parts = [self.pieces[0]]
        for x, name, text, piece in zip(values, self.names, self.handles, self.pieces[1:],
                                        strict=False):
            parts.append(str(late("string_tensor").StringTensor._made(x)) if text else
                         values_text(x, self.summarize) if name is None else
                         to_text(x, name or None))
            parts.append(piece)
        file = sys.stdout if self.stream is None else self.stream
        file.write("".join(parts))
        if self.flush:
            file.flush()

    def description(self) -> list[Any] | None:
        """Return the arguments of `printing` as JSON, or None if another process could not print
        the same."""
        streams = {None: "", sys.stdout: "", sys.stderr: "stderr"}
        if self.stream not in streams:
            return None
        return [list(self.pieces), list(self.names), self.summarize, streams[self.stream],
                self.flush, list(self.handles)]


def printing(pieces: list[str], names: list[str | None], summarize: int | None, stream: str,
             flush: bool, handles: Sequence[bool] = ()) -> Printing:
    """Return the host function of a `Printing.description`."""
    return Printing(pieces, names, handles or [False] * len(names), summarize,
                    sys.stderr if stream == "stderr" else None, flush)


def _emit(values: tuple[Any, ...], as_python: bool, summarize: int | None, sep: str, end: str,
          stream: Any, flush: bool, name: str | None) -> None:
    """Write values now, or when the current graph runs. `as_python`: tensors as Python's print
    shows them."""
    parts = [_freeze(v) for v in values]
    traced = [x for part in parts for x in flatten_tensors(part) if isinstance(x, TensorBase)]
    handles: set[int] = set()           # the ids of the tensors of handles among them

    def find(x: Any) -> bool:
        handles.update([id(x._handles)] if getattr(type(x), "_handles", None) else ())
        return False

    for part in parts:
        rebuild(part, lambda x: x, find)
    mark = _Text(f"\0{id(parts)}\0")        # in place of a tensor
    texts = [str(map_structure(lambda x: mark if isinstance(x, TensorBase) else x, part))
             for part in parts]
    show = Printing(
        (sep.join(texts) + end).split(mark.text),
        [(x.name if isinstance(x, Variable) else "") if as_python else None for x in traced],
        [id(x) in handles for x in traced], summarize, stream, flush)
    control_flow.host.host_call(show, traced or [0], name or "print")


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
    _emit(values, True, None, " " if sep is None else sep, "\n" if end is None else end, file,
          flush, None)


# A context: other threads, and calls without traced tensors, use the original function.
printing_when_run: PatchedAttribute = PatchedAttribute(builtins, "print", python_print)
