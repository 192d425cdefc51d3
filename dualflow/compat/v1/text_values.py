"""Tensors of a graph that Python computes from text before a run, as dataset elements are drawn.

The entries of ``graph.drawn`` that a run needs are evaluated in the order in which they were
recorded; each value is computed once per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any

from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.fetches import unfed_host
from dualflow.compat.v1.operation import HostTensor

Given = MutableMapping[Any, Any]        # values of a run, by tensor


class Computed:
    """Tensors that a function computes from the values of text tensors.

    Attributes
    ----------
    outputs : list of Symbol or HostTensor
    needs : set of HostTensor
        The text tensors from which the outputs are computed.
    """

    def __init__(self, inputs: Sequence[HostTensor], outputs: Sequence[Any],
                 compute: Callable[..., Sequence[Any]]) -> None:
        self.inputs, self.outputs, self._compute = list(inputs), list(outputs), compute
        self.needs: set[HostTensor] = {x for x in closure(inputs) if isinstance(x, HostTensor)}

    def values(self, runner: Any, given: Given) -> Sequence[Any]:
        """Return the values of the outputs for one run."""
        for x in reversed(closure(self.inputs)):
            if x not in given:
                if not isinstance(x, HostTensor) or x.compute is None:
                    raise unfed_host(x)
                given[x] = x.compute(runner, *[given[y] for y in x.inputs])
        return self._compute(*[given[x] for x in self.inputs])


def closure(tensors: Iterable[Any]) -> list[Any]:
    """Return tensors and the tensors from which they are computed, each before its inputs."""
    found: dict[Any, None] = {}
    pending = list(tensors)
    while pending:
        x = pending.pop()
        found.pop(x, None)
        found[x] = None
        pending += getattr(x, "inputs", ())
    return list(found)


def output_of(dtype: Any, shape: Any, kind: str) -> Any:
    """Return a tensor whose value each run computes before it starts."""
    graph = default_graph()
    if dtype is string or dtype is str:
        return HostTensor(graph, kind, kind, string, shape=shape)
    return graph.placeholder(shape, dtype, kind)


def computed(inputs: Sequence[HostTensor], specs: Iterable[tuple[Any, Any]], kind: str,
             compute: Callable[..., Sequence[Any]]) -> list[Any]:
    """Return tensors of the dtypes and shapes of `specs` that a function computes from text."""
    outputs = [output_of(dtype, shape, kind) for dtype, shape in specs]
    default_graph().drawn.append(Computed(inputs, outputs, compute))
    return outputs
