"""What is in force inside a ``with`` block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualflow._core import Recording
from dualflow.compat.v1.defaults import DEFAULTS

if TYPE_CHECKING:
    from dualflow.compat.v1.graph import Graph


class InForce:
    """Inside the block, a graph is in force, and what `recording` says is done with ops."""

    def __init__(self, graph: Graph, recording: Recording) -> None:
        self.graph, self.recording = graph, recording

    def __enter__(self) -> Graph:
        self.recording.__enter__()
        DEFAULTS.graphs.append(self.graph)
        return self.graph

    def __exit__(self, *raised: Any) -> None:
        DEFAULTS.graphs.pop()
        self.recording.__exit__(*raised)


class OnDevice:
    """Inside the block, operations say that they were asked to be on a device."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __enter__(self) -> None:
        self.before, self.graph.current_device = self.graph.current_device, self.name

    def __exit__(self, *raised: Any) -> None:
        self.graph.current_device = self.before
