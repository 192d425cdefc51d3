"""Samples of the default run: a fixed part of the combinations, all with ``--exhaustive`` and in
``-m soak``. Called by tests whose combinations take long; `tests/conftest.py` sets `every`."""

from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")

every = False


def one_of(values: Sequence[T], *turns: int) -> Sequence[T]:
    """Return one of the values in a list, the next one for the next turn; or all of them.

    Tests pass the indices of their parameters as turns: each pair of a parameter and a value is
    tested, but not each combination of several parameters with a value.
    """
    return values if every else [values[sum(turns) % len(values)]]


def part(values: Sequence[T], n: int, turn: int = 0) -> Sequence[T]:
    """Return every n-th value, from another one for the next turn, or all if `every` is set."""
    return values if every else values[turn % min(n, len(values))::n]


def passes(turn: int) -> Sequence[bool]:
    """Return whether passes run when a function is traced: for each third turn they do not."""
    return [True, False] if every else [turn % 3 != 2]


# Files with many similar cases. A run of the whole suite takes a third of these cases, chosen by a
# hash of the name; a run of the file takes all.
SWEEPS = ("tests/autograph/test_builtins.py", "tests/autograph/test_names.py",
          "tests/autograph/test_passed_through.py", "tests/autograph/test_tensor_arrays.py",
          "tests/graph/control/",
          "tests/graph/passes/test_algebra_dtypes.py", "tests/graph/passes/test_carried_sums.py",
          "tests/graph/passes/test_rewrites_dtypes.py",
          "tests/graph/test_control_gradients.py", "tests/graph/test_sizes_across_calls.py",
          "tests/graph/test_specialize_bodies.py",
          "tests/io/test_saved_sizes.py", "tests/ops/ragged/", "tests/ops/test_blocks.py",
          "tests/ops/test_half_pieces.py", "tests/ops/test_halves.py",
          "tests/ops/test_sizes_from_data.py",
          "tests/ops/test_tensors_as_sizes.py", "tests/ops/test_traced.py",
          "tests/ops/test_values.py", "tests/optimizers/test_together.py",
          "tests/programs/test_programs.py", "tests/test_benchmarks.py",
          "tests/test_docs.py::test_examples", "tests/test_numbers.py",
          "tests/transforms/test_control.py", "tests/transforms/test_every_op.py")


def is_drawn(name: str) -> bool:
    """Return True if a run of the whole suite includes the test `name`."""
    return every or not name.startswith(SWEEPS) or crc32(name.encode()) % 3 == 1
