"""Whole files as strings."""

from __future__ import annotations

import os
from typing import Any

from dualflow.errors import NotFoundError
from dualflow.ops.image.formats import content
from dualflow.ops.string_tensor import StringTensor

__all__ = ["read_file", "write_file"]


def _path(op: str, filename: Any) -> str:
    if isinstance(filename, os.PathLike):
        return os.fsdecode(filename)
    return os.fsdecode(content(f"{op}: filename", filename))


def read_file(filename: Any, name: str | None = None) -> StringTensor:
    """Return the bytes of a file.

    Parameters
    ----------
    filename : str, path or scalar string tensor

    Returns
    -------
    StringTensor, shape ()

    Raises
    ------
    NotFoundError
        If there is no such file.

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> path = tempfile.mkdtemp() + "/a.txt"
    >>> df.io.write_file(path, b"text")
    >>> df.io.read_file(path).numpy()
    b'text'
    """
    path = _path("read_file", filename)
    try:
        with open(path, "rb") as file:
            return StringTensor(file.read())
    except FileNotFoundError:
        raise NotFoundError(f"read_file: {path!r} does not exist") from None


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file. Missing folders of its path are created.

    Parameters
    ----------
    filename : str, path or scalar string tensor
    contents : bytes, str or scalar string tensor

    Examples
    --------
    >>> import dualflow as df, tempfile
    >>> df.io.write_file(tempfile.mkdtemp() + "/new/a.txt", "text")
    """
    path, data = _path("write_file", filename), content("write_file", contents)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
