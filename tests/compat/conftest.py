"""Each test starts with a new default graph outside of all graph blocks, as programs do."""

import pytest

import dualflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()
    return tf.get_default_graph()


@pytest.fixture
def session(fresh_graph):
    with tf.Session(graph=fresh_graph) as sess:
        yield sess
