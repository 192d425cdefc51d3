from typing import Any

from keras.losses import *

def __getattr__(name: str) -> Any: ...
