"""Python functions as operations of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualflow as df
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.ops.string_tensor import as_bytes

__all__ = ["numpy_function", "py_func", "py_function"]


@recorded
def py_func(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True,
            name: str | None = None) -> Any:
    """Call ``func(*inp)``, a function of NumPy arrays, in each run.

    Parameters
    ----------
    func : callable
        Function of one array per input; returns an array or a scalar, or one per item of `Tout`.
    inp : list of Tensor
    Tout : dtype or TensorSpec, or list of them
        Results of `func`. A dtype without a shape means the rank of the first input. Text
        (`tf.string`) cannot be in a list.
    stateful : bool
        Ignored: every call is executed.
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
        return HostTensor(default_graph(), "PyFunc", name or "PyFunc", string, xs,
                          lambda session, *values: as_bytes(func(*values)))
    return df.numpy_function(func, xs, Tout, stateful, name or "PyFunc")


numpy_function = py_func


@recorded
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any,
                name: str | None = None) -> Any:
    """Call ``func(*inp)``, a function of eager tensors, in each run; differentiable.

    Parameters
    ----------
    func : callable
        Function of one Tensor per input; returns a tensor or a scalar, or one per item of `Tout`.
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
