"""The current place in the user's program: the innermost frame outside the package and of
libraries that run on it."""

from __future__ import annotations

import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_passed_over = [PACKAGE]


def pass_over(folder: str) -> None:
    """From now on a library in `folder`, which runs on this package, is no code of the user's."""
    if folder + os.sep not in _passed_over:
        _passed_over.append(folder + os.sep)


def user_frame(depth: int) -> tuple[FrameType | None, int]:
    """The user's frame, and how many frames above the caller's it is; the search begins `depth`
    frames above the caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and not _is_users(frame):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def _is_users(frame: FrameType) -> bool:
    """Whether no library on this package runs in it, nor NumPy, whose functions call methods of
    tensors."""
    if frame.f_code.co_filename.startswith(tuple(_passed_over)):
        return False
    return not str(frame.f_globals.get("__name__")).startswith("numpy.")


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the user's line that led here."""
    warnings.warn(message, category, stacklevel=user_frame(0)[1] + 1)


def in_container() -> bool:
    """Whether the caller's caller, in C, is asked by ``in`` or ``not in`` of Python code: a list or
    another container of Python's compares its items with one."""
    import opcode  # loaded where it is first wanted

    frame = sys._getframe(1)
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] == "CONTAINS_OP"
