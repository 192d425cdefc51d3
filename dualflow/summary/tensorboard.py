"""The tensorboard package, an optional dependency that is imported at first use."""

import functools
import importlib
from typing import Any

from dualflow.errors import DualflowError


class MissingPackageError(DualflowError, ImportError):
    """A required package is not installed."""


@functools.cache
def part(name: str) -> Any:
    """Import a module of tensorboard by its name relative to the package."""
    try:
        return importlib.import_module(f"tensorboard.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "tensorboard":
            raise
        raise MissingPackageError(
            "df.summary writes event files with the tensorboard package, which is not installed: "
            "pip install 'dualflow[tensorboard]'") from error


def proto(name: str) -> Any:
    """Import a protocol buffer module: `graph` is tensorboard.compat.proto.graph_pb2."""
    return part(f"compat.proto.{name}_pb2")
