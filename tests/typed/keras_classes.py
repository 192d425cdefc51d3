"""The types of Keras's classes that mypy infers with `follow_untyped_imports`; the marked lines are
mistakes."""

from typing import assert_type

from dualflow import keras
from dualflow.keras import layers, models
from dualflow.keras.layers import Dense
from dualflow.keras.optimizers import SGD


class Block(keras.layers.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.inner = Dense(units)


model = keras.Sequential([keras.Input((3,)), Dense(4)])
assert_type(model, models.Sequential)
assert_type(Dense(4), layers.Dense)
assert_type(SGD(0.1), keras.optimizers.SGD)
assert_type(keras.losses.MeanSquaredError(), keras.losses.MeanSquaredError)
assert_type(Block(2).inner, layers.Dense)

layers.Dens(4)                      # error
Dense()                             # error
keras.losses.MeanSquare()           # error
