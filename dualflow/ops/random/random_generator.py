"""Stateful random numbers: a generator derives the keys for random.py from its seed and a counter
of draws. The functions use the global generator.
"""

from __future__ import annotations

import os

from dualflow import dtypes
from dualflow._core import (
    Counter,
    Tensor,
    TensorBase,
    TensorSpec,
    TraceContext,
    Variable,
    apply,
    constant,
    current_graph,
)
from dualflow._util.arguments import integer, one_by_one
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import ints, static_shape
from dualflow.ops.indexing.gather import gather
from dualflow.ops.random.distributions import (
    stateless_binomial,
    stateless_categorical,
    stateless_gamma,
    stateless_poisson,
)
from dualflow.ops.random.key_context import in_shard, key_from, next_key_words, undo_draw
from dualflow.ops.random.random import (
    Shape,
    stateless_normal,
    stateless_permutation,
    stateless_truncated_normal,
    stateless_uniform,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "Generator",
    "get_global_generator",
    "normal",
    "set_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]


def _check_mean(name: str, shape: Any, mean: Any, stddev: Any) -> None:
    """Raise if the shape was passed as separate sizes, so that the second became the mean."""
    if type(mean) is int and mean > 0 and type(stddev) is float:
        one_by_one(f"random.{name}({{}})", shape, mean)


def _dims(shape: Any, op: str) -> Shape:
    """Return a shape as a tuple."""
    return ints(shape, f"{op}: shape")


class Generator:
    """A source of random numbers: a seed and a counter of draws.

    Parameters
    ----------
    seed : int, optional
        64 bits, by default from the operating system.

    Notes
    -----
    Threads may share a generator; each call gets different numbers. A traced function draws from
    the generator in each run, in the order of its ops, as eager mode does.

    Examples
    --------
    >>> import dualflow as df
    >>> a, b = df.random.Generator(7), df.random.Generator(7)
    >>> a.normal([3]).numpy().tolist() == b.normal([3]).numpy().tolist()
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        bits = (int.from_bytes(os.urandom(8), "little") if seed is None
                else integer(seed, "random.Generator: seed"))
        self._seed = (bits + (1 << 63)) % (1 << 64) - (1 << 63)
        self._begin(0)

    def _begin(self, counter: int) -> None:
        self._draws = Counter(counter)
        # Replaces the counter after a draw in a branch or a loop: the number of draws is then only
        # known at run time, so the program carries the state as a variable.
        self._state: Variable | None = None
        self._graph = current_graph()
        self._depth = 0 if self._graph is None else len(self._graph.bodies)

    @property
    def seed(self) -> int:
        """The seed, 64 bits."""
        return self._seed

    @seed.setter
    def seed(self, value: int) -> None:
        self._seed = value
        self.counter = self.counter

    @property
    def counter(self) -> int:
        """The count of the next draw."""
        return self._draws.value if self._state is None else int(self._state.value()[1])

    @counter.setter
    def counter(self, value: int) -> None:
        if self._state is None:
            self._draws.value = value
        else:
            self._state.assign([self.seed, value])

    def __getstate__(self) -> dict[str, int]:
        return {"seed": self.seed, "counter": self.counter}

    def __setstate__(self, state: dict[str, int]) -> None:
        self._seed = state["seed"]
        self._begin(state["counter"])

    def key(self) -> Tensor:
        """Return a new key for a draw, int64 (2,).

        In a graph the key is fed at each run, unless the generator was created in that graph, or a
        branch or a loop has drawn from it before or draws now.
        """
        graph = current_graph()
        if graph is None or graph is self._graph:
            self._check_place(graph)
            return self._next()
        if graph.bodies or (self._state is not None and self._state in graph.variables):
            key: Tensor = apply("next_key", self._carried())
            return key
        spec = TensorSpec((2,), dtypes.int64)
        return graph.feed(self._next, (), spec, "key", self._give_back)

    def _next(self) -> Tensor:
        return key_from(self._advance)

    def _advance(self) -> Tensor:
        if self._state is None or in_shard():
            return constant(next_key_words(self.seed, self._draws), dtypes.int64)
        with TraceContext(None):
            key: Tensor = apply("next_key", self._state)
        return key

    def _carried(self) -> Variable:
        """Convert the state to a variable, if it is not one yet, and return it."""
        if self._state is None:
            with TraceContext(None):
                self._state = Variable([self.seed, self._draws.value], False, "random_generator",
                                       dtypes.int64)
        return self._state

    def _check_place(self, graph: Any) -> None:
        """Raise if a loop would draw the same numbers in each iteration."""
        if graph is not None and len(graph.bodies) > self._depth:
            raise InvalidArgumentError(
                "random.Generator: a generator created in the traced function is drawn from in a "
                "branch or a loop; create it before the function is called, or inside the body")

    def _give_back(self) -> None:
        """Undo a draw of a failed run that eager mode would not have reached."""
        if self._state is None or in_shard():
            undo_draw(self._draws)
        else:
            self._state.assign_sub([0, 1])

    def uniform(self, shape: Shape, minval: TensorLike = 0, maxval: TensorLike | None = None,
                dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.uniform`, from this generator."""
        if maxval is None and type(minval) is int and minval > 0:
            one_by_one("random.uniform({})", shape, minval)
        shape = _dims(shape, "random_uniform")
        return stateless_uniform(shape, self.key(), minval, maxval, dtype, name)

    def normal(self, shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
               dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.normal`, from this generator."""
        _check_mean("normal", shape, mean, stddev)
        shape = _dims(shape, "random_normal")
        return stateless_normal(shape, self.key(), mean, stddev, dtype, name)

    def truncated_normal(self, shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
                         dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.truncated_normal`, from this generator."""
        _check_mean("truncated_normal", shape, mean, stddev)
        shape = _dims(shape, "random_truncated_normal")
        return stateless_truncated_normal(shape, self.key(), mean, stddev, dtype, name)

    def gamma(self, shape: Shape, alpha: TensorLike, beta: TensorLike | None = None,
              dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_gamma`, from this generator."""
        shape = _dims(shape, "random_gamma")
        return stateless_gamma(shape, self.key(), alpha, beta, dtype, name)

    def poisson(self, shape: Shape, lam: TensorLike, dtype: DTypeLike = dtypes.int32,
                name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_poisson`, from this generator."""
        shape = _dims(shape, "random_poisson")
        return stateless_poisson(shape, self.key(), lam, dtype, name)

    def binomial(self, shape: Shape, counts: TensorLike, probs: TensorLike,
                 dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_binomial`, from this generator."""
        shape = _dims(shape, "random_binomial")
        return stateless_binomial(shape, self.key(), counts, probs, dtype, name)

    def categorical(self, logits: TensorLike, num_samples: int, dtype: DTypeLike = dtypes.int64,
                    name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.categorical`, from this generator."""
        return stateless_categorical(logits, num_samples, self.key(), dtype, name)

    def shuffle(self, value: TensorLike, name: str | None = None) -> Tensor:
        """Shuffle as `dualflow.random.shuffle`, from this generator."""
        x = value if isinstance(value, TensorBase) else constant(value)
        if not x.ndim:
            raise InvalidArgumentError("shuffle: value is a scalar, expected 1 dimension or more")
        n = static_shape(x)[0]
        return gather(x, stateless_permutation(n, self.key(), name))


class _Global:
    """The default generator, created at first use."""

    generator: Generator | None = None


def set_seed(seed: int) -> None:
    """Reset the global generator to `seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.set_seed(1)
    >>> a = df.random.normal([2]).numpy().tolist()
    >>> df.random.set_seed(1)
    >>> a == df.random.normal([2]).numpy().tolist()
    True
    """
    fresh = Generator(integer(seed, "random.set_seed: seed"))
    generator = get_global_generator()
    generator.seed, generator.counter = fresh.seed, 0


def get_global_generator() -> Generator:
    """Return the default generator; seeded by the operating system unless `set_seed` was called.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.get_global_generator().normal([2]).shape
    (2,)
    """
    if _Global.generator is None:
        _Global.generator = Generator()
        _Global.generator._graph = None         # not owned by the graph that is being traced
    return _Global.generator


def source_of(seed: int | None, caller: str) -> Generator:
    """Return the generator for a `seed` argument."""
    if seed is None:
        return get_global_generator()
    return Generator(integer(seed, f"random.{caller}: seed", "; random.stateless_* take two"))


def draw_key(seed: int | None, caller: str) -> Tensor:
    """Return the key for one draw of the function `caller`: the first of ``Generator(seed)``, or
    the next of the global generator."""
    return source_of(seed, caller).key()


def uniform(shape: Shape, minval: TensorLike = 0, maxval: TensorLike | None = None,
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
