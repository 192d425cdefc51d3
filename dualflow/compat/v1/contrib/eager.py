"""`tf.contrib.eager`: gradients of eager functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualflow.autodiff import GradientTape
from dualflow.compat.v1.defaults import (
    enable_eager_execution as enable_eager_execution,
    executing_eagerly as executing_eagerly,
)
from dualflow.compat.v1.script_ops import py_function as py_func
from dualflow.compat.v1.train.saver import Saver
from dualflow.compat.v1.variables import Variable

__all__ = ["Iterator", "Saver", "Variable", "enable_eager_execution", "executing_eagerly",
           "implicit_gradients", "implicit_value_and_gradients", "py_func"]


def Iterator(dataset: Any) -> Any:
    """Return an iterator over a dataset, whose method `next` returns an element.

    Parameters
    ----------
    dataset : Dataset

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.contrib.eager.Iterator(tf.data.Dataset.range(3)).next().item()
    0
    """
    return iter(dataset)


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns the value of `f` and (gradient, variable) pairs for all
    trainable variables that `f` reads.

    Parameters
    ----------
    f : callable
        Returns a tensor.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.enable_eager_execution()
    >>> w = tf.Variable(3.)
    >>> value, pairs = tf.contrib.eager.implicit_value_and_gradients(lambda x: w * x)(2.)
    >>> value.item(), pairs[0][0].item()
    (6.0, 2.0)
    >>> tf.disable_eager_execution()
    """
    @functools.wraps(f)
    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with GradientTape() as tape:
            value = f(*args, **kwargs)
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being "
                             "computed.")
        return value, list(zip(tape.gradient(value, list(variables)), variables, strict=True))

    return value_and_gradients


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns (gradient, variable) pairs for all trainable variables that
    `f` reads, for `apply_gradients`.

    Parameters
    ----------
    f : callable
        Returns a tensor.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.enable_eager_execution()
    >>> w = tf.Variable(3.)
    >>> grad = tf.contrib.eager.implicit_gradients(lambda x: w * x)
    >>> tf.train.GradientDescentOptimizer(0.5).apply_gradients(grad(2.))
    >>> w.numpy().item()
    2.0
    >>> tf.disable_eager_execution()
    """
    both = implicit_value_and_gradients(f)

    @functools.wraps(f)
    def gradients(*args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        pairs: list[tuple[Any, Any]] = both(*args, **kwargs)[1]
        return pairs

    return gradients


def __dir__() -> list[str]:
    return __all__
