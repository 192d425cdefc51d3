"""Layers with randomly drawn options, for `random_models.py`.

The function of a family takes a `Draw` and the shape of a value without its batch, and returns a
layer that accepts the value. Options that Keras itself rejects are not drawn.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# `sparsemax` is omitted: Keras's other backends compute its threshold from partial sums, so their
# results do not sum to 1. `glu` is omitted: Keras infers its argument's shape for its result.
ACTIVATIONS = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "tanh",
               "sigmoid", "softplus", "softsign", "hard_sigmoid", "hard_silu", "hard_tanh",
               "hard_shrink", "soft_shrink", "sparse_plus", "squareplus", "mish", "tanh_shrink",
               "log_sigmoid", "softmax", "log_softmax", "sparse_sigmoid", "linear"]
INSIDE = ["tanh", "relu", "sigmoid", "hard_sigmoid", "linear", "gelu", "softsign"]


@dataclass
class Draw:
    """The state of a draw: the generator, the inputs, and the values that layers may take."""

    rng: np.random.Generator
    keras: Any
    batch: int = 1
    training: bool = False
    exact: bool = True
    first_there: bool = True            # no mask excludes the first step
    inputs: list[Any] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    layers: list[Any] = field(default_factory=list)
    chained: bool = True
    last: Any = None

    def one(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def size(self, largest: int = 4) -> int:
        return int(self.rng.integers(1, largest + 1))

    def maybe(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def part(self, n: int) -> int:
        """Return a divisor of `n`."""
        return self.one(*[k for k in range(1, n + 1) if n % k == 0])

    def layout(self, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...], int]:
        """Draw a data format. Return its name, the spatial sizes and the channels."""
        if self.maybe(0.3):
            return "channels_first", shape[1:], shape[0]
        return "channels_last", shape[:-1], shape[-1]

    def input(self, array: np.ndarray) -> Any:
        x = self.keras.Input(array.shape[1:], dtype=self.keras.config.floatx()
                             if array.dtype == np.float64 else str(array.dtype))
        self.inputs.append(x)
        self.last = x
        self.arrays.append(array)
        return x

    def apply(self, layer: Any, *args: Any, **options: Any) -> Any:
        """Call a layer in a functional model."""
        self.said.append(f"{described(layer)} of {[x.shape for x in tree(args)]} {[*options]}")
        self.layers.append(layer)
        self.chained &= not options and len(args) == 1 and args[0] is self.last
        self.last = layer(*args, **options)
        return self.last


def tree(args: Any) -> list[Any]:
    """Return the tensors of arguments that are tensors or lists of tensors."""
    return [x for arg in args for x in (arg if isinstance(arg, list) else [arg])]


def described(layer: Any) -> str:
    """Return the name of a layer with its options, except training options."""
    if type(layer).__name__ == "Lambda":
        return "noise"
    return options(type(layer).__name__, layer.get_config())


def options(name: str, config: dict[str, Any]) -> str:
    """Return the options of a Keras configuration that affect values."""
    settings = {k: options(v["class_name"], v["config"]) if isinstance(v, dict) else v
                for k, v in config.items()
                if k not in ("name", "dtype", "trainable", "seed", "quantization_config")
                and not k.endswith(("_regularizer", "_constraint", "_initializer"))
                and (not isinstance(v, dict) or k.endswith("layer"))}
    return f"{name}({', '.join(f'{k}={v}' for k, v in settings.items())})"


# --- convolutions and pooling ---

def windows(draw, spatial, dilated=True):
    """Draw the options of a window: its sizes, padding, strides and dilation."""
    size = tuple(draw.size(3) for _ in spatial)
    strides = tuple(draw.size(3) for _ in spatial) if draw.maybe(0.4) else (1,) * len(spatial)
    dilation = (1,) * len(spatial)
    if dilated and max(strides) == 1 and draw.maybe(0.3):
        dilation = tuple(draw.size(2) for _ in spatial)
    fits = all((k - 1) * d < n for k, d, n in zip(size, dilation, spatial, strict=True))
    return size, "valid" if fits and draw.maybe() else "same", strides, dilation


def convolution(draw, shape):
    """Return a convolution of any kind."""
    layers, rank = draw.keras.layers, len(shape) - 1
    layout, spatial, channels = draw.layout(shape)
    size, padding, strides, dilation = windows(draw, spatial)
    options = {"padding": padding, "strides": strides, "dilation_rate": dilation,
               "data_format": layout, "use_bias": draw.maybe(0.7),
               "activation": draw.one(None, "relu", "tanh", "gelu")}
    if rank < 3 and draw.maybe(0.4):
        kind = draw.one(f"DepthwiseConv{rank}D", f"SeparableConv{rank}D")
        options["depth_multiplier"] = draw.size(2)
        if kind.startswith("Depth"):
            return getattr(layers, kind)(size, **options)
        return getattr(layers, kind)(draw.size(3), size, **options)
    if rank == 1 and layout == "channels_last" and draw.maybe(0.2):
        options["padding"] = "causal"
    groups = draw.part(channels)
    return getattr(layers, f"Conv{rank}D")(groups * draw.size(2), size, groups=groups, **options)


def transposed(draw, shape):
    """Return a transposed convolution whose result has elements."""
    layout, spatial, _ = draw.layout(shape)
    size, padding, strides, dilation = windows(draw, spatial)
    outer = None
    if draw.maybe(0.4):
        outer = tuple(draw.size(s) - 1 for s in strides)
    kind = getattr(draw.keras.layers, f"Conv{len(spatial)}DTranspose")
    layer = kind(draw.size(3), size, strides=strides, padding=padding, output_padding=outer,
                 dilation_rate=dilation, data_format=layout, use_bias=draw.maybe())
    if 0 in layer.compute_output_shape((None, *shape)):
        return draw.keras.layers.Activation("tanh")
    return layer


def pooling(draw, shape):
    """Return a pooling layer over windows, over parts or over everything."""
    layout, spatial, _ = draw.layout(shape)
    kind, rank = draw.one("Max", "Average"), len(spatial)
    if draw.maybe(0.15):
        layer = getattr(draw.keras.layers, f"Adaptive{kind}Pooling{rank}D", None)
        if layer is not None:           # in Keras 3.15, not in 3.12
            return layer(tuple(draw.size(n) for n in spatial), data_format=layout)
    if draw.maybe(0.2):
        if rank == 1:                   # masks cover the first dimension
            layout = "channels_last"
        layer = getattr(draw.keras.layers, f"Global{kind}Pooling{rank}D")
        return layer(data_format=layout, keepdims=draw.maybe())
    size, padding, strides, _ = windows(draw, spatial, dilated=False)
    layer = getattr(draw.keras.layers, f"{kind}Pooling{rank}D")
    return layer(size, strides=draw.one(strides, None), padding=padding, data_format=layout)


def resized(draw, shape):
    """Return a layer that crops, pads or repeats along spatial dimensions."""
    layers, rank = draw.keras.layers, len(shape) - 1
    layout, spatial, _ = draw.layout(shape)
    options = {"data_format": layout}
    kind = draw.one("crop", "pad", "repeat")
    if kind == "crop":
        cut = [(0, int(draw.rng.integers(n))) for n in spatial]
        cut = [pair[::draw.one(1, -1)] for pair in cut]
        if rank == 1:
            return layers.Cropping1D((0, int(draw.rng.integers(shape[0]))))
        return getattr(layers, f"Cropping{rank}D")(cut, **options)
    if kind == "pad":
        pad = [(draw.size(3) - 1, draw.size(3) - 1) for _ in spatial]
        return getattr(layers, f"ZeroPadding{rank}D")(pad[0] if rank == 1 else pad, **options)
    if rank == 1:
        return layers.UpSampling1D(draw.size(2))
    factors = tuple(draw.size(2) for _ in spatial)
    if rank == 2:
        options["interpolation"] = draw.one("nearest", "bilinear", "bicubic")
    return getattr(layers, f"UpSampling{rank}D")(factors, **options)


# --- layers of any rank ---

def dense(draw, shape):
    """Return a dense layer along the last axis or any axis."""
    activation = draw.one(None, "relu", "tanh", "softmax", "silu")
    if draw.maybe(0.2):
        axis, size = int(draw.rng.integers(len(shape))), draw.size(3)
        letters = "bcde"[:len(shape)]
        new = letters.replace(letters[axis], "z")
        sizes = [*shape[:axis], size, *shape[axis + 1:]]
        return draw.keras.layers.EinsumDense(f"a{letters},{letters[axis]}z->a{new}", sizes,
                                             bias_axes="z", activation=activation)
    return draw.keras.layers.Dense(draw.size(4), activation, use_bias=draw.maybe(0.7))


def normalization(draw, shape):
    """Return a normalization over any axes."""
    layers = draw.keras.layers
    axis = int(draw.rng.integers(1, len(shape) + 1))
    options = {"axis": draw.one(axis, -1), "epsilon": draw.one(1e-3, 0.1)}
    flags = {"center": draw.maybe(0.7), "scale": draw.maybe(0.7)}
    kind = draw.one("batch", "layer", "group", "rms", "unit")
    if kind == "batch":
        return layers.BatchNormalization(momentum=draw.one(0.99, 0.5), **options, **flags)
    if kind == "layer":
        some = [k for k in range(1, len(shape) + 1) if draw.maybe()]
        return layers.LayerNormalization(**{**options, "axis": some or -1}, **flags)
    if kind == "group":
        at = options["axis"] - 1 if options["axis"] > 0 else -1
        groups = draw.one(draw.part(shape[at]), -1)
        return layers.GroupNormalization(groups, **options, **flags)
    if kind == "rms":
        return layers.RMSNormalization(axis=-1, epsilon=options["epsilon"])
    return layers.UnitNormalization(axis=options["axis"])


def activation(draw, shape):
    """Return an activation, as a layer or by its name."""
    layers = draw.keras.layers
    kind = draw.rng.integers(9)
    if kind == 0:
        return layers.PReLU(shared_axes=draw.one(None, [1]))
    if kind == 1:
        return layers.ReLU(draw.one(None, 1.0), draw.one(0.0, 0.2), draw.one(0.0, 0.3))
    if kind == 2 and len(shape) > 2:        # the layer rejects masks of sequences
        return layers.Softmax(axis=int(draw.rng.integers(1, len(shape) + 1)))
    return layers.Activation(draw.one(*ACTIVATIONS))


def shaped(draw, shape):
    """Return a layer that keeps all elements unchanged, or dropout."""
    layers = draw.keras.layers
    kind, n = draw.one("reshape", "permute", "flatten", "dropout"), int(np.prod(shape))
    if len(shape) == 1 and draw.maybe(0.3):
        return layers.RepeatVector(draw.size(3))
    if kind == "permute":
        return layers.Permute(tuple(int(k) + 1 for k in draw.rng.permutation(len(shape))))
    if kind == "flatten":
        return layers.Flatten(data_format=draw.one("channels_last", "channels_first"))
    if kind == "dropout":
        rate = 0 if draw.training else 0.4
        return draw.one(layers.Dropout, layers.GaussianNoise, layers.AlphaDropout)(rate)
    a = draw.part(n)
    b = draw.part(n // a)
    target = draw.one((n,), (a, n // a), (a, b, n // a // b), (-1, a))
    return layers.Reshape(target)


# --- sequences ---

def recurrent(draw, shape):
    """Return a recurrent layer, unidirectional or bidirectional."""
    layers = draw.keras.layers
    kind = draw.one("LSTM", "GRU", "SimpleRNN")
    options = {"return_sequences": draw.maybe(0.7), "go_backwards": draw.maybe(0.3),
               "unroll": draw.maybe(0.2), "use_bias": draw.maybe(0.8),
               "zero_output_for_mask": draw.maybe(0.4)}
    if draw.maybe(0.3):
        options["activation"] = draw.one(*INSIDE)
    if kind != "SimpleRNN" and draw.maybe(0.3):
        options["recurrent_activation"] = draw.one("sigmoid", "hard_sigmoid", "tanh")
    if kind == "GRU":
        options["reset_after"] = draw.maybe(0.7)
    layer = getattr(layers, kind)(draw.size(3), **options)
    if draw.maybe(0.1):
        cells = [layers.LSTMCell(draw.size(2)), layers.GRUCell(draw.size(2))]
        options = {k: v for k, v in options.items() if k in ("return_sequences", "go_backwards")}
        return layers.RNN(cells[::draw.one(1, -1)], **options)
    if draw.maybe(0.3):
        layer.go_backwards = False
        return layers.Bidirectional(layer, draw.one("concat", "sum", "mul", "ave"))
    return layer


def attention(draw, x, others):
    """Apply an attention layer to sequences.

    Each query has a key: Keras would round the scores of other queries to 1e-7 by adding -1e9.
    """
    layers = draw.keras.layers
    value = draw.one(x, *[y for y in others if len(y.shape) == 3])
    grouped = draw.maybe(0.3)
    if grouped and value.shape[-1] != x.shape[-1]:
        value = x                       # Keras requires equal last sizes
    options = {"use_causal_mask": True} if draw.maybe(0.3) else {}
    if draw.maybe(0.3):
        return simple_attention(draw, x, value, options)
    if draw.maybe(0.4):
        mask = draw.rng.random((draw.batch, x.shape[1], value.shape[1])) < 0.6
        mask[..., 0] = True
        options["attention_mask"] = draw.input(mask)
    # The fused attention of JAX computes a softmax in float32 and requires keys and values of one
    # size. Keras does not call it for layers with dropout.
    rate = draw.one(0.0, 0.3) if not draw.training else 0.0
    draw.exact &= rate > 0
    if grouped:
        groups = draw.size(2)
        layer = layers.GroupQueryAttention(draw.size(3), groups * draw.size(2), groups, rate,
                                           draw.maybe(0.7))
    else:
        layer = layers.MultiHeadAttention(
            draw.size(2), draw.size(3), draw.size(3) if rate else None, rate,
            use_bias=draw.maybe(0.7), output_shape=draw.one(None, draw.size(3)))
    return draw.apply(layer, x, value, **options)


def simple_attention(draw, x, value, options):
    """Apply an attention layer without projections."""
    layers = draw.keras.layers
    value = value if value.shape[-1] == x.shape[-1] else x
    if draw.maybe():
        layer = layers.Attention(use_scale=draw.maybe(), score_mode=draw.one("dot", "concat"))
    else:
        layer = layers.AdditiveAttention(use_scale=draw.maybe())
    return draw.apply(layer, [x, value], **options)


# --- several values ---

def merged(draw, x, others):
    """Merge two values: elementwise, along an axis, or by dot products."""
    layers = draw.keras.layers
    same_shape = [y for y in others if y.shape == x.shape]
    if len(x.shape) == 3 and draw.maybe(0.4):
        pairs = [(y, i, j) for y in others for i, j in itertools.product((1, 2), (1, 2))
                 if len(y.shape) == 3 and x.shape[i] == y.shape[j]]
        if pairs:
            y, *axes = draw.one(*pairs)
            return draw.apply(layers.Dot(axes, normalize=draw.maybe(0.3)), [x, y])
    if same_shape and draw.maybe(0.7):
        kind = draw.one("Add", "Multiply", "Subtract", "Average", "Maximum", "Minimum")
        y = draw.one(*same_shape)
        if kind in ("Maximum", "Minimum"):
            x = draw.apply(apart(draw, x.shape[1:]), x)
        return draw.apply(getattr(layers, kind)(), [x, y])
    axis = int(draw.rng.integers(1, len(x.shape)))
    same = [y for y in others if len(y.shape) == len(x.shape)
            and all(y.shape[k] == x.shape[k] for k in range(1, len(x.shape)) if k != axis)]
    return draw.apply(layers.Concatenate(axis), [x, draw.one(x, *same)])


def apart(draw, shape):
    """Return a noise layer. The gradient of a maximum of equal values differs among backends."""
    noise = draw.rng.normal(0, 0.3, shape)
    layers, ops = draw.keras.layers, draw.keras.ops
    return layers.Lambda(lambda x: x + ops.convert_to_tensor(noise, x.dtype), output_shape=shape)


BY_RANK = {
    1: [dense, dense, normalization, activation, shaped],
    2: [convolution, transposed, pooling, resized, dense, recurrent, recurrent, normalization,
        activation, shaped],
    3: [convolution, convolution, transposed, pooling, resized, dense, normalization, activation,
        shaped],
    4: [convolution, transposed, pooling, resized, normalization, shaped],
}


def over_time(draw, shape):
    """Return a layer applied to each step, or a convolutional recurrent layer."""
    layers = draw.keras.layers
    if len(shape) == 3 and draw.maybe():
        return layers.ConvLSTM1D(draw.size(2), draw.size(2), padding="same",
                                 return_sequences=draw.maybe())
    return layers.TimeDistributed(draw.one(*BY_RANK[len(shape) - 1])(draw, shape[1:]))
