"""Pure functions of seeds: new seeds from a seed, shuffling, and a normal distribution between any
bounds. Equal arguments give equal results; nothing here draws from a generator.
"""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, constant
from dualflow._util.arguments import integer
from dualflow.dtypes import DType
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.join import stack
from dualflow.ops.array.shape import static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import expm1, log1p, sqrt
from dualflow.ops.elementwise.limits import clip_by_value, maximum, minimum
from dualflow.ops.elementwise.quantile import ndtri
from dualflow.ops.elementwise.special import erfc
from dualflow.ops.indexing.gather import gather
from dualflow.ops.random.random import (
    Shape,
    check_algorithm,
    full_int,
    key_of,
    stateless_permutation,
    stateless_uniform,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "fold_in",
    "split",
    "stateless_fold_in",
    "stateless_parameterized_truncated_normal",
    "stateless_shuffle",
    "stateless_split",
]


def _dtype_of(*given: TensorLike) -> DType:
    """Return the dtype of new seeds: int32 if all arguments are int32 tensors, else int64."""
    narrow = all([isinstance(x, TensorBase) and x.dtype is dtypes.int32 for x in given])
    return dtypes.int32 if narrow else dtypes.int64


def split(seed: TensorLike, num: int = 2, alg: int | str = "auto_select") -> Tensor:
    """Return `num` seeds whose streams are independent of each other and of the seed's.

    Parameters
    ----------
    seed : Tensor, integers, shape (2,)
    num : int
    alg : {"auto_select", "philox"} or Algorithm

    Returns
    -------
    Tensor, int64, or int32 if `seed` is an int32 tensor, shape (num, 2)

    Notes
    -----
    The seeds are random numbers of the stream of `seed`. A program that splits a seed should not
    draw with that seed, too.

    Examples
    --------
    >>> import dualflow as df
    >>> a, b = df.unstack(df.random.split([1, 2]))
    >>> df.random.stateless_normal([3], a).tolist() == df.random.stateless_normal([3], b).tolist()
    False
    """
    check_algorithm(alg, "random.split")
    return full_int([num, 2], seed, _dtype_of(seed))


def fold_in(seed: TensorLike, data: TensorLike, alg: int | str = "auto_select") -> Tensor:
    """Return a seed for a seed and a number, such as a step or the index of a replica.

    Parameters
    ----------
    seed : Tensor, integers, shape (2,)
    data : Tensor, integer, shape ()
    alg : {"auto_select", "philox"} or Algorithm

    Returns
    -------
    Tensor, int64, or int32 if both are int32 tensors, shape (2,)

    Raises
    ------
    ShapeError
        If `data` is not a scalar.

    Notes
    -----
    Different numbers give different seeds, whose streams are independent.

    Examples
    --------
    >>> import dualflow as df
    >>> seeds = [df.random.fold_in([1, 2], step) for step in range(3)]
    >>> len({float(df.random.stateless_normal([], s)) for s in seeds})
    3
    """
    check_algorithm(alg, "random.fold_in")
    if not isinstance(data, TensorBase):
        data = constant(integer(data, "random.fold_in: data"), dtypes.int64)
    if not data.dtype.is_integer:
        raise DTypeError(f"random.fold_in: data is {data.dtype.name}, expected an integer")
    if data.shape != ():
        raise ShapeError(f"random.fold_in: data has shape {data.shape}, expected ()")
    wanted = _dtype_of(seed, data)
    return stack([full_int([], seed, wanted), cast(key_of(data), wanted)])


stateless_split = split
stateless_fold_in = fold_in


