from typing import Any

from keras.regularizers import *

def __getattr__(name: str) -> Any: ...
