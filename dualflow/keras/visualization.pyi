from typing import Any

from keras.visualization import *

def __getattr__(name: str) -> Any: ...
