"""Mistakes that type checkers find: each line marked so, and no other."""

import dualflow as df

x = df.constant([1.0, 2.0])


@df.function
def scaled(a: df.Tensor, by: float = 2.0) -> df.Tensor:
    return a * by


class Model(df.Module):
    @df.function
    def __call__(self, a: df.Tensor) -> df.Tensor:
        return a


df.tanhh(x)                             # error
df.tanh("x")                            # error
df.tanh(x, nme="y")                     # error
df.zeros()                              # error
df.reduce_sum(x, axis="rows")           # error
df.cast(x, 32)                          # error
df.constant(object())                   # error
scaled("x")                             # error
scaled(x, 2.0, 3.0)                     # error
scaled(x, b=1.0)                        # error
text: str = scaled(x)                   # error
Model()(x, x)                           # error
y = x.shap                              # error
df.optimizers.SGD("fast")               # error
df.random.normal("x")                   # error
df.data.Dataset.range(3).bach(2)        # error
df.GradientTape(persistant=True)        # error
