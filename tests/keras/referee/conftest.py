"""Definitions that Keras's tests import from their repository's conftest, which the wheel lacks."""

import pytest


def skip_if_backend(backend, reason):
    import keras

    return pytest.mark.skipif(keras.config.backend() == backend, reason=reason)
