"""Checks for NaN and infinity, in eager and traced code."""

import functools

from dualflow import _core
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.shape import identity
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.rounding import is_inf, is_nan
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.types import TensorLike

__all__ = ["assert_all_finite", "check_numerics", "disable_check_numerics",
           "enable_check_numerics"]


def enable_check_numerics() -> None:
    """Make the first op that computes a NaN or an infinity raise, in all threads.

    Returns
    -------
    None

    Notes
    -----
    The error message has the op, its inputs, the number of elements that are not finite, and in a
    traced function the user's line of the op; in a gradient, the op that is differentiated. While
    enabled, traced functions run without fusion, so that every op is checked. Infinities that are
    inputs of an op (masks contain them) do not count; a NaN is reported by the first op that reads
    it.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.enable_check_numerics()
    >>> df.math.log(df.constant([1., 0.]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dualflow.errors.InvalidArgumentError: log: output 0, float32 (2,), has 0 NaN and 1 infinite ...
    >>> df.debugging.disable_check_numerics()
    """
    _core.set_check_numerics(True)


def disable_check_numerics() -> None:
    """Disable the check of `enable_check_numerics`.

    Returns
    -------
    None

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.disable_check_numerics()
    """
    _core.set_check_numerics(False)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return `tensor`; raise if an element is NaN or infinite.

    Parameters
    ----------
    tensor : Tensor, floating or complex
    message : str
        Prefix of the error message.

    Returns
    -------
    Tensor

    Raises
    ------
    InvalidArgumentError
        If an element is NaN or infinite.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.check_numerics([1., 2.], "x").tolist()
    [1.0, 2.0]
    """
    x = as_tensor(tensor)
    if not x.dtype.is_inexact:
        raise DTypeError(f"check_numerics: got {x.dtype}, expected a floating or complex dtype")
    counts = [reduce_sum(cast(test(x), "int64")) for test in (is_nan, is_inf)]
    host_call(functools.partial(check_counts, message), counts, name or "check_numerics")
    return identity(x)


def check_counts(message: str, n_nan: Tensor, n_inf: Tensor) -> None:
    """Raise if a tensor has NaN or infinite elements."""
    if n_nan.item() or n_inf.item():
        raise InvalidArgumentError(f"{message}: a tensor has {n_nan.item()} NaN and "
                                   f"{n_inf.item()} infinite elements")


def assert_all_finite(x: TensorLike, message: str = "assert_all_finite",
                      name: str | None = None) -> None:
    """Raise unless all elements are finite.

    Parameters
    ----------
    x : Tensor, floating
    message : str

    Raises
    ------
    InvalidArgumentError

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.assert_all_finite([1., 2.])
    """
    check_numerics(x, message, name)
