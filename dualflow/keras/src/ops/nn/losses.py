"""Losses, class encodings, normalization, attention and CTC."""

import math
from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import epsilon, floatx

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, tensors, to_dtype
from dualflow.keras.src.ops.numpy import reductions

# --- classes ---


def one_hot(x: Any, num_classes: Any, axis: Any = -1, dtype: Any = None,
            sparse: Any = False) -> Any:
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the dualflow backend")
    x = convert_to_tensor(x)
    if x.dtype not in (df.int32, df.int64):
        x = df.cast(x, df.int32)
    place = axis % (x.ndim + 1)
    sizes = [1] * (x.ndim + 1)
    sizes[place] = num_classes
    classes = df.reshape(df.range(num_classes, dtype=x.dtype), sizes)
    return df.cast(df.equal(df.expand_dims(x, place), classes), to_dtype(dtype or floatx()))


def multi_hot(x: Any, num_classes: Any, axis: Any = -1, dtype: Any = None,
              sparse: Any = False) -> Any:
    x = convert_to_tensor(x)
    hot = one_hot(df.cast(x, df.int32), num_classes, axis, dtype, sparse)
    return reductions.max(hot, 1 if x.ndim > 1 else 0)


# --- cross-entropies ---

def _same_shapes(target: df.Tensor, output: df.Tensor) -> None:
    if tuple(target.shape) != tuple(output.shape):
        raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")


def _share(output: df.Tensor, axis: int) -> df.Tensor:
    """Normalise probabilities to a sum of 1 and clip them away from 0 and 1."""
    output = output / df.reduce_sum(output, axis, True)
    return df.clip_by_value(output, epsilon(), 1 - epsilon())


def categorical_crossentropy(target: Any, output: Any, from_logits: Any = False,
                             axis: Any = -1) -> Any:
    target, output = tensors(target, output)
    _same_shapes(target, output)
    if target.ndim < 1:
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: "
                         f"target.shape={target.shape}, output.shape={output.shape}")
    if from_logits:
        return df.nn.softmax_cross_entropy_with_logits(target, output, axis)
    return -df.reduce_sum(target * df.log(_share(output, axis)), axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: Any = False,
                                    axis: Any = -1) -> Any:
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if target.dtype not in (df.int32, df.int64):
        target = df.cast(target, df.int32)
    if output.ndim < 1:
        raise ValueError("Argument `output` must be at least rank 1. Received: "
                         f"output.shape={output.shape}")
    if target.ndim == output.ndim and target.shape[-1] == 1:
        target = df.squeeze(target, -1)
    axis %= output.ndim
    if axis != output.ndim - 1:
        order = [a for a in range(output.ndim) if a != axis]
        output = df.transpose(output, [*order, axis])
    if tuple(target.shape) != tuple(output.shape[:-1]):
        raise ValueError("Arguments `target` and `output` must have the same shape up until the "
                         f"last dimension: target.shape={target.shape}, "
                         f"output.shape={output.shape}")
    if from_logits:
        return df.nn.sparse_softmax_cross_entropy_with_logits(target, output)
    # gather counts negative indices from the end: make them invalid, so that it refuses them
    target = df.where(target < 0, target - output.shape[-1], target)
    picked = df.gather(_share(output, -1), df.expand_dims(target, -1), axis=output.ndim - 1,
                       batch_dims=output.ndim - 1)
    return -df.log(df.squeeze(picked, -1))


def binary_crossentropy(target: Any, output: Any, from_logits: Any = False) -> Any:
    target, output = tensors(target, output)
    _same_shapes(target, output)
    if from_logits:
        return df.nn.sigmoid_cross_entropy_with_logits(target, output)
    output = df.clip_by_value(output, epsilon(), 1 - epsilon())
    return -(target * df.log(output) + (1 - target) * df.log(1 - output))


def psnr(x1: Any, x2: Any, max_val: Any) -> Any:
    x1, x2 = tensors(x1, x2)
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation.")
    per_decade = 10 / math.log(10)
    error = df.reduce_mean(df.square(x1 - x2))
    return per_decade * (2 * df.log(convert_to_tensor(max_val, x2.dtype)) - df.log(error))


# --- normalization ---

