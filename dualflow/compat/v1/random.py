"""`tf.random`: random numbers."""

from typing import Any

from dualflow.compat.v1.random_ops import (
    multinomial,
    random_gamma,
    random_normal,
    random_poisson,
    random_shuffle,
    random_uniform,
    set_random_seed,
    truncated_normal,
)

__all__ = ["categorical", "gamma", "multinomial", "normal", "poisson", "set_random_seed",
           "shuffle", "truncated_normal", "uniform"]

gamma = random_gamma
normal = random_normal
poisson = random_poisson
shuffle = random_shuffle
uniform = random_uniform


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None,
                name: str | None = None) -> Any:
    """Draw classes with the probabilities ``softmax(logits)``, like `multinomial`.

    Parameters
    ----------
    logits : Tensor, floating, shape (batch, n_classes)
    num_samples : int
        Number of draws for each row.
    dtype : int32 or int64, default int64
    seed : int, optional
        Combined with the seed of the graph it makes the values reproducible.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.random.categorical([[0., -1e9]], 3)).tolist()
    [[0, 0, 0]]
    """
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def __dir__() -> list[str]:
    return __all__
