"""Random numbers determined by a key. The counter-based generator Philox4x32-10 makes each number
depend only on its key and index, not on the thread count.

The ops take the key, two int64, as an input; each key selects a separate stream. Keys come from
random_generator.py.
"""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, apply, constant
from dualflow.dtypes import as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.shape import ints
from dualflow.ops.elementwise.complex import check_real, complex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "stateless_normal",
    "stateless_permutation",
    "stateless_truncated_normal",
    "stateless_uniform",
]


Shape: TypeAlias = "int | Sequence[int]"


def _in_dtype(x: Tensor, wanted: dtypes.DType) -> Tensor:
    return x if x.dtype is wanted else apply("cast", x, dtype=wanted)


def check_algorithm(alg: int | str, caller: str) -> None:
    """Raise unless `alg` is the name or the number of Philox or of the automatic choice."""
    if alg in ("threefry", 2):
        raise UnimplementedError(f"{caller}: ThreeFry is not implemented, use 'philox'")
    if alg not in ("auto_select", "philox", 1, 3):
        raise InvalidArgumentError(f"{caller}: alg is {alg!r}, expected 'auto_select' or 'philox'")


def key_of(seed: TensorLike) -> TensorLike:
    """Return the key of random ops for a seed."""
    if not isinstance(seed, TensorBase):
        return constant(seed, dtypes.int64)
    if seed.dtype is dtypes.int64 or not seed.dtype.is_integer:
        return seed
    op = "bitcast" if seed.dtype is dtypes.uint64 else "cast"
    return apply(op, seed, dtype=dtypes.int64)


