"""Operations that print tensors, or raise if a tensor has a NaN or an infinity."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import dualflow as df
from dualflow._core import Symbol, Tensor
from dualflow.compat.v1 import errors
from dualflow.compat.v1.check_ops import data_of, texts
from dualflow.compat.v1.default_graph import default_graph, last_op, recorded
from dualflow.compat.v1.groups import control_dependencies, group
from dualflow.compat.v1.ops import convert
from dualflow.dtypes import ALL
from dualflow.graph.ir import VARIABLE
from dualflow.ops.control_flow.host import host_call

__all__ = ["Print", "add_check_numerics_ops", "check_numerics", "verify_tensor_all_finite"]


def passed_on(x: Any, name: str) -> Any:
    """Return a tensor of the same value that depends on the operation recorded last."""
    op = last_op()
    with nullcontext() if op is None else control_dependencies([op]):
        return df.identity(x, name=name)


@recorded
def Print(input_: Any, data: Iterable[Any], message: str | None = None,
          first_n: int | None = None, summarize: int | None = None,
          name: str | None = None) -> Any:
    """Return a tensor of the same value; when it is computed, `data` is printed to stderr.

    Parameters
    ----------
    input_ : Tensor
    data : list of Tensor or str
    message : str, optional
        Printed before the data.
    first_n : int, optional
        Maximal number of times to print; by default, and if negative, unlimited.
    summarize : int, default 3
        Number of elements to print of each tensor; -1 for all.
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1., 2.])
    ...     print(sess.run(tf.Print(x, [x], "x is ") * 2.))     # and, to stderr: x is [1 2]
    [2. 4.]
    """
    x, shown = convert(input_), data_of(data)
    left = [-1 if first_n is None else first_n]

    def show(*values: Tensor) -> None:
        if left[0]:
            left[0] -= 1
            sys.stderr.write(f"{message or ''}{''.join(texts(shown, values, summarize))}\n")

    host_call(show, [y for y in shown if isinstance(y, Tensor)], f"{name or 'Print'}/show")
    return passed_on(x, name or "Print")


@recorded
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Return a tensor of the same value; raise InvalidArgumentError if it has a NaN or an infinity.

    Parameters
    ----------
    tensor : Tensor, floating
    message : str
        Prefix of the error message.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.check_numerics([1., 2.], "x")))
    [1. 2.]
    """
    x = convert(tensor)
    if not x.dtype.is_floating:
        raise TypeError("Value passed to parameter 'tensor' has DataType "
                        f"{x.dtype.name} not in list of allowed values: "
                        f"{', '.join(sorted([d.name for d in ALL if d.is_floating]))}")
    bad = [df.reduce_any(test(x)) for test in (df.math.is_inf, df.math.is_nan)]

    def check(*found: Tensor) -> None:
        kinds = [kind for kind, y in zip(("Inf", "NaN"), found, strict=True) if y.item()]
        if kinds:
            raise errors.InvalidArgumentError(
                f"{message} : Tensor had {' and '.join(kinds)} values")

    host_call(check, bad, f"{name or 'CheckNumerics'}/check")
    return passed_on(x, name or "CheckNumerics")


def verify_tensor_all_finite(t: Any, msg: str, name: str | None = None) -> Any:
    """Return `check_numerics` of the tensor; older name.

    Parameters
    ----------
    t : Tensor, floating
    msg : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.verify_tensor_all_finite([1., 2.], "x")))
    [1. 2.]
    """
    return check_numerics(t, msg, name or "VerifyFinite")


def add_check_numerics_ops() -> Any:
    """Return an operation that checks all floating tensors of the default graph for NaN and
    infinity, and reports the first operation whose output has one.

    Returns
    -------
    Operation

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.log(x)
    ...     print(sess.run([y, tf.add_check_numerics_ops()], {x: 1.}))
    [np.float32(0.0), None]
    """
    graph = default_graph()
    checks: list[Any] = []
    for op in graph.get_operations():
        for x in op.outputs:
            if isinstance(x, Symbol) and x.dtype.is_floating and op.op is not VARIABLE:
                with graph.control_dependencies(checks[-1:]):
                    checks.append(check_numerics(x, x.name).op)
    return group(*checks)