def moments(x: Any, axes: Any, keepdims: Any = False, synchronized: Any = False) -> Any:
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with dualflow.")
    x = convert_to_tensor(x)
    if x.dtype.itemsize > 2:
        return df.nn.moments(x, axes, keepdims=keepdims)
    most = df.float16.max               # 16-bit floats: computed in float32, clipped
    mean, variance = df.nn.moments(df.cast(x, df.float32), axes, keepdims=keepdims)
    return (df.cast(df.clip_by_value(mean, -most, most), x.dtype),
            df.cast(df.clip_by_value(variance, -most, most), x.dtype))


def batch_normalization(x: Any, mean: Any, variance: Any, axis: Any, offset: Any = None,
                        scale: Any = None, epsilon: Any = 1e-3) -> Any:
    x = convert_to_tensor(x)
    sizes = [1] * x.ndim
    sizes[axis] = -1

    def along(v: Any) -> Any:
        return None if v is None else df.reshape(convert_to_tensor(v, x.dtype), sizes)

    return df.nn.batch_normalization(x, along(mean), along(variance), along(offset), along(scale),
                                     epsilon)


# --- attention ---

def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None,
                          scale: Any = None, is_causal: Any = False,
                          flash_attention: Any = None, attn_logits_soft_cap: Any = None) -> Any:
    query, key, value = tensors(query, key, value)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim != 4:
            raise ValueError("`dot_product_attention` only supports 4D inputs. Received: "
                             f"{name}.shape={x.shape}.")
    if attn_logits_soft_cap is not None:
        raise ValueError("dot_product_attention: attn_logits_soft_cap is not supported on dualflow")
    given = None
    if bias is not None:
        given = _four(convert_to_tensor(bias, query.dtype))
    if mask is not None:
        query, given = _masked(query, key.shape[1], given, _four(convert_to_tensor(mask, "bool")),
                               is_causal)
        is_causal = False
    return df.nn.scaled_dot_product_attention(query, key, value, given, is_causal=is_causal,
                                              scale=scale, data_format="BTHD")


def _masked(query: df.Tensor, keys: Any, bias: Any, mask: df.Tensor,
            is_causal: Any) -> tuple[df.Tensor, df.Tensor]:
    """Return a query and a mask with which a query that sees no key gets the mean of all values.

    The op returns 0 there. In Keras masked scores are equal, large negative values, so that the
    weights are equal and no gradient reaches query and key: as with a query of zeros without mask.
    """
    if is_causal:
        mask = df.logical_and(mask, df.linalg.band_part(
            df.ones((query.shape[1], keys), df.bool_), -1, 0))
    seen = df.reduce_any(mask, -1, keepdims=True)                           # b h t 1
    query = df.where(df.transpose(seen, (0, 2, 1, 3)), query, convert_to_tensor(0, query.dtype))
    if bias is None:
        return query, df.logical_or(mask, df.logical_not(seen))
    far, none = [convert_to_tensor(x, query.dtype) for x in (float("-inf"), 0.)]
    return query, df.where(mask, bias, df.where(seen, far, none))


def _four(x: df.Tensor) -> df.Tensor:
    """Return a mask or bias with dimensions for batch and heads."""
    while x.ndim < 4:
        x = df.expand_dims(x, 1 if x.ndim == 3 else 0)
    return x


# --- sequences ---

def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any,
             mask_index: Any = 0) -> Any:
    logits = convert_to_tensor(output)
    logits = convert_to_tensor(logits, result_type(logits.dtype.name, "float32"))
    labels, lengths, steps = [convert_to_tensor(x, "int32")
                              for x in (target, target_length, output_length)]
    return df.nn.ctc_loss(labels, logits, lengths, steps, logits_time_major=False,
                          blank_index=mask_index)


def ctc_decode(inputs: Any, sequence_lengths: Any, strategy: Any = "greedy",
               beam_width: Any = 100, top_paths: Any = 1,
               merge_repeated: Any = True, mask_index: Any = 0) -> Any:
    logits = convert_to_tensor(inputs)
    logits = convert_to_tensor(logits, result_type(logits.dtype.name, "float32"))
    logits, lengths = df.transpose(logits, [1, 0, 2]), convert_to_tensor(sequence_lengths, "int32")
    if strategy == "greedy":
        decoded, scores = df.nn.ctc_greedy_decoder(logits, lengths, merge_repeated, mask_index)
    elif strategy == "beam_search":
        decoded, scores = df.nn.ctc_beam_search_decoder(logits, lengths, beam_width, top_paths,
                                                        mask_index)
    else:
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and "
                         "'beam_search'.")
    return df.cast(df.stack(decoded), df.int32), scores
