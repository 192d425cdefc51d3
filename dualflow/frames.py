"""The current place in the user's program: the innermost frame outside the package."""

import os
import sys
import warnings
from types import FrameType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_frame(depth: int) -> tuple[FrameType | None, int]:
    """The user's frame, and how many frames above the caller's it is; the search begins `depth`
    frames above the caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the user's line that led here."""
    warnings.warn(message, category, stacklevel=user_frame(0)[1] + 1)
