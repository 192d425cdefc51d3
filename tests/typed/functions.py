"""`df.function` preserves the types of the wrapped function, which type checkers compare."""

from collections.abc import Callable
from typing import assert_type

import dualflow as df


@df.function
def scaled(x: df.Tensor, by: float = 2.0, *, shift: float = 0.0) -> df.Tensor:
    return x * by + shift


@df.function(autograph=False)
def several(*xs: df.Tensor, name: str = "a", **rest: df.Tensor) -> dict[str, df.Tensor]:
    return {name: df.add_n(list(xs)), **rest}


@df.function(input_signature=[df.TensorSpec([None])])
def pair(x: df.Tensor) -> tuple[df.Tensor, df.Tensor]:
    return x, -x


def wrapped(f: Callable[[df.Tensor], df.Tensor]) -> Callable[[df.Tensor], df.Tensor]:
    return df.function(f)


class Layer(df.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = df.Variable(2.0)

    @df.function
    def __call__(self, x: df.Tensor, times: int = 1) -> df.Tensor:
        return x * self.w * times

    @df.function(name="both")
    def both(self, x: df.Tensor, *, negative: bool = False) -> tuple[df.Tensor, df.Tensor]:
        return x, -x if negative else x

    # Both checkers assume that access through an instance binds the instance, and access of a class
    # method through the class binds the class: `__get__` does not know the outer decorator.
    @staticmethod
    @df.function
    def doubled(x: df.Tensor) -> df.Tensor:
        return x * 2

    @classmethod
    @df.function
    def tripled(cls, x: df.Tensor, by: float = 3.0) -> df.Tensor:
        return x * by


x = df.constant([1.0, 2.0])
layer = Layer()
assert_type(scaled(x), df.Tensor)
assert_type(scaled(x, 3.0, shift=1.0), df.Tensor)
assert_type(several(x, x, name="sum", other=x), dict[str, df.Tensor])
assert_type(pair(x), tuple[df.Tensor, df.Tensor])
assert_type(wrapped(lambda x: x + 1)(x), df.Tensor)
assert_type(layer(x, times=2), df.Tensor)
assert_type(layer.both(x, negative=True), tuple[df.Tensor, df.Tensor])
assert_type(Layer.doubled(x), df.Tensor)
assert_type(layer.tripled(x, by=2.0), df.Tensor)
assert_type(Layer.both(layer, x), tuple[df.Tensor, df.Tensor])
assert_type(df.function(lambda: 1.0)(), float)
assert_type(scaled.get_concrete_function(x, by=3.0)(x), df.Tensor)
assert_type(pair.get_concrete_function()(x), tuple[df.Tensor, df.Tensor])
assert_type(layer.both.get_concrete_function(df.TensorSpec([None]))(x), tuple[df.Tensor, df.Tensor])
assert_type(scaled.python_function(x), df.Tensor)


class Scaled(Layer):
    """Methods that are traced may override methods of both kinds."""

    @df.function
    def __call__(self, x: df.Tensor, times: int = 1) -> df.Tensor:
        return super().__call__(x, times) + 1

    def plain(self, x: df.Tensor) -> df.Tensor:
        return x


class Deeper(Scaled):
    @df.function
    def plain(self, x: df.Tensor) -> df.Tensor:
        return super().plain(x) * 2


deeper = Deeper()
assert_type(deeper(x), df.Tensor)
assert_type(deeper.plain(x), df.Tensor)
assert_type(deeper.both(x), tuple[df.Tensor, df.Tensor])


def loss(x: df.Tensor, by: float = 2.0) -> df.Tensor:
    return df.reduce_sum(x * by)


def loss_and_parts(x: df.Tensor) -> tuple[df.Tensor, list[df.Tensor]]:
    return df.reduce_sum(x), [x]


assert_type(df.grad(loss)(x, by=3.0), df.Tensor)
assert_type(df.grad(df.function(loss))(x), df.Tensor)
assert_type(df.value_and_grad(loss)(x), tuple[df.Tensor, df.Tensor])
assert_type(df.grad(loss_and_parts, has_aux=True)(x)[0], df.Tensor)
