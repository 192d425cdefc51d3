"""The state of random generators: a seed and a counter of draws, from which keys are derived, and
the forms in which TensorFlow's functions name it.

Eager mode and programs advance the same state. A program is fed the keys it draws; after a branch,
a loop or a change of the state, it carries the state as a variable.
"""

from __future__ import annotations

import os
import weakref

from dualflow import dtypes
from dualflow._core import (
    Counter,
    Symbol,
    Tensor,
    TensorSpec,
    TraceContext,
    Variable,
    apply,
    as_tensor,
    constant,
    current_graph,
)
from dualflow._util.arguments import integer
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import zeros_like
from dualflow.ops.array.join import stack, unstack
from dualflow.ops.array.shape import reshape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.random.key_context import in_shard, key_from, next_key_words, undo_draw
from dualflow.ops.random.random import check_algorithm, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["Algorithm", "create_rng_state"]


class Algorithm:
    """The algorithms of random numbers that TensorFlow names; `THREEFRY` is not implemented.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.random.Generator.from_seed(7, alg=df.random.Algorithm.PHILOX)
    >>> g.algorithm == df.random.Algorithm.PHILOX
    True
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def signed(bits: int) -> int:
    """Return the int64 with the low 64 bits of an integer."""
    return (bits + (1 << 63)) % (1 << 64) - (1 << 63)


def int64_words(value: Any, caller: str) -> list[Any]:
    """Return integers, signed or unsigned, as int64: numbers, or in a graph symbols."""
    if isinstance(value, Tensor | Variable):
        if not value.dtype.is_integer:
            raise DTypeError(f"{caller} is {value.dtype.name}, expected integers")
        if isinstance(value, Variable):
            value = value.value()
        if isinstance(value, Symbol):
            return [*unstack(reshape(key_of(value), [-1]))]
    if hasattr(value, "tolist"):
        value = value.tolist()
    several = value if isinstance(value, list | tuple) else [value]
    return [cast(x, dtypes.int64) if isinstance(x, Symbol) else signed(integer(x, caller))
            for x in several]


def as_state(words: list[Any]) -> Tensor:
    """Return words, numbers or symbols, as int64 (n,)."""
    if any([isinstance(x, Symbol) for x in words]):
        return stack([as_tensor(x, dtypes.int64, "random.Generator") for x in words])
    return constant(words, dtypes.int64)


def create_rng_state(seed: int | Sequence[int], alg: int | str) -> Tensor:
    """Return the state of a generator for a seed.

    Parameters
    ----------
    seed : int or sequence of int
        An integer of up to 192 bits, or 64-bit words, of which the last of the first three is the
        key.
    alg : {"philox", "auto_select"} or Algorithm

    Returns
    -------
    Tensor, int64 (3,): the two words of the counter and the key

    Raises
    ------
    UnimplementedError
        If `alg` is ThreeFry.

    Notes
    -----
    TensorFlow stores an integer seed in the first word, so that streams of neighbouring seeds
    overlap; here it is the key.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.create_rng_state(1234, "philox").tolist()
    [0, 0, 1234]
    """
    check_algorithm(alg, "random.create_rng_state")
    if isinstance(seed, int):
        words = [signed(seed >> 128), signed(seed >> 64), signed(seed)]
        if -1 << 63 <= seed < 1 << 64:
            words[:2] = [0, 0]
    else:
        words = int64_words(seed, "random.create_rng_state: seed")[:3]
    return as_state([0] * (3 - len(words)) + words)


def joined(key: TensorLike, counter: TensorLike) -> Tensor:
    """Return the state with a key and a counter."""
    low = int64_words(counter, "random.Generator: counter")
    words = int64_words(key, "random.Generator: key")
    if len(low) != 2 or len(words) != 1:
        raise ShapeError(f"random.Generator: the counter has {len(low)} words and the key "
                         f"{len(words)}, expected 2 and 1")
    return as_state(low + words)


def seed_and_counter(state: TensorLike) -> tuple[Any, Any]:
    """Return the seed and the counter of a generator for a state: numbers, or in a graph symbols.
    The upper word of the counter is mixed into the seed."""
    words = int64_words(state, "random.Generator: state")
    if len(words) != 3:
        raise ShapeError(f"random.Generator: the state has {len(words)} words, expected 3")
    low, high, key = words
    mixed = signed(high * GOLDEN) if isinstance(high, int) else high * signed(GOLDEN)
    return signed(key + mixed) if isinstance(key + mixed, int) else key + mixed, low


GOLDEN = 0x9E3779B97F4A7C15             # odd, so that different upper words give different seeds


class GeneratorState:
    """The seed and the counter of draws of a generator."""

    def __init__(self, seed: int | None = None) -> None:
        bits = (int.from_bytes(os.urandom(8), "little") if seed is None
                else integer(seed, "random.Generator: seed"))
        self._seed = signed(bits)
        self._begin(0)

    def _begin(self, counter: int) -> None:
        # The state from which the runs of a trace that created the generator begin if Python keeps
        # it: after a split or a change of the state, which such a trace usually makes once.
        self._start = self._seed, counter
        self._draws = Counter(counter)
        # Replaces the counter after a draw in a branch or a loop: the number of draws is then only
        # known at run time, so the program carries the state as a variable.
        self._state: Variable | None = None
        self._graph = current_graph()
        self._depth = 0 if self._graph is None else len(self._graph.bodies)
        made = getattr(self._graph, "generators", None)
        if made is not None:
            made.append(weakref.ref(self))

    def start_outside(self) -> None:
        """Undo the draws of the trace that created the generator, and continue at each run."""
        self._graph, self._depth = None, 0
        self._seed, self._draws.value = self._start

    @property
    def seed(self) -> int:
        """The seed, 64 bits."""
        return self._seed if self._state is None else self._place()[0]

    @seed.setter
    def seed(self, value: int) -> None:
        self._go_to(value, self.counter)

    @property
    def counter(self) -> int:
        """The count of the next draw."""
        return self._place()[1]

    @counter.setter
    def counter(self, value: int) -> None:
        self._go_to(self.seed, value)

    def _place(self) -> tuple[int, int]:
        """Return the seed and the counter, outside the program that is being traced."""
        if self._state is None:
            return self._seed, self._draws.value
        with TraceContext(None):
            seed, counter = self._state.value().tolist()
        return seed, counter

    def _go_to(self, seed: Any, counter: Any) -> None:
        """Set the seed and the counter; in a graph, at each run."""
        graph = current_graph()
        if graph is not None and graph is not self._graph:
            self._carried().assign(as_state([seed, counter]))
            return
        self._check_place(graph)
        seed, counter = (integer(x, "random.Generator: state") for x in (seed, counter))
        if graph is not None:
            self._start = seed, counter
        if self._state is None:
            self._seed, self._draws.value = seed, counter
        else:
            self._state.assign([seed, counter])

    def __getstate__(self) -> dict[str, int]:
        seed, counter = self._place()
        return {"seed": seed, "counter": counter}

    def __setstate__(self, state: dict[str, int]) -> None:
        self._seed = state["seed"]
        self._begin(state["counter"])

    def next_key(self) -> Tensor:
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
                self._state = Variable([self._seed, self._draws.value], False, "random_generator",
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

    @property
    def state(self) -> Tensor:
        """The state, int64 (3,): the two words of the counter, of which the upper is 0, and the
        key. In a graph it is read at each run."""
        graph = current_graph()
        if graph is None or graph is self._graph:
            seed, counter = self._place()
            return constant([counter, 0, seed], dtypes.int64)
        words = self._carried().value()
        return stack([words[1], zeros_like(words[1]), words[0]])

    @property
    def key(self) -> Tensor:
        """The key, an int64 scalar: the word of the state that selects the stream."""
        return self.state[2]

    @property
    def algorithm(self) -> int:
        """`Algorithm.PHILOX`."""
        return Algorithm.PHILOX

    def reset(self, state: TensorLike) -> None:
        """Set the state.

        Parameters
        ----------
        state : Tensor, integers, shape (3,)
            As `state` returns it. A nonzero upper word of the counter is mixed into the key.

        Raises
        ------
        ShapeError
            If `state` does not have 3 elements.

        Examples
        --------
        >>> import dualflow as df
        >>> g = df.random.Generator(7)
        >>> before, x = g.state, g.normal([])
        >>> g.reset(before)
        >>> float(g.normal([])) == float(x)
        True
        """
        self._go_to(*seed_and_counter(state))

    def reset_from_seed(self, seed: int | Sequence[int]) -> None:
        """Set the state to that of a new generator with `seed`, see `create_rng_state`.

        Examples
        --------
        >>> import dualflow as df
        >>> g = df.random.Generator(7)
        >>> x = g.normal([])
        >>> g.reset_from_seed(7)
        >>> float(g.normal([])) == float(x)
        True
        """
        self.reset(create_rng_state(seed, Algorithm.PHILOX))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Set the key and the counter.

        Parameters
        ----------
        key : int
        counter : Tensor, integers, shape (2,)
            The lower and the upper word.

        Examples
        --------
        >>> import dualflow as df
        >>> g = df.random.Generator(7)
        >>> g.reset_from_key_counter(3, [5, 0])
        >>> g.state.tolist()
        [5, 0, 3]
        """
        self.reset(joined(key, counter))

    def skip(self, delta: TensorLike) -> Tensor:
        """Advance the state by `delta` draws: calls of `normal` or another method, of any shape.

        Parameters
        ----------
        delta : int
            In a graph also an integer Tensor of shape ().

        Returns
        -------
        Tensor, int64 (3,)
            The state before.

        Raises
        ------
        InvalidArgumentError
            If `delta` is negative.

        Examples
        --------
        >>> import dualflow as df
        >>> a, b = df.random.Generator(7), df.random.Generator(7)
        >>> x, y = a.normal([4]), a.uniform([2])
        >>> before = b.skip(2)
        >>> float(a.normal([])) == float(b.normal([]))
        True
        """
        before = self.state
        if not isinstance(delta, Symbol) and integer(delta, "random.Generator.skip: delta") < 0:
            raise InvalidArgumentError(
                f"random.Generator.skip: delta is {delta}, expected 0 or more")
        graph = current_graph()
        if graph is None or graph is self._graph:
            seed, counter = self._place()
            self._go_to(seed, signed(counter + integer(delta, "random.Generator.skip: delta")))
        else:
            self._go_to(before[2], before[0] + cast(delta, dtypes.int64))
        return before
