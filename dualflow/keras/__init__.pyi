# The names of Keras, for type checkers. A module that Keras keeps in `keras.<name>` has a stub
# `<name>.pyi` beside this file: type checkers do not see what `__init__.py` registers at run time.
#
# Keras has no `py.typed`. Pyright reads its source nevertheless, mypy with `follow_untyped_imports`
# for `keras.*`; without it `__getattr__` makes every name `Any`. docs/keras.md has the settings.
from typing import Any

from keras import *

__version__: str

def __getattr__(name: str) -> Any: ...
