"""The backend package that Keras imports: its modules, and the names from `ops.core` and `rnn`.

An unsupported function is absent: Keras tests for its existence.
"""

from types import FunctionType as _FunctionType

from dualflow.keras.src import (
    random as random,
)
from dualflow.keras.src.ops import (
    core as core,
    image as image,
    linalg as linalg,
    math as math,
    nn as nn,
    numpy as numpy,
)
from dualflow.keras.src.ops.core import (
    IS_THREAD_SAFE as IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES as SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS as SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS as SUPPORTS_SPARSE_TENSORS,
    Variable as Variable,
    cast as cast,
    compute_output_spec as compute_output_spec,
    cond as cond,
    convert_to_numpy as convert_to_numpy,
    convert_to_tensor as convert_to_tensor,
    device_scope as device_scope,
    is_tensor as is_tensor,
    name_scope as name_scope,
    random_seed_dtype as random_seed_dtype,
    scatter as scatter,
    shape as shape,
    stop_gradient as stop_gradient,
    vectorized_map as vectorized_map,
)
from dualflow.keras.src.rnn import (
    bidirectional_gru as bidirectional_gru,
    bidirectional_lstm as bidirectional_lstm,
    cudnn_ok as cudnn_ok,
    gru as gru,
    lstm as lstm,
    rnn as rnn,
)

# Keras compares signatures with its own functions, which have no annotations.
for _module in (core, image, linalg, math, nn, numpy, random):
    for _function in list(vars(_module).values()):
        if isinstance(_function, _FunctionType) and _function.__module__.startswith(__name__):
            _function.__annotations__ = {}
del _module, _function
