"""Conversions of tensors to another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import convert, wrapped
from dualflow.dtypes import bfloat16, complex64, complex128, float32, float64, int32, int64

__all__ = ["cast", "saturate_cast", "to_bfloat16", "to_complex64", "to_complex128", "to_double",
           "to_float", "to_int32", "to_int64"]

saturate_cast: Callable[..., Any] = wrapped(df.saturate_cast, "saturate_cast")


@recorded
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert a tensor to another dtype.

    Parameters
    ----------
    x : Tensor
    dtype : dtype

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.cast([1.5, -1.5], "int32")))
    [ 1 -1]
    """
    found, wanted = convert(x), as_dtype(dtype)
    return found if found.dtype is wanted else df.cast(found, wanted, name or "Cast")


def to_float(x: Any, name: str = "ToFloat") -> Any:
    """Convert a tensor to float32.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_float(1)))
    1.0
    """
    return cast(x, float32, name)


def to_double(x: Any, name: str = "ToDouble") -> Any:
    """Convert a tensor to float64.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_double(1)))
    1.0
    """
    return cast(x, float64, name)


def to_int32(x: Any, name: str = "ToInt32") -> Any:
    """Convert a tensor to int32.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_int32(1.5)))
    1
    """
    return cast(x, int32, name)


def to_int64(x: Any, name: str = "ToInt64") -> Any:
    """Convert a tensor to int64.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_int64(1.5)))
    1
    """
    return cast(x, int64, name)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Any:
    """Convert a tensor to bfloat16.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.to_bfloat16(1.).dtype.name
    'bfloat16'
    """
    return cast(x, bfloat16, name)


def to_complex64(x: Any, name: str = "ToComplex64") -> Any:
    """Convert a tensor to complex64.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_complex64(1)))
    (1+0j)
    """
    return cast(x, complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Any:
    """Convert a tensor to complex128.

    Parameters
    ----------
    x : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.to_complex128(1)))
    (1+0j)
    """
    return cast(x, complex128, name)
