"""The content of a checkpoint file: tensors, and a manifest that describes tensors and states.

The manifest is JSON in the header of the file, so that any reader of the format finds it and one
rename publishes a checkpoint. It has a checksum for each tensor and one for itself: the format
detects only changes of lengths.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dualflow._core import Tensor, memory_of
from dualflow.errors import DataLossError, InvalidArgumentError, NotFoundError
from dualflow.io.files import SUFFIX, bytes_of, opened, read_tensor, write_tensors
from dualflow.io.index import latest_checkpoint

FORMAT = "dualflow checkpoint 1"


class TensorFile:
    """An open file of tensors with its manifest.

    Attributes
    ----------
    path : str
    tensors : dict of str to (dtype, shape)
    states : dict of str to JSON values
    same : dict of str to str
        For objects with several paths: the path in the file by each other path.
    """

    path: str

    def __init__(self, path: str, file: Any, kind: str) -> None:
        self.path, self._file = path, file
        said = manifest(path, file.metadata() or {}, kind)
        try:
            self._sums = {name: int(x[2]) for name, x in said["tensors"].items()}
            self.tensors: dict[str, tuple[str, tuple[Any, ...]]] = {
                name: (str(x[0]), tuple(x[1])) for name, x in said["tensors"].items()}
            self.states: dict[str, Any] = dict(said["states"])
            self.same: dict[str, str] = {
                str(path): str(of) for path, of in said.get("same", {}).items()}
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise damaged(path, f"its manifest is invalid: {error!r}") from error
        if set(file.keys()) != set(self.tensors):
            raise damaged(path, "its tensors differ from its manifest")

    def read(self) -> dict[str, Tensor]:
        """Read all tensors."""
        found: dict[str, Tensor] = {}
        for name, (dtype, shape) in self.tensors.items():
            try:
                found[name] = read_tensor(self._file, name, dtype, shape)
            except InvalidArgumentError as error:       # wrong number of bytes
                raise damaged(self.path, str(error)) from error
            if zlib.crc32(memory_of(found[name])) != self._sums[name]:
                raise damaged(self.path, f"the checksum of {name} does not match")
        return found


@contextmanager
def content_of(path: str, kind: str) -> Iterator[TensorFile]:
    """Open a file. Another process may replace the file while it is open."""
    with opened(path) as file:
        yield TensorFile(path, file, kind)


def manifest(path: str, metadata: Mapping[str, str], kind: str) -> Any:
    """Return the manifest in the header of a file. Raise if it is missing or damaged."""
    text = metadata.get("manifest")
    if text is None:
        raise DataLossError(f"{path} has no manifest: it is not a {kind.rpartition(' ')[0]}")
    if str(zlib.crc32(text.encode())) != metadata.get("crc32"):
        raise damaged(path, "the checksum of its manifest does not match")
    said = json.loads(text)
    if said["format"] != kind:
        raise DataLossError(f"{path} is a {said['format']}, expected a {kind}")
    return said


def damaged(path: str, why: str) -> DataLossError:
    """Return the error for a damaged file."""
    return DataLossError(f"{path} is damaged: {why}; nothing was restored")


def write_content(path: str, kind: str, tensors: Mapping[str, Any],
                  states: Mapping[str, Any], same: Mapping[str, str] | None = None) -> None:
    """Write a file that `TensorFile` reads."""
    listed = {name: [str(x.dtype), list(x.shape), zlib.crc32(bytes_of(x))]
              for name, x in tensors.items()}
    text = json.dumps({"format": kind, "tensors": listed, "states": states,
                       **({"same": same} if same else {})})
    write_tensors(path, tensors, {"manifest": text, "crc32": str(zlib.crc32(text.encode()))})


@contextmanager
def checkpoint_at(prefix: str) -> Iterator[TensorFile]:
    """Open the checkpoint of a prefix. Raise an error that lists alternatives if there is none."""
    prefix = os.fspath(prefix)
    if not os.path.exists(prefix + SUFFIX):
        raise no_checkpoint(prefix)
    with content_of(prefix + SUFFIX, FORMAT) as content:
        yield content


def no_checkpoint(prefix: str) -> NotFoundError:
    """Return the error for a prefix without a checkpoint."""
    folder = prefix if os.path.isdir(prefix) else os.path.dirname(prefix) or "."
    latest = latest_checkpoint(folder)
    there = sorted(name.removesuffix(SUFFIX) for name in os.listdir(folder)
                   if name.endswith(SUFFIX)) if os.path.isdir(folder) else []
    return NotFoundError(
        f"there is no checkpoint {prefix} (no file {prefix + SUFFIX}); " + (
            f"the latest of {folder} is {latest}" if latest else
            f"{folder} has {', '.join(there)}" if there else f"{folder} has none"))
