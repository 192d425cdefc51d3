"""Losses over many classes that evaluate only a sample of the classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import dualflow as df
from dualflow import math
from dualflow.compat.v1 import random_ops
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.nn_ops import (
    embedding_lookup,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from dualflow.compat.v1.ops import convert
from dualflow.dtypes import float32, int64

__all__ = ["log_uniform_candidate_sampler", "nce_loss", "sampled_softmax_loss",
           "uniform_candidate_sampler"]

NEVER = -3e38               # added to the logit of a sampled class that equals the true class


class Candidates(NamedTuple):
    """A sample of classes with the expected counts of the true and of the sampled classes."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


def sample(logs: Any, log_of: Any, true_classes: Any, num_sampled: int, unique: bool,
           range_max: int, seed: int | None) -> Candidates:
    """Return a sample of classes. `logs` holds the log probability of every class; `log_of` returns
    the log probabilities of given classes.

    Sampling without repetition: each class has an arrival time, exponentially distributed with the
    probability as rate, and the first `num_sampled` arrivals are the sample. Repeated draws that
    skip duplicates have the same distribution; the last arrival time estimates their number.
    """
    u = random_ops.random_uniform([range_max if unique else num_sampled], 1e-7, 1.0, seed=seed)
    if unique:
        come = df.log(-df.log(u)) - logs
        last, sampled = df.nn.top_k(-come, num_sampled)
        times = df.exp(-last[-1])

        def expected(log_p: Any) -> Any:
            return -math.expm1(-times * df.exp(log_p))
    else:
        sampled = df.searchsorted(df.cumsum(df.exp(logs)), u)

        def expected(log_p: Any) -> Any:
            return df.exp(log_p) * float(num_sampled)

    sampled = df.stop_gradient(df.cast(df.minimum(sampled, range_max - 1), int64))
    return Candidates(sampled, expected(log_of(true_classes)), expected(log_of(sampled)))


@recorded
def log_uniform_candidate_sampler(true_classes: Any, num_true: int, num_sampled: int, unique: bool,
                                  range_max: int, seed: int | None = None,
                                  name: str | None = None) -> Candidates:
    """Sample classes with probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes : Tensor, integer, shape (batch, num_true)
    num_true, num_sampled : int
    unique : bool
        If True, sample without repetition.
    range_max : int
        The number of classes, ordered by decreasing frequency.
    seed : int, optional
    name : ignored

    Returns
    -------
    (sampled_candidates, true_expected_count, sampled_expected_count)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.nn.log_uniform_candidate_sampler([[0]], 1, 4, True, 4)
    ...     sorted(sess.run(found)[0].tolist())
    [0, 1, 2, 3]
    """
    def log_of(classes: Any) -> Any:
        k = df.cast(classes, float32)
        return df.log(df.log((k + 2.0) / (k + 1.0)) / df.log(df.constant(range_max + 1.0)))

    return sample(log_of(df.range(range_max)), log_of, convert(true_classes), num_sampled, unique,
                  range_max, seed)


@recorded
def uniform_candidate_sampler(true_classes: Any, num_true: int, num_sampled: int, unique: bool,
                              range_max: int, seed: int | None = None,
                              name: str | None = None) -> Candidates:
    """Sample classes with equal probabilities.

    Parameters
    ----------
    true_classes : Tensor, integer, shape (batch, num_true)
    num_true : int
    num_sampled : int
    unique : bool
        If True, sample without repetition.
    range_max : int
        The number of classes.
    seed : int, optional
        Combined with the seed of the graph it makes the sample reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.nn.uniform_candidate_sampler([[0]], 1, 4, True, 4)
    ...     sorted(sess.run(found)[0].tolist())
    [0, 1, 2, 3]
    """
    def log_of(classes: Any) -> Any:
        return df.cast(classes, float32) * 0.0 - df.log(df.constant(float(range_max)))

    return sample(log_of(df.range(range_max)), log_of, convert(true_classes), num_sampled, unique,
                  range_max, seed)


