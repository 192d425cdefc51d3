"""Features of `fit` and related methods: weights, callbacks, precision, files, data."""

import pickle
import threading

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(11)


def data(n=64):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 6)).astype("float32")
    return x, (x[:, 0] > 0).astype("int64")


def made(**options):
    """Return a compiled model, always with the same weights."""
    keras.utils.set_random_seed(11)
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, "tanh"), layers.Dense(2)])
    options = {"optimizer": keras.optimizers.Adam(0.05), "metrics": ["accuracy"], **options}
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), **options)
    return model


def fitted(epochs=3, given=None, **options):
    x, y = data()
    return made(**options).fit(x, y, epochs=epochs, verbose=0, batch_size=16,
                               **(given or {})).history


# --- options of compile and fit ---

OPTIMIZERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl",
              "Lion", "Lamb"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_eager_and_traced_agree(name):
    made = getattr(keras.optimizers, name)
    assert fitted(2, optimizer=made(0.01), run_eagerly=True) == fitted(2, optimizer=made(0.01))


MORE = {"nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        "clipnorm": lambda: keras.optimizers.Adam(0.1, clipnorm=0.1),
        "global_clipnorm": lambda: keras.optimizers.Adam(0.1, global_clipnorm=0.1),
        "ema": lambda: keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2),
        "accumulation": lambda: keras.optimizers.Adam(0.1, gradient_accumulation_steps=2),
        "schedule": lambda: keras.optimizers.Adam(
            keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
        "loss scale": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.1))}


@pytest.mark.parametrize("make", MORE.values(), ids=MORE)
def test_optimizer_options_eager_and_traced_agree(make):
    eager, traced = fitted(2, optimizer=make(), run_eagerly=True), fitted(2, optimizer=make())
    assert eager == traced and traced["loss"][1] < traced["loss"][0]


@pytest.mark.parametrize("name, options", [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {}), ("Adagrad", {}),
    ("Adam", {"amsgrad": True}), ("RMSprop", {}), ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}), ("RMSprop", {"centered": True, "momentum": 0.9})])
def test_fused_updates_match_keras(name, options, monkeypatch):
    cls = getattr(keras.optimizers, name)
    fused = fitted(4, optimizer=cls(0.05, **options))["loss"]
    composed = cls.update_step.__closure__
    kerases = next(c.cell_contents for c in composed
                   if getattr(c.cell_contents, "__name__", "") == "update_step")
    monkeypatch.setattr(cls, "update_step", kerases)
    assert np.allclose(fused, fitted(4, optimizer=cls(0.05, **options))["loss"], rtol=1e-5)


def test_steps_per_execution_gives_the_same_steps():
    assert fitted(steps_per_execution=3)["loss"] == fitted()["loss"]
    assert fitted(jit_compile=True) == fitted(jit_compile=False)


@pytest.mark.parametrize("given", [
    {"class_weight": {0: 1.0, 1: 3.0}}, {"sample_weight": np.linspace(0, 1, 64)},
    {"validation_split": 0.25, "validation_freq": 2}, {"steps_per_epoch": 2},
    {"shuffle": "batch"}], ids=lambda g: next(iter(g)))
def test_fit_options_eager_and_traced_agree(given):
    assert fitted(given=given, run_eagerly=True) == fitted(given=given)


def test_rows_of_weight_0_have_no_effect():
    x, y = data()
    weight = (np.arange(64) % 2).astype("float32")
    whole, part = made(), made()
    a = whole.evaluate(x, y, sample_weight=weight, verbose=0)
    b = part.evaluate(x[1::2], y[1::2], verbose=0)
    assert np.isclose(2 * a[0], b[0], rtol=1e-6)


def test_smaller_last_batch_takes_one_more_trace():
    x, y = data(50)
    model = made()
    model.fit(x, y, batch_size=16, epochs=3, verbose=0)
    step = next(c.cell_contents for c in model.train_function.__closure__)
    (traced,) = step._traced.values()
    assert traced.function.experimental_get_tracing_count() <= 2
    assert model.predict(x, batch_size=16, verbose=0).shape == (50, 2)


# --- callbacks ---

def test_callbacks():
    stop = keras.callbacks.EarlyStopping("loss", min_delta=10.0, patience=1)
    lower = keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, min_delta=10.0, patience=0)
    seen = []
    each = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append((batch, type(logs["loss"]))))
    x, y = data()
    model = made()
    history = model.fit(x, y, epochs=9, verbose=0, batch_size=16, callbacks=[stop, lower, each])
    assert len(history.history["loss"]) == 2                    # stopped
    assert float(model.optimizer.learning_rate) < 0.05          # lowered in the traced step as well
    assert seen == [(k, float) for k in range(4)] * 2


def test_assigned_learning_rates_are_read_by_the_traced_step():
    x, y = data()
    model = made(optimizer=keras.optimizers.SGD(0.1))
    model.fit(x, y, verbose=0)
    before = model.get_weights()
    model.optimizer.learning_rate = 0.0
    model.fit(x, y, verbose=0)
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True))


# --- user-defined models ---

