"""Parts of Keras that require TensorFlow with every backend: their errors name a replacement.

Called by the hook once Keras is loaded. If TensorFlow is installed, they work as with any backend.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

FILES = "df.data, as in the page 'Loading images, CSV and text files'"
# Of the classes: the method that needs TensorFlow first, and the replacement.
CLASSES = {
    "layers.HashedCrossing": ("__init__", "zlib.crc32 modulo the number of bins in "
                                          "df.data.Dataset.map"),
}


def _refusing(method: Callable[..., Any], name: str, replacement: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except ImportError as error:
            if "tensorflow" not in str(error).lower():
                raise
            raise ImportError(f"keras.{name} requires TensorFlow with every backend; with dualflow "
                              f"use {replacement}") from None

    changed: Any = call         # Keras saves arguments by the signature, without wrapped functions
    changed.__signature__ = inspect.signature(method)
    return call


def install(keras: Any, tensorflow: Any) -> None:
    """Install the messages in `keras` and in its lazy module `tensorflow`."""
    for name, (method, replacement) in CLASSES.items():
        module, _, kind = name.partition(".")
        owner = getattr(getattr(keras, module), kind)
        setattr(owner, method, _refusing(getattr(owner, method), name, replacement))
    tensorflow.import_error_msg = ("This function of Keras requires TensorFlow with every backend; "
                                   f"with dualflow use {FILES}")
