"""The index of a folder's checkpoints: a small JSON file, written after each checkpoint."""

from __future__ import annotations

import json
import os
from typing import Any

from dualflow.errors import DataLossError
from dualflow.io.files import SUFFIX, write_text

__all__ = ["CheckpointState", "checkpoint_exists", "get_checkpoint_state", "latest_checkpoint"]

INDEX = "checkpoint"
OBSOLETE = "obsolete_checkpoint_paths"
ANNOUNCED = "announced_checkpoint_path"


class CheckpointState:
    """The content of an index.

    Attributes
    ----------
    model_checkpoint_path : str
        The latest checkpoint.
    all_model_checkpoint_paths : list of str
        All checkpoints, the oldest first.
    all_model_checkpoint_timestamps : list of float
    last_preserved_timestamp : float or None
        Time of the last checkpoint that is preserved permanently.
    """

    def __init__(self, model_checkpoint_path: str, all_model_checkpoint_paths: list[str],
                 all_model_checkpoint_timestamps: list[float],
                 last_preserved_timestamp: float | None = None,
                 obsolete: list[str] | None = None) -> None:
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = all_model_checkpoint_paths
        self.all_model_checkpoint_timestamps = all_model_checkpoint_timestamps
        self.last_preserved_timestamp = last_preserved_timestamp
        self._obsolete = obsolete or []         # a program that was killed has not removed them

    def __repr__(self) -> str:
        return f"<CheckpointState {self.model_checkpoint_path!r}>"


def write_index(folder: str, paths: list[tuple[str, float]], name: str | None = None,
                preserved: float | None = None, obsolete: list[str] | None = None,
                announced: bool = False) -> None:
    """Write the index of checkpoints, the oldest first; paths in the folder become relative.
    `obsolete`: checkpoints that the caller is about to remove. `announced`: whether the caller is
    about to write the last one."""
    def relative(path: str) -> str:
        return os.path.relpath(path, folder or ".") if (
            os.path.dirname(os.path.abspath(path)) == os.path.abspath(folder or ".")) else path

    state: dict[str, Any] = {
        "model_checkpoint_path": relative(paths[-1][0]),
        "all_model_checkpoint_paths": [relative(path) for path, _ in paths],
        "all_model_checkpoint_timestamps": [when for _, when in paths]}
    if preserved is not None:
        state["last_preserved_timestamp"] = preserved
    if obsolete:
        state[OBSOLETE] = [relative(path) for path in obsolete]
    if announced:
        state[ANNOUNCED] = relative(paths[-1][0])
    write_text(os.path.join(folder, name or INDEX), json.dumps(state, indent=1))


def get_checkpoint_state(checkpoint_dir: Any,
                         latest_filename: str | None = None) -> CheckpointState | None:
    """Return the content of a folder's index, or None if it does not exist.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        The name of the index.

    Raises
    ------
    DataLossError
        If the index is damaged.

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.get_checkpoint_state("/no/such/folder") is None
    True
    """
    folder = os.fspath(checkpoint_dir)
    path = os.path.join(folder, latest_filename or INDEX)
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        paths = [os.path.join(folder, path) for path in state["all_model_checkpoint_paths"]]
        latest = os.path.join(folder, state["model_checkpoint_path"])
        if ANNOUNCED in state and not checkpoint_exists(latest):
            if len(paths) < 2:
                return None             # the program ended before it wrote its first checkpoint
            del paths[-1]
            latest = paths[-1]
        return CheckpointState(
            latest, paths,
            [float(when) for when in state["all_model_checkpoint_timestamps"]][:len(paths)],
            state.get("last_preserved_timestamp"),
            [os.path.join(folder, path) for path in state.get(OBSOLETE, ())])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataLossError(f"the index {path} is damaged ({error}); its checkpoints can be "
                            "restored by name; remove it to begin a new one") from error


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the prefix of the latest checkpoint of a folder, or None.

    Parameters
    ----------
    checkpoint_dir : str
    latest_filename : str, default "checkpoint"
        The name of the index.

    Raises
    ------
    DataLossError
        If the index is damaged.

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.latest_checkpoint("/no/such/folder") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    known = [*state.all_model_checkpoint_paths, state.model_checkpoint_path]
    return next((path for path in reversed(known) if checkpoint_exists(path)), None)


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return True if there is a checkpoint with this prefix.

    Parameters
    ----------
    checkpoint_prefix : str
        A prefix as returned by `Checkpoint.save`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.checkpoint_exists("/no/such/folder/ckpt-1")
    False
    """
    return os.path.exists(os.fspath(checkpoint_prefix) + SUFFIX)