def logits_of(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int,
              num_classes: int, num_true: int, sampled_values: Any, subtract_log_q: bool,
              remove_accidental_hits: bool, partition_strategy: str,
              seed: int | None) -> tuple[Any, Any]:
    """Return the logits of the true and the sampled classes, (batch, num_true + num_sampled), and
    the labels."""
    x, classes = convert(inputs), df.cast(convert(labels), int64)
    classes = df.reshape(classes, [-1, num_true])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(classes, num_true, num_sampled, True,
                                                       num_classes, seed)
    sampled, true_count, sampled_count = [df.stop_gradient(v) for v in sampled_values]
    flat = df.reshape(classes, [-1])
    rows = embedding_lookup(weights, flat, partition_strategy)
    offsets = embedding_lookup(biases, flat, partition_strategy)
    true_rows = df.reshape(rows, [-1, num_true, rows.shape[-1]])
    true_logits = df.reduce_sum(df.expand_dims(x, 1) * true_rows, 2) + df.reshape(
        offsets, [-1, num_true])
    others = embedding_lookup(weights, sampled, partition_strategy)
    sampled_logits = df.matmul(x, others, transpose_b=True) + df.reshape(
        embedding_lookup(biases, sampled, partition_strategy), [-1])
    if remove_accidental_hits:
        hits = df.reduce_any(df.equal(df.expand_dims(classes, 2), sampled), 1)
        sampled_logits = sampled_logits + df.cast(hits, x.dtype) * NEVER
    if subtract_log_q:
        true_logits = true_logits - df.log(true_count)
        sampled_logits = sampled_logits - df.log(sampled_count)
    logits = df.concat([true_logits, sampled_logits], 1)
    found = df.concat([df.ones_like(true_logits) / num_true, df.zeros_like(sampled_logits)], 1)
    return logits, df.stop_gradient(found)


@recorded
def nce_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int,
             num_classes: int, num_true: int = 1, sampled_values: Any = None,
             remove_accidental_hits: bool = False, partition_strategy: str = "mod",
             name: str = "nce_loss") -> Any:
    """Noise-contrastive estimation: for each row of inputs, the sigmoid cross entropy of its class
    against sampled classes.

    Parameters
    ----------
    weights : Tensor, shape (num_classes, size)
    biases : Tensor, shape (num_classes,)
    labels : Tensor, integer, shape (batch, num_true)
    inputs : Tensor, shape (batch, size)
    num_sampled, num_classes, num_true : int
    sampled_values : result of a candidate sampler, optional
    remove_accidental_hits : bool, default False
        Whether to exclude sampled classes that equal a true class.
    partition_strategy : {"mod", "div"}
    name : str

    Returns
    -------
    Tensor, shape (batch,)

    Notes
    -----
    Gutmann and Hyvarinen, "Noise-contrastive estimation", AISTATS 2010.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.nce_loss(tf.ones([9, 2]), tf.zeros([9]), [[1]], tf.ones([1, 2]), 4, 9)
    ...     sess.run(loss).shape
    (1,)
    """
    logits, found = logits_of(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                              sampled_values, True, remove_accidental_hits, partition_strategy,
                              None)
    losses = sigmoid_cross_entropy_with_logits(labels=found, logits=logits)
    return df.reduce_sum(losses, 1, name=name)


@recorded
def sampled_softmax_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int,
                         num_classes: int, num_true: int = 1, sampled_values: Any = None,
                         remove_accidental_hits: bool = True, partition_strategy: str = "mod",
                         name: str = "sampled_softmax_loss", seed: int | None = None) -> Any:
    """For each row of inputs, the softmax cross entropy of its class against sampled classes.

    Parameters
    ----------
    weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values :
        As for `nce_loss`.
    remove_accidental_hits : bool, default True
    partition_strategy : {"mod", "div"}
    name : str
    seed : int, optional

    Returns
    -------
    Tensor, shape (batch,)

    Notes
    -----
    Jean et al., "On using very large target vocabulary for neural machine translation", ACL 2015.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w, b, x = tf.ones([9, 2]), tf.zeros([9]), tf.ones([1, 2])
    ...     sess.run(tf.nn.sampled_softmax_loss(w, b, [[1]], x, 4, 9)).shape
    (1,)
    """
    logits, found = logits_of(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                              sampled_values, True, remove_accidental_hits, partition_strategy,
                              seed)
    return softmax_cross_entropy_with_logits_v2(found, logits, name=name)
