"""The environment of processes that import Keras.

Keras imports scikit-learn and matplotlib if they are installed, which takes two thirds of the three
seconds of its import. The modules of tests/absent/ hide them.
"""

import os
from pathlib import Path

ABSENT = str(Path(__file__).resolve().parent / "absent")


def path(*folders):
    """Return a path of modules that begins with the modules of tests/absent."""
    return os.pathsep.join([ABSENT, *map(str, folders)])


def environment(**variables):
    """Return the environment of this process with other variables and such a path."""
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": path(*[known] if known else []), **variables}
