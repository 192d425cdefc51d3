"""Random functions of a seed that Keras draws."""

from typing import Any

from keras.src.backend.config import floatx
from keras.src.random.seed_generator import (
    SeedGenerator as SeedGenerator,
    draw_seed as draw_seed,
    make_default_seed as make_default_seed,
)

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, is_tensor, to_dtype


def _seed(seed: Any) -> df.Tensor:
    drawn = seed if is_tensor(seed) else draw_seed(seed)
    return convert_to_tensor(drawn, "int64")


def _shape(shape: Any) -> Any:
    return tuple(shape) if isinstance(shape, list) else shape


def _bounds(*xs: Any) -> Any:
    """Return numbers unchanged and everything else as tensors."""
    return [x if isinstance(x, int | float) else convert_to_tensor(x) for x in xs]


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None,
           seed: Any = None) -> Any:
    mean, stddev = _bounds(mean, stddev)
    return df.random.stateless_normal(_shape(shape), _seed(seed), mean, stddev,
                                      to_dtype(dtype or floatx()))


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None,
                     seed: Any = None) -> Any:
    mean, stddev = _bounds(mean, stddev)
    return df.random.stateless_truncated_normal(_shape(shape), _seed(seed), mean, stddev,
                                                to_dtype(dtype or floatx()))


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None,
            seed: Any = None) -> Any:
    minval, maxval = _bounds(minval, maxval)
    return df.random.stateless_uniform(_shape(shape), _seed(seed), minval, maxval,
                                       to_dtype(dtype or floatx()))


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    wanted = to_dtype(dtype)
    drawn = wanted if wanted in (df.int32, df.int64) else df.int32
    if isinstance(minval, int) and isinstance(maxval, int):
        made = df.random.stateless_uniform(_shape(shape), _seed(seed), minval, maxval, drawn)
    else:                                   # tensors, possibly traced
        low, high = convert_to_tensor(minval, "int64"), convert_to_tensor(maxval, "int64")
        many = df.random.stateless_uniform(_shape(shape), _seed(seed), 0, 2**62, df.int64)
        made = low + df.math.floormod(many, high - low)
    return df.cast(made, wanted)


def categorical(logits: Any, num_samples: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    drawn = df.random.stateless_categorical(convert_to_tensor(logits), num_samples, _seed(seed),
                                            df.int32)
    return df.cast(drawn, to_dtype(dtype))


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    return df.random.stateless_gamma(_shape(shape), _seed(seed), convert_to_tensor(alpha),
                                     dtype=to_dtype(dtype or floatx()))


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Return a / (a + b) for gamma-distributed a and b."""
    drawn, dtype = _seed(seed), dtype or floatx()
    other = drawn + convert_to_tensor([0, 1], "int64")
    a = df.random.stateless_gamma(_shape(shape), drawn, convert_to_tensor(alpha))
    b = df.random.stateless_gamma(_shape(shape), other, convert_to_tensor(beta))
    return df.cast(a / (a + b), to_dtype(dtype))


def binomial(shape: Any, counts: Any, probabilities: Any, dtype: Any = None,
             seed: Any = None) -> Any:
    return df.random.stateless_binomial(
        _shape(shape), _seed(seed), convert_to_tensor(counts), convert_to_tensor(probabilities),
        to_dtype(dtype or floatx()))


def dropout(inputs: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    if rate == 1:
        return df.zeros_like(x)
    if rate == 0:
        return x
    shape = x.shape if noise_shape is None else [
        have if wanted is None else wanted
        for have, wanted in zip(x.shape, noise_shape, strict=True)]
    drawn = df.random.stateless_uniform(shape, _seed(seed))
    mask = df.cast(drawn >= rate, x.dtype)
    return x * (1 / (1 - rate)) * mask


def shuffle(x: Any, axis: Any = 0, seed: Any = None) -> Any:
    x = convert_to_tensor(x)
    return df.gather(x, df.random.stateless_permutation(x.shape[axis], _seed(seed)), axis=axis)
