"""Random generators: a generator derives the keys for random.py from its state. The global
generator is the default of the functions in random_samples.py.
"""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, TraceContext, constant, current_graph
from dualflow._util.arguments import integer, one_by_one
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.shape import ints, static_shape
from dualflow.ops.indexing.gather import gather
from dualflow.ops.random.distributions import (
    stateless_binomial,
    stateless_categorical,
    stateless_gamma,
    stateless_poisson,
)
from dualflow.ops.random.generator_state import (
    Algorithm,
    GeneratorState,
    create_rng_state,
    joined,
    seed_and_counter,
    signed,
)
from dualflow.ops.random.random import (
    Shape,
    check_algorithm,
    full_int,
    stateless_normal,
    stateless_permutation,
    stateless_truncated_normal,
    stateless_uniform,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "Generator",
    "get_global_generator",
    "set_global_generator",
    "set_seed",
]


def _check_mean(name: str, shape: Any, mean: Any, stddev: Any) -> None:
    """Raise if the shape was passed as separate sizes, so that the second became the mean."""
    if type(mean) is int and mean > 0 and type(stddev) is float:
        one_by_one(f"random.{name}({{}})", shape, mean)


def _dims(shape: Any, op: str) -> Shape:
    """Return a shape as a tuple."""
    return ints(shape, f"{op}: shape")


