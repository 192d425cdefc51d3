"""Stateful random numbers, from the global generator or a seed: the distributions of random.py and,
for given sample shapes, of distributions.py."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor
from dualflow.ops.array.creation import zeros_like
from dualflow.ops.array.shape import ints
from dualflow.ops.random.distributions import parameter
from dualflow.ops.random.random import Shape
from dualflow.ops.random.random_generator import source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "binomial",
    "categorical",
    "gamma",
    "normal",
    "poisson",
    "shuffle",
    "truncated_normal",
    "uniform",
]


def sampled(shape: Any, parameters: Tensor, op: str) -> tuple[Any, ...]:
    """Return the shape of `shape` samples for each of the parameters."""
    return ints(shape, f"{op}: shape") + tuple(parameters.shape)


def uniform(shape: Shape, minval: TensorLike | None = 0, maxval: TensorLike | None = None,
            dtype: DTypeLike = dtypes.float32, seed: int | None = None,
            name: str | None = None) -> Tensor:
    """Draw uniformly distributed numbers in [minval, maxval).

    Parameters
    ----------
    shape : int or sequence of int
    minval, maxval : number, or for floats Tensor
        `maxval` is 1 for floats by default and is required for integers.
    dtype : dtype, default float32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    See `stateless_uniform`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.uniform([2, 3], maxval=10, dtype=df.int32).shape
    (2, 3)
    """
    return source_of(seed, "uniform").uniform(shape, minval, maxval, dtype, name)


def normal(shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
           dtype: DTypeLike = dtypes.float32, seed: int | None = None,
           name: str | None = None) -> Tensor:
    """Draw normally distributed numbers.

    Parameters
    ----------
    shape : int or sequence of int
    mean, stddev : number or Tensor
    dtype : floating dtype, default float32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    See `stateless_normal`.

    Examples
    --------
    >>> import dualflow as df
    >>> a, b = df.random.normal([2], seed=3), df.random.normal([2], seed=3)
    >>> a.numpy().tolist() == b.numpy().tolist()
    True
    """
    return source_of(seed, "normal").normal(shape, mean, stddev, dtype, name)


def truncated_normal(shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
                     dtype: DTypeLike = dtypes.float32, seed: int | None = None,
                     name: str | None = None) -> Tensor:
    """Draw normally distributed numbers within two standard deviations of the mean.

    Parameters
    ----------
    shape : int or sequence of int
    mean, stddev : number or Tensor
    dtype : floating dtype, default float32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    See `stateless_truncated_normal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.truncated_normal([2, 3], stddev=0.1).shape
    (2, 3)
    """
    return source_of(seed, "truncated_normal").truncated_normal(shape, mean, stddev, dtype, name)


def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffle the first dimension of `value`.

    Parameters
    ----------
    value : Tensor, any dtype, shape (n, ...)
    seed : int, optional
        Makes the order reproducible: the first of ``Generator(seed)``.

    Returns
    -------
    Tensor, like `value`

    Notes
    -----
    The gradient of each row goes to its original position.

    Examples
    --------
    >>> import dualflow as df
    >>> sorted(df.random.shuffle([3, 1, 2]).numpy().tolist())
    [1, 2, 3]
    """
    return source_of(seed, "shuffle").shuffle(value, name)


def gamma(shape: Shape, alpha: TensorLike, beta: TensorLike | None = None,
          dtype: DTypeLike = dtypes.float32, seed: int | None = None,
          name: str | None = None) -> Tensor:
    """Draw gamma distributed numbers, `shape` of them for each of the parameters.

    Parameters
    ----------
    shape : int or sequence of int
    alpha : Tensor
        The shape parameter, positive.
    beta : Tensor, optional
        The rate, by default 1.
    dtype : floating dtype, default float32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `dtype`, of `shape` followed by the shape of ``alpha + beta``

    Notes
    -----
    See `stateless_gamma`. `beta` has a gradient, `alpha` does not.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.gamma([10], alpha=[0.5, 1.5]).shape
    (10, 2)
    """
    alpha = parameter(alpha, dtype, "random_gamma")
    if beta is not None:
        beta = parameter(beta, dtype, "random_gamma")
        alpha = alpha + zeros_like(beta)
    shape = sampled(shape, alpha, "random_gamma")
    return source_of(seed, "gamma").gamma(shape, alpha, beta, dtype, name)


def poisson(shape: Shape, lam: TensorLike, dtype: DTypeLike = dtypes.float32,
            seed: int | None = None, name: str | None = None) -> Tensor:
    """Draw Poisson distributed numbers, `shape` of them for each rate.

    Parameters
    ----------
    shape : int or sequence of int
    lam : Tensor
        The rate, not negative.
    dtype : number dtype, default float32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `dtype`, of `shape` followed by the shape of `lam`

    Notes
    -----
    See `stateless_poisson`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.poisson([10], lam=[0.5, 1.5]).shape
    (10, 2)
    """
    lam = parameter(lam, dtype, "random_poisson")
    shape = sampled(shape, lam, "random_poisson")
    return source_of(seed, "poisson").poisson(shape, lam, dtype, name)


def binomial(shape: Shape, counts: TensorLike, probs: TensorLike,
             dtype: DTypeLike = dtypes.int32, seed: int | None = None,
             name: str | None = None) -> Tensor:
    """Draw binomially distributed numbers.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result; `counts` and `probs` are broadcast to it.
    counts : Tensor
        The number of trials, not negative.
    probs : Tensor
        The probability of success, 0 to 1.
    dtype : number dtype, default int32
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    See `stateless_binomial`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.binomial([10, 2], counts=[5., 6.], probs=0.5).shape
    (10, 2)
    """
    return source_of(seed, "binomial").binomial(shape, counts, probs, dtype, name)


def categorical(logits: TensorLike, num_samples: int, dtype: DTypeLike = dtypes.int64,
                seed: int | None = None, name: str | None = None) -> Tensor:
    """Draw classes with the probabilities ``softmax(logits)``.

    Parameters
    ----------
    logits : Tensor, floating, shape (batch, n_classes)
        Logarithms of unnormalised probabilities; a class with -inf is never drawn.
    num_samples : int
        The number of draws for each row.
    dtype : int32 or int64
    seed : int, optional
        Makes the result reproducible: the first numbers of ``Generator(seed)``.

    Returns
    -------
    Tensor, of `dtype`, shape (batch, num_samples)

    Notes
    -----
    See `stateless_categorical`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.categorical([[0., 0.]], 5).shape
    (1, 5)
    """
    return source_of(seed, "categorical").categorical(logits, num_samples, dtype, name)
