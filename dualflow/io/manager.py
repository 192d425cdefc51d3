"""CheckpointManager: the last few checkpoints of a folder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dualflow.errors import InvalidArgumentError
from dualflow.io.checkpoint import Checkpoint, Saving, Status, refuse_tracing
from dualflow.io.files import SUFFIX
from dualflow.io.index import checkpoint_exists, get_checkpoint_state, write_index

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Saves a checkpoint again and again, and removes the oldest.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : str
        Made if need be. What it has of this name from earlier runs counts.
    max_to_keep : int or None
        How many are kept; None: all.
    keep_checkpoint_every_n_hours : float, optional
        One in so many hours is kept in any case, and is none of `checkpoints` any more.
    checkpoint_name : str, default "ckpt"
        How names begin.
    step_counter : Variable, optional
    checkpoint_interval : int, optional
        `save` does nothing, and returns None, until `step_counter` is that much greater than when
        it last did something.
    init_fn : callable, optional
        What `restore_or_initialize` calls where there is no checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> v = df.Variable(0.)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manager = df.train.CheckpointManager(df.train.Checkpoint(v=v), folder, max_to_keep=2)
    ...     for k in range(3):
    ...         path = manager.save()
    ...     [os.path.basename(path) for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    """

    checkpoint: Checkpoint

    def __init__(self, checkpoint: Checkpoint, directory: Any, max_to_keep: int | None,
                 keep_checkpoint_every_n_hours: float | None = None,
                 checkpoint_name: str = "ckpt", step_counter: Any = None,
                 checkpoint_interval: int | None = None,
                 init_fn: Callable[[], Any] | None = None) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise InvalidArgumentError(f"CheckpointManager: got {checkpoint!r}, want a Checkpoint")
        if max_to_keep is not None and (type(max_to_keep) is not int or max_to_keep < 1):
            raise InvalidArgumentError(f"CheckpointManager: max_to_keep is {max_to_keep!r}, want "
                                       "an int > 0, or None for all")
        if os.path.basename(checkpoint_name) != checkpoint_name or not checkpoint_name:
            raise InvalidArgumentError(f"CheckpointManager: checkpoint_name is {checkpoint_name!r}"
                                       ", want a name without a folder")
        if checkpoint_interval is not None and step_counter is None:
            raise InvalidArgumentError("CheckpointManager: checkpoint_interval wants a "
                                       "step_counter")
        self.checkpoint = checkpoint
        self.directory: str = os.fspath(directory)
        self._max_to_keep, self._prefix = max_to_keep, os.path.join(self.directory, checkpoint_name)
        hours = keep_checkpoint_every_n_hours
        self._every = None if hours is None else hours * 3600
        self._counter, self._interval = step_counter, checkpoint_interval
        self._last_step: int | None = None
        self._init_fn = init_fn
        self._lock = threading.Lock()           # of what follows, which saving threads change
        state = get_checkpoint_state(self.directory)
        self._last: list[tuple[str, float]] = [] if state is None else [
            (path, when) for path, when in zip(state.all_model_checkpoint_paths,
                                               state.all_model_checkpoint_timestamps, strict=False)
            if path.startswith(f"{self._prefix}-") and checkpoint_exists(path)]
        known = None if state is None else state.last_preserved_timestamp
        self._preserved = time.time() if known is None else known

    @property
    def checkpoints(self) -> list[str]:
        """What is kept until newer ones come, the oldest first."""
        return [path for path, _ in self._last]

    @property
    def latest_checkpoint(self) -> str | None:
        """What `Checkpoint.restore` takes, or None."""
        return self._last[-1][0] if self._last else None

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps are between two checkpoints at least."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True,
             wait: bool = True) -> str | Saving | None:
        """Saves the checkpoint, and removes what is too old when that is on the disk.

        Parameters
        ----------
        checkpoint_number : int or Variable, optional
            What the name ends with; by default `save_counter` of the checkpoint, which counts.
        check_interval : bool, default True
            False: saves whatever `step_counter` is.
        wait : bool, default True
            False: returns at once, see `Checkpoint.save`.

        Returns
        -------
        str, Saving or None
            As `Checkpoint.save`; None if it is too early.
        """
        refuse_tracing("save")
        step = None if self._counter is None else int(self._counter)
        if check_interval and step is not None and self._interval is not None and (
                self._last_step is not None and step - self._last_step < self._interval):
            return None
        counter = self.checkpoint.save_counter
        counter.assign_add(1)
        number = counter.item() if checkpoint_number is None else int(checkpoint_number)
        path = f"{self._prefix}-{number}"
        try:
            made: str | Saving = self.checkpoint.write_and(path, wait, lambda: self._saved(path))
        except BaseException:
            counter.assign_sub(1)
            raise
        self._last_step = step
        return made

    def _saved(self, path: str) -> None:
        """Called when a checkpoint is on the disk."""
        with self._lock:
            last = [(p, when) for p, when in self._last if p != path]
            last.append((path, os.path.getmtime(path + SUFFIX)))
            old: list[str] = []
            while self._max_to_keep is not None and len(last) > self._max_to_keep:
                oldest, when = last.pop(0)
                if self._every is not None and when - self._preserved >= self._every:
                    self._preserved = when
                else:
                    old.append(oldest)
            write_index(self.directory, last, None, self._preserved)
            self._last = last
            for gone in old:                    # the index does not name them any more
                with suppress(FileNotFoundError):
                    os.unlink(gone + SUFFIX)

    def restore_or_initialize(self) -> str | None:
        """Restores the latest checkpoint and returns its path; if there is none, calls `init_fn`
        and returns None.

        Examples
        --------
        >>> import dualflow as df
        >>> checkpoint = df.train.Checkpoint(v=df.Variable(0.))
        >>> manager = df.train.CheckpointManager(checkpoint, "/no/such/folder", 3)
        >>> manager.restore_or_initialize() is None
        True
        """
        path = self.latest_checkpoint
        status: Status = self.checkpoint.restore(path)
        if status.path is None and self._init_fn is not None:
            self._init_fn()
        self._last_step = None if self._counter is None or path is None else int(self._counter)
        return path
