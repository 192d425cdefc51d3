"""Keras models on two ranks."""

import json

import pytest

pytest.importorskip("dualflow.keras", reason="needs Keras", exc_type=ImportError)
pytest.importorskip("mpi4py", reason="training on many machines needs mpi4py")

from tests import light
from tests.distribute.test_ranks import MPIEXEC, ROOT, launch

pytestmark = [pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
              pytest.mark.xdist_group("mpi")]

HEAD = """
import json, sys
import numpy as np
import dualflow as df
import dualflow.keras as keras
from dualflow import distribute as d
from dualflow.distribute.keras import *
d.init()
rng = np.random.default_rng(0)
x = rng.integers(0, 20, (64, 3))
y = rng.normal(size=(64, 1)).astype("float32")
def made(optimizer, **options):
    layers = [keras.layers.Embedding(20, 4), keras.layers.Flatten(),
              keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(optimizer, "mse", metrics=["mae"], **options)
    return model
def bits(model):
    return [w.numpy().tobytes().hex() for w in model.weights]
told = {}
def run(name, program):
    keras.utils.set_random_seed(d.rank())       # until weights are broadcast, they differ
    exec(program, {**globals(), "tell": lambda value: told.update({
        name: d.allgather_object(value)})})
"""
PROGRAMS = {}       # by name; one job runs all programs, since importing Keras takes seconds


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The values that each rank reports in each program."""
    runs = "".join([f"run({name!r}, {text!r})\n" for name, text in PROGRAMS.items()])
    job = launch(2, "-c", f"{HEAD}{runs}if d.rank() == 0:\n    print(json.dumps(told))\n",
                 str(tmp_path_factory.mktemp("keras")), path=light.path(ROOT))
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, out + err
    return json.loads(out.splitlines()[-1])


PROGRAMS["fit"] = """
def trained(**options):
    keras.utils.set_random_seed(d.rank())
    model = made(d.DistributedOptimizer(keras.optimizers.Adam(0.01)), **options)
    model.build((None, 3))
    start = d.broadcast_object(model.get_weights(), 0)
    history = model.fit(x[d.rank()::2], y[d.rank()::2], batch_size=16, epochs=2, shuffle=False,
                        verbose=0, callbacks=[BroadcastGlobalVariablesCallback(),
                                              MetricAverageCallback()])
    return start, bits(model), history.history

def alone(start):
    model = made(keras.optimizers.Adam(0.01))
    model.build((None, 3))
    model.set_weights(start)
    variables = [w._value for w in model.trainable_weights]
    for at in [0, 32, 0, 32]:
        parts = []
        for rank in range(2):
            rows = slice(at + rank, at + 32, 2)
            with df.GradientTape() as tape:
                loss = model.compute_loss(x[rows], y[rows], model(x[rows], training=True))
            parts.append(tape.gradient(loss, variables))
        model.optimizer.apply_gradients(
            [(mean(a, b), w) for a, b, w in zip(*parts, model.trainable_weights)])
    return bits(model)

def mean(a, b):
    if isinstance(a, df.IndexedSlices):
        return df.IndexedSlices(df.concat([a.values / 2., b.values / 2.], 0),
                                df.concat([a.indices, b.indices], 0), a.dense_shape)
    return (a + b) / 2.

start, traced, history = trained()
_, eager, same = trained(run_eagerly=True)
tell([alone(start), traced, eager, history, same])
"""


def test_fit_matches_micro_batches(results):
    """Traced and eager, the bits match one process that averages both gradients."""
    found = results["fit"]
    for alone, traced, eager, history, same in found:
        assert alone == traced == eager
        assert history == same == found[0][3] and set(history) == {"loss", "mae"}


PROGRAMS["warmup"] = """
model, seen = made(d.DistributedOptimizer(keras.optimizers.SGD(0.0))), []
see = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(
    round(float(model.optimizer.learning_rate), 6)))
model.fit(x, y, batch_size=32, epochs=3, verbose=0,
          callbacks=[LearningRateWarmupCallback(0.8, warmup_epochs=2), see])
tell(seen)
"""


def test_learning_rate_warmup(results):
    for rates in results["warmup"]:
        assert rates == [0.4, 0.5, 0.6, 0.7, 0.8, 0.8]


PROGRAMS["files"] = """
file = sys.argv[1] + "/model.keras"
model = made(d.DistributedOptimizer(keras.optimizers.Adam(0.01)))
model.fit(x, y, verbose=0)
if d.rank() == 0:
    model.save(file)
d.barrier()
read = keras.models.load_model(file)
same = type(read.optimizer) is keras.optimizers.Adam
d.broadcast_variables(read.variables)
read.compile(d.DistributedOptimizer(read.optimizer), "mse")
read.fit(x, y, verbose=0)
tell([int(read.optimizer.iterations), same, bits(read)])
"""


def test_files_match_one_process(results):
    """Other numbers of ranks can continue from them, including the optimizer state."""
    for iterations, same, again in results["files"]:
        assert iterations == 4 and same and again


PROGRAMS["unsupported"] = """
said = []
for make in (lambda: d.DistributedOptimizer(keras.optimizers.SGD(0.1), shards=4),
             lambda: d.DistributedOptimizer(d.DistributedOptimizer(keras.optimizers.SGD(0.1))),
             lambda: d.DistributedOptimizer(keras.layers.Dense(1))):
    try:
        make()
    except df.errors.DualflowError as error:
        said.append(str(error))
tell(said)
"""


def test_unsupported_uses_raise(results):
    assert results["unsupported"][0] == [
        "DistributedOptimizer: an optimizer of Keras accumulates micro-batches itself; pass it "
        "gradient_accumulation_steps instead of backward_passes_per_step and shards",
        "DistributedOptimizer: got a SGD, expected an optimizer of df.optimizers or Keras that is "
        "not distributed yet",
        "DistributedOptimizer: got a Dense, expected an optimizer of df.optimizers or Keras that "
        "is not distributed yet"]
