"""Saving and loading modules with their functions, under TensorFlow's names; the same as
`dualflow.save` and `dualflow.load`."""

from dualflow.io.load import load as load
from dualflow.io.save import save as save
