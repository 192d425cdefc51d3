"""Runs cached compiled backward passes. A tape that repeats is interpreted until the total time
exceeds the expected time of compilation; then it is compiled. Both are bit-identical."""

from __future__ import annotations

from time import perf_counter_ns

from dualflow._core import CachedTape, get_tape_cache, tensor_id
from dualflow._util.late_binding import is_loaded, late
from dualflow.autodiff.backward import backward, ones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow._core import Tape, TensorBase

__all__ = ["TAPES", "compute_gradients", "report"]

LOAD_NS = 60_000_000        # measured: 48 to 50 ms if the files are in the page cache
TAPES = get_tape_cache()


class Cost:
    """The expected time of compilation, adapted to measured times."""

    # Measured: 0.08 ms for tapes of 300 records, 0.2 for 3 records, 0.3 to 0.8 for 1 record.
    ns_per_record = 250_000.

    @classmethod
    def of(cls, known: CachedTape) -> float:
        """Return the expected time in ns."""
        load = 0 if is_loaded("compile_backward") else LOAD_NS
        return load + (known.n_records + 2) * cls.ns_per_record

    @classmethod
    def learn(cls, known: CachedTape, ns: int) -> None:
        """Update the estimate after a compilation."""
        cls.ns_per_record = 0.7 * cls.ns_per_record + 0.3 * ns / (known.n_records + 2)


def compute_gradients(tape: Tape, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
                      free: bool, written: int = 0) -> tuple[list[Any], CachedTape | str | None]:
    """Return the gradients of targets with respect to sources.

    Parameters
    ----------
    tape : Tape
    targets : list of Tensor or Variable
    seeds : dict of id to Tensor, or None
        The cotangents by value; None for ones at the only target.
    ids : list of int
        The ids of the sources.
    free : bool
        Whether to remove the records from the tape.
    written : int
        The result of `TAPES.run_cached` for the same arguments.

    Returns
    -------
    found : list of Tensor, IndexedSlices or None
        One per source.
    how : CachedTape, str or None
        None if a program ran; otherwise the cached tape that was interpreted, or the reason why
        there is no program.
    """
    how: Any = run(tape, targets, seeds, ids, free, written)
    if type(how) is list:
        return how, None
    known = how if type(how) is CachedTape else None
    if known is not None and known.why is None and known.spent_ns >= Cost.of(known):
        compile_tape(known, tape, targets, seeds, ids)
        if known.program is not None:
            return compute_gradients(tape, targets, seeds, ids, free)
    start = perf_counter_ns()
    found = interpret(tape, targets, seeds, ids, free)
    if known is not None:
        known.count_backward_pass(perf_counter_ns() - start)
    return found, how


def run(tape: Tape, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
        free: bool, written: int) -> list[Any] | CachedTape | str:
    """Run the compiled program, or return the reason why there is none. If the program fails, the
    interpreted backward pass is run; it raises the same error with the op and its line."""
    try:
        return TAPES.run(tape, targets, seeds, ids, free, written)
    except Exception as error:  # any: the interpreter raises it again
        if not len(tape):
            raise                       # the run has released the records
        return f"its program failed: {error}"


def interpret(tape: Tape, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
              free: bool) -> list[Any]:
    """Run the backward pass record by record."""
    if seeds is None:
        seeds = {tensor_id(targets[0]): ones(targets[0])}
    found = backward(tape, seeds, ids, free=free)
    return [found.get(key) for key in ids]


def compile_tape(known: CachedTape, tape: Tape, targets: list[TensorBase],
                 seeds: dict[int, Any] | None, ids: list[int]) -> None:
    """Compile a tape, or set the reason why it has no program."""
    known.why = "it is being compiled"          # other threads interpret it in the meantime
    try:
        start = perf_counter_ns()
        compile_backward = late("compile_backward")
        loaded = perf_counter_ns()
        compile_backward(known, tape, targets, seeds, ids)
        Cost.learn(known, perf_counter_ns() - loaded)
        known.compile_ns = perf_counter_ns() - start
        known.why = None if known.program is not None else known.why
    except Exception as error:  # any: a rule that cannot be traced is interpreted
        known.why = f"{type(error).__name__}: {error}".partition("\n")[0]
    except BaseException:
        known.why = None                        # Ctrl-C: compile another time
        raise


def report(how: CachedTape | str | None) -> str:
    """Describe how the last gradient of a tape was computed, and list the cached tapes."""
    n = len(TAPES.programs) + len(TAPES.counted)
    text = [last_gradient(how), f"{len(TAPES.programs)} of {n} cached tapes are compiled:"]
    text += [f"  {line(known)}" for known in [*TAPES.programs, *TAPES.counted]]
    return "\n".join(text)


def last_gradient(how: CachedTape | str | None) -> str:
    """Describe how the last gradient of a tape was computed; "" means that there was none."""
    if how == "":
        return "this tape has not computed a gradient"
    if how is None:
        return "the last gradient of this tape was computed by a compiled program"
    why = how if isinstance(how, str) else how.why or "not compiled yet"
    return f"the last gradient of this tape was interpreted: {why}"


def line(known: CachedTape) -> str:
    """Describe a cached tape."""
    records = f"{known.n_records} record{'s'[:known.n_records != 1]}"
    text = f"{records} ({', '.join(known.ops)}{', ...' * (known.n_records > len(known.ops))}): "
    text += f"interpreted {known.backward_passes} times in {known.spent_ns / 1e6:.2f} ms"
    if known.program is not None:
        return f"{text}, compiled in {known.compile_ns / 1e6:.2f} ms, run {known.runs} times"
    return f"{text}, {known.why or f'compiled after {Cost.of(known) / 1e6:.2f} ms'}"
