"""Python's own control flow in graphs.

A function is traced as it is. Where Python asks a traced tensor for its truth, its items or its
number, the code that asked is converted, takes the place of the original while the function is
traced, and is traced again. So what asks nothing pays nothing, and no call is rewritten.
"""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["do_not_convert", "to_code"]

F = TypeVar("F", bound=Callable[..., Any])


def do_not_convert(func: F) -> F:
    """Leaves a function, and what it calls, as it is; for use as a decorator.

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
    importlib.import_module("dualflow.autograph.demand").leave(func)
    return func


def to_code(func: Callable[..., Any]) -> str:
    """The text of what a function is converted to, if a traced tensor asks for it.

    Parameters
    ----------
    func : callable
        A Python function, a method, or what `dualflow.function` makes of one.

    Returns
    -------
    str
        In which `ag` stands for the operators.

    Examples
    --------
    >>> import dualflow as df
    >>> def magnitude(x):
    ...     return x if x >= 0. else -x
    >>> print(df.autograph.to_code(magnitude))
    def magnitude(x):
        return ag.if_exp(x >= 0.0, lambda: x, lambda: -x)
    """
    text: str = importlib.import_module("dualflow.autograph.convert").to_code(func)
    return text
