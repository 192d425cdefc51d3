"""TensorFlow's exceptions: each is also the one that dualflow raises in its place."""

from __future__ import annotations

from typing import Any

from dualflow import errors as own

__all__ = ["AlreadyExistsError", "CancelledError", "DataLossError", "FailedPreconditionError",
           "InvalidArgumentError", "NotFoundError", "OpError", "OutOfRangeError",
           "ResourceExhaustedError", "UnimplementedError", "UnknownError"]


class OpError(own.DualflowError):
    """An operation failed while a session ran.

    Attributes
    ----------
    message : str
    op : Operation or None
        The one that failed, where that is known.
    node_def : None
    """

    node_def = None

    def __init__(self, message: str, op: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op


class InvalidArgumentError(OpError, own.InvalidArgumentError):
    """A value that makes no sense for the operation."""


class OutOfRangeError(OpError, own.OutOfRangeError):
    """An index beyond its dimension."""


class ResourceExhaustedError(OpError, own.ResourceExhaustedError):
    """There is not enough memory."""


class UnimplementedError(OpError, own.UnimplementedError):
    """Something that is not done."""


class CancelledError(OpError, own.CancelledError):
    """A run was asked to stop."""


class FailedPreconditionError(OpError):
    """A variable is read before it has a value."""


class NotFoundError(OpError, LookupError):
    """A file or a key is not there."""


class DataLossError(OpError, own.DataLossError):
    """A file is damaged."""


class AlreadyExistsError(OpError):
    """Something is there already."""


class UnknownError(OpError):
    """Anything else."""


class ForeignTensorError(own.TracedValueError, ValueError):
    """A tensor is used in another graph than its own."""


TRANSLATED: dict[type[Exception], type[Exception]] = {own.OutOfRangeError: OutOfRangeError,
              own.ResourceExhaustedError: ResourceExhaustedError,
              own.UnimplementedError: UnimplementedError, own.CancelledError: CancelledError,
              own.InvalidArgumentError: InvalidArgumentError}


def translated(error: own.DualflowError, op: Any = None) -> BaseException:
    """The error of a run as TensorFlow's class."""
    if isinstance(error, OpError):
        return error
    for kind, theirs in TRANSLATED.items():
        if isinstance(error, kind):
            made = theirs(str(error), op)
            for note in getattr(error, "__notes__", ()):
                made.add_note(note)
            return made
    return error


def __dir__() -> list[str]:
    return __all__
