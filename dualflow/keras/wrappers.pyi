from typing import Any

from keras.wrappers import *

def __getattr__(name: str) -> Any: ...
