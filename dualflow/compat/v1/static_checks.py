"""Assertions about shapes and dtypes, checked when the graph is built if possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualflow as df
from dualflow._core import Symbol, Tensor
from dualflow.compat.v1.check_ops import called
from dualflow.compat.v1.default_graph import last_op, recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.groups import no_op
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.ops.control_flow.host import host_call

__all__ = [
    "assert_integer", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
    "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_type",
    "is_numeric_tensor",
]


def rank_check(x: Any, fits: Callable[[int], bool], wanted: str, message: str | None,
               name: str) -> Any:
    """Raise now if the rank is wrong, or in each run if the rank is unknown."""
    found = convert(x)
    head = f"{message}.  " if message else ""

    def check(value: Any) -> None:
        if not fits(value.ndim):
            raise ValueError(f"{head}Tensor {called(found)} must have rank {wanted}.  Received "
                             f"rank {value.ndim}, shape {tuple(value.shape)}")

    if not isinstance(found, Symbol) or not hasattr(found.graph, "specializations") or (
            found.graph.specializations.knows_shape(found)):
        check(found)
        return no_op("static_checks_determined_all_ok")
    host_call(check, [found], name)
    return last_op()


@recorded
def assert_rank(x: Any, rank: int, data: Any = None, summarize: int | None = None,
                message: str | None = None, name: str | None = None) -> Any:
    """Raise ValueError unless a tensor has the given rank.

    Parameters
    ----------
    x : Tensor
    rank : int
    message : str, optional
    data, summarize : ignored

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_rank([1, 2], 1))
    """
    return rank_check(x, lambda n: n == rank, str(rank), message, name or "assert_rank")


@recorded
def assert_rank_at_least(x: Any, rank: int, data: Any = None, summarize: int | None = None,
                         message: str | None = None, name: str | None = None) -> Any:
    """Raise ValueError unless a tensor has at least the given rank.

    Parameters
    ----------
    x : Tensor
    rank : int
    message : str, optional
    data, summarize : ignored

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_rank_at_least([1, 2], 1))
    """
    return rank_check(x, lambda n: n >= rank, f"at least {rank}", message,
                      name or "assert_rank_at_least")


@recorded
def assert_rank_in(x: Any, ranks: Sequence[int], data: Any = None, summarize: int | None = None,
                   message: str | None = None, name: str | None = None) -> Any:
    """Raise ValueError unless the rank of a tensor is one of `ranks`.

    Parameters
    ----------
    x : Tensor
    ranks : sequence of int
    message : str, optional
    data, summarize : ignored

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_rank_in([1, 2], [1, 2]))
    """
    return rank_check(x, lambda n: n in ranks, f"in {tuple(ranks)}", message,
                      name or "assert_rank_in")


@recorded
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Return the tensor; raise ValueError unless it is a scalar.

    Parameters
    ----------
    tensor : Tensor
    name : str, optional
    message : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.assert_scalar(3.)))
    3.0
    """
    found = convert(tensor)
    if found.ndim:
        raise ValueError(f"{message or ''}Expected scalar shape for {called(found)}, saw shape: "
                         f"{found.shape}.")
    return found


@recorded
def assert_type(tensor: Any, tf_type: Any, message: str | None = None,
                name: str | None = None) -> Any:
    """Raise TypeError unless a tensor has the given dtype.

    Parameters
    ----------
    tensor : Tensor
    tf_type : dtype
    message : str, optional

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_type(tf.constant(1.), tf.float32))
    """
    found, wanted = convert(tensor), as_dtype(tf_type)
    if found.dtype is not wanted:
        raise TypeError(f"{message or ''}{called(found)} must be of type tf.{wanted.name}; got "
                        f"tf.{found.dtype.name}")
    return no_op("statically_determined_correct_type")


@recorded
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raise TypeError unless a tensor has an integer dtype.

    Parameters
    ----------
    x : Tensor
    message : str, optional

    Returns
    -------
    Operation; None in eager mode

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.assert_integer([1, 2]))
    """
    found = convert(x)
    if not found.dtype.is_integer:
        raise TypeError(f'{message or ""}Expected "x" to be integer type.  Found: {called(found)} '
                        f"of dtype tf.{found.dtype.name}")
    return no_op("statically_determined_was_integer")


@recorded
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """Return the common floating dtype of tensors, by default float32; raise ValueError if they
    have several dtypes or one that is not floating.

    Parameters
    ----------
    tensors : list of Tensor, optional
    dtype : dtype, optional
        The expected dtype.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(tf.assert_same_float_dtype([tf.constant(1.)]).name)
    float32
    """
    wanted, first = None if dtype is None else as_dtype(dtype), ""
    for x in [convert(x) for x in tensors or () if x is not None]:
        if wanted is not None and x.dtype is not wanted:
            raise ValueError(f"{called(x)}, type={x.dtype.name}, must be of the same type "
                             f"({wanted.name}){f' as {first}' if first else ''}.")
        wanted, first = x.dtype, first or called(x)
    if wanted is not None and not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted.name}.")
    return wanted or df.float32


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError if `values` is a tensor, array or text instead of an iterable of values.

    Parameters
    ----------
    values : object

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.assert_proper_iterable([1, 2])
    """
    if isinstance(values, str | bytes | Tensor | HostTensor) or hasattr(values, "dtype") or (
            not hasattr(values, "__iter__")):
        raise TypeError(f"Expected argument \"values\" to be a 'proper' iterable.  Found: "
                        f"{type(values)}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Return True if an object is a numeric tensor.

    Parameters
    ----------
    tensor : object

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.is_numeric_tensor(tf.constant(1.)), tf.is_numeric_tensor(3)
    (True, False)
    """
    return hasattr(tensor, "__df_tensor__") or (
        isinstance(tensor, Tensor) and not tensor.dtype.is_bool)
