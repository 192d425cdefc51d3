"""Files and directories under TensorFlow's names (`tf.io.gfile`), on local file systems.

A missing file raises `NotFoundError`, an existing file that an operation must not replace
`AlreadyExistsError`. Other failures raise Python's OSError.
"""

from __future__ import annotations

import errno
import glob as patterns
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dualflow.errors import NotFoundError
from dualflow.io.local_file import GFile, Path, local, translated

__all__ = ["GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir",
           "remove", "rename", "rmtree", "stat", "walk"]


class FileStatistics(NamedTuple):
    """The size of a file in bytes, the time of its last change in nanoseconds, and whether it is a
    directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copy a file.

    Parameters
    ----------
    src, dst : str or path
    overwrite : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    AlreadyExistsError
        If `dst` exists and `overwrite` is False.
    NotFoundError
        If `src` does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
    ...     with df.io.gfile.GFile(a, "w") as f:
    ...         f.write("text")
    ...     df.io.gfile.copy(a, b)
    ...     print(df.io.gfile.GFile(b).read())
    text
    """
    with translated():
        free(dst, overwrite)
        shutil.copyfile(local(src), local(dst))


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Rename or move a file or directory.

    Parameters
    ----------
    src, dst : str or path
    overwrite : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    AlreadyExistsError
        If `dst` exists and `overwrite` is False.
    NotFoundError
        If `src` does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.mkdir(os.path.join(folder, "a"))
    ...     df.io.gfile.rename(os.path.join(folder, "a"), os.path.join(folder, "b"))
    ...     print(df.io.gfile.listdir(folder))
    ['b']
    """
    with translated():
        free(dst, overwrite)
        os.replace(local(src), local(dst))


def free(path: Path, overwrite: bool) -> None:
    """Raise FileExistsError if a path exists and must not be replaced."""
    if not overwrite and exists(path):
        raise FileExistsError(errno.EEXIST, "File exists", local(path))


def exists(path: Path) -> bool:
    """Return True if a file or directory exists.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.gfile.exists("/"), df.io.gfile.exists("/absent")
    (True, False)
    """
    return os.path.exists(local(path))


def isdir(path: Path) -> bool:
    """Return True if a directory exists.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.gfile.isdir("/"), df.io.gfile.isdir("/absent")
    (True, False)
    """
    return os.path.isdir(local(path))


def glob(pattern: Path | Sequence[Path]) -> list[str]:
    """Return the sorted paths that match a pattern, or the matches of several patterns.

    Parameters
    ----------
    pattern : str or path, or list of them
        ``*``, ``?`` and ``[...]`` match within one part of a path.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    ...     [os.path.relpath(path, folder) for path in df.io.gfile.glob(f"{folder}/*/*")]
    ['a/b']
    """
    several = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [path for one in several
            for path in sorted(patterns.glob(local(one), include_hidden=True))]


def listdir(path: Path) -> list[str]:
    """Return the names of the entries of a directory, sorted.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    NotFoundError
        If the directory does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    ...     df.io.gfile.listdir(folder)
    ['a']
    """
    if not isdir(path):
        raise NotFoundError(f"{local(path)}; Could not find directory")
    return sorted(os.listdir(local(path)))


def mkdir(path: Path) -> None:
    """Create a directory.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    AlreadyExistsError
        If the path exists.
    NotFoundError
        If the parent directory does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.mkdir(os.path.join(folder, "a"))
    ...     df.io.gfile.listdir(folder)
    ['a']
    """
    with translated():
        os.mkdir(local(path))


def makedirs(path: Path) -> None:
    """Create a directory and its parents; do nothing if it exists.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    AlreadyExistsError
        If the path is a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    ...     df.io.gfile.isdir(os.path.join(folder, "a", "b"))
    True
    """
    with translated():
        os.makedirs(local(path), exist_ok=True)


def remove(path: Path) -> None:
    """Delete a file.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    NotFoundError
        If the file does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with df.io.gfile.GFile(os.path.join(folder, "a"), "w") as f:
    ...         f.write("text")
    ...     df.io.gfile.remove(os.path.join(folder, "a"))
    ...     df.io.gfile.listdir(folder)
    []
    """
    with translated():
        os.remove(local(path))


def rmtree(path: Path) -> None:
    """Delete a directory and everything in it.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    NotFoundError
        If the directory does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    ...     df.io.gfile.rmtree(os.path.join(folder, "a"))
    ...     df.io.gfile.listdir(folder)
    []
    """
    with translated():
        shutil.rmtree(local(path))


def stat(path: Path) -> FileStatistics:
    """Return the size, the time of the last change and the kind of a file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    namedtuple (length, mtime_nsec, is_directory)

    Raises
    ------
    NotFoundError
        If the file does not exist.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.gfile.stat("/").is_directory
    True
    """
    with translated():
        found = os.stat(local(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, isdir(path))


def walk(top: Path, topdown: bool = True, onerror: Callable[[OSError], Any] | None = None
         ) -> Iterator[tuple[str, list[str], list[str]]]:
    """Visit a directory and the directories in it.

    Parameters
    ----------
    top : str or path
    topdown : bool, default True
        Whether a directory comes before the directories in it.
    onerror : callable, optional
        Called with an OSError if a directory cannot be read; by default it is skipped.

    Returns
    -------
    iterator over (path of a directory, names of directories in it, names of files in it)

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.io.gfile.makedirs(os.path.join(folder, "a", "b"))
    ...     [names for _, names, _ in df.io.gfile.walk(folder)]
    [['a'], ['b'], []]
    """
    return os.walk(local(top), topdown, onerror)


def join(path: Path, *paths: Path) -> str:
    """Join the parts of a path.

    Parameters
    ----------
    path : str or path
    *paths : str or path

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.gfile.join("a", "b", "c.txt")
    'a/b/c.txt'
    """
    return os.path.join(os.fsdecode(path), *map(os.fsdecode, paths))


def __dir__() -> list[str]:
    return __all__
