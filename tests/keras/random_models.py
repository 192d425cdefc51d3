"""Random small Keras models with inputs and weights, drawn from a seed, on any backend of Keras.

`test_random_models.py` runs them on dualflow. As a program (`python -m tests.keras.random_models
FILE SEED...`) this module runs them on JAX and stores the results. Draws depend only on shapes, so
that every backend builds the same model from a seed.
"""

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.keras.random_layers import (
    BY_RANK,
    Draw,
    apart,
    attention,
    described,
    merged,
    over_time,
    recurrent,
)

LARGEST = 200                           # maximum elements of a value, without the batch
KINDS = ("outputs", "gradients", "states")


@dataclass
class Drawn:
    """A model with its arguments.

    Attributes
    ----------
    model : keras.Model
    inputs : list of ndarray
        One array for each input of the model.
    training : bool
        Whether layers run as in training. Dropout rates are then 0.
    along : list of ndarray
        The loss is the sum of the outputs times these.
    text : str
        The layers with their options, for messages.
    exact : bool
        Whether the reference computes in float64 throughout.
    """

    model: Any
    inputs: list[np.ndarray]
    training: bool
    along: list[np.ndarray]
    text: str
    exact: bool


def first(draw: Draw) -> Any:
    """Draw an input; for sequences with the layer that creates their mask."""
    layers, rank = draw.keras.layers, draw.one(1, 2, 2, 2, 3, 3, 3, 4)
    shape = [draw.size((6, 6, 4, 3)[rank - 1]) for _ in range(rank)]
    if rank == 2 and draw.maybe(0.4):
        words = draw.rng.integers(0, 4, (draw.batch, shape[0])).astype("int32")
        words[:, 0] += draw.first_there & (words[:, 0] == 0)
        layer = layers.Embedding(4, shape[1], mask_zero=draw.maybe(0.7))
        return draw.apply(layer, draw.input(words))
    array = draw.rng.normal(size=(draw.batch, *shape))
    if rank == 2 and draw.maybe(0.3):
        left_out = draw.rng.random(array.shape[:2]) < 0.3
        left_out[:, 0] &= not draw.first_there
        array[left_out] = 0
        return draw.apply(layers.Masking(0.0), draw.input(array))
    return draw.input(array)


def step(draw: Draw, values: list[Any]) -> Any:
    """Apply a layer to one of the values, usually the last."""
    x = values[-1] if draw.maybe(0.7) else draw.one(*values)
    shape = x.shape[1:]
    if np.prod(shape) > LARGEST:
        return draw.apply(draw.keras.layers.Dense(2), draw.apply(draw.keras.layers.Flatten(), x))
    if len(shape) == 2 and draw.first_there and draw.maybe(0.2):
        return attention(draw, x, values)
    if getattr(x, "_keras_mask", None) is not None and len(shape) == 2 and draw.maybe(0.4):
        return draw.apply(recurrent(draw, shape), x)
    if len(values) > 1 and draw.maybe(0.2):
        return merged(draw, x, values)
    if len(values) > 2 and draw.maybe(0.1):
        return first(draw)
    kinds = BY_RANK[len(shape)] + ([over_time] if len(shape) > 1 else [])
    layer = draw.one(*kinds)(draw, shape)
    if "MaxPooling" in described(layer):
        x = draw.apply(apart(draw, shape), x)
    return draw.apply(layer, x)


def build(seed: int, floatx: str) -> Drawn:
    """Draw a model in the precision `floatx`."""
    import keras
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(floatx)
    draw = Draw(np.random.default_rng(seed), keras)
    draw.batch, draw.training, draw.first_there = draw.size(3), draw.maybe(), draw.maybe(0.7)
    values = [first(draw)]
    for _ in range(int(draw.rng.integers(2, 9))):
        values.append(step(draw, values))
    outputs = values[-1:] if draw.maybe(0.7) else [draw.one(*values), values[-1]]
    if draw.chained and len(draw.inputs) == 1 and len(outputs) == 1:
        model = keras.Sequential([draw.inputs[0], *draw.layers])
    else:
        model = keras.Model(draw.inputs, outputs)
    for w in model.weights:
        if w.path.endswith(("variance", "gamma", "scale")):
            w.assign(draw.rng.uniform(0.5, 1.5, w.shape))
        else:
            w.assign(draw.rng.normal(0, 0.5, w.shape))
    arrays = [a.astype(floatx) if a.dtype == np.float64 else a for a in draw.arrays]
    along = [draw.rng.normal(size=(draw.batch, *y.shape[1:])).astype(floatx) for y in outputs]
    text = f"seed {seed}, training={draw.training}:\n" + "\n".join(draw.said)
    return Drawn(model, arrays, draw.training, along, text, draw.exact)


# --- results ---

def statistics(model: Any) -> list[Any]:
    """Return the variables that layers assign in training, without generator states."""
    return [v for v in model.non_trainable_variables if "float" in v.dtype]


def with_jax(drawn: Drawn) -> tuple[list[Any], list[Any], list[Any]]:
    """Return outputs, gradients of weights and of inputs, and statistics after the call."""
    import jax

    model = drawn.model
    fixed = [v.value for v in model.non_trainable_variables]
    kept = [any(v is w for w in statistics(model)) for v in model.non_trainable_variables]
    floating = [a.dtype.kind == "f" for a in drawn.inputs]

    def loss(weights, floats):
        left = iter(floats)
        xs = [next(left) if one else jax.numpy.asarray(a)
              for a, one in zip(drawn.inputs, floating, strict=True)]
        ys, states = model.stateless_call(weights, fixed, xs if len(xs) > 1 else xs[0],
                                          training=drawn.training)
        ys = ys if isinstance(ys, list) else [ys]
        total = sum((y * a).sum() for y, a in zip(ys, drawn.along, strict=True))
        return total, (ys, [s for s, one in zip(states, kept, strict=True) if one])

    weights = [v.value for v in model.trainable_variables]
    floats = [jax.numpy.asarray(a) for a, one in zip(drawn.inputs, floating, strict=True) if one]
    (_, (ys, states)), both = jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(
        weights, floats)
    return ys, [*both[0], *both[1]], states


def main(path: str, seeds: list[int]) -> None:
    """Store the results of models, computed in float64 on JAX."""
    from keras.src.backend.common import dtypes

    # Keras converts float64 to float32 in promotions.
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    saved: dict[str, np.ndarray] = {}
    for seed in seeds:
        results = with_jax(build(seed, "float64"))
        for kind, arrays in zip(KINDS, results, strict=True):
            saved |= {f"{seed} {kind} {i}": np.asarray(a) for i, a in enumerate(arrays)}
    np.savez(path, **saved)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], [int(seed) for seed in sys.argv[2:]])
