"""`tf.app`: runs the main function of a program after parsing its flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from dualflow.compat.v1 import flags as flags
from dualflow.compat.v1.flags import absl, parse

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None,
        argv: Sequence[str] | None = None) -> NoReturn:
    """Parse the flags, call the main function with the remaining arguments, and exit with its
    result.

    Parameters
    ----------
    main : callable, optional
        By default the function `main` of the program.
    argv : list of str, optional
        The command line, starting with the name of the program; by default `sys.argv`.

    Raises
    ------
    SystemExit
        With the result of `main`.
    ImportError
        If the package absl is not installed.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> def main(argv):
    ...     print(argv[1:])
    >>> try:
    ...     tf.app.run(main, ["program", "a", "b"])
    ... except SystemExit as end:
    ...     print("result:", end.code)
    ['a', 'b']
    result: None
    """
    absl("app").run(main or sys.modules["__main__"].main,
                    argv=sys.argv if argv is None else argv, flags_parser=parse)
    raise AssertionError("absl.app.run returned")


def __dir__() -> list[str]:
    return __all__
