"""The current place in the user's program: the innermost frame outside the package and of
libraries that run on it."""

import os
import sys
import warnings
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
    folders = tuple(_passed_over)
    while frame is not None and frame.f_code.co_filename.startswith(folders):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the user's line that led here."""
    warnings.warn(message, category, stacklevel=user_frame(0)[1] + 1)
