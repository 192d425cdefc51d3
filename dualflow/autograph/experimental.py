"""Counterpart of TensorFlow's module of the same name."""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["do_not_convert"]

F = TypeVar("F", bound=Callable[..., Any])


def do_not_convert(func: F) -> F:
    """Exempt a function, and the functions it calls, from conversion; for use as a decorator.

    Parameters
    ----------
    func : callable

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.autograph.do_not_convert
    ... def sign(x):
    ...     return 1. if x > 0. else -1.
    >>> try:
    ...     df.function(sign)(df.constant(2.))
    ... except TypeError as error:
    ...     print(str(error)[:25])
    bool() needs the value of
    """
    importlib.import_module("dualflow.autograph.demand").do_not_convert(func)
    return func


def __dir__() -> list[str]:
    return __all__
