"""Test vectors: inputs of each entry with their results, computed in Python on copies of the
variables. The exported check.c compares the results of the exported model with the recorded
results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dualflow._core import (
    Executable,
    Tensor,
    TraceContext,
    Variable,
    as_tensor,
    constant,
    current_graph,
    memory_of,
    rebuild,
)
from dualflow.aot.contents import Contents, state_of
from dualflow.aot.entry import Entry, Value, generator_of
from dualflow.dtypes import int64
from dualflow.errors import DualflowError, InvalidArgumentError
from dualflow.graph.program.compile import source
from dualflow.graph.trace.parameters import Feed
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import complex
from dualflow.ops.random.random import stateless_normal, stateless_uniform

REPETITIONS = 3           # recorded calls of each entry
MAX_DRAWN = 4093          # elements drawn for a tensor; longer tensors repeat them


class Call(NamedTuple):
    """A recorded call: the index of an entry, input and output tensors."""

    entry: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class Recorded(NamedTuple):
    """Calls in order, and the values of the variables after the last call."""

    calls: tuple[Call, ...]
    variables: tuple[Tensor, ...]


def random_input(value: Value, key: int, labels: int) -> Tensor:
    """Return random data for an input: normally distributed floats, or parts of complex numbers, or
    integers below `labels`."""
    size = 1
    for d in value.shape:
        size *= d
    n = min(size, MAX_DRAWN)
    seed = constant([key, 0], int64)
    kind = value.dtype
    if kind.is_complex:
        some = complex(*stateless_normal((2, n), seed, dtype=kind.real_dtype))
    elif kind.is_floating and value.number is not int:
        some = stateless_normal((n,), seed, dtype=kind)
    else:
        some = cast(stateless_uniform((n,), seed, 0, labels, int64), kind)
    data = bytes(memory_of(some))
    times = -(-size // n) if n else 0
    return rebuild(kind.name, value.shape, (data * times)[:size * kind.itemsize])


def example_inputs(entry: Entry, example: Sequence[Any]) -> tuple[Tensor, ...]:
    """Return the inputs of an example that the caller passed. Raise if they do not match."""
    if len(example) != len(entry.inputs):
        raise InvalidArgumentError(f"export: the example of {entry.name} has {len(example)} "
                                   f"tensors, expected {len(entry.inputs)}")
    inputs = tuple([as_tensor(x, y.dtype, f"export: {y.path}")
                    for x, y in zip(example, entry.inputs, strict=True)])
    for x, y in zip(inputs, entry.inputs, strict=True):
        if x.shape != y.shape or x.dtype is not y.dtype:
            raise InvalidArgumentError(f"export: the example of {entry.name} has {x.dtype} "
                                       f"{x.shape} for {y.path}, expected {y.dtype} {y.shape}")
    return inputs


class Recorder:
    """Runs entries; all of them use the same copies of the variables."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.copies: list[Variable] = [Variable(x.value, False, x.name, x.value.dtype)
                       for x in contents.variables]
        self.executables: list[Executable] = [self._executable(x) for x in contents.entries]

    def _copy(self, owner: Any) -> Variable:
        return self.copies[self.contents.place(owner)]

    def _executable(self, entry: Entry) -> Executable:
        variables = entry.spec.variables
        return Executable(
            entry.compiled.program,
            [self._draw(x.source) if isinstance(x.source, Feed) else source(x)
             for x in entry.spec.arguments],
            [self._copy(x.variable) for x in variables], [x.written for x in variables],
            entry.compiled.cache_for(self._copy))

    def _draw(self, feed: Feed) -> Callable[[Any], Tensor]:
        """Return a function that draws the next key from the copy of a generator's state."""
        state = self._copy(state_of(generator_of(feed)))

        def key(_: Any) -> Tensor:
            before = state.value()
            state.assign_add([0, 1])
            return before

        return key

    def run(self, k: int, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the outputs of entry k."""
        entry = self.contents.entries[k]
        leaves: list[Any] = [None] * (max(entry.leaves, default=-1) + 1)
        for leaf, x, value in zip(entry.leaves, inputs, entry.inputs, strict=True):
            leaves[leaf] = value.number(x.item()) if value.number else x
        results = self.executables[k].run(leaves)
        index = {id(x): k for k, x in enumerate(entry.spec.results)}
        return tuple([results[index[id(x)]] if id(x) in index else entry.spec.constants[x.number]
                      for x in entry.returns])


def record(contents: Contents, examples: Mapping[str, Any]) -> Recorded:
    """Call all entries, one after the other, several times.

    Parameters
    ----------
    contents : Contents
    examples : mapping of str to sequence of tensors
        Inputs of entries. The inputs of other entries are drawn.
    """
    unknown = set(examples) - {x.name for x in contents.entries}
    if unknown:
        raise InvalidArgumentError(f"export: examples of {sorted(unknown)}, which are not entries")
    if current_graph() is not None:
        raise InvalidArgumentError("export: called while a function is traced")
    for entry in contents.entries:
        if entry.name in examples:
            example_inputs(entry, examples[entry.name])          # raises if they do not match
    with TraceContext(None):
        for labels in (2, 1):                           # 1: all integers are 0
            try:
                return _record(contents, examples, labels)
            except DualflowError as error:
                failed = error
    raise InvalidArgumentError(f"export: a run with drawn inputs failed ({failed}); pass inputs by "
                               "examples={'entry': (x, ...)}") from failed


def _record(contents: Contents, examples: Mapping[str, Any], labels: int) -> Recorded:
    recorder = Recorder(contents)
    calls = []
    for repetition in range(REPETITIONS):
        for k, entry in enumerate(contents.entries):
            if entry.name in examples:
                inputs = example_inputs(entry, examples[entry.name])
            else:
                inputs = tuple([random_input(x, 1000 * repetition + 31 * k + i, labels)
                                for i, x in enumerate(entry.inputs)])
            calls.append(Call(k, inputs, recorder.run(k, inputs)))
    return Recorded(tuple(calls), tuple([x.value() for x in recorder.copies]))