class Generator(GeneratorState):
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

    @classmethod
    def from_seed(cls, seed: int | Sequence[int], alg: int | str | None = None) -> Generator:
        """Return a generator with a seed, see `create_rng_state`.

        Parameters
        ----------
        seed : int or sequence of int
        alg : {"philox", "auto_select"} or Algorithm, optional

        Examples
        --------
        >>> import dualflow as df
        >>> df.random.Generator.from_seed(7).seed
        7
        """
        state = create_rng_state(seed, Algorithm.AUTO_SELECT if alg is None else alg)
        return cls.from_state(state, Algorithm.PHILOX)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | str | None = None) -> Generator:
        """Return a generator with a seed from the operating system.

        Examples
        --------
        >>> import dualflow as df
        >>> df.random.Generator.from_non_deterministic_state().normal([3]).shape
        (3,)
        """
        if alg is not None:
            check_algorithm(alg, "random.Generator")
        return cls()

    @classmethod
    def from_state(cls, state: TensorLike, alg: int | str) -> Generator:
        """Return a generator with a state, as `state` or `create_rng_state` returns it.

        Parameters
        ----------
        state : Tensor, integers, shape (3,)
            The two words of the counter and the key. A nonzero upper word of the counter is mixed
            into the key.
        alg : {"philox", "auto_select"} or Algorithm

        Examples
        --------
        >>> import dualflow as df
        >>> a = df.random.Generator(7)
        >>> x = a.normal([2])
        >>> b = df.random.Generator.from_state(a.state, a.algorithm)
        >>> float(a.normal([])) == float(b.normal([]))
        True
        """
        check_algorithm(alg, "random.Generator")
        seed, counter = seed_and_counter(state)
        generator = cls(seed)
        generator._begin(integer(counter, "random.Generator: counter"))
        return generator

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike,
                         alg: int | str | None) -> Generator:
        """Return a generator with a key and a counter of two words.

        Examples
        --------
        >>> import dualflow as df
        >>> df.random.Generator.from_key_counter(3, [5, 0], "philox").state.tolist()
        [5, 0, 3]
        """
        return cls.from_state(joined(key, counter), Algorithm.PHILOX if alg is None else alg)

    def split(self, count: int = 1) -> list[Generator]:
        """Return new generators, whose streams are independent of each other and of this one.

        Parameters
        ----------
        count : int

        Returns
        -------
        list of Generator
            Their seeds are one draw from this generator.

        Raises
        ------
        InvalidArgumentError
            In a traced function, unless this generator was created in it.

        Examples
        --------
        >>> import dualflow as df
        >>> a, b = df.random.Generator(7).split(2)
        >>> float(a.normal([])) == float(b.normal([]))
        False
        """
        graph = current_graph()
        if graph is not None and graph is not self._graph:
            raise InvalidArgumentError(
                "random.Generator.split: a traced function cannot create generators from numbers "
                "of each run; split before the function is called, or use make_seeds and the "
                "stateless functions")
        key = self.next_key()
        with TraceContext(None):
            seeds = full_int([count], key, dtypes.int64).tolist()
        self._start = self._place()
        return [type(self)(seed) for seed in seeds]

    def make_seeds(self, count: int = 1) -> Tensor:
        """Return seeds for the stateless functions, one in each column.

        Parameters
        ----------
        count : int

        Returns
        -------
        Tensor, int64 (2, count)

        Examples
        --------
        >>> import dualflow as df
        >>> seeds = df.random.Generator(7).make_seeds(3)
        >>> df.random.stateless_normal([2], seeds[:, 0]).shape
        (2,)
        """
        return full_int([2, count], self.next_key(), dtypes.int64)

    def uniform_full_int(self, shape: Shape, dtype: DTypeLike = dtypes.uint64,
                         name: str | None = None) -> Tensor:
        """Draw integers from the whole range of `dtype`, from this generator.

        Examples
        --------
        >>> import dualflow as df
        >>> df.random.Generator(7).uniform_full_int([2, 3]).dtype
        dualflow.uint64
        """
        return full_int(_dims(shape, "random_uniform"), self.next_key(), dtype, name)

    def uniform(self, shape: Shape, minval: TensorLike | None = 0,
                maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32,
                name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.uniform`, from this generator."""
        if maxval is None and type(minval) is int and minval > 0:
            one_by_one("random.uniform({})", shape, minval)
        shape = _dims(shape, "random_uniform")
        return stateless_uniform(shape, self.next_key(), minval, maxval, dtype, name)

    def normal(self, shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
               dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.normal`, from this generator."""
        _check_mean("normal", shape, mean, stddev)
        shape = _dims(shape, "random_normal")
        return stateless_normal(shape, self.next_key(), mean, stddev, dtype, name)

    def truncated_normal(self, shape: Shape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
                         dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.truncated_normal`, from this generator."""
        _check_mean("truncated_normal", shape, mean, stddev)
        shape = _dims(shape, "random_truncated_normal")
        return stateless_truncated_normal(shape, self.next_key(), mean, stddev, dtype, name)

    def gamma(self, shape: Shape, alpha: TensorLike, beta: TensorLike | None = None,
              dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_gamma`, from this generator."""
        shape = _dims(shape, "random_gamma")
        return stateless_gamma(shape, self.next_key(), alpha, beta, dtype, name)

    def poisson(self, shape: Shape, lam: TensorLike, dtype: DTypeLike = dtypes.int32,
                name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_poisson`, from this generator."""
        shape = _dims(shape, "random_poisson")
        return stateless_poisson(shape, self.next_key(), lam, dtype, name)

    def binomial(self, shape: Shape, counts: TensorLike, probs: TensorLike,
                 dtype: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.stateless_binomial`, from this generator."""
        shape = _dims(shape, "random_binomial")
        return stateless_binomial(shape, self.next_key(), counts, probs, dtype, name)

    def categorical(self, logits: TensorLike, num_samples: int, dtype: DTypeLike = dtypes.int64,
                    name: str | None = None) -> Tensor:
        """Draw as `dualflow.random.categorical`, from this generator."""
        return stateless_categorical(logits, num_samples, self.next_key(), dtype, name)

    def shuffle(self, value: TensorLike, name: str | None = None) -> Tensor:
        """Shuffle as `dualflow.random.shuffle`, from this generator."""
        x = value if isinstance(value, TensorBase) else constant(value)
        if not x.ndim:
            raise InvalidArgumentError("shuffle: value is a scalar, expected 1 dimension or more")
        n = static_shape(x)[0]
        return gather(x, stateless_permutation(n, self.next_key(), name))


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
    get_global_generator()._go_to(signed(integer(seed, "random.set_seed: seed")), 0)


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


def set_global_generator(generator: Generator) -> None:
    """Make `generator` the default of the functions that draw without a seed.

    Notes
    -----
    Traced functions continue to draw from the generator that was the default when they were traced;
    `Generator.reset_from_seed` of the default affects them, too.

    Examples
    --------
    >>> import dualflow as df
    >>> before = df.random.get_global_generator()
    >>> df.random.set_global_generator(df.random.Generator(7))
    >>> float(df.random.normal([])) == float(df.random.Generator(7).normal([]))
    True
    >>> df.random.set_global_generator(before)
    """
    if not isinstance(generator, Generator):
        raise DTypeError(f"random.set_global_generator: got {generator!r}, expected a Generator")
    _Global.generator = generator


def source_of(seed: int | None, caller: str) -> Generator:
    """Return the generator for a `seed` argument."""
    if seed is None:
        return get_global_generator()
    return Generator(integer(seed, f"random.{caller}: seed", "; random.stateless_* take two"))


def draw_key(seed: int | None, caller: str) -> Tensor:
    """Return the key for one draw of the function `caller`: the first of ``Generator(seed)``, or
    the next of the global generator."""
    return source_of(seed, caller).next_key()
