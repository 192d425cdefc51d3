"""Mistakes that type checkers must find: the marked lines and no others."""

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
df.optimizers.Adam(learning_rat=0.1)    # error
df.optimizers.Adam(amsgrd=True)         # error
df.optimizers.SGD(clip_norm=1.0)        # error
df.optimizers.SGD(momentum="0.9")       # error
df.optimizers.AdamW(weight_decay="a")   # error
df.random.normal("x")                   # error
df.data.Dataset.range(3).bach(2)        # error
df.GradientTape(persistant=True)        # error
df.matmul(x)                            # error
df.matmul(x, "x")                       # error
df.reduce_mean(x, axis=1.5)             # error
df.concat(x)                            # error
df.expand_dims(x, "last")               # error
df.transpose(x, perm="rows")            # error
df.reshape(x, "flat")                   # error
df.zeros(2, 3)                          # error
df.add("a", x)                          # error
df.nn.relu("x")                         # error
df.nn.dropout(x, "0.5")                 # error
df.nn.softmax(x, axis="last")           # error
df.Variable([1.0], trainable="no")      # error
df.initializers.RandomNormal("a")       # error
df.optimizers.schedules.CosineDecay(0.1, "long")  # error
df.custom_gradient(3)                   # error
df.function(3)                          # error
z = scaled.get_concrete_function(x)(x).shap  # error
number: int = scaled(x).item()          # error
layer = Model().no_such_layer           # error
