"""Keras on dualflow: names, modules and submodules. Any without settings; with mypy's
`follow_untyped_imports`, the classes of Keras."""

import dualflow as df
from dualflow import keras
from dualflow.keras import layers
from dualflow.keras.layers import Dense
from dualflow.keras.optimizers import SGD

model = keras.Sequential([keras.Input((3,)), Dense(4, activation="relu"), layers.Dropout(0.5)])
model.compile(SGD(0.1), "mse")
history = model.fit(df.ones([8, 3]), df.ones([8, 4]), verbose=0)
losses = [float(loss) for loss in history.history["loss"]]
y: df.Tensor = keras.ops.mean(model(df.ones([2, 3])))
version: str = keras.__version__
