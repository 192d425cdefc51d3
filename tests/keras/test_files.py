"""Models in files and checkpoints: processes killed during a save, and training that continues as
if it had not been interrupted."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dualflow as df
from dualflow import errors, keras
from dualflow.io import content
from dualflow.keras import layers
from tests.light import environment

ROWS = 300

# A dense layer filled with the number of the save, which is printed after each.
SAVES = """
import os, sys
import dualflow.keras as keras
path, by, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = keras.Sequential([keras.Input((rows,)), keras.layers.Dense(rows, use_bias=False)])
model.compile("sgd", "mse")
keep = keras.callbacks.ModelCheckpoint(path, save_weights_only=path.endswith(".weights.h5"))
keep.set_model(model)
k = int(sys.argv[4])
while True:
    k += 1
    model.layers[0].kernel.assign(keras.ops.full((rows, rows), k))
    if by == "callback":
        keep.on_epoch_end(k, {})
    elif path.endswith(".keras"):
        model.save(path)
    else:
        model.save_weights(path)
    print(k, flush=True)
"""


def killed(path, by, after, random):
    """Save repeatedly, from number `after` on, until killed; return the last number printed."""
    child = subprocess.Popen([sys.executable, "-c", SAVES, path, by, str(ROWS), str(after)],
                             env=environment(), stdout=subprocess.PIPE, text=True)
    reported = int(child.stdout.readline())
    while random.random() < 0.5:
        reported = int(child.stdout.readline())
    time.sleep(random.uniform(0, 0.03))
    child.kill()
    rest = [int(line) for line in child.stdout.read().split("\n") if line]
    assert child.wait() == -signal.SIGKILL      # and had not failed before
    return max([reported, *rest])


def numbers(path):
    if path.endswith(".keras"):
        return keras.models.load_model(path).layers[0].kernel.numpy()
    model = keras.Sequential([keras.Input((ROWS,)), layers.Dense(ROWS, use_bias=False)])
    model.load_weights(path)
    return model.layers[0].kernel.numpy()


def survive(folder, name, by, times, seed):
    """After each kill the file holds the last save reported, or the next one, complete; the next
    save removes temporary files."""
    path, random, last = os.path.join(folder, name), np.random.default_rng(seed), 0
    for _ in range(times):
        reported = killed(path, by, last, random)
        found = np.unique(numbers(path))
        assert found.size == 1 and reported <= found[0] <= reported + 1
        last = int(found[0])
        assert len(os.listdir(folder)) <= 2     # and a temporary file
    model = keras.Sequential([keras.Input((ROWS,)), layers.Dense(ROWS, use_bias=False)])
    model.compile("sgd", "mse")
    (model.save if name.endswith(".keras") else model.save_weights)(path)
    assert os.listdir(folder) == [name]


def test_kill_during_a_save(tmp_path):
    survive(str(tmp_path), "m.keras", "callback", 1, 7)


@pytest.mark.soak
@pytest.mark.parametrize("by", ["save", "callback"])
@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5"])
def test_hundred_kills_during_saves(tmp_path, name, by, request):
    survive(str(tmp_path), name, by, 100, request.config.getoption("--seed") or 7)


# --- checkpoints ---

X = np.random.default_rng(0).normal(size=(6, 16, 5)).astype("float32")
Y = np.random.default_rng(1).integers(0, 3, (6, 16))


def program(seed, optimizer="Adam"):
    """Return a model with all kinds of state: statistics, random generators, slots."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "relu"),
                              layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(3)])
    model.compile(getattr(keras.optimizers, optimizer)(0.01),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, df.train.Checkpoint(model=model, optimizer=model.optimizer)


def run(model, batches):
    losses = []
    for k in batches:
        model.reset_metrics()
        losses.append(float(model.train_on_batch(X[k], Y[k])))
    return losses


def bits(model):
    return [w.tobytes() for w in model.get_weights()]


@pytest.mark.parametrize("optimizer", ["Adam", "RMSprop"])
def test_training_continues_from_every_batch(tmp_path, optimizer):
    model, checkpoint = program(1, optimizer)
    paths, losses = [], []
    model.optimizer.build(model.trainable_variables)
    for k in range(6):
        paths.append(checkpoint.save(str(tmp_path / "c")))
        losses += run(model, [k])
    for k, path in enumerate(paths):
        again, restored = program(2, optimizer)
        again.optimizer.build(again.trainable_variables)
        restored.restore(path).assert_consumed()
        assert run(again, range(k, 6)) == losses[k:]
        assert bits(again) == bits(model)


def test_checkpoints_of_layers_and_optimizers(tmp_path):
    dense, adam = layers.Dense(3), keras.optimizers.Adam(0.1)
    dense.build((None, 2)), adam.build(dense.trainable_variables)
    path = df.train.Checkpoint(dense=dense, adam=adam).save(str(tmp_path / "c"))
    other, fresh = layers.Dense(3), keras.optimizers.Adam(0.5)
    other.build((None, 2))
    checkpoint = df.train.Checkpoint(dense=other, adam=fresh)
    with pytest.raises(errors.DualflowError, match="adam"):     # its slots do not exist yet
        checkpoint.restore(path, partial=False)
    assert fresh.learning_rate.numpy() == np.float32(0.5)
    fresh.build(other.trainable_variables)
    checkpoint.restore(path).assert_consumed()
    assert fresh.learning_rate.numpy() == np.float32(0.1)
    np.testing.assert_array_equal(other.kernel, dense.kernel)
    wider = layers.Dense(4)
    wider.build((None, 2))
    with pytest.raises(errors.DualflowError, match=r"(?s)\(2, 3\).*\(2, 4\)|\(2, 4\).*\(2, 3\)"):
        df.train.Checkpoint(dense=wider, adam=fresh).restore(path)


# --- restoring before layers are built ---

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.l1 = layers.Dense(5)
        self.drop = layers.Dropout(0.5)

    def call(self, x):
        return self.drop(self.l1(x))


@pytest.mark.parametrize("traced", [False, True])
def test_layers_and_slots_are_restored_when_they_are_built(tmp_path, traced):
    def training():
        net, adam = Net(), keras.optimizers.Adam(0.1)

        def step(x):
            with df.GradientTape() as tape:
                loss = df.reduce_mean(net(x) ** 2)
            grads = tape.gradient(loss, net.trainable_variables)
            adam.apply_gradients(zip(grads, net.trainable_variables, strict=True))
            return loss

        return net, df.function(step) if traced else step, df.train.Checkpoint(net=net, adam=adam)

    x = df.constant(X[0])
    net, step, checkpoint = training()
    for _ in range(3):
        step(x)
    path = checkpoint.save(str(tmp_path / "c"))
    assert ("net/l1/kernel", [5, 5]) in df.train.list_variables(path)
    other, again, restored = training()
    status = restored.restore(path)
    assert not other.l1.built
    assert step(x).item() == again(x).item()
    assert bits(net) == bits(other)
    status.assert_consumed()


def test_files_with_indices_as_names_are_restored(tmp_path):
    """Earlier versions named the variables of a model by their indices."""
    model, _ = program(1)
    model.optimizer.build(model.trainable_variables)
    run(model, [0, 1])
    prefix = str(tmp_path / "c")
    tensors = {f"model/{k}": v.value.value() for k, v in enumerate(model.variables)}
    tensors |= {f"optimizer/{k}": v.value.value() for k, v in enumerate(model.optimizer.variables)}
    tensors["save_counter"] = df.constant(1, df.int64)
    content.write_content(prefix + ".safetensors", content.FORMAT, tensors, {})
    again, restored = program(2)
    again.optimizer.build(again.trainable_variables)
    restored.restore(prefix, partial=False).assert_consumed()
    assert bits(again) == bits(model)
    assert run(again, [2]) == run(model, [2])


@pytest.mark.parametrize("functional", [False, True])
def test_models_are_saved_with_a_signature(tmp_path, functional):
    keras.utils.set_random_seed(1)
    x = keras.Input((4,), name="x")
    inner = [layers.Dense(3, name="d"), layers.BatchNormalization(), layers.Dropout(0.5)]
    model = keras.Sequential([x, *inner])
    if functional:
        model = keras.Model(x, inner[2](inner[1](inner[0](x))))
    df.saved_model.save(model, str(tmp_path))
    loaded = df.saved_model.load(str(tmp_path))
    serve = loaded.signatures["serving_default"]
    key = model.output_names[0] if functional else "output_0"
    for n in (1, 5):
        given = df.random.normal([n, 4], seed=n)
        assert serve(x=given)[key].tolist() == model(given).numpy().tolist()
    assert len(loaded.variables) == len(model.variables)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    with pytest.raises(errors.InvalidArgumentError, match="got Net, expected a Module"):
        df.saved_model.save(Net(), str(tmp_path))       # its inputs are unknown
