"""Each test starts with a new default graph outside of all graph blocks, as programs do."""

from zlib import crc32

import pytest

import dualflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph(request):
    tf.reset_default_graph()
    tf.set_random_seed(crc32(request.node.nodeid.encode()))
    return tf.get_default_graph()


@pytest.fixture
def session(fresh_graph):
    with tf.Session(graph=fresh_graph) as sess:
        yield sess
