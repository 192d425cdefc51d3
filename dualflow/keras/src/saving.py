"""Atomic saving: a file appears complete or not at all."""

import functools
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO

from dualflow.io.files import write_atomically


def install(saving_lib: Any) -> None:
    """Let Keras write models and weights atomically."""
    saving_lib.save_model = _atomic(saving_lib.save_model, ".keras", _model)
    saving_lib.save_weights_only = _atomic(saving_lib.save_weights_only, ".weights.h5", _weights)


Save = Callable[..., Any]           # takes a model and a path
Options = dict[str, Any]


def _model(save: Save, model: Any, name: str, options: Options, file: BinaryIO) -> None:
    save(model, file, **options)


def _weights(save: Save, model: Any, name: str, options: Options, file: BinaryIO) -> None:
    """Write weights through a temporary file: HDF5 needs a path, and cannot lock an open file."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, name)
        save(model, made, **options)
        with open(made, "rb") as whole:
            shutil.copyfileobj(whole, file)


def _atomic(save: Save, ending: str, into: Callable[..., None]) -> Save:
    signature = inspect.signature(save)

    @functools.wraps(save)
    def call(model: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        options = signature.bind(model, filepath, *args, **kwargs).arguments
        del options["model"], options["filepath"]
        local = isinstance(filepath, str | os.PathLike) and "://" not in str(filepath)
        path = os.path.abspath(filepath) if local else ""
        folder, name = os.path.split(path)
        one = options.get("zipped", True) and options.get("max_shard_size") is None
        if not (one and name.endswith(ending) and os.path.isdir(folder)):
            return save(model, filepath, *args, **kwargs)
        return write_atomically(path, lambda file: into(save, model, name, options, file))

    return call
