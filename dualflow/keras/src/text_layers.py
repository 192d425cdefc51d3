"""Keras's layers of text and vocabularies, which use TensorFlow with every backend, on dualflow:
TextVectorization, StringLookup, IntegerLookup and Hashing.

Called by the hook once Keras is loaded, if TensorFlow is not installed. Modules of these layers see
dualflow under TensorFlow's names, and this backend in place of Keras's backend for TensorFlow.
Lookups and functions of text run in Python, in traced functions as host calls.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np

import dualflow as df
from dualflow.keras.src import nn, numpy
from dualflow.keras.src.ops import core
from dualflow.keras.src.ops.convert import TEXT_KINDS
from dualflow.lookup.initializers import dtype_of
from dualflow.ops.string_tensor import StringTensor, TracedStringTensor, is_text

MODULES = ["layers.preprocessing.hashing", "layers.preprocessing.index_lookup",
           "layers.preprocessing.integer_lookup", "layers.preprocessing.string_lookup",
           "layers.preprocessing.text_vectorization", "utils.tf_utils"]


class Variable:
    """The constructor of variables. TensorFlow's argument `constraint` has no effect."""

    def __new__(cls, value: Any, constraint: Any = None, **options: Any) -> Any:
        return df.Variable(value, **options)


class Names:
    """dualflow under TensorFlow's names. Names that differ for text are attributes."""

    available = True
    Tensor = (df.TensorBase, StringTensor)
    Variable = Variable
    compat = SimpleNamespace(as_text=lambda value, encoding="utf-8": (
        value.decode(encoding) if isinstance(value, bytes) else str(value)))

    def __getattr__(self, name: str) -> Any:
        return getattr(df, name)

    @staticmethod
    def as_dtype(value: Any) -> Any:
        """Return df.string or a DType."""
        return dtype_of(value)

    @staticmethod
    def as_string(value: Any) -> Any:
        """Return numbers as text."""
        return df.strings.as_string(value)

    @staticmethod
    def cast(value: Any, dtype: Any) -> Any:
        """Return a tensor of a dtype; text is not changed."""
        is_text = dtype_of(dtype) is getattr(value, "dtype", None)
        return value if is_text else df.cast(value, dtype)

    @staticmethod
    def convert_to_tensor(value: Any, dtype: Any = None) -> Any:
        """Return numbers or text as a tensor."""
        if is_text(value) and (dtype is None or dtype == "string"):
            return df.convert_to_tensor(value, df.string)
        if dtype is not None and dtype_of(dtype).is_integer and not isinstance(
                value, df.TensorBase):
            value = np.asarray(value)       # numbers may exceed int32
            value = value.astype("int64") if value.size == 0 else value
        found = df.convert_to_tensor(value)
        return found if dtype is None else df.cast(found, dtype)

    @staticmethod
    def executing_eagerly() -> bool:
        """Return True: vocabularies are set in traced functions, too."""
        return True

    @staticmethod
    def is_tensor(value: Any) -> bool:
        """Return True for tensors of numbers or text."""
        return isinstance(value, df.TensorBase | StringTensor)

    @staticmethod
    def size(value: Any) -> Any:
        """Return the number of elements of a tensor or array."""
        return df.size(value) if Names.is_tensor(value) else df.constant(np.size(value))

    @staticmethod
    def required_space_to_batch_paddings(shape: Any, block: Any) -> Any:
        """Return the paddings at the end of each dimension up to multiples of `block`."""
        after = df.math.floormod(-shape, block)
        return df.stack([df.zeros_like(after), after], axis=1), None


def _dense(inputs: Any) -> Any:
    """Return indices as a dense tensor; -1 stands for none."""
    return inputs.to_tensor(-1) if isinstance(inputs, df.RaggedTensor) else inputs


def _encoding(function: Any) -> Any:
    def encoded(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return function(_dense(inputs), *args, **kwargs)
    return encoded


# The functions of Keras's backend for TensorFlow that the layers call.
BACKEND = SimpleNamespace(
    __name__="dualflow.keras.src", cast=core.cast, core=core,
    numpy=SimpleNamespace(expand_dims=numpy.expand_dims, reshape=numpy.reshape,
                          squeeze=numpy.squeeze, sum=df.reduce_sum, multiply=numpy.multiply),
    nn=SimpleNamespace(one_hot=_encoding(nn.one_hot), multi_hot=_encoding(nn.multi_hot)),
    shape=lambda x: tuple(x.shape))


def install() -> None:
    """Install the names in the modules of the layers."""
    names: Any = Names()
    for name in MODULES:
        module: Any = importlib.import_module(f"keras.src.{name}")
        module.tf = names
    backend: Any = importlib.import_module("keras.src.backend")
    backend.tensorflow = BACKEND
    variables: Any = importlib.import_module("keras.src.backend.common.variables")
    plain = variables.standardize_dtype
    backend.standardize_dtype = variables.standardize_dtype = lambda dtype: (
        "string" if getattr(dtype, "kind", "") in TEXT_KINDS else plain(dtype))
    layer: Any = importlib.import_module(f"keras.src.{MODULES[4]}").TextVectorization
    on_arrays = layer._apply_standardize_with_np_arrays
    layer._apply_standardize_with_np_arrays = lambda self, inputs: (
        self._standardize(inputs) if isinstance(inputs, TracedStringTensor) else
        on_arrays(self, inputs))
