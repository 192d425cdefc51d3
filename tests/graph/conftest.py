"""Fixtures of several modules."""

from math import prod

import pytest

from dualflow.graph.passes import waves


@pytest.fixture
def serial_joins(monkeypatch):
    """Large concats and splits are put into waves, like ops that use one thread: of all that may
    be, nothing is simpler to look at."""
    def is_candidate(node):
        return node.type in ("concat", "split") and sum(
            [prod(x.known_shape) for x in (*node.inputs, *node.outputs)]) >= waves.MIN_ELEMENTS

    monkeypatch.setattr(waves, "is_candidate", is_candidate)
