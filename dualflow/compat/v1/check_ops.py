"""Assertions: operations that raise if a condition on their tensors is false."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dualflow as df
from dualflow._core import Symbol, Tensor, as_tensor
from dualflow.compat.v1 import errors
from dualflow.compat.v1.data_text import summarized
from dualflow.compat.v1.default_graph import last_op, recorded
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import as_tensors, convert
from dualflow.debugging.assertions import spacing
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.string_tensor import as_bytes, is_text

__all__ = [
    "Assert", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "is_non_decreasing",
    "is_strictly_increasing",
]


def data_of(data: Iterable[Any]) -> list[Any]:
    """Return the data to print: bytes, and tensors."""
    found: list[Any] = []
    for x in data:
        if isinstance(x, HostTensor) and x.compute is not None and not x.inputs:
            x = x.compute(None)
        found.append(as_bytes(x) if is_text(x) else convert(x))
    return found


def texts(data: Sequence[Any], values: Iterable[Tensor], summarize: int | None) -> list[str]:
    """Return the data as texts; `values` are the values of the tensors in it, in order."""
    now = iter(values)
    return [f"[{summarized(next(now) if isinstance(x, Tensor) else x, summarize)}]" for x in data]


@recorded
def Assert(condition: Any, data: Iterable[Any], summarize: int | None = None,
           name: str | None = None) -> Any:
    """Return an operation that raises InvalidArgumentError unless a condition is true.

    Parameters
    ----------
    condition : Tensor, bool
    data : list of Tensor or str
        Values to print in the error message.
    summarize : int, default 3
        Number of elements to print of each tensor.
    name : str, optional

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     with tf.control_dependencies([tf.Assert(x > 0, ["x is", x])]):
    ...         y = tf.log(x)
    ...     print(sess.run(y, {x: 1.}))
    0.0
    """
    shown = data_of(data)

    def check(good: Tensor, *values: Tensor) -> None:
        if not df.reduce_all(good).item():
            raise errors.InvalidArgumentError(
                f"assertion failed: {' '.join(texts(shown, values, summarize))}")

    host_call(check, [as_tensor(convert(condition), "bool"),
                      *[x for x in shown if isinstance(x, Tensor)]], name or "Assert")
    return last_op()


def called(x: Any) -> str:
    """Return the name of a tensor for a message."""
    return str(x.name) if isinstance(x, Symbol) else f"shape={x.shape} dtype={x.dtype.name}"


def comparison(name: str, op: Callable[..., Any], sign: str,
               example: str) -> Callable[..., Any]:
    """Return an assertion that compares two tensors element by element, with broadcasting."""
    def compare(x: Any, y: Any, data: Any = None, summarize: int | None = None,
                message: str | None = None, name: str | None = None) -> Any:
        a, b = as_tensors(x, y)
        with name_scope(name, compare.__name__):
            shown = [message or "", f"Condition x {sign} y did not hold element-wise:",
                     f"x ({called(a)}) = ", a, f"y ({called(b)}) = ", b] if data is None else data
            return Assert(df.reduce_all(op(a, b)), shown, summarize)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Return an operation that raises unless x {sign} y for all elements.

    Parameters
    ----------
    x, y : Tensor
    data : list of Tensor or str, optional
        Values to print in the error; by default the condition and both tensors.
    summarize : int, default 3
        Number of elements to print of each tensor.
    message : str, optional

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.{name}({example}))
    """
    return recorded(compare)


assert_equal: Callable[..., Any] = comparison("assert_equal", df.equal, "==", "1, 1")
assert_none_equal: Callable[..., Any] = comparison("assert_none_equal", df.not_equal, "!=", "1, 2")
assert_less: Callable[..., Any] = comparison("assert_less", df.less, "<", "1, 2")
assert_less_equal: Callable[..., Any] = comparison("assert_less_equal", df.less_equal, "<=", "1, 2")
assert_greater: Callable[..., Any] = comparison("assert_greater", df.greater, ">", "2, 1")
assert_greater_equal: Callable[..., Any] = comparison("assert_greater_equal", df.greater_equal,
                                                      ">=", "2, 1")


def sign_check(name: str, op: Callable[..., Any], sign: str,
               example: int) -> Callable[..., Any]:
    """Return an assertion that compares a tensor with 0."""
    def compare(x: Any, data: Any = None, summarize: int | None = None,
                message: str | None = None, name: str | None = None) -> Any:
        a = convert(x)
        with name_scope(name, compare.__name__):
            shown = [message or "", f"Condition x {sign} 0 did not hold element-wise:",
                     f"x ({called(a)}) = ", a] if data is None else data
            return Assert(df.reduce_all(op(a, 0)), shown, summarize)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Return an operation that raises unless x {sign} 0 for all elements.

    Parameters
    ----------
    x : Tensor
    data, summarize, message : as for `assert_equal`

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.{name}([{example}]))
    """
    return recorded(compare)


assert_positive: Callable[..., Any] = sign_check("assert_positive", df.greater, ">", 1)
assert_negative: Callable[..., Any] = sign_check("assert_negative", df.less, "<", -1)
assert_non_negative: Callable[..., Any] = sign_check("assert_non_negative", df.greater_equal, ">=",
                                                     0)
assert_non_positive: Callable[..., Any] = sign_check("assert_non_positive", df.less_equal, "<=", 0)


@recorded
def assert_near(x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None,
                summarize: int | None = None, message: str | None = None,
                name: str | None = None) -> Any:
    """Return an operation that raises unless ``|x - y| <= atol + rtol |y|`` for all elements.

    Parameters
    ----------
    x, y : Tensor, floating
    rtol, atol : float, optional
        By default ten times the spacing of floating-point values at 1.
    data, summarize, message : as for `assert_equal`

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_near([1.], [1.0000001]))
    """
    a, b = as_tensors(x, y)
    default = 10 * spacing(a.dtype)
    relative, absolute = [default if tol is None else tol for tol in (rtol, atol)]
    with name_scope(name, "assert_near"):
        shown = [message or "", f"x and y not equal to tolerance rtol = {relative}, atol = "
                 f"{absolute}", f"x ({called(a)}) = ", a, f"y ({called(b)}) = ", b]
        near = df.less_equal(df.abs(a - b), absolute + relative * df.abs(b))
        return Assert(df.reduce_all(near), shown if data is None else data, summarize)


def increasing(x: Any, op: Callable[..., Any], name: str) -> Any:
    """Return a tensor that is True if `op(next, previous)` holds for all neighbouring elements."""
    flat = df.reshape(convert(x), [-1])
    return df.reduce_all(op(flat[1:], flat[:-1]), name=name)


@recorded
def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Return a tensor that is True if each element is larger than the previous one.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.is_strictly_increasing([1, 2, 2])))
    False
    """
    return increasing(x, df.greater, name or "is_strictly_increasing")


@recorded
def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Return a tensor that is True if no element is smaller than the previous one.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.is_non_decreasing([1, 2, 2])))
    True
    """
    return increasing(x, df.greater_equal, name or "is_non_decreasing")
