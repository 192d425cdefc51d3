"""Logs of tapes that repeat: each is walked back until that has cost what compiling it costs, and
from then on a program runs in its place. Both give the same bits."""

from __future__ import annotations

from time import perf_counter_ns

from dualflow._core import KnownLog, repeated_logs, tensor_id
from dualflow._util.late_binding import is_loaded, late
from dualflow.autodiff.backward import backward, ones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow._core import RecordLog, TensorBase

__all__ = ["LOGS", "flow_back", "report"]

LOAD_NS = 60_000_000        # measured: 48 to 50 ms where the files are in memory
LOGS = repeated_logs()


class Cost:
    """What compiling takes, as learnt from what it took."""

    # Measured: 0.08 ms in logs of 300 records, 0.2 in those of 3, 0.3 to 0.8 in those of 1.
    ns_per_record = 250_000.

    @classmethod
    def of(cls, known: KnownLog) -> float:
        """Expected time in ns."""
        load = 0 if is_loaded("compile_backward") else LOAD_NS
        return load + (known.n_entries + 2) * cls.ns_per_record

    @classmethod
    def learn(cls, known: KnownLog, ns: int) -> None:
        """Takes note of a compilation."""
        cls.ns_per_record = 0.7 * cls.ns_per_record + 0.3 * ns / (known.n_entries + 2)


def flow_back(log: RecordLog, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
              free: bool, written: int = 0) -> tuple[list[Any], KnownLog | str | None]:
    """What flows from targets back to sources.

    Parameters
    ----------
    log : RecordLog
    targets : list of Tensor or Variable
    seeds : dict of id to Tensor, or None
        What flows into values; None: ones into the only target.
    ids : list of int
        Of the sources.
    free : bool
        Whether the log forgets its records.
    written : int
        What `LOGS.quick` gave for the same.

    Returns
    -------
    found : list of Tensor, IndexedSlices or None
        For each source.
    how : KnownLog, str or None
        None: a program gave it; else the log that was walked back, or why there can't be a program.
    """
    how: Any = run(log, targets, seeds, ids, free, written)
    if type(how) is list:
        return how, None
    known = how if type(how) is KnownLog else None
    if known is not None and known.why is None and known.spent_ns >= Cost.of(known):
        compile_log(known, log, targets, seeds, ids)
        if known.program is not None:
            return flow_back(log, targets, seeds, ids, free)
    start = perf_counter_ns()
    found = walk(log, targets, seeds, ids, free)
    if known is not None:
        known.walked(perf_counter_ns() - start)
    return found, how


def run(log: RecordLog, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
        free: bool, written: int) -> list[Any] | KnownLog | str:
    """What a program gives, or why there is none. What fails in a program fails in the walk again,
    which knows the op and its line."""
    try:
        return LOGS.run(log, targets, seeds, ids, free, written)
    except Exception as error:  # any: it comes again
        if not len(log):
            raise                       # the records went with the memory that they held
        return f"its program failed: {error}"


def walk(log: RecordLog, targets: list[Any], seeds: dict[int, Any] | None, ids: list[int],
         free: bool) -> list[Any]:
    """The same, record by record."""
    if seeds is None:
        seeds = {tensor_id(targets[0]): ones(targets[0])}
    found = backward(log, seeds, ids, free=free)
    return [found.get(key) for key in ids]


def compile_log(known: KnownLog, log: RecordLog, targets: list[TensorBase],
                seeds: dict[int, Any] | None, ids: list[int]) -> None:
    """Gives a log its program, or says why it gets none."""
    known.why = "it is being compiled"          # other threads walk it meanwhile
    try:
        start = perf_counter_ns()
        compile_backward = late("compile_backward")
        loaded = perf_counter_ns()
        compile_backward(known, log, targets, seeds, ids)
        Cost.learn(known, perf_counter_ns() - loaded)
        known.compile_ns = perf_counter_ns() - start
        known.why = None if known.program is not None else known.why
    except Exception as error:  # any: a rule that cannot be traced is walked
        known.why = f"{type(error).__name__}: {error}".partition("\n")[0]
    except BaseException:
        known.why = None                        # Ctrl-C: another time
        raise


def report(how: KnownLog | str | None) -> str:
    """Which logs of this process are run by programs, which are walked and why."""
    n = len(LOGS.programs) + len(LOGS.counted)
    text = [f"the last gradient of this tape was {told(how)}",
            f"{len(LOGS.programs)} of {n} known logs have programs:"]
    text += [f"  {line(known)}" for known in [*LOGS.programs, *LOGS.counted]]
    return "\n".join(text)


def told(how: KnownLog | str | None) -> str:
    """How a gradient was computed."""
    if how is None:
        return "run by its program"
    why = how if isinstance(how, str) else how.why or "not due yet"
    return f"walked back: {why}"


def line(known: KnownLog) -> str:
    """A known log in words."""
    records = f"{known.n_entries} record{'s'[:known.n_entries != 1]}"
    text = f"{records} ({', '.join(known.ops)}{', ...' * (known.n_entries > len(known.ops))}): "
    text += f"walked {known.walks} times in {known.spent_ns / 1e6:.2f} ms"
    if known.program is not None:
        return f"{text}, compiled in {known.compile_ns / 1e6:.2f} ms, run {known.runs} times"
    return f"{text}, {known.why or f'due at {Cost.of(known) / 1e6:.2f} ms'}"
