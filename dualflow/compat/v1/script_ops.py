"""Functions of Python in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualflow as df
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.in_force import graph_in_force, recorded
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.string_tensor import as_bytes

__all__ = ["numpy_function", "py_func", "py_function"]


@recorded
def py_func(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True,
            name: str | None = None) -> Any:
    """``func(*inp)``, a function of NumPy arrays, in each run.

    Parameters
    ----------
    func : callable
        Gets an array for each input and gives an array or a number, or as many as `Tout` is long.
    inp : list of Tensor
    Tout : dtype or TensorSpec, or list of them
        What `func` gives. A dtype alone means: as many dimensions as the first input. Text
        (`tf.string`) stands alone.
    stateful : bool
        Every call counts, whatever it says.
    name : str, optional

    Returns
    -------
    Tensor, or list of Tensor if `Tout` is a list

    Examples
    --------
    >>> import dualflow.compat.v1 as tf, numpy as np
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.py_func(np.sort, [tf.constant([2., 1.])], tf.float32)))
    [1. 2.]
    """
    xs: list[Any] = [x if isinstance(x, HostTensor) else convert(x) for x in inp]
    if Tout is string:
        return HostTensor(graph_in_force(), "PyFunc", name or "PyFunc", string, xs,
                          lambda session, *values: as_bytes(func(*values)))
    return df.numpy_function(func, xs, Tout, stateful, name or "PyFunc")


numpy_function = py_func


@recorded
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any,
                name: str | None = None) -> Any:
    """``func(*inp)``, a function of eager tensors, in each run; gradients flow through it.

    Parameters
    ----------
    func : callable
        Gets a Tensor for each input and gives a tensor or a number, or as many as `Tout` is long.
    inp : list of Tensor
    Tout : dtype or TensorSpec, or list of them
    name : str, optional

    Returns
    -------
    Tensor, or list of Tensor if `Tout` is a list

    Examples
    --------
    >>> import dualflow as df, dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1., 2.])
    ...     y = tf.py_function(lambda x: x * x, [x], tf.float32)
    ...     print(sess.run(tf.gradients(y, x)[0]))
    [2. 4.]
    """
    return df.py_function(func, [convert(x) for x in inp], Tout, name=name or "EagerPyFunc")
