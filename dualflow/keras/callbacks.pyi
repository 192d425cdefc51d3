from typing import Any

from keras.callbacks import *

def __getattr__(name: str) -> Any: ...
