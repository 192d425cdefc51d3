"""What Keras's tests import from the conftest of its repository, which its wheel has not."""

import pytest


def skip_if_backend(backend, reason):
    import keras

    return pytest.mark.skipif(keras.config.backend() == backend, reason=reason)
