"""Initializers as functions of a shape; without a shape they return the initializer object."""

from __future__ import annotations

import functools
from math import prod, sqrt

import dualflow as df
from dualflow.dtypes import float32
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import ints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol, overload

    from dualflow.initializers.classes import Initializer
    from dualflow.ops.types import DTypeLike

    class Initial(Protocol):
        """Returns a tensor of a shape, or an initializer if no shape is given."""

        @overload
        def __call__(self, shape: None = None, *, seed: int | None = None) -> Initializer: ...

        @overload
        def __call__(self, shape: Sequence[int], dtype: DTypeLike = float32,
                     seed: int | None = None) -> df.Tensor: ...


__all__ = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal",
           "lecun_uniform", "ones", "zeros"]

# Standard deviation of a standard normal distribution truncated at two standard deviations.
TRUNCATED_STDDEV = 0.87962566103423978


def initial(make: Callable[..., df.Tensor]) -> Initial:
    """Wrap a function of a shape: without a shape it returns the initializer object."""
    @functools.wraps(make)
    def made(shape: Any = None, *args: Any, **options: Any) -> Any:
        if shape is not None:
            return make(shape, *args, **options)
        kind = make.__name__.title().replace("_", "")
        return getattr(df.initializers, kind)(*args, **options)

    return made


@initial
def zeros(shape: Any = None, dtype: DTypeLike = float32) -> df.Tensor:
    """Return zeros of `shape` and `dtype`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.zeros([2])).numpy().tolist()
    [0.0, 0.0]
    """
    return df.zeros(shape, dtype)


@initial
def ones(shape: Any = None, dtype: DTypeLike = float32) -> df.Tensor:
    """Return ones of `shape` and `dtype`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.ones([2])).numpy().tolist()
    [1.0, 1.0]
    """
    return df.ones(shape, dtype)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return fan_in and fan_out of a shape."""
    shape = ints(shape, "initializers: shape")
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


def scaled(shape: Sequence[int], variance: float, distribution: str, dtype: DTypeLike,
           seed: int | None) -> df.Tensor:
    """Return random values with mean 0 and the given variance; `distribution` is "uniform",
    "truncated_normal" (alias "normal") or "untruncated_normal"."""
    if distribution == "uniform":
        limit = sqrt(3.0 * variance)
        return df.random.uniform(shape, -limit, limit, dtype, seed)
    if distribution == "untruncated_normal":
        return df.random.normal(shape, 0.0, sqrt(variance), dtype, seed)
    return df.random.truncated_normal(shape, 0.0, sqrt(variance) / TRUNCATED_STDDEV, dtype, seed)


def _variance(name: str, scale: float, fan: float) -> float:
    if fan < 0:
        raise InvalidArgumentError(f"{name}: a dimension of the shape is negative")
    return scale / max(fan, 1.0)


@initial
def glorot_uniform(shape: Any = None, dtype: DTypeLike = float32,
                   seed: int | None = None) -> df.Tensor:
    """Return uniformly distributed values with mean 0 and variance 2 / (fan_in + fan_out).

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.glorot_uniform([3, 4])).shape
    (3, 4)
    >>> make = df.initializers.glorot_uniform(seed=1)
    >>> make([3, 4]).shape, make([2]).shape
    ((3, 4), (2,))
    """
    variance = _variance("glorot_uniform", 1.0, sum(fans(shape)) / 2)
    return scaled(shape, variance, "uniform", dtype, seed)


@initial
def glorot_normal(shape: Any = None, dtype: DTypeLike = float32,
                  seed: int | None = None) -> df.Tensor:
    """Return truncated normal values with mean 0 and variance 2 / (fan_in + fan_out).

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.glorot_normal([3, 4])).shape
    (3, 4)
    """
    variance = _variance("glorot_normal", 1.0, sum(fans(shape)) / 2)
    return scaled(shape, variance, "normal", dtype, seed)


@initial
def he_uniform(shape: Any = None, dtype: DTypeLike = float32,
               seed: int | None = None) -> df.Tensor:
    """Return uniformly distributed values with mean 0 and variance 2 / fan_in.

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    He et al., "Delving deep into rectifiers", ICCV 2015.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.he_uniform([3, 4])).shape
    (3, 4)
    """
    return scaled(shape, _variance("he_uniform", 2.0, fans(shape)[0]), "uniform", dtype, seed)


@initial
def he_normal(shape: Any = None, dtype: DTypeLike = float32,
              seed: int | None = None) -> df.Tensor:
    """Return truncated normal values with mean 0 and variance 2 / fan_in.

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    He et al., "Delving deep into rectifiers", ICCV 2015.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.he_normal([3, 4])).shape
    (3, 4)
    """
    return scaled(shape, _variance("he_normal", 2.0, fans(shape)[0]), "normal", dtype, seed)


@initial
def lecun_uniform(shape: Any = None, dtype: DTypeLike = float32,
                  seed: int | None = None) -> df.Tensor:
    """Return uniformly distributed values with mean 0 and variance 1 / fan_in.

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    LeCun et al., "Efficient BackProp", 1998.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.lecun_uniform([3, 4])).shape
    (3, 4)
    """
    return scaled(shape, _variance("lecun_uniform", 1.0, fans(shape)[0]), "uniform", dtype, seed)


@initial
def lecun_normal(shape: Any = None, dtype: DTypeLike = float32,
                 seed: int | None = None) -> df.Tensor:
    """Return truncated normal values with mean 0 and variance 1 / fan_in.

    Parameters
    ----------
    shape : sequence of int, optional
        If None, return an initializer, to be called with a shape and a dtype.
    dtype : floating dtype, default float32
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Notes
    -----
    LeCun et al., "Efficient BackProp", 1998.

    Examples
    --------
    >>> import dualflow as df
    >>> df.Variable(df.initializers.lecun_normal([3, 4])).shape
    (3, 4)
    """
    return scaled(shape, _variance("lecun_normal", 1.0, fans(shape)[0]), "normal", dtype, seed)
