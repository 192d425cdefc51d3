"""Python's own control flow in graphs.

A function is traced as it is. Where Python asks a traced tensor for its truth, its items or its
number, the code that asked is converted, takes the place of the original while the function is
traced, and is traced again. So what asks nothing pays nothing, and only calls of Python's builtins
are rewritten.
"""

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from dualflow.autograph import experimental as experimental
from dualflow.autograph.experimental import do_not_convert as do_not_convert

__all__ = ["do_not_convert", "experimental", "to_code", "to_graph"]

F = TypeVar("F", bound=Callable[..., Any])


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


def to_graph(func: F) -> F:
    """What a function is converted to: another function, which does the same for Python's values.

    `dualflow.function` converts by itself what it must; this is for a closer look.

    Parameters
    ----------
    func : callable
        A Python function, a method, or what `dualflow.function` makes of one.

    Returns
    -------
    callable
        A function; of a method, one that takes `self`.

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