def stateless_shuffle(value: TensorLike, seed: TensorLike, alg: int | str = "auto_select",
                      name: str | None = None) -> Tensor:
    """Shuffle the first dimension of `value`, in an order determined by `seed`.

    Parameters
    ----------
    value : Tensor, any dtype, shape (n, ...)
    seed : Tensor, integers, shape (2,)
    alg : {"auto_select", "philox"} or Algorithm

    Returns
    -------
    Tensor, like `value`

    Notes
    -----
    The gradient of each row goes to its original position.

    Examples
    --------
    >>> import dualflow as df
    >>> sorted(df.random.experimental.stateless_shuffle([3, 1, 2], seed=[1, 2]).tolist())
    [1, 2, 3]
    """
    check_algorithm(alg, "stateless_shuffle")
    x = value if isinstance(value, TensorBase) else constant(value)
    if not x.ndim:
        raise InvalidArgumentError(
            "stateless_shuffle: value is a scalar, expected 1 dimension or more")
    return gather(x, stateless_permutation(static_shape(x)[0], seed, name))


_ROOT_HALF = 0.5**0.5
_DEEP = -30.0           # below, the normal distribution function is close to underflow
_LARGE = 1e150          # replaces infinite bounds, whose products with zeros would be NaN


def _between(low: Tensor, high: Tensor, u: Tensor) -> Tensor:
    """Return standard normal numbers between bounds, of which the lower is farther from 0, for
    uniform numbers above 0 and below 1."""
    near = maximum(high, _DEEP)
    p, q = 0.5 * erfc(-_ROOT_HALF * low), 0.5 * erfc(-_ROOT_HALF * near)
    x = ndtri(p + u * (q - p))
    # In a deep tail the density is close to -x * exp(-x**2 / 2), whose integral has an inverse.
    deep = minimum(high, _DEEP)
    lost = expm1(-0.5 * (minimum(low, deep) - deep) * (minimum(low, deep) + deep))
    tail = -sqrt(deep * deep - 2.0 * log1p((1.0 - u) * lost))
    return where(high < _DEEP, tail, x)


def stateless_parameterized_truncated_normal(
        shape: Shape, seed: TensorLike, means: TensorLike = 0.0, stddevs: TensorLike = 1.0,
        minvals: TensorLike = -2.0, maxvals: TensorLike = 2.0, name: str | None = None) -> Tensor:
    """Draw normally distributed numbers between `minvals` and `maxvals`, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result; the parameters are broadcast to it.
    seed : Tensor, integers, shape (2,)
    means, stddevs : Tensor
        Of the distribution before the truncation.
    minvals, maxvals : Tensor
        The bounds, which may be infinite.

    Returns
    -------
    Tensor, of `shape` and the widest floating dtype of the parameters, float32 for numbers; NaN
    where `stddevs` is not positive or `minvals` is above `maxvals`

    Notes
    -----
    The inverse of the distribution function, in float64 and without rejection. Between bounds more
    than 30 standard deviations above or below the mean, the density is proportional to ``abs(x) *
    exp(-x**2 / 2)``. All parameters have gradients.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.random.stateless_parameterized_truncated_normal(
    ...     [100], seed=[1, 2], means=5., stddevs=2., minvals=6., maxvals=float("inf"))
    >>> bool(df.reduce_all(x >= 6.))
    True
    """
    op = "stateless_parameterized_truncated_normal"
    given = [check_real(op, x, "a parameter") for x in (means, stddevs, minvals, maxvals)]
    numbers = [isinstance(x, int | float) for x in (means, stddevs, minvals, maxvals)]
    wanted = dtypes.float32
    found = [x.dtype for x, number in zip(given, numbers, strict=True)
             if x.dtype.is_floating and not number]
    if found:
        wanted = max(found, key=lambda dtype: dtype.itemsize)
    mean, stddev, *bounds = [cast(x, dtypes.float64) for x in given]
    low, high = [(clip_by_value(x, -_LARGE, _LARGE) - mean) / stddev for x in bounds]
    drawn = stateless_uniform(shape, seed, dtype=dtypes.float64, name=name)
    u = maximum(drawn, 2.0**-54)            # below 1, so 1 - u is above 0
    above = low + high > 0.0                # mirrored, because small probabilities are exact
    x = _between(where(above, -high, low), where(above, -low, high),
                 where(above, 1.0 - u, u))
    x = where(above, -x, x) * stddev + mean
    x = where((stddev > 0.0) & (low <= high), x, float("nan"))
    return minimum(maximum(cast(x, wanted), cast(given[2], wanted)), cast(given[3], wanted))
