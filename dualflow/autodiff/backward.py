"""The one backward walker: from gradients of outputs to gradients of inputs, over records.

A record is one application of an op: `op`, `inputs`, `outputs`, `input_ids`, `output_ids`, `attrs`.
The walker alone un-broadcasts and adds up; rules never do. It knows no op by name beyond that.
"""

from collections.abc import Iterable
from typing import Any

from dualflow._core import Record, RecordLog, Tensor, apply, filled
from dualflow.errors import UnimplementedError

PARTIALS = 8  # gradients of one value kept apart until they are added in one pass


def backward(log: RecordLog, gradients: dict[int, Any], sources: Iterable[int],
             free: bool) -> dict[int, Any]:
    """Gradients of the values called `sources`.

    Parameters
    ----------
    log : RecordLog
    gradients : dict of id to Tensor
        What flows into the values it starts from.
    sources : iterable of int
        Ids of the values wanted.
    free : bool
        Whether records are forgotten.

    Returns
    -------
    dict of id to Tensor, without the sources nothing flows to
    """
    wanted = set(sources)
    pending: dict[int, list[Any]] = {id: [g] for id, g in gradients.items()}
    found: dict[int, Any] = {}
    for i in reversed(range(len(log))):
        record = log.record(i)
        if not any(id in pending for id in record.output_ids):
            continue
        incoming = []
        for id in record.output_ids:
            g = total(pending.pop(id)) if id in pending else None
            if id in wanted and g is not None:
                found[id] = g
            incoming.append(g)
        ids = record.input_ids
        if any(ids):
            for id, g in zip(ids, pull(record, incoming, ids), strict=True):
                if g is not None:
                    partials = pending.setdefault(id, [])
                    partials.append(g)
                    if len(partials) == PARTIALS:
                        partials[:] = [total(partials)]
    for id in wanted:
        if id in pending:
            found[id] = total(pending[id])
    if free:
        log.clear()
    return found


def pull(record: Record, incoming: list[Any], ids: tuple[int, ...]) -> list[Any]:
    """What the rule of the record's op gives for each input with an id."""
    op = record.op
    if op.rule is None:
        raise UnimplementedError(f"{op.name}: there is no gradient rule for this op")
    if op.n_out == 1:
        g, y = incoming[0], record.outputs[0]
    else:
        y = record.outputs
        g = tuple(zeros(out) if part is None else part
                  for part, out in zip(incoming, y, strict=True))
    results = op.rule(g, y, *record.inputs, **record.attrs)
    if not isinstance(results, tuple | list):
        results = (results,)
    out = []
    for id, x, result in zip(ids, record.inputs, results, strict=True):
        value = result() if id and callable(result) else result
        out.append(None if not id or value is None else fit(value, x))
    return out


def fit(g: Any, x: Any) -> Any:
    """`g` with the dtype and, broadcast dimensions summed, the shape of `x`."""
    if g.shape != x.shape:
        lead = len(g.shape) - len(x.shape)
        axes = [d for d in range(len(g.shape))
                if d < lead or (x.shape[d - lead] == 1 and g.shape[d] != 1)]
        g = apply("reduce_sum", g, axes=axes, keepdims=True)
        g = apply("reshape", g, shape=x.shape)
    return g if g.dtype is x.dtype else apply("cast", g, dtype=x.dtype)


def total(parts: list[Any]) -> Any:
    value = parts[0]
    for part in parts[1:]:
        value = value + part
    return value


def zeros(x: Any) -> Tensor:
    """Zeros of the dtype and shape of a Tensor or TensorSpec."""
    return filled(0, x)


def ones(x: Any) -> Tensor:
    """Ones of the dtype and shape of a Tensor or TensorSpec."""
    return filled(1, x)
