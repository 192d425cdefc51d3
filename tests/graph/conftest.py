"""Fixtures that several modules of this folder use."""

from math import prod

import pytest

from dualflow.graph.passes import waves


@pytest.fixture
def serial_joins(monkeypatch):
    """Make large concats and splits join waves as single-threaded ops do: they are the simplest ops
    to test waves with."""
    def is_candidate(node):
        return node.type in ("concat", "split") and sum(
            [prod(x.known_shape) for x in (*node.inputs, *node.outputs)]) >= waves.MIN_ELEMENTS

    monkeypatch.setattr(waves, "is_candidate", is_candidate)
