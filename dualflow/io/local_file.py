"""Local files that are opened at their first use, and errors about missing and existing files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dualflow._util.arguments import shown
from dualflow.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)

Path = str | bytes | os.PathLike[str]


def local(path: Any) -> str:
    """Return a path as a str, without the prefix ``file://``."""
    found = os.fsdecode(path).removeprefix("file://")
    if "://" in found:
        raise UnimplementedError(f"{found} is not a local file")
    return found


@contextmanager
def translated() -> Iterator[None]:
    """Raise Python's errors about missing and existing files as errors of dualflow."""
    try:
        yield
    except (NotFoundError, AlreadyExistsError):
        raise
    except FileNotFoundError as error:
        raise NotFoundError(f"{error.filename}; No such file or directory") from None
    except FileExistsError as error:
        raise AlreadyExistsError(f"{error.filename2 or error.filename}; File exists") from None


class GFile:
    """A file, which is opened at its first use. Text is UTF-8, and line ends are not converted.

    Parameters
    ----------
    name : str or path
    mode : str, default "r"
        "r", "w" or "a", optionally followed by "+", for text; with "b", for bytes. Positions and
        sizes are in bytes in both cases.

    Raises
    ------
    NotFoundError
        By the first use, if the file does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words.txt")
    ...     with df.io.gfile.GFile(path, "w") as f:
    ...         f.write("one\\ntwo\\n")
    ...     with df.io.gfile.GFile(path) as f:
    ...         print(f.size(), [line.strip() for line in f])
    8 ['one', 'two']
    """

    def __init__(self, name: Path, mode: str = "r") -> None:
        if not isinstance(mode, str) or mode.replace("b", "", 1) not in (
                "r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(f"GFile: mode is {shown(mode)}, expected 'r', 'w' or 'a', "
                                       "optionally with '+' and 'b'")
        self._name = name
        self._mode = mode
        self._opened: Any = None

    @property
    def name(self) -> Path:
        """The path of the file."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode in which the file was opened."""
        return self._mode

    @property
    def _file(self) -> Any:
        """The open file."""
        if self._opened is None:
            with self._errors():
                self._opened = open(  # noqa: SIM115  `close` closes it
                    local(self._name), self._mode.replace("b", "") + "b")
        return self._opened

    @staticmethod
    def _errors() -> AbstractContextManager[None]:
        return translated()

    def _converted(self, content: bytes) -> Any:
        return content if "b" in self._mode else content.decode()

    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes, or all remaining ones; decoded if the mode is for text."""
        return self._converted(self._file.read(n))

    def readline(self) -> Any:
        """Return the next line with its end, or an empty string behind the last line."""
        return self._converted(self._file.readline())

    def readlines(self) -> list[Any]:
        """Return the remaining lines with their ends."""
        return [*self]

    def write(self, file_content: str | bytes) -> None:
        """Write text or bytes."""
        self._file.write(file_content.encode() if isinstance(file_content, str) else file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to an offset from the start, from the current position, or from the end, for
        `whence` 0, 1 or 2. `position` is an older name of `offset`."""
        if (offset is None) is (position is None):
            raise TypeError("seek expects one of offset and position")
        self._file.seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """Return the current position in bytes."""
        return int(self._file.tell())

    def seekable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the size of the file in bytes."""
        self.flush()
        with self._errors():
            return os.stat(local(self._name)).st_size

    def flush(self) -> None:
        """Write buffered content to the file."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()
