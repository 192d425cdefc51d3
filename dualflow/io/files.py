"""Files that are whole or not there, and tensors in them.

A file is written to a name of its own, brought to the disk, and only then renamed: whenever a
program ends, what had the name before is whole. While it is written it is locked, so what a killed
program left behind is told from what another one is writing, and removed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, BinaryIO

from dualflow._core import Tensor, memory_of, rebuild
from dualflow.dtypes import as_dtype
from dualflow.errors import DataLossError, NotFoundError

SUFFIX = ".safetensors"
MAX_NDIM = 32               # of arrays; larger tensors are flat in a file
TEMPORARY = re.compile(r".*\.[0-9a-f]{8}\.unfinished")


def safetensors() -> Any:
    """The package, loaded when first needed."""
    try:
        return import_module("safetensors")
    except ImportError:
        raise ImportError("checkpoints want the safetensors package: pip install "
                          "'dualflow[safetensors]'") from None


def write_atomically(path: str, write: Callable[[BinaryIO], Any]) -> None:
    """Makes a file that is either whole or not there, and on the disk when this returns.

    Parameters
    ----------
    path : str
        What had that name before stays as it is until the new file takes its place.
    write : callable
        Takes an empty file and writes it.

    Raises
    ------
    OSError
        If the file cannot be written: the disk is full, the folder may not be written to.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        os.makedirs(folder, exist_ok=True)
        remove_unfinished(folder)
        file, temporary = _locked(path)
        try:
            with file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        _sync(folder)                   # the new name is part of the folder
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {error.strerror or error}; what was "
                                   "there before is as it was") from error


def _locked(path: str) -> tuple[BinaryIO, str]:
    """A new file beside `path`, held until it is closed, and its name."""
    while True:
        name = f"{path}.{secrets.token_hex(4)}.unfinished"
        file = open(name, "xb")         # noqa: SIM115  the caller closes it
        with suppress(OSError):         # not everywhere are there locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file, name
        file.close()                    # removed as if left behind, before it was locked


def remove_unfinished(folder: str) -> None:
    """Removes files that programs which are gone began to write."""
    for name in os.listdir(folder):
        if not TEMPORARY.fullmatch(name):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError), open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)    # refused: somebody writes it
            os.unlink(path)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str, text: str) -> None:
    """Makes a small file of text, as `write_atomically` does."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_tensors(path: str, tensors: Mapping[str, Any],
                  metadata: Mapping[str, str] | None = None) -> None:
    """Makes a file of tensors and arrays by name, in the format of the safetensors package.

    The format is a header in JSON and the bytes, one after another; they go to the file as they are
    in memory, without the GIL. (The package would make a copy of all, or a temporary file of its
    own.)
    """
    safetensors()                       # told now rather than when it is to be read
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end, parts = 0, []
    for name, x in tensors.items():
        array_dtype(str(x.dtype))
        parts.append(bytes_of(x))
        start, end = end, end + parts[-1].nbytes
        shape = list(x.shape) if len(x.shape) <= MAX_NDIM else [math.prod(x.shape)]
        header[name] = {"dtype": code(str(x.dtype)), "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)     # so that what follows is aligned

    def write(file: BinaryIO) -> None:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part)

    write_atomically(path, write)


def code(dtype: str) -> str:
    """The format's name of a dtype: F32, BF16, I64, U8, BOOL."""
    found = re.fullmatch(r"(bf|f|i|u|b)[a-z]*(\d*)", dtype)
    assert found is not None
    return "BOOL" if dtype == "bool" else found[1].upper() + found[2]


def bytes_of(x: Any) -> memoryview:
    """The bytes of a tensor or an array, in row-major order, the lowest of a number first."""
    if isinstance(x, Tensor):
        return memory_of(x)
    import numpy as np

    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.astype(flat.dtype.newbyteorder("<"), copy=False).view(np.uint8).data


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """A file of tensors to read from: `keys()`, `get_tensor(name)`, `metadata()`.

    Raises
    ------
    NotFoundError
        If there is no such file.
    DataLossError
        If it is none of the format, or cut short.
    """
    package = safetensors()
    if not os.path.exists(path):
        raise NotFoundError(f"there is no file {path}")
    try:
        with package.safe_open(path, framework="numpy") as file:
            yield file
    except package.SafetensorError as error:
        raise DataLossError(f"{path} is damaged: {error}") from error


def read_tensor(file: Any, name: str, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor of an open file."""
    array_dtype(dtype)
    return rebuild(dtype, shape, bytes_of(file.get_tensor(name)))


def array_dtype(dtype: str) -> Any:
    """NumPy's dtype, which the package wants to know; an error for what cannot be read again."""
    return as_dtype(dtype).as_numpy_dtype
