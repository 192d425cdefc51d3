"""Saving and loading modules with their functions, under TensorFlow's names; `save` and `load` are
`dualflow.save` and `dualflow.load`."""

from dualflow.io.load import contains_saved_model as contains_saved_model, load as load
from dualflow.io.options import LoadOptions as LoadOptions, SaveOptions as SaveOptions
from dualflow.io.save import save as save
from dualflow.io.signatures import DEFAULT as DEFAULT_SERVING_SIGNATURE_DEF_KEY

__all__ = ["DEFAULT_SERVING_SIGNATURE_DEF_KEY", "LoadOptions", "SaveOptions",
           "contains_saved_model", "load", "save"]
