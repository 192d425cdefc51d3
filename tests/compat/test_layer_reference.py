"""Layers and recurrent cells match TensorFlow's values, gradients and names."""

import json

import pytest

import dualflow.compat.v1 as tf
from tests.compat.layer_programs import PROGRAMS, REFERENCE
from tests.compat.programs import plain
from tests.compat.test_reference import compare

EXPECTED = json.loads(REFERENCE.read_text())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_matches_tensorflow(name):
    tf.reset_default_graph()
    compare(json.loads(json.dumps(plain(PROGRAMS[name](tf)))), EXPECTED[name], name)
