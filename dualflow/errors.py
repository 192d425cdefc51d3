"""Exceptions of dualflow; each derives from the corresponding Python exception as well."""


class DualflowError(Exception):
    """Base class of all exceptions of dualflow."""


class InvalidArgumentError(DualflowError, ValueError):
    """A value is not valid for the op."""


class ShapeError(InvalidArgumentError):
    """Shapes are incompatible with each other or with the op."""


class SignatureError(ShapeError, TypeError):
    """The arguments of a call do not match the types for which a function was traced."""


class DTypeError(DualflowError, TypeError):
    """Dtypes are not supported by the op."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """An index is out of range, or a dataset has no more elements."""


class ResourceExhaustedError(DualflowError, MemoryError):
    """There is not enough memory."""


class SizeOverflowError(DualflowError, OverflowError):
    """A size exceeds 64 bits, or a number exceeds the range of its dtype."""


class UnimplementedError(DualflowError, NotImplementedError):
    """A feature is not implemented."""


class CancelledError(DualflowError):
    """A running program was cancelled."""


class DeadlineExceededError(DualflowError, TimeoutError):
    """An operation of other processes or threads did not finish in time."""


class InUseError(DualflowError, RuntimeError):
    """A variable cannot be assigned because a program that writes it is waiting for this code."""


class NotFoundError(DualflowError, FileNotFoundError):
    """A file does not exist."""


class AlreadyExistsError(DualflowError, FileExistsError):
    """A file or object exists already."""


class DataLossError(DualflowError, ValueError):
    """A file is corrupt."""


class TracedValueError(DualflowError, TypeError):
    """Python requested the value of a traced tensor, which exists only when the program runs."""


class TracedMethodError(TracedValueError, AttributeError):
    """``x.numpy()`` of a traced tensor."""


class GradientWarning(UserWarning):
    """A gradient is None; the message contains the reason."""


class CompilerWarning(UserWarning):
    """Functions with `jit_compile` are interpreted because no working C compiler was found."""


class RetracingWarning(UserWarning):
    """A function is traced repeatedly, or has Python side effects that runs will not repeat."""


# In the order of df_status in csrc/base/status.h; index 0 is success.
BY_STATUS = (
    DualflowError,
    InvalidArgumentError,
    ShapeError,
    DTypeError,
    OutOfRangeError,
    ResourceExhaustedError,
    SizeOverflowError,
    UnimplementedError,
    CancelledError,
)
