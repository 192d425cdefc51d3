"""`tf.io.gfile`: files and directories, with TensorFlow's errors."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualflow import errors as own
from dualflow.compat.v1 import errors
from dualflow.io import gfile, local_file

__all__ = ["GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir",
           "remove", "rename", "rmtree", "stat", "walk"]

WRONG_KIND = (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY)


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of files as TensorFlow's."""
    try:
        with local_file.translated():
            yield
    except errors.OpError:
        raise
    except own.NotFoundError as error:
        raise errors.NotFoundError(str(error)) from None
    except own.AlreadyExistsError as error:
        raise errors.AlreadyExistsError(str(error)) from None
    except own.DualflowError as error:
        raise errors.translated(error) from None
    except OSError as error:
        if error.errno not in WRONG_KIND:
            raise
        raise errors.FailedPreconditionError(f"{error.filename}; {error.strerror}") from None


class GFile(local_file.GFile):
    """A file, which is opened at its first use. Text is UTF-8, and line ends are not converted.

    Parameters
    ----------
    name : str or path
    mode : str, default "r"
        "r", "w" or "a", optionally followed by "+", for text; with "b", for bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words.txt")
    ...     with tf.gfile.Open(path, "w") as f:
    ...         f.write("one")
    ...     print(tf.gfile.GFile(path).read())
    one
    """

    @staticmethod
    def _errors() -> AbstractContextManager[None]:
        return translated()

    def __init__(self, name: local_file.Path, mode: str = "r") -> None:
        with translated():
            super().__init__(name, mode)


def renamed(function: Callable[..., Any], **old: str) -> Any:
    """Return a function of files with TensorFlow's errors; it accepts older argument names,
    ``old_name="name"``."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with translated():
            return function(*args, **{old.get(key, key): kwargs[key] for key in kwargs})

    return call


copy = renamed(gfile.copy)
exists = renamed(gfile.exists)
glob = renamed(gfile.glob)
isdir = renamed(gfile.isdir)
join = renamed(gfile.join)
listdir = renamed(gfile.listdir)
makedirs = renamed(gfile.makedirs)
mkdir = renamed(gfile.mkdir)
remove = renamed(gfile.remove)
rename = renamed(gfile.rename)
rmtree = renamed(gfile.rmtree)
stat = renamed(gfile.stat)
walk = renamed(gfile.walk)


def __dir__() -> list[str]:
    return __all__
