"""Access to checkpoints without the objects that were saved, and waiting for new checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from dualflow.errors import NotFoundError
from dualflow.io.content import checkpoint_at
from dualflow.io.index import latest_checkpoint

__all__ = ["CheckpointReader", "checkpoints_iterator", "list_variables", "load_checkpoint",
           "load_variable"]


SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"        # TensorFlow's names of variables end with it


class ByName(dict[str, Any]):
    """A dict by names of tensors, also with TensorFlow's suffix."""

    def __missing__(self, name: str) -> Any:
        if not name.endswith(SUFFIX):
            raise KeyError(name)
        return self[name.removesuffix(SUFFIX)]


class CheckpointReader:
    """The tensors of a checkpoint by name; created by `load_checkpoint`. Names may have the suffix
    that TensorFlow adds to names of variables."""

    def __init__(self, prefix: str) -> None:
        with checkpoint_at(prefix) as content:
            self._tensors = content.read()

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each tensor."""
        return ByName({name: list(x.shape) for name, x in self._tensors.items()})

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Return the dtype of each tensor."""
        return ByName({name: x.dtype for name, x in self._tensors.items()})

    def has_tensor(self, tensor_str: str) -> bool:
        """Return True if there is a tensor with this name."""
        return tensor_str.removesuffix(SUFFIX) in self._tensors

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the values of a tensor as an array."""
        tensor_str = tensor_str.removesuffix(SUFFIX)
        if tensor_str not in self._tensors:
            raise NotFoundError(f"load_checkpoint: no tensor is called {tensor_str!r}; there are "
                                f"{', '.join(sorted(self._tensors))}")
        return self._tensors[tensor_str].numpy()


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Open a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : path
        Path of a checkpoint as returned by `Checkpoint.save`, or a folder, for its latest one.

    Raises
    ------
    NotFoundError
        If there is no checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = df.train.Checkpoint(w=df.Variable([1., 2.])).save(folder + "/ckpt")
    ...     reader = df.train.load_checkpoint(folder)
    >>> reader.get_variable_to_shape_map()["w"], reader.get_tensor("w").tolist()
    ([2], [1.0, 2.0])
    """
    path = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return CheckpointReader(path)
    latest = latest_checkpoint(path)
    if latest is None:
        raise NotFoundError(f"load_checkpoint: no checkpoint in {path}")
    return CheckpointReader(latest)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of the tensors of a checkpoint; `ckpt_dir_or_file` as in
    `load_checkpoint`.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = df.train.Checkpoint(w=df.Variable([1., 2.])).save(folder + "/ckpt")
    ...     ("w", [2]) in df.train.list_variables(path)
    True
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return the values of a tensor of a checkpoint as an array; `ckpt_dir_or_file` as in
    `load_checkpoint`.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = df.train.Checkpoint(w=df.Variable([1., 2.])).save(folder + "/ckpt")
    ...     df.train.load_variable(path, "w").tolist()
    [1.0, 2.0]
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def checkpoints_iterator(checkpoint_dir: Any, min_interval_secs: float = 0,
                         timeout: float | None = None,
                         timeout_fn: Callable[[], Any] | None = None) -> Iterator[str]:
    """Yield the path of the latest checkpoint of a folder each time that it changes.

    Parameters
    ----------
    checkpoint_dir : path
    min_interval_secs : float
        The minimal time between two results, in seconds.
    timeout : float, optional
        Seconds to wait for a new checkpoint; None waits indefinitely.
    timeout_fn : callable, optional
        Called after `timeout`; the iterator ends if it returns True, or is not given.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = df.train.Checkpoint(w=df.Variable(1.)).save(folder + "/ckpt")
    ...     list(df.train.checkpoints_iterator(folder, timeout=0.)) == [path]
    True
    """
    seen: str | None = None
    while True:
        begun = time.monotonic()
        latest = latest_checkpoint(checkpoint_dir)
        while latest in (None, seen) and (timeout is None or time.monotonic() - begun < timeout):
            time.sleep(min(1.0, timeout or 1.0) / 10)
            latest = latest_checkpoint(checkpoint_dir)
        if latest is None or latest == seen:
            if timeout_fn is None or timeout_fn():
                return
            continue
        seen = latest
        yield latest
        time.sleep(max(0.0, begun + min_interval_secs - time.monotonic()))
