"""The user's position in the call stack: the innermost frame outside this package and outside
libraries that run on it."""

from __future__ import annotations

import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

COMPREHENSIONS = "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARY = os.path.dirname(os.__file__) + os.sep
PACKAGES = f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
FROZEN = "<frozen"          # prefix of the file names of modules frozen into the interpreter
GENERATED = "numpy.", "namedtuple_"     # prefixes of modules whose code is never the user's
_passed_over = [PACKAGE]


class _PassedOver(dict[str, bool]):
    """By path of a file, True if it is in one of the folders `_passed_over`."""

    def __missing__(self, path: str) -> bool:
        found = self[path] = path.startswith(tuple(_passed_over))
        return found


_is_passed_over = _PassedOver()


def pass_over(folder: str) -> None:
    """Treat code in `folder`, a library that runs on this package, as not the user's."""
    if folder + os.sep not in _passed_over:
        _passed_over.append(folder + os.sep)
        _is_passed_over.clear()


def user_frame(depth: int) -> tuple[FrameType | None, int]:
    """Return the user's frame and its distance from the caller's frame; the search starts `depth`
    frames above the caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    is_passed_over = _is_passed_over
    while frame is not None and (is_passed_over[frame.f_code.co_filename]   # most frames
                                 or not is_users(frame)):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def is_users(frame: FrameType) -> bool:
    """Return True if a frame runs user code: not this package, a library on it, NumPy (which calls
    methods of tensors), or the generated code of a named tuple."""
    if _is_passed_over[frame.f_code.co_filename]:
        return False
    return not str(frame.f_globals.get("__name__")).startswith(GENERATED)


def is_installed(path: str) -> bool:
    """Return True if a file belongs to this package, to a library that runs on it, to the standard
    library or to an installed package."""
    return path.startswith((*_passed_over, LIBRARY, FROZEN)) or any(
        [folder in path for folder in PACKAGES])


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the user's line."""
    warnings.warn(message, category, stacklevel=user_frame(0)[1] + 1)


def in_for_statement(frame: FrameType) -> bool:
    """Return True if the current instruction of a frame belongs to the header of a `for` statement,
    as in ``for x in enumerate(xs)``; False for comprehensions and unpacking."""
    import opcode  # slow import

    code = frame.f_code
    if code.co_name in COMPREHENSIONS:
        return False
    held, now, places = code.co_code, frame.f_lasti, list(code.co_positions())
    passed = [opcode.opmap.get("CACHE", 0), opcode.opmap["EXTENDED_ARG"]]
    for k in range(now, len(held) - 2, 2):
        if opcode.opname[held[k]] == "GET_ITER":
            after = k + 2
            while held[after] in passed:
                after += 2
            if opcode.opname[held[after]] == "FOR_ITER" and (
                    k == now or _is_inside(places[now // 2], places[k // 2])):
                return True
    return False


def _is_inside(place: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    """Return True if an instruction position (first line, last line, first column, last column) is
    inside another one."""
    line, last_line, column, last_column = place
    if None in (*place, *other):
        return False
    return (other[0], other[2]) <= (line, column) and (
        last_line, last_column) <= (other[1], other[3])
