"""Modules saved with their functions, under TensorFlow's names; `dualflow.save` and `dualflow.load`
are the same."""

from dualflow.io.load import load as load
from dualflow.io.save import save as save