class Penalized(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)
        self.calls = 0

    def call(self, x):
        self.calls += 1
        return self.dense(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return super().compute_loss(x, y, y_pred, sample_weight) + keras.ops.sum(y_pred**2)

    def train_step(self, data):
        logs = super().train_step(data)
        return {**logs, "twice": 2 * logs["loss"]}


def test_custom_train_step_and_losses():
    x, y = data()
    model = Penalized()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(x, y, epochs=4, batch_size=16, verbose=0).history
    assert np.allclose(history["twice"], np.multiply(2, history["loss"]), rtol=0.5)
    assert model.calls < 6                              # traced, so not called per batch


def test_inputs_and_outputs_by_name():
    a, b = keras.Input((6,), name="a"), keras.Input((3,), name="b")
    both = layers.Concatenate()([a, b])
    model = keras.Model({"a": a, "b": b}, {"u": layers.Dense(1, name="u")(both),
                                           "v": layers.Dense(2, name="v")(both)})
    model.compile("adam", {"u": "mse", "v": "mae"}, loss_weights={"u": 1.0, "v": 2.0})
    x, _ = data()
    given = {"a": x, "b": x[:, :3]}
    wanted = {"u": x[:, :1], "v": x[:, 1:3]}
    history = model.fit(given, wanted, epochs=2, verbose=0).history
    assert {"loss", "u_loss", "v_loss"} <= set(history)
    assert {k: v.shape for k, v in model.predict(given, verbose=0).items()} == {
        "u": (64, 1), "v": (64, 2)}


# --- precision ---

@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    x, y = data()

    def run(eagerly):
        keras.utils.set_random_seed(11)
        model = keras.Sequential([keras.Input((6,)), layers.Dense(8, "relu", dtype=policy),
                                  layers.Dense(2, dtype=policy),
                                  layers.Activation("softmax", dtype="float32")])
        optimizer = keras.optimizers.Adam(0.05)
        if policy == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**24)
        model.compile(optimizer, "sparse_categorical_crossentropy", run_eagerly=eagerly)
        losses = model.fit(x, y, epochs=12, verbose=0).history["loss"]
        assert model.layers[0].kernel.dtype == "float32"
        assert model.layers[0](x).dtype.name == policy[6:]
        if policy == "mixed_float16":                       # initially too large, then lowered
            assert float(optimizer.dynamic_scale) < 2.0**24
        return losses

    losses = run(False)
    assert losses == run(True)
    assert losses[-1] < 0.9 * losses[0]


# --- masks and embeddings ---

def test_masked_steps_have_no_effect():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 7, 3)).astype("float32")
    x[:, 5:] = 0
    for layer in (layers.LSTM(5), layers.GRU(5), layers.SimpleRNN(5),
                  layers.Bidirectional(layers.LSTM(5))):
        masked = layer(layers.Masking()(x))
        assert np.allclose(masked, layer(x[:, :5]), atol=1e-6)


def test_recurrent_kernels_match_their_cells():
    x = np.random.default_rng(2).normal(size=(4, 7, 3)).astype("float32")
    for made in (layers.LSTM, layers.GRU):
        for back in (False, True):
            fast = made(5, return_sequences=True, return_state=True, go_backwards=back)
            slow = made(5, return_sequences=True, return_state=True, go_backwards=back,
                        use_cudnn=False)
            fast.build(x.shape), slow.build(x.shape)
            slow.set_weights(fast.get_weights())
            for a, b in zip(fast(x), slow(x), strict=True):
                assert np.allclose(a, b, atol=1e-5)


MASKS = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0],
                  [0, 1, 0, 0, 1, 0]], bool)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("made", [layers.LSTM, layers.GRU])
