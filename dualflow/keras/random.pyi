from typing import Any

from keras.random import *

def __getattr__(name: str) -> Any: ...
