from typing import Any

from keras.export import *

def __getattr__(name: str) -> Any: ...
