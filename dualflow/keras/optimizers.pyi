from typing import Any

from keras.optimizers import *

def __getattr__(name: str) -> Any: ...
