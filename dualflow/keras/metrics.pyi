from typing import Any

from keras.metrics import *

def __getattr__(name: str) -> Any: ...
