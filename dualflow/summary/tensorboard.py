"""The tensorboard package, loaded when something of it is first used: it is an extra."""

import functools
import importlib
from typing import Any

from dualflow.errors import DualflowError


class MissingPackageError(DualflowError, ImportError):
    """A package that is needed for what was asked is not installed."""


@functools.cache
def part(name: str) -> Any:
    """A module of tensorboard, by its name below that."""
    try:
        return importlib.import_module(f"tensorboard.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "tensorboard":
            raise
        raise MissingPackageError(
            "df.summary writes event files with the tensorboard package, which is not installed: "
            "pip install 'dualflow[tensorboard]'") from error


def proto(name: str) -> Any:
    """A module of its protocol buffers: `graph` is tensorboard.compat.proto.graph_pb2."""
    return part(f"compat.proto.{name}_pb2")
