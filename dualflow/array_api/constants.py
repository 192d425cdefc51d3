"""The constants of the standard."""

import math

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

e: float = math.e
inf: float = math.inf
nan: float = math.nan
newaxis = None
pi: float = math.pi
