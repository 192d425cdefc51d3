"""`dualflow.export_library`: the C library that loads program files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dualflow._core import isa
from dualflow.aot.amalgamation import joined
from dualflow.aot.builds import library_makefile
from dualflow.aot.csrc import read
from dualflow.aot.entry import programs
from dualflow.aot.export import machine_name, write_folder, write_texts
from dualflow.aot.load_program import load_program
from dualflow.aot.needs import needs_of
from dualflow.aot.runtime import runtime
from dualflow.errors import InvalidArgumentError

__all__ = ["export_library"]

HEADER = "api/dualflow.h"


def export_library(path: str | os.PathLike[str],
                   files: Sequence[str | os.PathLike[str]]) -> None:
    """Write a C library that loads program files: a new folder with dualflow.h and a Makefile.

    Parameters
    ----------
    path : str or path
        Must not exist yet.
    files : sequence of str or path
        Program files. The library has the ops and kernels that these files require, and loads any
        file that requires no others.

    Raises
    ------
    AlreadyExistsError
        If `path` exists.
    DataLossError
        If one of `files` is not a valid program file; the message states why.

    Notes
    -----
    ``make`` builds libdualflow.a; ``cc main.c libdualflow.a -lm -pthread`` links it.
    `docs/program_files.md` shows a program.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> double = df.function(lambda x: x + x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "double.df")
    ...     df.save_program(double.get_concrete_function(df.constant([1, 2])), file)
    ...     df.export_library(os.path.join(folder, "library"), [file])
    ...     print(sorted(os.listdir(os.path.join(folder, "library"))))
    ['Makefile', 'dualflow.h', 'kernels.c', 'runtime.c', 'runtime.h']
    """
    if isinstance(files, str | os.PathLike) or not files:
        raise InvalidArgumentError(f"export_library: files is {files!r}, expected a list of "
                                   "program files")
    needs = needs_of(programs([load_program(file).spec for file in files]))

    def write(folder: Path) -> None:
        parts = runtime(*needs, folders=("file", "api"))
        write_texts(folder, {
            "dualflow.h": read(HEADER), "Makefile": library_makefile(isa(), machine_name()),
            **joined(parts)})

    write_folder(path, "export_library", write)
