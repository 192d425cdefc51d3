from typing import Any

from keras.legacy import *

def __getattr__(name: str) -> Any: ...
