from typing import Any

from keras.dtype_policies import *

def __getattr__(name: str) -> Any: ...
