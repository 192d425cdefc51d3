"""Random numbers with tensor parameters, determined by a key: gamma, Poisson, binomial,
categorical.

Each element has a separate stream of draws, so that it depends only on the key, its index and its
parameters. Keys come from random_generator.py.
"""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import not_floating
from dualflow.dtypes import as_dtype
from dualflow.errors import DTypeError, ShapeError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.shape import broadcast_to, ints
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.elementwise.limits import minimum
from dualflow.ops.random.random import Shape, key_of, stateless_uniform
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.sorting.sort import searchsorted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_poisson",
]


def parameter(value: TensorLike, dtype: DTypeLike, op: str) -> Tensor:
    """Return `value` in the dtype of the computation: float32 for results of at most 32-bit floats,
    else float64, which represents large counts."""
    wanted = as_dtype(dtype)
    small = wanted.is_floating and wanted.itemsize <= 4
    drawn = dtypes.float32 if small else dtypes.float64
    if isinstance(value, TensorBase):
        return cast(check_real(op, value, "a parameter"), drawn)
    return as_tensor(value, drawn, op)


def _each(op: str, shape: Shape, dtype: DTypeLike, *values: TensorLike) -> list[Tensor]:
    """Return the parameters broadcast to one value per element."""
    dims: Any = ints(shape, f"{op}: shape")
    return [broadcast_to(parameter(x, dtype, op), dims) for x in values]


def stateless_gamma(shape: Shape, seed: TensorLike, alpha: TensorLike,
                    beta: TensorLike | None = None, dtype: DTypeLike = dtypes.float32,
                    name: str | None = None) -> Tensor:
    """Draw gamma distributed numbers, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result; `alpha` and `beta` are broadcast to it.
    seed : Tensor, int64 (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    alpha : Tensor
        The shape parameter, positive; NaN where it is negative.
    beta : Tensor, optional
        The rate, by default 1.
    dtype : floating dtype, default float32

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    The method of Marsaglia and Tsang in float64, bit-identical at every SIMD level. Results are at
    least the smallest normal number. `beta` has a gradient, `alpha` does not.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_gamma([2, 3], seed=[1, 2], alpha=[0.5, 1., 9.]).shape
    (2, 3)
    """
    wanted = as_dtype(dtype)
    if not wanted.is_floating:
        raise DTypeError(f"random_gamma: dtype is {wanted.name}, expected a floating dtype")
    parameters = _each("random_gamma", shape, wanted, alpha)
    drawn = apply("random_gamma", key_of(seed), *parameters, name=name)
    if beta is not None:
        drawn = drawn / parameter(beta, wanted, "random_gamma")
    return cast(drawn, wanted)


no_gradient("random_gamma", why="its derivative by alpha is not known in closed form")


def stateless_poisson(shape: Shape, seed: TensorLike, lam: TensorLike,
                      dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """Draw Poisson distributed numbers, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result; `lam` is broadcast to it.
    seed : Tensor, int64 (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    lam : Tensor
        The rate; if it is negative, the result is NaN in a floating `dtype`.
    dtype : number dtype, default int32

    Returns
    -------
    Tensor, of `shape` and `dtype`

    Notes
    -----
    Counting for rates below 10, Hoermann's PTRS for larger rates; in float64, bit-identical at
    every SIMD level. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_poisson([2, 3], seed=[1, 2], lam=[0.5, 5., 50.]).shape
    (2, 3)
    """
    wanted = as_dtype(dtype)
    parameters = _each("random_poisson", shape, wanted, lam)
    return cast(apply("random_poisson", key_of(seed), *parameters, name=name), wanted)


no_gradient("random_poisson", why="whole numbers do not vary smoothly")


def stateless_binomial(shape: Shape, seed: TensorLike, counts: TensorLike, probs: TensorLike,
                       output_dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """Draw binomially distributed numbers, determined by `seed`.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result; `counts` and `probs` are broadcast to it.
    seed : Tensor, int64 (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    counts : Tensor
        The number of trials, not negative.
    probs : Tensor
        The probability of success; outside 0 to 1 the result is NaN in a floating `output_dtype`.
    output_dtype : number dtype, default int32

    Returns
    -------
    Tensor, of `shape` and `output_dtype`

    Notes
    -----
    Waiting times if fewer than 10 successes or failures are expected, else Hoermann's BTRS; in
    float64, bit-identical at every SIMD level. There is no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_binomial([3], seed=[1, 2], counts=[1., 10., 100.], probs=1.).tolist()
    [1, 10, 100]
    """
    wanted = as_dtype(output_dtype)
    parameters = _each("random_binomial", shape, wanted, counts, probs)
    return cast(apply("random_binomial", key_of(seed), *parameters, name=name), wanted)


no_gradient("random_binomial", why="whole numbers do not vary smoothly")


def stateless_categorical(logits: TensorLike, num_samples: int, seed: TensorLike,
                          dtype: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """Draw classes with the probabilities ``softmax(logits)``, determined by `seed`.

    Parameters
    ----------
    logits : Tensor, floating, shape (batch, n_classes)
        Logarithms of unnormalised probabilities; a class with -inf is never drawn.
    num_samples : int
        The number of draws for each row.
    seed : Tensor, int64 (2,)
        Any two numbers, such as an epoch and a step: each pair selects a separate stream.
    dtype : int32 or int64

    Returns
    -------
    Tensor, of `dtype`, shape (batch, num_samples)

    Raises
    ------
    ShapeError
        If `logits` is not a matrix.

    Notes
    -----
    The inverse of the distribution function, from 53 random bits per draw. There is no
    gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.stateless_categorical([[0., -1e9], [-1e9, 0.]], 3, seed=[1, 2]).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    given = as_tensor(logits, None, "categorical")
    if not given.dtype.is_floating:
        raise not_floating("categorical: logits", given.dtype)
    if given.ndim != 2:
        raise ShapeError(f"categorical: logits have shape {given.shape}, expected 2 dimensions: "
                         "(batch, classes)")
    x = cast(given, dtypes.float64)
    so_far = cumsum(exp(x - reduce_max(x, -1, keepdims=True)), -1)
    total = so_far[:, -1:]
    drawn = stateless_uniform((given.shape[0], num_samples), seed, dtype=dtypes.float64)
    # The largest draw times the total may round up to the total, which is beyond the last class.
    at = minimum(drawn * total, total * (1 - 2.0**-52))
    found = searchsorted(so_far, at, "right", name=name)
    return cast(found, dtype)
