"""TensorFlow's exceptions; each also derives from the dualflow exception that it replaces."""

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
        The operation that failed, if known.
    node_def : None
    """

    node_def = None

    def __init__(self, message: str, op: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op


class InvalidArgumentError(OpError, own.InvalidArgumentError):
    """A value is not valid for the operation."""


class OutOfRangeError(OpError, own.OutOfRangeError):
    """An index beyond its dimension."""


class ResourceExhaustedError(OpError, own.ResourceExhaustedError):
    """There is not enough memory."""


class UnimplementedError(OpError, own.UnimplementedError):
    """A feature is not implemented."""


class CancelledError(OpError, own.CancelledError):
    """A run was cancelled."""


class FailedPreconditionError(OpError):
    """A variable is read before it is initialized."""


class NotFoundError(OpError, own.NotFoundError, LookupError):
    """A file or a key does not exist."""


class DataLossError(OpError, own.DataLossError):
    """A file is corrupt."""


class AlreadyExistsError(OpError, own.AlreadyExistsError):
    """An object with this name exists already."""


class UnknownError(OpError):
    """An error without a more specific class."""


class ForeignTensorError(own.TracedValueError, ValueError):
    """A tensor is used in a graph other than the one that owns it."""


TRANSLATED: dict[type[Exception], type[Exception]] = {own.OutOfRangeError: OutOfRangeError,
              own.ResourceExhaustedError: ResourceExhaustedError,
              own.UnimplementedError: UnimplementedError, own.CancelledError: CancelledError,
              own.InvalidArgumentError: InvalidArgumentError}


def translated(error: own.DualflowError, op: Any = None) -> BaseException:
    """Return the error of a run as an instance of TensorFlow's class."""
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
