"""Files that are whole or not there: Keras's saving, beside the file that it is to replace."""

import functools
import os
import tempfile
from collections.abc import Callable
from typing import Any

ENDINGS = (".keras", ".weights.h5")


def install(saving_lib: Any) -> None:
    """Has Keras write models and weights atomically."""
    for name in ("save_model", "save_weights_only"):
        setattr(saving_lib, name, _atomic(getattr(saving_lib, name)))


def _atomic(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def call(model: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        local = isinstance(filepath, str | os.PathLike) and "://" not in str(filepath)
        path = os.path.abspath(filepath) if local else ""
        folder, name = os.path.split(path)
        if not (name.endswith(ENDINGS) and os.path.isdir(folder)) or kwargs.get("max_shard_size"):
            return save(model, filepath, *args, **kwargs)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as beside:
            made = os.path.join(beside, name)
            save(model, made, *args, **kwargs)
            _sync(made)
            os.replace(made, path)
        _sync(folder)
        return None

    return call


def _sync(path: str) -> None:
    """Waits until a file, or what a folder lists, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
