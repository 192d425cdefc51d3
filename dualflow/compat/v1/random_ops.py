"""Random operations; each has its own stream of keys, which restarts in each session."""

from __future__ import annotations

import os
from typing import Any

from dualflow import random
from dualflow._core import Tensor, apply, constant
from dualflow._util.arguments import integer
from dualflow.compat.v1.default_graph import default_graph, get_default_graph, recorded
from dualflow.compat.v1.defaults import Mode
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.dtypes import float32, int32, int64
from dualflow.ops.array.creation import range as range_of, zeros_like
from dualflow.ops.array.shape import identity, ints, shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.limits import minimum
from dualflow.ops.elementwise.rounding import floor
from dualflow.ops.indexing.gather import gather
from dualflow.ops.random.distributions import (
    parameter,
    stateless_categorical,
    stateless_gamma,
    stateless_poisson,
)
from dualflow.ops.random.random import (
    stateless_normal,
    stateless_permutation,
    stateless_truncated_normal,
    stateless_uniform,
)
from dualflow.ops.random.random_samples import sampled

__all__ = ["get_seed", "multinomial", "random_crop", "random_gamma", "random_normal",
           "random_poisson", "random_shuffle", "random_uniform", "set_random_seed",
           "truncated_normal"]

BITS = 1 << 64
GOLDEN = 0x9E3779B97F4A7C15     # 2**64 / golden ratio: spreads neighbouring seeds
DEFAULT_GRAPH_SEED = 87654321


def set_random_seed(seed: int) -> None:
    """Set the seed of the default graph: its random operations return the same values in each
    session.

    Parameters
    ----------
    seed : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.set_random_seed(1)
    ...     x = tf.random_normal([2])
    ...     with tf.Session() as one, tf.Session() as other:
    ...         one.run(x).tolist() == other.run(x).tolist()
    True
    """
    seed = integer(seed, "set_random_seed: seed")
    if Mode.eager:
        random.set_seed(seed)
    else:
        get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the seeds of the graph and of an operation; both are None if neither is set.

    Parameters
    ----------
    op_seed : int or None

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.get_seed(None), tf.get_seed(3)
    ((None, None), (87654321, 3))
    """
    graph = default_graph()
    if graph.seed is None:
        return (None, None) if op_seed is None else (DEFAULT_GRAPH_SEED, op_seed)
    return graph.seed, len(graph.operations) if op_seed is None else op_seed


def draw(seed: int | None, name: str) -> Tensor:
    """Return the key of the next draw, from the state of this operation in the session."""
    if Mode.eager:
        source = random.get_global_generator() if seed is None else random.Generator(seed)
        return source.next_key()
    of_graph, of_op = get_seed(seed)

    def begin() -> Tensor:
        if of_graph is None or of_op is None:
            mixed = int.from_bytes(os.urandom(8), "little")
        else:
            mixed = (of_graph * GOLDEN + of_op) * GOLDEN % BITS
        return constant([(mixed + BITS // 2) % BITS - BITS // 2, 0], int64)

    graph = default_graph()
    with graph.control_dependencies(None):
        slot = VariableHandle(graph, f"{name}/state", int64, (2,), begin)
    key: Tensor = apply("next_key", slot, name=f"{name}/key")
    return key


@recorded
def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32,
                  seed: int | None = None, name: str | None = None) -> Any:
    """Return normally distributed values, different in each run.

    Parameters
    ----------
    shape : sequence of int
    mean : number or Tensor
    stddev : number or Tensor
    dtype : dtype
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random_normal([2, 3], stddev=0.1)).shape
    (2, 3)
    """
    name = name or "random_normal"
    return stateless_normal(shape, draw(seed, name), mean, stddev, as_dtype(dtype), name)


@recorded
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32,
                     seed: int | None = None, name: str | None = None) -> Any:
    """Return normally distributed values within two standard deviations, different in each run.

    Parameters
    ----------
    shape : sequence of int
    mean : number or Tensor
    stddev : number or Tensor
    dtype : dtype
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.truncated_normal([2, 3])).shape
    (2, 3)
    """
    name = name or "truncated_normal"
    return stateless_truncated_normal(shape, draw(seed, name), mean, stddev, as_dtype(dtype), name)


@recorded
def random_uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32,
                   seed: int | None = None, name: str | None = None) -> Any:
    """Return values uniformly distributed over [minval, maxval), different in each run.

    Parameters
    ----------
    shape : sequence of int
    minval : number or Tensor
    maxval : number or Tensor
        1 for floats if not given.
    dtype : dtype
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = sess.run(tf.random_uniform([4], 0, 10, tf.int32))
    >>> x.shape, x.dtype.name
    ((4,), 'int32')
    """
    name = name or "random_uniform"
    if maxval is None and not as_dtype(dtype).is_floating:
        raise ValueError(f"Must specify maxval for integer dtype {as_dtype(dtype).name}")
    return stateless_uniform(shape, draw(seed, name), minval, maxval, as_dtype(dtype), name)


@recorded
def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Shuffle the rows of a tensor, differently in each run.

    Parameters
    ----------
    value : Tensor, number or array
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sorted(sess.run(tf.random_shuffle([3, 1, 2])).tolist())
    [1, 2, 3]
    """
    name = name or "RandomShuffle"
    x = convert(value)
    return gather(x, stateless_permutation(x.shape[0], draw(seed, name)), name=name)


