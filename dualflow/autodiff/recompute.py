"""Gradient checkpointing: the backward pass recomputes intermediate values."""

from __future__ import annotations

import functools

from dualflow._core import (
    AutocastRegion,
    Tape,
    Tensor,
    TraceContext,
    as_tensor,
    current_autocast,
    current_graph,
    current_tape,
    record_function,
    tensor_id,
    variable_of,
)
from dualflow.autodiff.backward import backward
from dualflow.errors import InvalidArgumentError
from dualflow.nest import flatten, pack_sequence_as, rebuild
from dualflow.ops.control_flow.scan import scan
from dualflow.ops.random.key_context import record_keys, replay_keys
from dualflow.tracebacks import hide_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["checkpoint", "recompute_grad"]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose gradient stores only what `f` reads and recomputes the rest.

    This saves memory and costs a second run of `f`. Also called `checkpoint`.

    Parameters
    ----------
    f : callable
        Returns nested tensors. It must be deterministic, because eager mode runs it twice; its
        random ops draw the same numbers again.

    Returns
    -------
    callable
        Takes the arguments and returns the results of `f`.

    Raises
    ------
    InvalidArgumentError
        By the gradient, if a variable that `f` read has been assigned since.

    Notes
    -----
    Recomputation does not change a bit of values and gradients. All tensors that `f` reads have
    gradients: arguments, variables and enclosing tensors. In a graph, the recomputed nodes are not
    merged with the original ones. Source: Chen et al., "Training Deep Nets with Sublinear Memory
    Cost" (2016).

    See Also
    --------
    scan : with ``recompute=True`` for the iterations of a loop.

    Examples
    --------
    >>> import dualflow as df
    >>> block = df.recompute_grad(lambda x: df.exp(x) * x)
    >>> df.grad(lambda x: block(block(x)))(0.).item()
    1.0
    """
    if not callable(f):
        raise InvalidArgumentError(f"recompute_grad: f is {type(f).__name__}, expected a function")
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        def run() -> Any:
            return rebuild(f(*args, **kwargs), lambda x: None if x is None else as_tensor(x))

        try:
            if current_graph() is not None:
                return in_a_graph(run)
            return run() if current_tape() is None else eagerly(name, run)
        except BaseException as error:
            hide_frames(error)
            raise

    return call


checkpoint = recompute_grad             # the name in JAX


def in_a_graph(run: Callable[[], Any]) -> Any:
    """Run a function as a loop of one iteration, whose gradient recomputes it."""
    _, rows = scan(lambda carry, _: (carry, run()), None, None, 1, recompute=True)
    return rebuild(rows, lambda y: None if y is None else y[0])


def eagerly(name: str, run: Callable[[], Any]) -> Any:
    """Run a function and record it as one op."""
    tapes = active_tapes()
    reads = Tape(True, False)
    keys: list[Tensor] = []
    dtype = current_autocast()
    with TraceContext(None), record_keys(keys):
        reads.push()
        try:
            result = run()
        finally:
            reads.pop()
    met = [(x, variable_of(x)) for x in reads.met or ()]
    # A tape with `met` belongs to an enclosing recomputed function, which must see all reads.
    noting = any([tape.met is not None for tape in tapes])
    inputs = [x for x,
              v in met if noting or v is not None or any([tape.tracks(x) for tape in tapes])]
    variables = [(x, v) for x, v in met if v is not None]
    ids = [tensor_id(x) for x in inputs]

    def rule(g: tuple[Any, ...], y: Any, *_: Any) -> list[Any]:
        for x, v in variables:
            if current_graph() is None and v.value() is not x:
                raise InvalidArgumentError(f"recompute_grad: {v.name}, which {name} read, was "
                                           "assigned before the gradient was computed")
        tape = Tape(False)
        for x in inputs:
            tape.watch(x)
        tape.push()
        try:
            with replay_keys(keys), AutocastRegion(dtype):
                again = [x for x in flatten(run()) if x is not None]
        finally:
            tape.pop()
        seeds: dict[int, Any] = {}
        for out, flow in zip(again, g, strict=True):
            if flow is not None:
                key = tensor_id(out)
                seeds[key] = seeds[key] + flow if key in seeds else flow
        found = backward(tape, seeds, ids, free=True)
        return [found.get(key) for key in ids]

    flat = flatten(result)
    outputs = [x for x in flat if x is not None]
    made = iter(record_function(name, rule, inputs, outputs))
    return pack_sequence_as(result, [None if x is None else next(made) for x in flat])


def active_tapes() -> list[Tape]:
    """Return the tapes that record in this thread."""
    found: list[Tape] = []
    tape = current_tape()
    while tape is not None:
        found.append(tape)
        tape = tape.outer
    return found


