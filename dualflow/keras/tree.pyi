from typing import Any

from keras.tree import *

def __getattr__(name: str) -> Any: ...
