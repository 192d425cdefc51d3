"""The version, under TensorFlow's name."""

import dualflow as df

__all__ = ["VERSION"]

VERSION = df.__version__


def __dir__() -> list[str]:
    return __all__
