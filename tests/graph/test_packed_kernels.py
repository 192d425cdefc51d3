"""Recurrent layers with kernels of `pack_kernel` return the bits of layers that pack their kernels.
A pass packs constant kernels once for all runs."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.aot.entry import make_entry
from dualflow.graph.passes import cache_invariants
from tests.aot.models import frozen
from tests.graph.passes.test_cache_invariants import cached
from tests.ops import harness
from tests.ops.nn.test_recurrent import KINDS, arguments, bits, constants, run

# Steps, batch, features, units: remainders of vectors and panels, several tasks, a single feature.
SIZES = [(1, 1, 1, 1), (3, 1, 5, 7), (4, 5, 17, 16), (7, 13, 33, 70), (3, 30, 64, 64), (0, 2, 3, 4),
         (2, 0, 3, 4)]


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(cache_invariants, "LEAST_BYTES", 0)
    monkeypatch.setattr(cache_invariants, "MOST_GROWTH", 300)


def with_kernels(kind, tensors, lengths=None, **options):
    """Return a function of x and the states; kernels and bias are captured."""
    _, kernel, recurrent, bias, *_ = tensors

    def layer(x, *states):
        return run(kind, [x, kernel, recurrent, bias, *states], lengths=lengths, **options)

    return layer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_same_bits(kind, dtype):
    for steps, batch, features, units in SIZES:
        tensors = constants(arguments(kind, steps, batch, features, units, dtype))
        lengths = np.arange(batch) % (steps + 1)
        for k, options in enumerate([{}, {"go_backwards": True}, {"lengths": lengths},
                                     {"lengths": lengths, "go_backwards": True}]):
            layer = with_kernels(kind, tensors, **options)
            f = df.function(layer)
            x, states = tensors[0], tensors[4:]
            want = bits(layer(x, *states))
            for n_threads in (1, 2) if k % 2 else (2, 1):
                with harness.threads(n_threads):
                    assert bits(f(x, *states)) == want
            assert cached(f, x, *states) == ["pack_kernel", "pack_kernel"]
    unoptimised = df.function(layer, passes=False)
    assert bits(unoptimised(x, *states)) == want


@pytest.mark.parametrize("kind", KINDS)
def test_directions_and_layers(kind):
    op, gates, _, _, options = KINDS[kind]
    rng = np.random.default_rng(1)

    def draw(*shape):
        return df.constant(rng.uniform(-0.2, 0.2, shape).astype("float32"))

    kernels = [draw(n, gates * 20) for n in (9, 9, 40, 40)]
    recurrent = [draw(20, gates * 20) for _ in kernels]
    bias = [draw(*([2] * (kind == "gru_after")), gates * 20) for _ in kernels]

    def layers(x):
        y, last = getattr(df.nn, op)(x, kernels, recurrent, bias, bidirectional=True,
                                     time_major=True, **options)
        return [y, *(last if isinstance(last, tuple) else [last])]

    f, x = df.function(layers), draw(6, 1, 9)
    for _ in range(2):
        assert bits(f(x)) == bits(layers(x))
    assert cached(f, x) == ["pack_kernel"] * 8


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_steps_and_batch(kind):
    tensors = constants(arguments(kind, 5, 3, 8, 12, "float32"))
    layer = with_kernels(kind, tensors)
    f = df.function(lambda x: layer(x, *[df.zeros([x.shape[0], 12])] * len(tensors[4:])),
                    input_signature=[df.TensorSpec([None, None, 8])])
    for shape in ((1, 4, 8), (6, 2, 8), (0, 3, 8), (2, 0, 8)):
        x = df.ones(shape)
        assert bits(f(x)) == bits(layer(x, *[df.zeros([shape[0], 12])] * len(tensors[4:])))


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_layer_in_a_training_step(kind):
    """The gradient of a layer with packed kernels reads the kernels before packing."""
    tensors = constants(arguments(kind, 4, 3, 5, 18, "float32"))
    layer = with_kernels(kind, tensors)

    def step(x, *states):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = layer(x * 2., *states)
            loss = df.reduce_sum(y[0] * y[0])
        return [*y, tape.gradient(loss, x)]

    args = [tensors[0], *tensors[4:]]
    f = df.function(step)
    assert bits(f(*args)) == bits(step(*args))
    assert cached(f, *args) == ["pack_kernel", "pack_kernel"]


def test_which_kernels_are_packed():
    x, kernel, recurrent, bias, *_ = constants(arguments("lstm", 4, 3, 16, 16, "float32"))
    variables = [df.Variable(w) for w in (kernel, recurrent)]

    def of(*weights, n=1):
        return df.function(lambda x: [df.nn.lstm(x * k, *weights)[0] for k in range(n)])

    for f, args, want in [
            (of(kernel, recurrent, bias), x, 2),
            (of(kernel, recurrent, bias, n=3), x, 2),           # shared by three layers
            (of(kernel, kernel, bias), x, 2),                   # packed in two ways
            (of(kernel, variables[1], bias), x, 0),             # a variable may change
            (of(*variables, bias), x, 0),
            (of(*[df.cast(w, "bfloat16") for w in (kernel, recurrent, bias)]),
             df.cast(x, "bfloat16"), 0)]:
        made = f(args)
        assert cached(f, args) == ["pack_kernel"] * want
        packed = [node.type for node in f.graph_for(args).nodes if node.type == "lstm_packed"]
        assert len(packed) == (len(made) if want else 0)


def test_small_kernels_are_packed_in_each_run(monkeypatch):
    monkeypatch.setattr(cache_invariants, "LEAST_BYTES", 1 << 14)
    for units, packs in ((8, False), (80, True)):
        tensors = constants(arguments("lstm", 4, 2, 1, units, "float32"))
        layer = with_kernels("lstm", tensors)
        f, args = df.function(layer), [tensors[0], *tensors[4:]]
        assert bits(f(*args)) == bits(layer(*args))
        assert cached(f, *args) == ["pack_kernel"] * packs      # only the recurrent kernel
        types = [node.type for node in f.graph_for(*args).nodes]
        assert types.count("pack_kernel") == packs
        assert types.count("lstm_packed") == packs


def test_exported_programs_pack_in_each_run():
    """They run at other SIMD levels, which pack differently."""
    predict, x = frozen()
    assert cached(predict, x) == ["pack_kernel"] * 4
    spec = make_entry("predict", predict.get_concrete_function(x), "test").spec
    assert [s.op.name for s in spec.instructions].count("lstm") == 2
    assert spec.cached is None


def test_packing_of_unknown_sizes():
    f = df.function(lambda w: _core.apply("pack_kernel", w, gates=4, reset_after=False,
                                          recurrent=True),
                    input_signature=[df.TensorSpec([None, None])])
    for units in (3, 0, 20):
        w = df.ones([units, 4 * units])
        eager = _core.apply("pack_kernel", w, gates=4, reset_after=False, recurrent=True)
        assert f(w).numpy().tobytes() == eager.numpy().tobytes()


PACK = {"gates": 4, "reset_after": False, "recurrent": False}


@pytest.mark.parametrize("w, attrs, message", [
    (df.ones([3]), PACK, "got float32 .3,. for 4 gates"),
    (df.ones([3, 6]), PACK, "got float32 .3, 6. for 4 gates"),
    (df.ones([3, 8]), PACK | {"recurrent": True}, "expected a recurrent kernel"),
    (df.ones([3, 8]), PACK | {"gates": 2}, "1, 3 or 4 gates"),
    (df.ones([3, 8]), PACK | {"gates": -1}, "1, 3 or 4 gates"),
    (df.ones([3, 8], "int32"), PACK, "float32 or float64"),
])
def test_invalid_kernels_raise(w, attrs, message):
    with pytest.raises(df.errors.ShapeError, match=f"pack_kernel: .*{message}"):
        _core.apply("pack_kernel", w, **attrs)


def test_too_large_kernels_raise():
    w = df.zeros([0, 1 << 61])
    with pytest.raises(df.errors.SizeOverflowError, match=r"pack_kernel: .*exceed 64 bits"):
        _core.apply("pack_kernel", w, **PACK)


@pytest.mark.parametrize("k, value, message", [
    (1, df.zeros([8], "uint8"), "input 1 is uint8 .8,., expected a kernel packed for x"),
    (2, df.zeros([8], "uint8"), "input 2 is uint8 .8,., expected a kernel packed for x"),
    (2, df.ones([4, 16]), "input 2 is float32"),
    (3, df.ones([15]), "bias has shape"),
    (4, df.ones([2, 3]), "initial state has shape"),
])
def test_unpacked_operands_raise(k, value, message):
    x, kernel, recurrent, bias, h, c = constants(arguments("lstm", 3, 2, 5, 4, "float32"))
    packed = [_core.apply("pack_kernel", w, gates=4, reset_after=False, recurrent=of)
              for w, of in ((kernel, False), (recurrent, True))]
    args = [x, *packed, bias, h, c, df.constant([3, 3])]
    order = {"reverse": False, "time_major": False}
    want = _core.apply("lstm", x, kernel, recurrent, *args[3:], **order)
    assert bits(_core.apply("lstm_packed", *args, **order)) == bits(want)
    args[k] = value
    with pytest.raises(df.errors.ShapeError, match=f"lstm_packed: .*{message}"):
        _core.apply("lstm_packed", *args, **order)
