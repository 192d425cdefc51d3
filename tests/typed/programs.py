"""Programs as users write them, which type checkers accept in their strict modes."""

import array
from typing import Any

import numpy as np

import dualflow as df


def losses(x: df.Tensor, labels: df.TensorLike, kind: df.DTypeLike = "float32") -> df.Tensor:
    logits = df.cast(x, kind) * 2 + 1
    return df.reduce_mean((logits - labels) ** 2, axis=(0, 1), keepdims=False)


class Dense(df.Module):
    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.w = df.Variable(df.random.normal([inputs, units], stddev=0.1), name="w")
        self.b = df.Variable(df.zeros([units]))

    @df.function
    def __call__(self, x: df.Tensor) -> df.Tensor:
        return df.nn.relu(x @ self.w + self.b)


layer = Dense(4, 3)
optimizer = df.optimizers.Adam(learning_rate=1e-3)


@df.function
def step(x: df.Tensor, y: df.Tensor) -> df.Tensor:
    with df.GradientTape() as tape:
        loss = losses(layer(x), y)
    variables = [layer.w, layer.b]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


@df.function(name="both", autograph=False)
def both(x: df.Tensor, scale: float = 2.0) -> tuple[df.Tensor, dict[str, df.Tensor]]:
    return x * scale, {"sum": df.reduce_sum(x)}


x = df.constant(np.ones((2, 4), np.float32))
number: float = step(x, df.zeros([2, 3])).item()
doubled, named = both(x, scale=3.0)
total: df.Tensor = named["sum"]
rows: tuple[int, ...] = doubled.shape
for given in ([1, 2], (1.0, True), [[1], [2]], range(3), 2, x, layer.w):
    df.convert_to_tensor(given)
df.convert_to_tensor(array.array("f", [1.0]))
for dtype in (df.float32, "int32", np.float64, np.dtype("int8"), float):
    df.zeros([2], dtype)
df.tanh([1.0, 2.0])
df.tanh(np.float32(1))
df.tanh(layer.w)
df.reshape(x, [-1])
df.concat([x, x], axis=0)
spec = df.TensorSpec([None, 4], df.float32)
concrete = step.get_concrete_function(spec, df.TensorSpec([None, 3]))
gradient = df.grad(lambda v: df.reduce_sum(v * v))
batches = df.data.Dataset.from_tensor_slices((np.ones((4, 2)), [1, 2, 3, 4])).shuffle(4).batch(2)
for element in batches:
    pair: Any = element
array_of: np.ndarray[Any, Any] = x.numpy()
