from typing import Any

from keras.distillation import *

def __getattr__(name: str) -> Any: ...
