"""Tracebacks without the frames of this package: the lines of the user's program remain.

Public functions that call the user's Python, or that run much of this package, hide its frames from
the exceptions that leave them. `dualflow.debugging.disable_traceback_filtering` keeps the frames.
The success path has no cost where the function itself has the ``try`` statement: Python finds the
handler in a table when an exception is raised.
"""

from __future__ import annotations

import functools

from dualflow._util.frames import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["disable_traceback_filtering", "enable_traceback_filtering", "filtered", "hide_frames",
           "is_traceback_filtering_enabled"]

INTERNAL = PACKAGE, "dualflow/_core/"       # the compiled core names its files relative to the root


class _Setting:
    enabled = True


def enable_traceback_filtering() -> None:
    """Hide the frames of dualflow in tracebacks, as by default.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.enable_traceback_filtering()
    """
    _Setting.enabled = True


def disable_traceback_filtering() -> None:
    """Show all frames in tracebacks, for errors in dualflow itself.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.disable_traceback_filtering()
    >>> df.debugging.is_traceback_filtering_enabled()
    False
    >>> df.debugging.enable_traceback_filtering()
    """
    _Setting.enabled = False


def is_traceback_filtering_enabled() -> bool:
    """Return True if tracebacks hide the frames of dualflow.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.is_traceback_filtering_enabled()
    True
    """
    return _Setting.enabled


def hide_frames(error: BaseException) -> None:
    """Remove the frames of this package from the tracebacks of an exception and of the exceptions
    that it names as cause and context.

    Called in an ``except`` clause that ends with a bare ``raise``, which adds no frame. Tracebacks
    are replaced, not changed: other code may hold them.

    Examples
    --------
    >>> from dualflow.tracebacks import hide_frames
    >>> error = ValueError("without a traceback")
    >>> hide_frames(error)
    """
    if not _Setting.enabled:
        return
    open_errors: list[BaseException | None] = [error]
    seen = set()
    while open_errors:
        e = open_errors.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        e.__traceback__ = _users_part(e.__traceback__)
        open_errors += [e.__cause__, e.__context__]


def _users_part(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, or None if no other is left."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    found = None
    for entry in reversed(entries):
        if not entry.tb_frame.f_code.co_filename.startswith(INTERNAL):
            found = type(entry)(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return found


def filtered(function: F) -> F:
    """Decorate a public function so that its exceptions hide the frames of this package.

    Examples
    --------
    >>> from dualflow.tracebacks import filtered
    >>> filtered(len)([1, 2])
    2
    """
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            hide_frames(error)
            raise

    return call     # type: ignore[return-value]
