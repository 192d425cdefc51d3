"""Random Keras models on dualflow, compared with Keras on JAX and with finite differences.

`pytest -m soak --minutes 60 tests/keras/test_random_models.py` draws many. Models run in float64
with a tolerance of 1e-9, then traced, and in float32. Without JAX, only gradients are compared,
with finite differences. Among Keras's other backends, NumPy's needs JAX, and PyTorch's has other
conventions for bicubic interpolation, averages at borders and queries without keys.
"""

import importlib.util
import itertools
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
import dualflow.keras as keras
from tests.keras import random_models as r

JAX = importlib.util.find_spec("jax") is not None
STEP = 1e-4
LARGE = 1e6                             # beyond it, float32 and differences are too inaccurate


@pytest.fixture(autouse=True)
def settings():
    floatx, policy = keras.config.floatx(), keras.config.dtype_policy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(policy)


def close(got, want, tolerance, what):
    assert got.shape == want.shape, what
    scale = max(1., float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale, err_msg=what)


def all_close(results, wanted, tolerance, what):
    for kind, ours, theirs in zip(r.KINDS, results, wanted, strict=True):
        for got, want in zip(ours, theirs, strict=True):
            close(got, want, tolerance, f"{kind} {what}")


def moderate(results):
    return all(np.isfinite(a).all() and np.abs(a).max(initial=0) < LARGE
               for part in results for a in part)


def loss_of(drawn, xs):
    """Return the loss and the outputs of a model."""
    ys = drawn.model(xs if len(xs) > 1 else xs[0], training=drawn.training)
    ys = ys if isinstance(ys, list) else [ys]
    return sum(df.reduce_sum(y * a) for y, a in zip(ys, drawn.along, strict=True)), ys


def on_dualflow(drawn, traced=False):
    """Return outputs, gradients of weights and of inputs, and statistics after the call."""
    statistics = r.statistics(drawn.model)
    before = [v.numpy() for v in statistics]
    weights = drawn.model.trainable_variables

    def run(xs):
        floats = [x for x in xs if x.dtype.is_floating]
        with df.GradientTape() as tape:
            tape.watch(floats)
            loss, ys = loss_of(drawn, xs)
        return ys, tape.gradient(loss, [*weights, *floats], unconnected_gradients="zero")

    ys, grads = (df.function(run) if traced else run)([df.constant(a) for a in drawn.inputs])
    states = [v.numpy() for v in statistics]
    for v, value in zip(statistics, before, strict=True):
        v.assign(value)
    results = ([np.asarray(y) for y in ys], [np.asarray(df.convert_to_tensor(g)) for g in grads],
               states)
    assert {a.dtype for part in results for a in part} == {np.dtype(keras.config.floatx())}
    return results


def check_differences(drawn, grads):
    """Compare the gradient along a random direction with differences of fourth order. They are
    unreliable if differences of second order change with the step: near a kink, or for large
    values."""
    weights = drawn.model.trainable_variables
    rng, places = np.random.default_rng(0), [w.numpy() for w in weights]
    ways = [rng.normal(size=p.shape) for p in places]
    xs = [df.constant(a) for a in drawn.inputs]
    statistics = [(v, v.numpy()) for v in r.statistics(drawn.model)]

    def number(n):
        for w, place, way in zip(weights, places, ways, strict=True):
            w.assign(place + n * STEP * way)
        for v, value in statistics:
            v.assign(value)
        return loss_of(drawn, xs)[0].item()

    near, far = ((number(n) - number(-n)) / (2 * n * STEP) for n in (1, 2))
    got = sum(np.sum(g * way) for g, way in zip(grads, ways, strict=False))
    number(0)
    if abs(near - far) < 1e-4 * max(1., abs(near)):
        close(np.float64(got), np.float64((4 * near - far) / 3), 1e-5,
              f"by differences {drawn.text}")


def well_conditioned(seed, results):
    """Return True if the rounding of weights and inputs to float32 changes the results little."""
    drawn = r.build(seed, "float64")
    for w in drawn.model.weights:
        w.assign(w.numpy().astype("float32"))
    drawn.inputs = [a.astype("float32").astype(a.dtype) for a in drawn.inputs]
    changed = on_dualflow(drawn)
    return all(np.abs(a - b).max(initial=0) < 1e-5 * max(1., np.abs(a).max(initial=0))
               for ours, theirs in zip(results, changed, strict=True)
               for a, b in zip(ours, theirs, strict=True))


def check(seed, wanted=None):
    drawn = r.build(seed, "float64")
    results = on_dualflow(drawn)
    if not moderate(results):
        assert wanted is None or not moderate(wanted), drawn.text
        return
    if wanted is not None:
        all_close(results, wanted, 1e-9 if drawn.exact else 1e-4, drawn.text)
    all_close(on_dualflow(drawn, traced=True), results, 1e-12, f"traced {drawn.text}")
    check_differences(drawn, results[1])
    if well_conditioned(seed, results):
        all_close(on_dualflow(r.build(seed, "float32")), results, 1e-3, f"in float32 {drawn.text}")


def on_jax(seeds, folder):
    """Return results of Keras on JAX, in one process for all seeds; none without JAX."""
    if not JAX:
        return {}
    env = {**os.environ, "KERAS_BACKEND": "jax", "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu",
           "XLA_FLAGS": "--xla_backend_optimization_level=0"}      # compilation dominates
    done = subprocess.run([sys.executable, "-m", "tests.keras.random_models",
                           str(folder / "results.npz"), *map(str, seeds)], env=env,
                          cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    by_seed = {seed: ([], [], []) for seed in seeds}
    with np.load(folder / "results.npz") as results:
        for name in results:
            seed, kind, _ = name.split()
            by_seed[int(seed)][r.KINDS.index(kind)].append(results[name])
    return by_seed


@pytest.mark.parametrize("begin", [0, 100])
def test_models_match_differences(begin):
    for seed in range(begin, begin + 8):
        check(seed)


@pytest.mark.skipif(not JAX, reason="JAX is not installed")
def test_models_match_jax(tmp_path):
    for seed, wanted in on_jax(range(200, 203), tmp_path).items():
        check(seed, wanted)


@pytest.mark.soak
def test_many_models(request, capsys, tmp_path):
    minutes, seed = request.config.getoption("minutes"), request.config.getoption("seed")
    start = int(np.random.SeedSequence().entropy % 10**9) if seed is None else seed
    end = time.monotonic() + 60 * minutes
    for begin in itertools.count(start, 50):
        wanted = on_jax(range(begin, begin + 50), tmp_path)
        for seed in range(begin, begin + 50):
            try:
                check(seed, wanted.get(seed))
            except BaseException as error:
                error.add_note(f"models: fails at seed {seed}")
                raise
        if time.monotonic() > end:
            break
    with capsys.disabled():
        print(f"\nmodels: {begin + 50 - start} from seed {start}, "
              f"against {'JAX' if JAX else 'differences'}")
