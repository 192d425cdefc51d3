from typing import Any

from keras.constraints import *

def __getattr__(name: str) -> Any: ...
