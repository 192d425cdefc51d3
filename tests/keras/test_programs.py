"""The introductory programs of Keras on small data: they learn, and eager and traced modes
agree."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

EPOCHS = 2


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(7)


def digits(n=96):
    """Return images of 8x8 in which one of three bars is bright, and its index."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    x = rng.normal(0, 0.3, (n, 8, 8, 1))
    for k in range(n):
        x[k, :, 2 * y[k]:2 * y[k] + 2] += 1
    return x.astype("float32"), y


def words(n=64, length=12):
    """Return sequences of numbers, and whether most of them are in the upper half."""
    rng = np.random.default_rng(1)
    x = rng.integers(1, 20, (n, length))
    return x, (x.mean(1) > 10).astype("float32")


def sequential():
    return keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(), layers.Dense(16, "relu"),
                             layers.Dropout(0.1), layers.Dense(3, "softmax")]), digits()


def convolutional():
    return keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(),
        layers.BatchNormalization(), layers.Flatten(), layers.Dense(3, "softmax")]), digits()


def functional():
    inputs = keras.Input((8, 8, 1))
    x = layers.Flatten()(inputs)
    wide = layers.Dense(16, "relu")(x)
    x = layers.concatenate([wide, layers.Dense(16, "tanh")(x)])
    x = layers.add([layers.Dense(32)(x), x])
    return keras.Model(inputs, layers.Dense(3, "softmax")(x)), digits()


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.flat = layers.Flatten()
        self.first = layers.Dense(16, activation="relu")
        self.norm = layers.LayerNormalization()
        self.last = layers.Dense(3, activation="softmax")

    def call(self, x, training=False):
        x = self.norm(self.first(self.flat(x)))
        if training:
            x = x * 1.0
        return self.last(x)


def subclassed():
    return Subclassed(), digits()


def recurrent():
    return keras.Sequential([
        keras.Input((12,)), layers.Embedding(20, 8), layers.Bidirectional(layers.LSTM(4)),
        layers.Dense(1, "sigmoid")]), words()


def masked():
    return keras.Sequential([
        keras.Input((12,)), layers.Embedding(20, 8, mask_zero=True), layers.GRU(4),
        layers.Dense(1, "sigmoid")]), words()


class TransformerBlock(layers.Layer):
    def __init__(self, size, heads):
        super().__init__()
        self.attention = layers.MultiHeadAttention(heads, size)
        self.dense = keras.Sequential([layers.Dense(16, "relu"), layers.Dense(size)])
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.dropout = layers.Dropout(0.1)

    def call(self, x, training=None):
        x = self.norms[0](x + self.dropout(self.attention(x, x), training=training))
        return self.norms[1](x + self.dense(x))


def transformer():
    inputs = keras.Input((12,))
    x = layers.Embedding(20, 8)(inputs)
    x = layers.GlobalAveragePooling1D()(TransformerBlock(8, 2)(x))
    return keras.Model(inputs, layers.Dense(1, "sigmoid")(x)), words()


PROGRAMS = [sequential, convolutional, functional, subclassed, recurrent, masked, transformer]