def test_recurrent_kernels_mask_the_steps_that_cells_mask(made, back, zeros):
    x = df.constant(np.random.default_rng(2).normal(size=(*MASKS.shape, 3)).astype("float32"))
    start = [df.ones((5, 4)) * k for k in (1., 2.)][:1 + (made is layers.LSTM)]
    for sequences in (False, True):
        options = {"return_sequences": sequences, "return_state": True, "go_backwards": back,
                   "zero_output_for_mask": zeros}
        fast, slow = made(4, **options), made(4, **options, use_cudnn=False)
        fast.build(x.shape), slow.build(x.shape)
        slow.set_weights(fast.get_weights())
        slopes = []
        for layer in (fast, slow):
            with df.GradientTape() as tape:
                tape.watch(x)
                parts = layer(x, initial_state=start, mask=MASKS)
                loss = df.add_n([df.reduce_sum(part * part) for part in parts])
            slopes.append([*parts, *tape.gradient(loss, [x, *layer.trainable_variables])])
        for a, b in zip(*slopes, strict=True):
            assert np.allclose(a, b, atol=1e-5)
        traced = df.function(lambda x, layer=fast: layer(x, initial_state=start, mask=MASKS))
        for a, b in zip(traced(x), fast(x, initial_state=start, mask=MASKS), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_sparse_embedding_gradients_match_dense_ones(monkeypatch):
    from dualflow.keras.src import trainer

    def run(optimizer):
        keras.utils.set_random_seed(5)
        model = keras.Sequential([keras.Input((4,)), layers.Embedding(50, 3),
                                  layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile(optimizer, "mse")
        rng = np.random.default_rng(1)
        model.fit(rng.integers(0, 50, (32, 4)), rng.normal(size=(32, 1)), epochs=3, batch_size=8,
                  verbose=0)
        return model.get_weights()

    for name in ("SGD", "Adam", "Adagrad", "RMSprop"):
        rows = run(getattr(keras.optimizers, name)(0.1))
        monkeypatch.setattr(trainer, "takes_rows", lambda optimizer: False)
        dense = run(getattr(keras.optimizers, name)(0.1))
        monkeypatch.undo()
        assert all((a == b).all() for a, b in zip(rows, dense, strict=True))


# --- files ---

def test_saved_model_continues_training(tmp_path):
    x, y = data()
    model = made()
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    assert (again.predict(x, verbose=0) == model.predict(x, verbose=0)).all()
    for m in (model, again):
        m.fit(x, y, shuffle=False, verbose=0)
    pairs = zip(model.get_weights(), again.get_weights(), strict=True)
    assert all((a == b).all() for a, b in pairs)


def test_weights_files_and_pickles(tmp_path):
    x, y = data()
    model, other = made(), made()
    model.fit(x, y, verbose=0)
    model.save_weights(tmp_path / "w.weights.h5")
    other.load_weights(tmp_path / "w.weights.h5")
    third = pickle.loads(pickle.dumps(model))
    for m in (other, third, keras.models.clone_model(model)):
        m.set_weights(model.get_weights())
        assert (m.predict(x, verbose=0) == model.predict(x, verbose=0)).all()


class Breaks(layers.Layer):
    def save_own_variables(self, store):
        raise RuntimeError("no room")


def test_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "m.keras"
    model = made()
    model.save(path)
    before = path.read_bytes()
    broken = keras.Sequential([keras.Input((6,)), Breaks()])
    with pytest.raises(RuntimeError, match="no room"):
        broken.save(path)
    with pytest.raises(RuntimeError, match="no room"):
        broken.save_weights(tmp_path / "m.weights.h5")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.keras"]


def test_checkpoints_of_the_best_epoch(tmp_path):
    x, y = data()
    path = tmp_path / "best.weights.h5"
    keep = keras.callbacks.ModelCheckpoint(path, "loss", save_best_only=True,
                                           save_weights_only=True)
    model = made()
    model.fit(x, y, epochs=3, verbose=0, callbacks=[keep])
    assert path.exists()


# --- data sources ---

class Parts(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, k):
        x, y = data()
        return x[16 * k:16 * k + 16], y[16 * k:16 * k + 16]


def test_data_from_generators_datasets_and_tensors():
    x, y = data()
    expected = made().evaluate(x, y, batch_size=16, verbose=0)

    def parts():
        for k in range(4):
            yield x[16 * k:16 * k + 16], y[16 * k:16 * k + 16]

    assert made().evaluate(Parts(), verbose=0) == expected
    assert made().evaluate(parts(), verbose=0) == expected
    assert made().evaluate(df.constant(x), df.constant(y), batch_size=16, verbose=0) == expected


def test_concurrent_predictions():
    x, _ = data()
    model = made()
    expected = model.predict_on_batch(x)
    found = []
    threads = [threading.Thread(target=lambda: found.append(model.predict_on_batch(x)))
               for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and all((f == expected).all() for f in found)


# --- variables and gradients ---

def test_gradients_of_keras_variables():
    w = keras.Variable(np.ones((3, 2), "float32"))
    x = df.ones([4, 3])
    with df.GradientTape() as tape:
        y = df.reduce_sum(x @ w) + keras.ops.sum(w * 2)
    (g,) = tape.gradient(y, [w])
    assert (g.numpy() == 6).all()


def test_unfrozen_variables_are_watched():
    w = keras.Variable(2.0, trainable=False)
    w.trainable = True
    with df.GradientTape() as tape:
        y = w * w
    assert tape.gradient(y, [w])[0].item() == 4


def test_rematerialized_layers_give_the_same_gradients():
    def run(again):
        keras.utils.set_random_seed(1)
        dense, norm, drop = layers.Dense(4, "tanh"), layers.BatchNormalization(), layers.Dropout(
            0.3, seed=3)
        dense.build((None, 3)), norm.build((None, 4))

        def call(x):
            return drop(norm(dense(x), training=True), training=True)

        weights = dense.trainable_variables + norm.trainable_variables
        x = df.constant(np.random.default_rng(0).normal(size=(8, 3)).astype("float32"))
        with df.GradientTape() as tape:
            y = keras.ops.sum((keras.remat(call) if again else call)(x)**2)
        return [*map(np.array, tape.gradient(y, weights)), *map(np.array, norm.weights)]

    assert all((a == b).all() for a, b in zip(run(False), run(True), strict=True))


def test_missing_functions_raise_and_are_named():
    from dualflow.keras.src import math

    assert not hasattr(math, "no_such_function")
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = math.no_such_function
