"""Gradients that compute again what they read, to keep less meanwhile."""

from __future__ import annotations

import functools

from dualflow._core import (
    Recording,
    RecordLog,
    Tensor,
    as_tensor,
    current_graph,
    current_log,
    record_function,
    tensor_id,
    variable_of,
)
from dualflow.autodiff.backward import backward
from dualflow.errors import InvalidArgumentError
from dualflow.nest import flatten, pack_sequence_as, rebuild
from dualflow.ops.draws import noted, repeated
from dualflow.ops.scan import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["checkpoint", "recompute_grad"]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose gradient keeps no more than what it reads, and computes the rest again.

    It takes less memory, and the time of `f` once more. Also called `checkpoint`.

    Parameters
    ----------
    f : callable
        Returns nested tensors. It must do the same each time, as Python runs it twice in eager
        mode; random numbers it draws are the same.

    Returns
    -------
    callable
        Takes and returns what `f` does.

    Raises
    ------
    InvalidArgumentError
        From a gradient, if a variable that `f` read was assigned since.

    Notes
    -----
    Values and gradients have the bits that they have without it. Gradients flow to all that `f`
    reads: arguments, variables, tensors from around it. In a graph, what is computed again is not
    merged with the first time. Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost"
    (2016).

    See Also
    --------
    scan : with ``recompute=True`` for the rounds of a loop.

    Examples
    --------
    >>> import dualflow as df
    >>> block = df.recompute_grad(lambda x: df.exp(x) * x)
    >>> df.grad(lambda x: block(block(x)))(0.).item()
    1.0
    """
    if not callable(f):
        raise InvalidArgumentError(f"recompute_grad: f is {type(f).__name__}, want a function")
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        def run() -> Any:
            return rebuild(f(*args, **kwargs), lambda x: None if x is None else as_tensor(x))

        if current_graph() is not None:
            return in_a_graph(run)
        return run() if current_log() is None else eagerly(name, run)

    return call


checkpoint = recompute_grad             # JAX's name for it


def in_a_graph(run: Callable[[], Any]) -> Any:
    """A loop of one round, whose gradient repeats it."""
    _, rows = scan(lambda carry, _: (carry, run()), None, None, 1, recompute=True)
    return rebuild(rows, lambda y: None if y is None else y[0])


def eagerly(name: str, run: Callable[[], Any]) -> Any:
    """What a function returns, recorded as one op."""
    logs = active_logs()
    reads = RecordLog(True, False)
    keys: list[Tensor] = []
    with Recording(None), noted(keys):
        reads.push()
        try:
            result = run()
        finally:
            reads.pop()
    met = [(x, variable_of(x)) for x in reads.met or ()]
    # A log that only notes what is read belongs to a function that is recomputed around this one.
    noting = any([log.met is not None for log in logs])
    inputs = [x for x, v in met if noting or v is not None or any([log.tracks(x) for log in logs])]
    variables = [(x, v) for x, v in met if v is not None]
    ids = [tensor_id(x) for x in inputs]

    def rule(g: tuple[Any, ...], y: Any, *_: Any) -> list[Any]:
        for x, v in variables:
            if current_graph() is None and v.value() is not x:
                raise InvalidArgumentError(f"recompute_grad: {v.name}, which {name} read, was "
                                           "assigned before the gradient was asked for")
        log = RecordLog(False)
        for x in inputs:
            log.watch(x)
        log.push()
        try:
            with repeated(keys):
                again = [x for x in flatten(run()) if x is not None]
        finally:
            log.pop()
        seeds: dict[int, Any] = {}
        for out, flow in zip(again, g, strict=True):
            if flow is not None:
                key = tensor_id(out)
                seeds[key] = seeds[key] + flow if key in seeds else flow
        found = backward(log, seeds, ids, free=True)
        return [found.get(key) for key in ids]

    flat = flatten(result)
    outputs = [x for x in flat if x is not None]
    made = iter(record_function(name, rule, inputs, outputs))
    return pack_sequence_as(result, [None if x is None else next(made) for x in flat])


def active_logs() -> list[RecordLog]:
    """The logs of the tapes that record in this thread."""
    found: list[RecordLog] = []
    log = current_log()
    while log is not None:
        found.append(log)
        log = log.outer
    return found


