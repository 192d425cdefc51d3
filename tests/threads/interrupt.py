"""Ctrl-C wherever Python checks for signals: where a function begins and where a C call returns,
exactly where a profile function is called."""

import sys
from pathlib import Path

PLACES = ("call", "c_return", "c_exception")


def places(work, files=(), share=1):
    """Return the indices of the positions that `work` passes, one for each instruction and kind:
    all in the named files, and every `share`-th of the others."""
    seen, n = {}, 0

    def profile(frame, event, arg):
        nonlocal n
        if event in PLACES:
            n += 1
            seen.setdefault((frame.f_code, frame.f_lasti, event), n)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return [n for k, ((code, *_), n) in enumerate(seen.items())
            if k % share == 0 or Path(code.co_filename).name in files]


def interrupt(work, n):
    """Run `work`; raise KeyboardInterrupt at position n, which propagates unless it is
    swallowed."""
    left = n

    def profile(frame, event, arg):
        nonlocal left
        if event in PLACES:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt(f"in {frame.f_code.co_qualname}:{frame.f_lineno}, {event}")

    sys.setprofile(profile)
    try:
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None
