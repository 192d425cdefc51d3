"""CheckpointManager: manages the most recent checkpoints in a folder."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dualflow.errors import InvalidArgumentError
from dualflow.io.checkpoint import Checkpoint, Saving, refuse_tracing
from dualflow.io.files import SUFFIX
from dualflow.io.index import checkpoint_exists, get_checkpoint_state, write_index
from dualflow.io.restoration import Status

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Manages the most recent checkpoints in a folder: saves new ones and removes the oldest.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : str
        Created if it does not exist. Existing checkpoints with the same prefix are included, also
        the last ones of a program that was killed before it updated the index.
    max_to_keep : int or None
        Number of checkpoints to retain, or None to retain all.
    keep_checkpoint_every_n_hours : float, optional
        Interval at which a checkpoint is preserved permanently, and removed from `checkpoints`.
    checkpoint_name : str, default "ckpt"
        The prefix of names.
    step_counter : Variable, optional
    checkpoint_interval : int, optional
        Minimal increase of `step_counter` between two checkpoints; before that, `save` returns
        None.
    init_fn : callable, optional
        Called by `restore_or_initialize` if there is no checkpoint.
    last_checkpoint_step : int, optional
        The value of `step_counter` at the last checkpoint.

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
                 init_fn: Callable[[], Any] | None = None,
                 last_checkpoint_step: Any = None) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise InvalidArgumentError(f"CheckpointManager: got {checkpoint!r}, expected a "
                                       "Checkpoint")
        if max_to_keep is not None and (type(max_to_keep) is not int or max_to_keep < 1):
            raise InvalidArgumentError(f"CheckpointManager: max_to_keep is {max_to_keep!r}, "
                                       "expected an int > 0, or None for all")
        if os.path.basename(checkpoint_name) != checkpoint_name or not checkpoint_name:
            raise InvalidArgumentError(f"CheckpointManager: checkpoint_name is {checkpoint_name!r}"
                                       ", expected a name without a folder")
        if checkpoint_interval is not None and step_counter is None:
            raise InvalidArgumentError("CheckpointManager: checkpoint_interval requires a "
                                       "step_counter")
        self.checkpoint = checkpoint
        self.directory: str = os.fspath(directory)
        self._max_to_keep, self._prefix = max_to_keep, os.path.join(self.directory, checkpoint_name)
        hours = keep_checkpoint_every_n_hours
        self._every = None if hours is None else hours * 3600
        self._counter, self._interval = step_counter, checkpoint_interval
        self._last_step: int | None = (
            None if last_checkpoint_step is None else int(last_checkpoint_step))
        self._init_fn = init_fn
        self._lock = threading.Lock()           # guards the fields below, for saving threads
        state = get_checkpoint_state(self.directory)
        self._last: list[tuple[str, float]] = [] if state is None else [
            (path, when) for path, when in zip(state.all_model_checkpoint_paths,
                                               state.all_model_checkpoint_timestamps, strict=False)
            if path.startswith(f"{self._prefix}-") and checkpoint_exists(path)]
        self._last += self._unlisted()
        self._obsolete = [] if state is None else [
            path for path in state._obsolete if path.startswith(f"{self._prefix}-")]
        known = None if state is None else state.last_preserved_timestamp
        self._preserved = time.time() if known is None else known

    def _unlisted(self) -> list[tuple[str, float]]:
        """Return the checkpoints that are later than the index, the oldest first: complete files of
        a program that was killed before it updated the index."""
        found: list[tuple[int, str, float]] = []
        if self._last:
            last, when = self._last[-1]
            listed = self._number(last + SUFFIX)
            for name in os.listdir(self.directory) if listed is not None else ():
                path = os.path.join(self.directory, name)
                number = self._number(name)
                if number is not None and listed is not None and number > listed:
                    with suppress(FileNotFoundError):       # another program has removed it
                        made = os.path.getmtime(path)
                        if made >= when:
                            found.append((number, path.removesuffix(SUFFIX), made))
        return [(path, made) for _, path, made in sorted(found)]

    def _number(self, path: str) -> int | None:
        """Return the number of a file of this manager, or None."""
        match = re.fullmatch(re.escape(os.path.basename(self._prefix)) + r"-(\d+)"
                             + re.escape(SUFFIX), os.path.basename(path))
        return int(match[1]) if match else None

    def _announce(self, path: str) -> None:
        """Add a checkpoint to the index before it is written, if `_unlisted` would not find it."""
        with self._lock:
            number = self._number(path + SUFFIX)
            last = self._number(self._last[-1][0] + SUFFIX) if self._last else None
            if not checkpoint_exists(path) and (last is None or number is None or number <= last):
                write_index(self.directory, [*self._last, (path, time.time())], None,
                            self._preserved, self._obsolete, announced=True)

    @property
    def checkpoints(self) -> list[str]:
        """The retained checkpoints, the oldest first, without permanently preserved ones."""
        return [path for path, _ in self._last]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, or None."""
        return self._last[-1][0] if self._last else None

    @property
    def checkpoint_interval(self) -> int | None:
        """The minimal number of steps between two checkpoints."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True,
             wait: bool = True, options: Any = None) -> str | Saving | None:
        """Save a checkpoint and, once it is on disk, remove the checkpoints that are too old.

        Parameters
        ----------
        checkpoint_number : int or Variable, optional
            The end of the name; by default, the incremented `save_counter` of the checkpoint.
        check_interval : bool, default True
            Whether to respect `checkpoint_interval`.
        wait : bool, default True
            If False, return at once; see `Checkpoint.save`.
        options : CheckpointOptions, optional
            Has no effect.

        Returns
        -------
        str, Saving or None
            As `Checkpoint.save`; None if the interval has not passed.
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
            result: str | Saving = self.checkpoint.write_and(
                path, wait, lambda: self._saved(path), lambda: self._announce(path))
        except BaseException:
            counter.assign_sub(1)
            raise
        self._last_step = step
        return result

    def _saved(self, path: str) -> None:
        """Update the index after a checkpoint has been written, and remove old checkpoints."""
        with self._lock:
            last = [(p, when) for p, when in self._last if p != path]
            last.append((path, os.path.getmtime(path + SUFFIX)))
            kept = {p for p, _ in last}
            old = [p for p in self._obsolete if p not in kept]
            while self._max_to_keep is not None and len(last) > self._max_to_keep:
                oldest, when = last.pop(0)
                if self._every is not None and when - self._preserved >= self._every:
                    self._preserved = when
                else:
                    old.append(oldest)
            write_index(self.directory, last, None, self._preserved, old)
            self._last, self._obsolete = last, []
            for oldest in old:                  # after the index no longer lists them
                with suppress(FileNotFoundError):
                    os.unlink(oldest + SUFFIX)

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path. If there is none, call `init_fn` and
        return None.

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
        if self._counter is not None and path is not None:
            self._last_step = int(self._counter)
        return path
