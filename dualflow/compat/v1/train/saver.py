"""Saver: writes the variables of a session to checkpoints and restores them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Mapping
from typing import Any

from dualflow._core import Variable as own_variable
from dualflow.compat.v1 import errors
from dualflow.compat.v1.assign import slot_of
from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.train.checkpoint import opened
from dualflow.compat.v1.train.optimizer import name_of
from dualflow.io.files import SUFFIX, array_of, write_tensors
from dualflow.io.index import checkpoint_exists, write_index

__all__ = ["Saver"]


class Saver:
    """Saves variables to checkpoints and restores them.

    Parameters
    ----------
    var_list : list of Variable, or dict of name to Variable, optional
        By default all global variables of the graph, at the first use.
    reshape : bool, default False
        Whether to accept a tensor of another shape with the same number of elements.
    max_to_keep : int, default 5
        Number of recent checkpoints to retain; 0 or None to retain all.
    keep_checkpoint_every_n_hours : float
        Interval at which a checkpoint is retained permanently.
    name : str, optional
    save_relative_paths : ignored
        The index always contains relative paths.
    sharded, restore_sequentially, saver_def, builder, defer_build, allow_empty, write_version,
    pad_step_number, filename : ignored

    Notes
    -----
    A checkpoint is a file in the format of the `safetensors` package. It is written atomically: a
    program killed during a save leaves the previous checkpoint intact.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    ...     w, saver = tf.Variable(1., name="w"), tf.train.Saver()
    ...     sess.run(w.initializer)
    ...     path = saver.save(sess, os.path.join(folder, "model"), global_step=7)
    ...     w.load(2., sess)
    ...     saver.restore(sess, path)
    ...     print(os.path.basename(path), sess.run(w))
    model-7 1.0
    """

    def __init__(self, var_list: Any = None, reshape: bool = False, sharded: bool = False,
                 max_to_keep: int | None = 5, keep_checkpoint_every_n_hours: float = 10000.0,
                 name: str | None = None, restore_sequentially: bool = False,
                 saver_def: Any = None, builder: Any = None, defer_build: bool = False,
                 allow_empty: bool = False, write_version: Any = None,
                 pad_step_number: bool = False, save_relative_paths: bool = False,
                 filename: str | None = None) -> None:
        if var_list is None and not defer_build:
            var_list = default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
            if not var_list and not allow_empty:
                raise ValueError("No variables to save")
        self._slots = None if var_list is None else by_name(var_list)
        self._reshape = reshape
        self._max_to_keep = max_to_keep or 0
        self._every = keep_checkpoint_every_n_hours * 3600
        self._next_kept = time.time() + self._every
        self._last: list[tuple[str, float]] = []

    def build(self) -> None:
        """Collect the variables if that was deferred."""
        self._slots = by_name(default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES))

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the retained checkpoints, the oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Continue the list of checkpoints of an earlier saver."""
        self._last = [(path, time.time()) for path in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Continue the list of checkpoints, without those that do not exist."""
        self._last = [(path, os.path.getmtime(path + SUFFIX)) for path in checkpoint_paths
                      if checkpoint_exists(path)]

    # --- saving ---

    def save(self, sess: Any, save_path: Any, global_step: Any = None,
             latest_filename: str | None = None, meta_graph_suffix: str = "meta",
             write_meta_graph: bool = False, write_state: bool = True,
             strip_default_attrs: bool = False, save_debug_info: bool = False) -> str:
        """Save the variables.

        Parameters
        ----------
        sess : Session
            None for eager variables.
        save_path : str
            Prefix of the checkpoint.
        global_step : int, Tensor or Variable, optional
            Appended to the name.
        latest_filename : str, default "checkpoint"
            File name of the index.
        write_state : bool, default True
            Whether to write the index.
        meta_graph_suffix, write_meta_graph, strip_default_attrs, save_debug_info : ignored

        Returns
        -------
        str
            The prefix to pass to `restore`.

        Raises
        ------
        ValueError
            If the directory does not exist.
        FailedPreconditionError
            If a variable is not initialized.
        """
        prefix = os.fspath(save_path)
        folder = os.path.dirname(prefix)
        if folder and not os.path.isdir(folder):
            raise ValueError(f"Parent directory of {prefix} doesn't exist, can't save.")
        if global_step is not None:
            step = global_step if isinstance(global_step, int) else int(
                sess.run(global_step) if hasattr(global_step, "graph") else global_step)
            prefix = f"{prefix}-{step}"
        slots = self._of_graph()
        values = values_of(sess, slots.values())
        write_tensors(prefix + SUFFIX, dict(zip(slots, values, strict=True)))
        self._last = [(path, when) for path, when in self._last if path != prefix]
        self._last.append((prefix, time.time()))
        old = self._too_many()
        if write_state:
            write_index(folder, self._last, latest_filename)
        for path in old:                # no longer in the index
            if os.path.exists(path + SUFFIX):
                os.unlink(path + SUFFIX)
        return prefix

    def _too_many(self) -> list[str]:
        """Remove the oldest checkpoints beyond `max_to_keep` from the list and return those to
        delete."""
        old: list[str] = []
        while self._max_to_keep and len(self._last) > self._max_to_keep:
            path, when = self._last.pop(0)
            if when > self._next_kept:
                self._next_kept += self._every
            else:
                old.append(path)
        return old

    def _of_graph(self) -> dict[str, Any]:
        if self._slots is None:
            self.build()
        assert self._slots is not None
        return self._slots

    # --- restoring ---

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore all variables from a checkpoint.

        Parameters
        ----------
        sess : Session
            None for eager variables.
        save_path : str
            Prefix that `save` returned.

        Raises
        ------
        ValueError
            If the checkpoint does not exist.
        DataLossError, NotFoundError, InvalidArgumentError
            If the file is damaged, or if variables are missing or have another shape or dtype.
            No variable is changed in these cases.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        slots = self._of_graph()
        with opened(prefix) as file:
            there = set(file.keys())
            missing = [name for name in slots if name not in there]
            if missing:
                raise errors.NotFoundError(
                    f"Key{'s' * (len(missing) > 1)} {', '.join(missing)} not found in checkpoint "
                    f"{prefix}; it has {', '.join(sorted(there))}")
            values = {name: array_of(file, name, slots[name].dtype.name) for name in slots}
        wrong = [f"{name} is {x.dtype} {x.shape}, expected {slots[name].dtype.name} "
                 f"{slots[name].shape}"
                 for name, x in values.items() if not self._fits(x, slots[name])]
        if wrong:
            raise errors.InvalidArgumentError(
                f"Assign requires shapes and types of both tensors to match; in checkpoint "
                f"{prefix} {'; '.join(wrong)}")
        for name, x in values.items():
            value, slot = x.reshape(slots[name].shape), slots[name]
            if isinstance(slot, own_variable):
                slot.assign(value)
            else:
                sess.load(slot, value)

    def _fits(self, x: Any, slot: Any) -> bool:
        same = x.shape == slot.shape or (self._reshape and x.size == math.prod(slot.shape))
        return bool(same and str(x.dtype) == slot.dtype.name)


def values_of(sess: Any, slots: Collection[Any]) -> list[Any]:
    """Return the values of variables: of eager variables directly, of others in a session."""
    if all([isinstance(x, own_variable) for x in slots]):
        return [x.numpy() for x in slots]
    found: list[Any] = sess.run([getattr(x, "leaf", x) for x in slots])
    return found


def by_name(var_list: Any) -> dict[str, Any]:
    """Return variable handles by the names under which they are saved."""
    if isinstance(var_list, Mapping):
        pairs = list(var_list.items())
    else:
        pairs = [(name_of(v), v) for v in var_list]
    found: dict[str, Any] = {}
    for name, v in pairs:
        slot = v if isinstance(v, own_variable) else slot_of(v)
        if slot is None:
            raise TypeError(f"Variable to save is not a Variable: {v!r}")
        if name in found and found[name] is not slot:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = slot
    return found