@recorded
def random_gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32,
                 seed: int | None = None, name: str | None = None) -> Any:
    """Return gamma-distributed values, `shape` of them per parameter, different in each run.

    Parameters
    ----------
    shape : sequence of int
    alpha : Tensor
        The shape parameter, positive; it gets no gradient.
    beta : Tensor, optional
        The rate, by default 1.
    dtype : floating dtype
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random_gamma([10], [0.5, 1.5])).shape
    (10, 2)
    """
    name = name or "random_gamma"
    wanted = as_dtype(dtype)
    alpha = parameter(alpha, wanted, name)
    if beta is not None:
        beta = parameter(beta, wanted, name)
        alpha = alpha + zeros_like(beta)
    dims = sampled(shape, alpha, name)
    return stateless_gamma(dims, draw(seed, name), alpha, beta, wanted, name)


@recorded
def random_poisson(lam: Any, shape: Any, dtype: Any = float32, seed: int | None = None,
                   name: str | None = None) -> Any:
    """Return Poisson-distributed values, `shape` of them per rate, different in each run.

    Parameters
    ----------
    lam : Tensor
        The rate, not negative.
    shape : sequence of int
    dtype : dtype
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random_poisson([0.5, 1.5], [10])).shape
    (10, 2)
    """
    name = name or "random_poisson"
    lam = parameter(lam, as_dtype(dtype), name)
    dims = sampled(shape, lam, name)
    return stateless_poisson(dims, draw(seed, name), lam, as_dtype(dtype), name)


@recorded
def multinomial(logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None,
                output_dtype: Any = None) -> Any:
    """Draw classes with the probabilities ``softmax(logits)``, different in each run.

    Parameters
    ----------
    logits : Tensor, floating, shape (batch, n_classes)
    num_samples : int
        Number of draws for each row.
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.
    output_dtype : int32 or int64, default int64

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.multinomial([[0., -1e9]], 3)).tolist()
    [[0, 0, 0]]
    """
    name = name or "multinomial"
    n, = ints(num_samples, "multinomial: num_samples")
    dtype = int64 if output_dtype is None else as_dtype(output_dtype)
    return stateless_categorical(convert(logits), n, draw(seed, name), dtype, name)


@recorded
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Return a block of the given size at a random position, different in each run.

    Parameters
    ----------
    value : Tensor
    size : sequence of int
    seed : int, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random_crop([[1, 2, 3], [4, 5, 6]], [1, 2])).shape
    (1, 2)
    """
    x, name = convert(value), name or "random_crop"
    for axis, n in enumerate(size):
        n_offsets = cast(shape(x)[axis] - n + 1, float32)
        at = cast(floor(random_uniform([], 0.0, 1.0, float32, None if seed is None else seed + axis,
                                       f"{name}/{axis}") * n_offsets), int32)
        at = minimum(at, shape(x)[axis] - n)
        x = gather(x, at + range_of(n), axis=axis)
    return identity(x, name=name)
