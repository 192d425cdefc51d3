from typing import Any

from keras.backend import *

def __getattr__(name: str) -> Any: ...
