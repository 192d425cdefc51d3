from typing import Any

from keras.distribution import *

def __getattr__(name: str) -> Any: ...