def full_int(shape: Shape, seed: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Draw integers from the whole range of `dtype`: bits of 32-bit integers, of which each is one
    word of the stream."""
    wanted = as_dtype(dtype)
    if not wanted.is_integer:
        raise DTypeError(f"random_uniform: dtype is {wanted.name}, expected integers")
    bits = min(8 * wanted.itemsize, 32)
    low = 0 if wanted.is_unsigned else -1 << bits - 1
    if wanted.itemsize < 8:
        return apply("random_integers", key_of(seed), name=name, shape=shape, dtype=wanted,
                     minval=low, maxval=low + (1 << bits))
    dims = ints(shape, "random_uniform: shape")
    pairs = apply("random_integers", key_of(seed), name=name, shape=[*dims, 2],
                  dtype=dtypes.int32, minval=-1 << 31, maxval=1 << 31)
    return apply("bitcast", pairs, dtype=wanted)


def _drawn_in(dtype: DTypeLike) -> dtypes.DType:
    """Return the dtype to draw in; 16-bit floats are rounded from float32."""
    wanted = as_dtype(dtype)
    return dtypes.float32 if wanted.is_reduced_float else wanted


def _check_parameters(op: str, **parameters: TensorLike) -> None:
    """Raise if a parameter is a complex tensor. Numbers stay numbers, which have no dtype yet."""
    for name, x in parameters.items():
        if isinstance(x, TensorBase):
            check_real(op, x, name)


def _scaled(op: str, draw: Callable[[Any, Any], Tensor], dtype: DTypeLike, mean: TensorLike,
            stddev: TensorLike) -> Tensor:
    """Return `draw(mean, stddev)` or, if one is a tensor, mean + stddev * draw(0, 1)."""
    if isinstance(mean, TensorBase) or isinstance(stddev, TensorBase):
        _check_parameters(op, mean=mean, stddev=stddev)
        return _in_dtype(draw(0.0, 1.0) * stddev + mean, as_dtype(dtype))
    return _in_dtype(draw(mean, stddev), as_dtype(dtype))


def stateless_uniform(shape: Shape, seed: TensorLike, minval: TensorLike | None = 0,
                      maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32,
                      name: str | None = None, alg: int | str = "auto_select") -> Tensor:
    """Draw uniformly distributed numbers in [minval, maxval), determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
    seed : Tensor, integers, shape (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    minval, maxval : number, or for floats Tensor
        `maxval` is 1 for floats by default and is required for integers. If both are None,
        integers are drawn from the whole range of `dtype`.
    dtype : dtype, default float32
    alg : {"auto_select", "philox"} or Algorithm
        All but ThreeFry, which raises, name the only algorithm.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    A float has as many random bits as its dtype has digits: float32 24, float64 53, float16 11. The
    relative error of an integer's probability is below 2**-32; its `maxval` is at most 2**63 - 1. A
    16-bit float with `minval` above 0 may round up to `maxval`. Bit-identical at every SIMD level.
    There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_uniform([3], seed=[1, 2], maxval=1).shape
    (3,)
    """
    check_algorithm(alg, "stateless_uniform")
    drawn = _drawn_in(dtype)
    if drawn.is_complex:
        raise DTypeError(f"random_uniform: dtype is {drawn.name}, expected a real dtype; "
                         "df.complex(x, y) joins two parts")
    if not drawn.is_floating:
        if minval is None and maxval is None:
            return full_int(shape, seed, drawn, name)
        if minval is None or maxval is None:
            raise InvalidArgumentError(f"random_uniform: dtype is {drawn.name}, expected a maxval")
        # The shape rule reads one such number as a bound that is not known yet.
        if drawn.itemsize < 8 and isinstance(minval, int) and minval < -1 << 32:
            raise InvalidArgumentError(f"random_integers: minval is {minval}, expected a number "
                                       f"within {drawn.name}")
        return apply("random_integers", key_of(seed), name=name, shape=shape, dtype=drawn,
                     minval=minval, maxval=maxval)
    if minval is None:
        raise DTypeError("random_uniform: minval is None, expected a number")
    low: Any = minval
    high: Any = 1.0 if maxval is None else maxval
    digits = as_dtype(dtype).digits if as_dtype(dtype).is_reduced_float else None
    if digits or isinstance(low, TensorBase) or isinstance(high, TensorBase):
        _check_parameters("random_uniform", minval=low, maxval=high)
        x = apply("random_uniform", key_of(seed), name=name, shape=shape, dtype=drawn, minval=0.0,
                  maxval=1.0)
        if digits:                      # truncate, so that no number rounds up to 1
            x = apply("floor", x * 2.0**digits) * 2.0**-digits
        x = x * (high - low) + low
    else:
        x = apply("random_uniform", key_of(seed), name=name, shape=shape, dtype=drawn,
                  minval=low, maxval=high)
    return _in_dtype(x, as_dtype(dtype))


no_gradient("random_uniform", why="random numbers do not depend on their inputs")
no_gradient("random_integers", why="random numbers do not depend on their inputs")


def stateless_normal(shape: Shape, seed: TensorLike, mean: TensorLike = 0.0,
                     stddev: TensorLike = 1.0, dtype: DTypeLike = dtypes.float32,
                     name: str | None = None, alg: int | str = "auto_select") -> Tensor:
    """Draw normally distributed numbers, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
    seed : Tensor, integers, shape (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    mean, stddev : number or Tensor
    dtype : floating or complex dtype, default float32
    alg : {"auto_select", "philox"} or Algorithm
        All but ThreeFry, which raises, name the only algorithm.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    The Box-Muller method; at most 6.6 (float64: 8.6) standard deviations from the mean. SIMD levels
    may differ in the last bits. `mean` and `stddev` have gradients if they are tensors. Complex
    numbers have the variance ``stddev**2``, half of it in each part, as in JAX.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_normal([2, 3], seed=[1, 2]).shape
    (2, 3)
    """
    check_algorithm(alg, "stateless_normal")
    wanted = as_dtype(dtype)
    if wanted.is_complex:
        dims = [2, *ints(shape, "random_normal: shape")]
        parts = apply("random_normal", key_of(seed), shape=dims, dtype=wanted.real_dtype,
                      mean=0.0, stddev=0.5**0.5)
        z = _in_dtype(complex(parts[0], parts[1]) * stddev + mean, wanted)
        return z if name is None else apply("identity", z, name=name)

    def draw(mean, stddev):
        return apply("random_normal", key_of(seed), name=name, shape=shape, dtype=_drawn_in(dtype),
                     mean=mean, stddev=stddev)

    return _scaled("random_normal", draw, dtype, mean, stddev)


no_gradient("random_normal", why="random numbers do not depend on their inputs")


def stateless_truncated_normal(shape: Shape, seed: TensorLike, mean: TensorLike = 0.0,
                               stddev: TensorLike = 1.0, dtype: DTypeLike = dtypes.float32,
                               name: str | None = None, alg: int | str = "auto_select") -> Tensor:
    """Draw normally distributed numbers within two standard deviations, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
    seed : Tensor, integers, shape (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    mean, stddev : number or Tensor
    dtype : floating dtype, default float32
    alg : {"auto_select", "philox"} or Algorithm
        All but ThreeFry, which raises, name the only algorithm.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    The inverse of the distribution function, without rejection. The standard deviation of the
    results is 0.88 `stddev`. `mean` and `stddev` have gradients if they are tensors.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_truncated_normal([4], seed=[1, 2]).shape
    (4,)
    """
    check_algorithm(alg, "stateless_truncated_normal")
    def draw(mean, stddev):
        return apply("truncated_normal", key_of(seed), name=name, shape=shape,
                     dtype=_drawn_in(dtype), mean=mean, stddev=stddev)

    return _scaled("truncated_normal", draw, dtype, mean, stddev)


no_gradient("truncated_normal", why="random numbers do not depend on their inputs")


def stateless_permutation(n: int, seed: TensorLike, name: str | None = None) -> Tensor:
    """Return the integers 0 to n - 1 in an order determined by `seed`.

    Parameters
    ----------
    n : int
    seed : Tensor, integers, shape (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.

    Returns
    -------
    Tensor, int64 (n,)

    Notes
    -----
    The Fisher-Yates shuffle, with 64 random bits per exchange.

    Examples
    --------
    >>> import dualflow as df
    >>> sorted(df.random.stateless_permutation(4, seed=[1, 2]).numpy().tolist())
    [0, 1, 2, 3]
    """
    return apply("random_permutation", key_of(seed), name=name, n=n)


no_gradient("random_permutation", why="integer result")
