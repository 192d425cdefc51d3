"""Quantisation: conversion of floats to integers with a scale, and rounding for training that
simulates it. TensorFlow's functions, functions with explicit scales and zero points, and matrices
of weights with 8 and 4 bits."""

from dualflow.ops.quantization import fake_quant as _fake_quant
from dualflow.ops.quantization.affine import (
    dequantize_affine as dequantize_affine,
    fake_quantize_affine as fake_quantize_affine,
    quantize_affine as quantize_affine,
)
from dualflow.ops.quantization.fake_quant import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from dualflow.ops.quantization.integer_weights import (
    matrix_from_integers as matrix_from_integers,
)
from dualflow.ops.quantization.quantized_weights import (
    QuantizedMatrix as QuantizedMatrix,
    quantize_weights as quantize_weights,
)
from dualflow.ops.quantization.ranges import (
    dequantize as dequantize,
    quantize as quantize,
    quantized_concat as quantized_concat,
)
from dualflow.ops.quantization.round_trip import (
    quantize_and_dequantize as quantize_and_dequantize,
    quantize_and_dequantize_v2 as quantize_and_dequantize_v2,
)
from dualflow.ops.quantization.scales import (
    absmax_scale as absmax_scale,
    min_max_parameters as min_max_parameters,
    quantize_dynamic as quantize_dynamic,
)

fake_quant_with_min_max_vars_per_channel_gradient = (
    _fake_quant.fake_quant_with_min_max_vars_per_channel_gradient)
