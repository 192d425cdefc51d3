"""Reading checkpoints, with TensorFlow's errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dualflow import errors as own
from dualflow.compat.v1 import errors
from dualflow.dtypes import as_dtype
from dualflow.io import files, index
from dualflow.io.files import SUFFIX
from dualflow.io.index import CheckpointState

__all__ = ["CheckpointReader", "NewCheckpointReader", "get_checkpoint_state", "latest_checkpoint",
           "list_variables", "load_checkpoint", "load_variable"]


@contextmanager
def opened(prefix: str) -> Iterator[Any]:
    """Open a checkpoint for reading."""
    try:
        with files.opened(prefix + SUFFIX) as file:
            yield file
    except errors.NotFoundError:
        raise               # of the caller: a variable is missing
    except own.NotFoundError as error:
        raise errors.NotFoundError(
            f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
            f"{prefix}") from error
    except own.DataLossError as error:
        raise errors.DataLossError(f"Unable to open table file: {error}") from error


def get_checkpoint_state(checkpoint_dir: Any,
                         latest_filename: str | None = None) -> CheckpointState | None:
    """Return the contents of the index of a directory, or None if it is missing or damaged.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        File name of the index.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.train.get_checkpoint_state("/no/such/folder") is None
    True
    """
    try:
        return index.get_checkpoint_state(checkpoint_dir, latest_filename)
    except (OSError, own.DataLossError):
        return None


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the prefix of the latest checkpoint of a directory, or None.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        File name of the index.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.train.latest_checkpoint("/no/such/folder") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return None if state is None else index.latest_checkpoint(checkpoint_dir, latest_filename)


class CheckpointReader(dict[str, Any]):
    """The arrays of a checkpoint by name; created by `load_checkpoint`."""

    def get_tensor(self, tensor_str: str) -> Any:
        """Return an array."""
        if tensor_str not in self:
            raise errors.NotFoundError(f"Key {tensor_str} not found in checkpoint")
        return self[tensor_str]

    def has_tensor(self, tensor_str: str) -> bool:
        """Return True if there is an array with this name."""
        return tensor_str in self

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each array."""
        return {name: list(x.shape) for name, x in self.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Return the dtype of each array."""
        return {name: as_dtype(x.dtype) for name, x in self.items()}


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return the arrays of a checkpoint by name; for a directory, of its latest checkpoint.

    Parameters
    ----------
    filepattern : str
        A checkpoint, or a directory of checkpoints.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    ...     w = tf.Variable([1., 2.], name="w")
    ...     sess.run(w.initializer)
    ...     path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     reader = tf.train.NewCheckpointReader(path)
    >>> reader.get_variable_to_shape_map(), reader.get_tensor("w").tolist()
    ({'w': [2]}, [1.0, 2.0])
    """
    return load_checkpoint(filepattern)


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """Return an array of a checkpoint; for a directory, of its latest checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a directory of checkpoints.
    name : str

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    ...     w = tf.Variable([1., 2.], name="w")
    ...     sess.run(w.initializer)
    ...     path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     tf.train.load_variable(path, "w").tolist()
    [1.0, 2.0]
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Return the arrays of a checkpoint by name; for a directory, of its latest checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a directory of checkpoints.

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
        return CheckpointReader({name: file.get_tensor(name)
                                 for name in file.keys()})  # noqa: SIM118  not a mapping


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of the tensors in a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a directory of checkpoints.

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
