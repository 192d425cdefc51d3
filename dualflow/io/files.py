"""Atomic and durable file writes, and files of tensors.

A file is written under a temporary name, synced to disk, and then renamed: if a program ends at any
time, the previous file is intact. Temporary files are locked while they are written, so that files
left by killed programs can be distinguished from files in use, and removed.
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
MAX_NDIM = 32               # of NumPy arrays; tensors of higher rank are stored flat
TEMPORARY = re.compile(r".*\.[0-9a-f]{8}\.unfinished")


def safetensors() -> Any:
    """Import the safetensors package on first use."""
    try:
        return import_module("safetensors")
    except ImportError:
        raise ImportError("checkpoints require the safetensors package: pip install "
                          "'dualflow[safetensors]'") from None


def write_atomically(path: str, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file atomically; when the function returns, the file is on disk.

    Parameters
    ----------
    path : str
        An existing file is intact until the new one replaces it.
    write : callable
        Called with an empty file to write its content.

    Raises
    ------
    OSError
        If the file cannot be written: the disk is full, or the folder is not writable.
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
        _sync(folder)                   # makes the rename durable
    except OSError as error:
        raise OSError(error.errno, f"cannot write {path}: {error.strerror or error}; an existing "
                                   "file is unchanged") from error


def _locked(path: str) -> tuple[BinaryIO, str]:
    """Create a temporary file next to `path`, locked until it is closed; return it and its name."""
    while True:
        name = f"{path}.{secrets.token_hex(4)}.unfinished"
        file = open(name, "xb")         # noqa: SIM115  the caller closes it
        with suppress(OSError):         # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file, name
        file.close()                    # another process removed it before it was locked


def remove_unfinished(folder: str) -> None:
    """Remove temporary files that terminated programs have left."""
    for name in os.listdir(folder):
        if not TEMPORARY.fullmatch(name):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError), open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)    # fails if it is being written
            os.unlink(path)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str, text: str) -> None:
    """Write a small text file atomically."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_tensors(path: str, tensors: Mapping[str, Any],
                  metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors and arrays by name in the format of the safetensors package.

    The file is a header in JSON followed by the bytes, which are written from memory without copies
    and without the GIL. (The package would copy all tensors, or write a temporary file of its own.)
    """
    safetensors()                       # fail now rather than on reading
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end, parts = 0, []
    for name, x in tensors.items():
        array_dtype(str(x.dtype))
        parts.append(bytes_of(x))
        start, end = end, end + parts[-1].nbytes
        shape = stored_shape(x)
        if len(shape) > MAX_NDIM:
            shape = [math.prod(shape)]
        header[name] = {"dtype": code(str(x.dtype)), "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)     # aligns the tensors

    def write(file: BinaryIO) -> None:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part)

    write_atomically(path, write)


def code(dtype: str) -> str:
    """Return the format's name of a dtype: F32, I64, U8, BOOL. It has no complex128."""
    found = re.fullmatch(r"(bf|f|i|u|b|c)[a-z]*(\d*)", dtype)
    assert found is not None
    return ("BOOL" if dtype == "bool" else "F64" if dtype == "complex128"
            else found[1].upper() + found[2])


def stored_shape(x: Any) -> list[int]:
    """Return the shape of a tensor or an array in a file: complex128 is stored as pairs of
    float64, the last dimension."""
    return [*x.shape, *[2] * (str(x.dtype) == "complex128")]


def array_of(file: Any, name: str, dtype: str) -> Any:
    """Return an array of an open file, which may hold pairs of `stored_shape`."""
    x = file.get_tensor(name)
    if dtype == "complex128" and x.dtype == "float64" and x.shape[-1:] == (2,):
        return x.view(dtype)[..., 0]
    return x


def bytes_of(x: Any) -> memoryview:
    """Return the bytes of a tensor or an array, in row-major order, little-endian."""
    if isinstance(x, Tensor):
        return memory_of(x)
    import numpy as np

    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.astype(flat.dtype.newbyteorder("<"), copy=False).view(np.uint8).data


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a file of tensors for reading; it has `keys()`, `get_tensor(name)`, `metadata()`.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    DataLossError
        If it does not have the format, or is truncated.
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
    """Return a tensor of an open file."""
    array_dtype(dtype)
    return rebuild(dtype, shape, bytes_of(file.get_tensor(name)))


def array_dtype(dtype: str) -> Any:
    """Return NumPy's dtype, which the package requires. Raise if there is none."""
    return as_dtype(dtype).as_numpy_dtype