def history(program, eagerly, epochs=EPOCHS, **options):
    keras.utils.set_random_seed(7)
    model, (x, y) = program()
    loss = "binary_crossentropy" if y.dtype == np.float32 else "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(0.02), loss, metrics=["accuracy"], run_eagerly=eagerly,
                  **options)
    return model.fit(x, y, batch_size=32, epochs=epochs, verbose=0, validation_split=0.2).history


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_eager_and_traced_histories_are_equal(program):
    eager, traced = history(program, True), history(program, False)
    assert eager == traced
    assert set(traced) == {"loss", "accuracy", "val_loss", "val_accuracy"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_learn(program):
    losses = history(program, False, epochs=12)["loss"]
    assert losses[-1] < 0.6 * losses[0]


def test_frozen_layers_are_unchanged():
    model, (x, y) = sequential()
    base = keras.Model(model.inputs, model.layers[-2].output)
    base.trainable = False
    inputs = keras.Input((8, 8, 1))
    new = keras.Model(inputs, layers.Dense(3, "softmax")(base(inputs, training=False)))
    new.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy")
    before = [w.numpy() for w in base.weights]
    losses = new.fit(x, y, epochs=8, verbose=0).history["loss"]
    assert len(new.trainable_weights) == 2
    assert all((a == b.numpy()).all() for a, b in zip(before, base.weights, strict=True))
    assert losses[-1] < 0.7 * losses[0]


def test_custom_training_loop():
    model, (x, y) = sequential()
    optimizer = keras.optimizers.SGD(0.1)
    loss_of = keras.losses.SparseCategoricalCrossentropy()
    seen = keras.metrics.SparseCategoricalAccuracy()
    model.build((None, 8, 8, 1))
    optimizer.build(model.trainable_variables)

    @df.function
    def step(x, y):
        with df.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = loss_of(y, predicted)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables, strict=True))
        seen.update_state(y, predicted)
        return loss

    losses = [step(df.constant(x), df.constant(y)).item() for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    assert float(seen.result()) > 0.6


class Gan(keras.Model):
    """A generator of points, and a discriminator between them and points of a ring."""

    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(1)
        self.maker = keras.Sequential([keras.Input((4,)), layers.Dense(16, "relu"),
                                       layers.Dense(2)])
        self.judge = keras.Sequential([keras.Input((2,)), layers.Dense(16, "relu"),
                                       layers.Dense(1)])
        self.seen = [keras.metrics.Mean(name="d"), keras.metrics.Mean(name="g")]

    def compile(self, maker_optimizer, judge_optimizer, loss, **options):
        super().compile(**options)
        self.maker_optimizer, self.judge_optimizer = maker_optimizer, judge_optimizer
        self.loss_of = loss

    @property
    def metrics(self):
        return self.seen

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        n = keras.ops.shape(real)[0]
        labels = keras.ops.concatenate([keras.ops.ones((n, 1)), keras.ops.zeros((n, 1))])
        noise = keras.random.normal((n, 4), seed=self.seeds)
        points = keras.ops.concatenate([self.maker(noise), real])
        with df.GradientTape() as tape:
            judged = self.loss_of(labels, self.judge(points))
        weights = self.judge.trainable_weights
        self.judge_optimizer.apply(tape.gradient(judged, weights), weights)
        with df.GradientTape() as tape:
            fooled = self.loss_of(keras.ops.zeros((n, 1)), self.judge(self.maker(noise)))
        weights = self.maker.trainable_weights
        self.maker_optimizer.apply(tape.gradient(fooled, weights), weights)
        self.seen[0].update_state(judged)
        self.seen[1].update_state(fooled)
        return {m.name: m.result() for m in self.seen}


def gan(eagerly):
    keras.utils.set_random_seed(3)
    turn = np.linspace(0, 6, 64)
    model = Gan()
    model.compile(keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.01),
                  keras.losses.BinaryCrossentropy(from_logits=True), run_eagerly=eagerly)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1).astype("float32")
    return model.fit(ring, epochs=4, batch_size=16, verbose=0).history


def test_gan_eager_and_traced_agree():
    traced = gan(False)
    assert traced == gan(True)
    assert all(0.2 < v < 3 for v in traced["d"] + traced["g"])


class Sampling(layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.seeds = keras.random.SeedGenerator(5)

    def call(self, inputs):
        mean, spread = inputs
        noise = keras.random.normal(keras.ops.shape(mean), seed=self.seeds)
        return mean + keras.ops.exp(0.5 * spread) * noise


class Vae(keras.Model):
    def __init__(self):
        super().__init__()
        inputs = keras.Input((64,))
        x = layers.Dense(16, "relu")(inputs)
        mean, spread = layers.Dense(2)(x), layers.Dense(2)(x)
        self.encoder = keras.Model(inputs, [mean, spread, Sampling()([mean, spread])])
        self.decoder = keras.Sequential([keras.Input((2,)), layers.Dense(16, "relu"),
                                         layers.Dense(64)])

    def call(self, x):
        mean, spread, z = self.encoder(x)
        self.add_loss(-0.01 * keras.ops.mean(1 + spread - mean**2 - keras.ops.exp(spread)))
        return self.decoder(z)


def vae(eagerly, epochs):
    keras.utils.set_random_seed(3)
    x = digits()[0].reshape(-1, 64)
    model = Vae()
    model.compile(keras.optimizers.Adam(0.02), "mse", run_eagerly=eagerly)
    return model.fit(x, x, epochs=epochs, verbose=0).history["loss"]


def test_vae_learns_and_eager_and_traced_agree():
    assert vae(True, 2) == vae(False, 2)
    losses = vae(False, 10)
    assert losses[-1] < 0.7 * losses[0]
