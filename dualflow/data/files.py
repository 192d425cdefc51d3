"""Sources for files: file names and lines of text, both as Python strings."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import Any, BinaryIO

from dualflow._util.arguments import shown
from dualflow._util.cached import cached_property
from dualflow.data.stage import Cursor, Stage
from dualflow.data.text import Text
from dualflow.errors import DTypeError, InvalidArgumentError

ONE = str, bytes, os.PathLike
COMPRESSIONS = "", "GZIP", "ZLIB"


def names_of(given: Any, what: str) -> list[str]:
    """Return one name or several as a list of strings."""
    try:
        return [str(os.fsdecode(x)) for x in ([given] if isinstance(given, ONE) else given)]
    except TypeError:
        raise DTypeError(f"{what} is {shown(given)}, expected a str or a list of them") from None


def matching(file_pattern: Any, caller: str = "list_files") -> list[str]:
    """Return the sorted names of the files that match patterns."""
    patterns = names_of(file_pattern, f"{caller}: file_pattern")
    found = sorted({name for pattern in patterns for name in glob.glob(pattern)})
    if not found:
        raise InvalidArgumentError(f"{caller}: no files match {', '.join(patterns)}")
    return found


class Lines(Stage):
    """The lines of text files, one file after another."""

    names: Sequence[str]
    compression: str

    def __init__(self, names: Sequence[str], compression: str) -> None:
        super().__init__()
        self.names, self.compression = names, compression

    def options(self) -> dict[str, Any]:
        return {"files": list(self.names), "compression": self.compression}

    @cached_property
    def spec(self) -> Any:
        return str

    def cursor(self, epoch: int) -> Cursor:
        return LinesCursor(self)

    def open(self, name: str) -> BinaryIO:
        if self.compression == "GZIP":
            return gzip.open(name)                  # type: ignore[return-value]
        if self.compression == "ZLIB":
            with open(name, "rb") as file:
                return BytesIO(zlib.decompress(file.read()))
        return open(name, "rb")


class LinesCursor(Cursor):
    """A cursor over lines. Its state is the index of a file and the bytes read from it."""

    number: int
    read: int

    def __init__(self, stage: Lines) -> None:
        self.stage = stage
        self.number = self.read = 0
        self.file: BinaryIO | None = None

    def __next__(self) -> Any:
        while self.number < len(self.stage.names):
            if self.file is None:
                self.file = self.stage.open(self.stage.names[self.number])
                self.file.seek(self.read)
            line = self.file.readline()
            if line:
                self.read += len(line)
                return self.decoded(line)
            self.file.close()
            self.file, self.read, self.number = None, 0, self.number + 1
        raise StopIteration

    def decoded(self, line: bytes) -> str:
        try:
            return Text(line.rstrip(b"\n").removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            error.add_note(f"in {self.stage.names[self.number]}, in the line that ends with byte "
                           f"{self.read}")
            raise

    def state(self) -> Any:
        return {"file": self.number, "read": self.read}

    def restore(self, state: Any) -> None:
        self.number, self.read = state["file"], state["read"]
