from typing import Any

from keras.quantizers import *

def __getattr__(name: str) -> Any: ...
