"""Exceptions that dualflow raises: each is also of the Python type one would expect."""


class DualflowError(Exception):
    """Base of every error raised by dualflow itself."""


class InvalidArgumentError(DualflowError, ValueError):
    """A value that makes no sense for the op."""


class ShapeError(InvalidArgumentError):
    """Shapes that do not fit each other or the op."""


class DTypeError(DualflowError, TypeError):
    """Dtypes that do not fit the op."""


class OutOfRangeError(DualflowError, IndexError):
    """An index beyond its dimension."""


class ResourceExhaustedError(DualflowError, MemoryError):
    """There is not enough memory."""


class SizeOverflowError(DualflowError, OverflowError):
    """A size beyond 64 bits, or a number beyond its dtype."""


class UnimplementedError(DualflowError, NotImplementedError):
    """Something dualflow does not do."""


class CancelledError(DualflowError):
    """A running program was asked to stop."""


class DeadlineExceededError(DualflowError, TimeoutError):
    """What others were to do took longer than they were given."""


class InUseError(DualflowError, RuntimeError):
    """A variable that cannot be assigned, as a program that writes it is waiting for this code."""


class NotFoundError(DualflowError, FileNotFoundError):
    """A file that is not there."""


class AlreadyExistsError(DualflowError, FileExistsError):
    """Something is to be made where there is something already."""


class DataLossError(DualflowError, ValueError):
    """A file that is damaged."""


class TracedValueError(DualflowError, TypeError):
    """Python asked a traced tensor for a value that exists only when the program runs."""


class GradientWarning(UserWarning):
    """A gradient is None; the message says why."""


class CompilerWarning(UserWarning):
    """Functions with `jit_compile` are interpreted: no C compiler does what it should."""


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
