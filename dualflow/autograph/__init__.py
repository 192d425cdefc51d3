"""Conversion of Python control flow to graph operators.

A function is first traced unconverted. If Python needs the truth value, the items or the number of
a traced tensor, the requesting function is converted, its code object is replaced for the duration
of the trace, and the trace restarts. Code that makes no such request is not converted, and only
calls of Python's builtins are rewritten. `graph/calls` starts traces and handles the restarts.
"""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from dualflow.autograph import experimental as experimental
from dualflow.autograph.experimental import do_not_convert as do_not_convert

__all__ = ["do_not_convert", "experimental", "to_code", "to_graph"]

F = TypeVar("F", bound=Callable[..., Any])


def to_code(func: Callable[..., Any]) -> str:
    """Return the source text of the converted form of a function.

    Parameters
    ----------
    func : callable
        A Python function, a method, or the result of `dualflow.function`.

    Returns
    -------
    str
        The text; `ag` is the module of the operators.

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


def to_graph(func: F) -> F:
    """Return the converted form of a function; it also accepts Python values.

    `dualflow.function` converts functions on demand; `to_graph` is for inspection.

    Parameters
    ----------
    func : callable
        A Python function, a method, or the result of `dualflow.function`.

    Returns
    -------
    callable
        A function; for a method, a function that takes `self`.

    Examples
    --------
    >>> import dualflow as df
    >>> def magnitude(x):
    ...     return x if x >= 0. else -x
    >>> df.autograph.to_graph(magnitude)(-2.)
    2.0
    """
    made: F = importlib.import_module("dualflow.autograph.convert").to_graph(func)
    return made


def __dir__() -> list[str]:
    return __all__
