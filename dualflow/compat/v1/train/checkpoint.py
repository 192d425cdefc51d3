"""Checkpoints as files: tensors by name, and which ones there are.

A checkpoint is one ``.safetensors`` file; the index, ``checkpoint``, is a small JSON file beside
it. Each is written to a name of its own, brought to the disk, and only then renamed: whenever a
program ends, what had that name before is whole. The index is renamed last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from dualflow.compat.v1 import errors

__all__ = ["CheckpointState", "checkpoint_exists", "get_checkpoint_state", "latest_checkpoint",
           "list_variables", "load_checkpoint"]

SUFFIX = ".safetensors"
INDEX = "checkpoint"


def safetensors() -> Any:
    """The package's module for NumPy, loaded when first needed."""
    try:
        return import_module("safetensors.numpy")
    except ImportError:
        raise ImportError("checkpoints want the safetensors package: pip install "
                          "dualflow[safetensors]") from None


def write_atomically(path: str, write: Callable[[str], None]) -> None:
    """Makes a file that is either whole or not there."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = f"{path}.tmp{os.getpid()}"
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    handle = os.open(folder, os.O_RDONLY)       # the new name is part of the folder
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_tensors(prefix: str, tensors: dict[str, Any]) -> None:
    """Writes a checkpoint."""
    import numpy as np

    found = {name: np.ascontiguousarray(x).reshape(x.shape) for name, x in tensors.items()}
    write_atomically(prefix + SUFFIX, lambda path: safetensors().save_file(found, path))


@contextmanager
def opened(prefix: str) -> Iterator[Any]:
    """A checkpoint to read from."""
    path = prefix + SUFFIX
    if not os.path.exists(path):
        raise errors.NotFoundError(
            f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
            f"{prefix}")
    try:
        with import_module("safetensors").safe_open(path, framework="numpy") as file:
            yield file
    except (errors.OpError, ValueError):
        raise
    except Exception as error:          # its own class of errors, for files cut short and the like
        raise errors.DataLossError(f"Unable to open table file {path}: {error}") from error


class CheckpointState:
    """What an index says.

    Attributes
    ----------
    model_checkpoint_path : str
        The latest.
    all_model_checkpoint_paths : list of str
        The oldest first.
    all_model_checkpoint_timestamps : list of float
    """

    def __init__(self, model_checkpoint_path: str, all_model_checkpoint_paths: list[str],
                 all_model_checkpoint_timestamps: list[float]) -> None:
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = all_model_checkpoint_paths
        self.all_model_checkpoint_timestamps = all_model_checkpoint_timestamps

    def __repr__(self) -> str:
        return f"<CheckpointState {self.model_checkpoint_path!r}>"


def write_index(folder: str, paths: list[tuple[str, float]], name: str | None = None) -> None:
    """Writes which checkpoints there are, the oldest first; in the folder they have no path."""
    def relative(path: str) -> str:
        return os.path.relpath(path, folder or ".") if (
            os.path.dirname(os.path.abspath(path)) == os.path.abspath(folder or ".")) else path

    state = {"model_checkpoint_path": relative(paths[-1][0]),
             "all_model_checkpoint_paths": [relative(path) for path, _ in paths],
             "all_model_checkpoint_timestamps": [when for _, when in paths]}

    def write(path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)

    write_atomically(os.path.join(folder, name or INDEX), write)


def get_checkpoint_state(checkpoint_dir: Any,
                         latest_filename: str | None = None) -> CheckpointState | None:
    """What the index of a folder says, or None.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        The name of the index.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.train.get_checkpoint_state("/no/such/folder") is None
    True
    """
    folder = os.fspath(checkpoint_dir)
    try:
        with open(os.path.join(folder, latest_filename or INDEX), encoding="utf-8") as file:
            state = json.load(file)
        return CheckpointState(
            os.path.join(folder, state["model_checkpoint_path"]),
            [os.path.join(folder, path) for path in state["all_model_checkpoint_paths"]],
            state["all_model_checkpoint_timestamps"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The prefix of the latest checkpoint of a folder, or None.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        The name of the index.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.train.latest_checkpoint("/no/such/folder") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of this prefix.

    Parameters
    ----------
    checkpoint_prefix : str
        As `Saver.save` returned it.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.train.checkpoint_exists("/no/such/folder/model")
    False
    """
    return os.path.exists(checkpoint_prefix + SUFFIX)


def load_checkpoint(ckpt_dir_or_file: str) -> dict[str, Any]:
    """The arrays of a checkpoint by name; of a folder, those of its latest.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a folder that has some.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    ...     w = tf.Variable(1., name="w")
    ...     sess.run(w.initializer)
    ...     path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     print(tf.train.load_checkpoint(path)["w"])
    1.0
    """
    prefix = latest_checkpoint(ckpt_dir_or_file) if os.path.isdir(ckpt_dir_or_file) else (
        ckpt_dir_or_file)
    if prefix is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory "
                         f"{ckpt_dir_or_file}")
    with opened(prefix) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Names and shapes of what a checkpoint holds.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a folder that has some.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    ...     w = tf.Variable([1., 2.], name="w")
    ...     sess.run(w.initializer)
    ...     path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     print(tf.train.list_variables(path))
    [('w', [2])]
    """
    found = load_checkpoint(ckpt_dir_or_file)
    return [(name, list(found[name].shape)) for name in sorted(found)]
