"""Recurrent layers beyond the rows of the table."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import _core, errors
from dualflow.autodiff import recurrent as written_out
from tests.ops import harness
from tests.ops.nn import recurrent as reference

KINDS = {   # op, gates, step, states, options
    "lstm": ("lstm", 4, reference.lstm_step, 2, {}),
    "gru_after": ("gru", 3, reference.gru_after_step, 1, {"reset_after": True}),
    "gru_before": ("gru", 3, reference.gru_before_step, 1, {"reset_after": False}),
    "tanh": ("simple_rnn", 1, reference.tanh_step, 1, {"activation": "tanh"}),
    "relu": ("simple_rnn", 1, reference.relu_step, 1, {"activation": "relu"}),
}


def arguments(kind, steps, batch, features, units, dtype="float64", seed=0):
    """Return x, kernel, recurrent kernel, bias, states as arrays; the weights keep values small."""
    _, gates, _, n_states, _ = KINDS[kind]
    rng = np.random.default_rng(seed)

    def draw(*shape, scale=1.0):
        return (scale * rng.uniform(-1, 1, shape)).astype(dtype)

    bias = (2, gates * units) if kind == "gru_after" else (gates * units,)
    return [draw(batch, steps, features),
            draw(features, gates * units, scale=(features + 1) ** -0.5),
            draw(units, gates * units, scale=(units + 1) ** -0.5), draw(*bias),
            *[draw(batch, units) for _ in range(n_states)]]


def run(kind, tensors, **options):
    op, _, _, n_states, own = KINDS[kind]
    x, kernel, recurrent, bias, *states = tensors
    initial = tuple(states) if n_states > 1 else states[0]
    return harness.results(getattr(df.nn, op)(x, kernel, recurrent, bias, initial, **own,
                                              **options))


def with_gradients(kind, tensors, **options):
    """Return results, and gradients of a sum of them with respect to all arguments."""
    with df.GradientTape() as tape:
        tape.watch(tensors)
        y = run(kind, tensors, **options)
        loss = sum(df.reduce_sum(df.sin(v) * (i + 1)) for i, v in enumerate(y))
    return y + tape.gradient(loss, tensors, unconnected_gradients="zero")


def by_steps(kind, tensors, lengths, reverse):
    """Compute the same with ops step by step, through the tape."""
    x, kernel, recurrent, bias, *states = tensors
    with df.GradientTape() as tape:
        tape.watch(tensors)
        units = recurrent.shape[0]
        inner = bias[1] if kind == "gru_after" else None

        def step(z, now):
            if kind == "lstm":
                i, f, g, o = df.split(z + now[0] @ recurrent, 4, axis=1)
                c = df.sigmoid(f) * now[1] + df.sigmoid(i) * df.tanh(g)
                return [df.sigmoid(o) * df.tanh(c), c]
            if kind in ("tanh", "relu"):
                activation = df.tanh if kind == "tanh" else df.nn.relu
                return [activation(z + now[0] @ recurrent)]
            a = df.split(z, 3, axis=1)
            if kind == "gru_after":
                b = df.split(now[0] @ recurrent + inner, 3, axis=1)
                keep, reset = df.sigmoid(a[0] + b[0]), df.sigmoid(a[1] + b[1])
                new = df.tanh(a[2] + reset * b[2])
            else:
                u = df.split(recurrent, 3, axis=1)
                keep, reset = (df.sigmoid(a[k] + now[0] @ u[k]) for k in (0, 1))
                new = df.tanh(a[2] + (reset * now[0]) @ u[2])
            return [keep * now[0] + (1 - keep) * new]

        y = written_out.steps(step, x, kernel, bias[0] if kind == "gru_after" else bias, states,
                              df.constant(lengths), reverse, False)
        assert y[0].shape == (*x.shape[:2], units)
        loss = sum(df.reduce_sum(df.sin(v) * (i + 1)) for i, v in enumerate(y))
    return y + tape.gradient(loss, tensors, unconnected_gradients="zero")


def constants(arrays):
    return [df.constant(a) for a in arrays]


def bits(tensors):
    return [(y.shape, y.numpy().tobytes()) for y in tensors]


def assert_near(got, want, limit):
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = a.numpy(), b.numpy()
        assert a.shape == b.shape
        error = np.abs(a - b).max(initial=0)
        assert error <= limit * max(1, np.abs(b).max(initial=0)), (i, error)


@settings(max_examples=40)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 5), st.integers(0, 27), st.integers(0, 9),
       st.integers(1, 37), st.booleans(), st.randoms(use_true_random=False))
def test_random_shapes(kind, steps, batch, features, units, reverse, random):
    lengths = np.array([random.randint(0, steps) for _ in range(batch)], "int64")
    arrays = arguments(kind, steps, batch, features, units, seed=random.randint(0, 99))
    tensors = constants(arrays)
    got = with_gradients(kind, tensors, lengths=lengths, go_backwards=reverse)
    assert_near(got, by_steps(kind, tensors, lengths, reverse), 1e-12)
    _, _, step, n_states, options = KINDS[kind]
    states = tuple(arrays[4:]) if n_states > 1 else arrays[4]
    want = reference.reference(step, n_states)(*arrays[:4], states, lengths, go_backwards=reverse,
                                               **options)
    assert_near(got[:len(want)], constants(want), 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_several_panels_and_rows(kind, dtype):
    """Cover several panels, with and without a remainder, at every SIMD level; sums by task."""
    for units, batch in ((70, 29), (64, 13)):
        tensors = constants(arguments(kind, 11, batch, 19, units, dtype))
        lengths = np.arange(batch, dtype="int32") % 12
        got = with_gradients(kind, tensors, lengths=lengths)
        limit = 1e-12 if dtype == "float64" else 2e-5
        assert_near(got, by_steps(kind, tensors, lengths, False), limit)


@pytest.mark.parametrize("steps", [3, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_too_large_for_sums_by_task(kind, steps):
    units = {4: 190, 3: 220, 1: 380}[KINDS[kind][1]]
    for reverse in (False, True):
        tensors = constants(arguments(kind, steps, 14, 5, units))
        lengths = np.array([3, 0, 2, 1] * 3 + [3, 3]) % (steps + 1)
        got = with_gradients(kind, tensors, lengths=lengths, go_backwards=reverse)
        assert_near(got, by_steps(kind, tensors, lengths, reverse), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_long_sequences(kind):
    tensors = constants(arguments(kind, 2100, 2, 3, 5))
    lengths = np.array([2100, 2051])
    states = tuple(tensors[4:]) if KINDS[kind][3] > 1 else tensors[4]
    want = reference.reference(KINDS[kind][2], KINDS[kind][3])(
        *[t.numpy() for t in tensors[:4]],
        [s.numpy() for s in states] if isinstance(states, tuple) else states.numpy(), lengths)
    assert_near(run(kind, tensors, lengths=lengths), constants(want), 1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", [40, 330])
def test_threads(kind, units):
    """The bits equal a run on one thread, whether sums are computed by task or not."""
    tensors = constants(arguments(kind, 7, 61, 16, units, "float32"))
    lengths = np.arange(61) % 8
    found = []
    for n in (1, 2, 3, 8):
        with harness.threads(n):
            found.append(bits(with_gradients(kind, tensors, lengths=lengths)))
    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_independent(kind):
    x, kernel, recurrent, bias, *states = arguments(kind, 6, 37, 5, 21, "float32")
    together = run(kind, constants([x, kernel, recurrent, bias, *states]))
    for i in (0, 17, 36):
        alone = run(kind, constants([x[i:i + 1], kernel, recurrent, bias,
                                     *[s[i:i + 1] for s in states]]))
        assert bits(alone) == bits([y[i:i + 1] for y in together])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lengths(kind, reverse):
    """A sequence in a batch has the results of a single sequence; input after its end is ignored
    and output is zero."""
    x, kernel, recurrent, bias, *states = arguments(kind, 5, 4, 3, 6)
    lengths = np.array([5, 3, 0, 1])
    for i, n in enumerate(lengths):
        x[i, n:] = np.nan
    tensors = constants([x, kernel, recurrent, bias, *states])
    y, *last = run(kind, tensors, lengths=lengths, go_backwards=reverse)
    for i, n in enumerate(lengths):
        alone = run(kind, constants([x[i:i + 1, :n], kernel, recurrent, bias,
                                     *[s[i:i + 1] for s in states]]), go_backwards=reverse)
        assert bits([y[i:i + 1, :int(n)], *[s[i:i + 1] for s in last]]) == bits(alone)
        assert not y.numpy()[i, n:].any()
    for g in with_gradients(kind, tensors, lengths=lengths, go_backwards=reverse):
        assert np.isfinite(g.numpy()).all()
    np.testing.assert_array_equal(last[0].numpy()[2], states[0][2])


@pytest.mark.parametrize("kind", KINDS)
def test_time_major(kind):
    x, *rest = arguments(kind, 4, 7, 3, 9)
    swapped = np.ascontiguousarray(np.swapaxes(x, 0, 1))
    for reverse in (False, True):
        plain = with_gradients(kind, constants([x, *rest]), go_backwards=reverse)
        other = with_gradients(kind, constants([swapped, *rest]), time_major=True,
                               go_backwards=reverse)
        n = 1 + KINDS[kind][3]
        for i in (0, n):
            other[i] = df.transpose(other[i], [1, 0, 2])
        assert_near(other[:n], plain[:n], 0)
        assert_near(other, plain, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_traced_with_unknown_batch_and_time(kind):
    arrays = arguments(kind, 4, 5, 3, 6, "float32")
    n_states = KINDS[kind][3]
    fixed = constants(arrays[1:4])

    def step(x, lengths, *states):
        return with_gradients(kind, [x, *fixed, *states], lengths=lengths)

    traced = df.function(step, input_signature=[
        df.TensorSpec([None, None, 3]), df.TensorSpec([None], df.int32),
        *[df.TensorSpec([None, 6])] * n_states])
    for steps, batch in ((4, 5), (1, 1), (7, 14), (3, 0), (0, 2)):
        x, _, _, _, *states = constants(arguments(kind, steps, batch, 3, 6, "float32"))
        lengths = df.constant(np.arange(batch, dtype="int32") % (steps + 1))
        assert bits(traced(x, lengths, *states)) == bits(step(x, lengths, *states))
    assert traced.trace_report().count("traced in") == 1


def test_defaults_with_unknown_sizes():
    """States and lengths are omitted."""
    _, kernel, recurrent, bias, *_ = constants(arguments("lstm", 2, 2, 3, 6, "float32"))

    def step(x):
        return harness.results(df.nn.lstm(x, kernel, recurrent, bias))

    traced = df.function(step, input_signature=[df.TensorSpec([None, None, 3])])
    for shape in ((2, 5, 3), (4, 1, 3), (0, 3, 3)):
        x = df.random.normal(shape)
        assert bits(traced(x)) == bits(step(x))


def test_gradient_of_x_is_computed_only_if_requested():
    tensors = constants(arguments("lstm", 3, 4, 5, 6, "float32"))

    def step(*tensors):
        with df.GradientTape() as tape:
            tape.watch(tensors[1])
            y, _ = df.nn.lstm(*tensors[:4])
        return tape.gradient(y, tensors[1])

    graph = df.function(step).graph_for(*tensors)
    back, = [node for node in graph.nodes if node.op.name == "lstm_grad"]
    assert back.outputs[0].shape == (0, 0, 0)


@pytest.mark.parametrize("kind", ["lstm", "gru_after", "tanh"])
def test_two_layers_in_both_directions(kind):
    """The layers are composed by hand."""
    op, gates, _, n_states, options = KINDS[kind]
    rng = np.random.default_rng(1)
    units, x = 4, df.constant(rng.normal(size=(3, 5, 2)))
    kernels = [df.constant(rng.normal(size=(n, gates * units))) for n in (2, 2, 8, 8)]
    recurrent = [df.constant(rng.normal(size=(units, gates * units))) for _ in range(4)]
    initial = [df.constant(rng.normal(size=(4, 3, units))) for _ in range(n_states)]
    lengths = df.constant([5, 2, 0])
    layer = getattr(df.nn, op)
    got = harness.results(layer(x, kernels, recurrent, None,
                                tuple(initial) if n_states > 1 else initial[0], lengths,
                                bidirectional=True, **options))
    last = []
    for first in (0, 2):
        outputs = []
        for i in (first, first + 1):
            states = [s[i] for s in initial]
            y, *now = harness.results(layer(
                x, kernels[i], recurrent[i], None, tuple(states) if n_states > 1 else states[0],
                lengths, go_backwards=i > first, **options))
            outputs.append(y)
            last.append(now)
        x = df.concat(outputs, 2)
    want = [x, *[df.stack(s) for s in zip(*last, strict=True)]]
    assert bits(got) == bits(want)


def test_third_derivative():
    """Check a third derivative along a line against differences of the second."""
    arrays = arguments("lstm", 2, 2, 2, 3)
    rng = np.random.default_rng(5)
    direction = rng.normal(size=arrays[2].shape)

    def value(s):
        recurrent = arrays[2] + s * df.constant(direction)
        y, _ = df.nn.lstm(arrays[0], arrays[1], recurrent, arrays[3], tuple(arrays[4:]))
        return df.reduce_sum(y * y)

    second = df.grad(df.grad(value))
    third = df.grad(second)(df.constant(0.1, dtype="float64")).item()
    h = 1e-4
    up, down = (second(df.constant(0.1 + d, dtype="float64")).item() for d in (h, -h))
    assert third == pytest.approx((up - down) / (2 * h), rel=1e-5)


LSTM = arguments("lstm", 4, 3, 2, 5)


@pytest.mark.parametrize("change, message", [
    ({"lengths": [1, -1, 2]}, r"lstm: length -1, of row 1, is not in 0 to 4, the number of steps"),
    ({"lengths": [1, 2, 5]}, r"lstm: length 5, of row 2, is not in 0 to 4"),
    ({"lengths": [1, 2]}, r"lstm: the lengths has shape \(2,\), expected \(batch,\)"),
    ({"lengths": [1., 2., 3.]}, r"lstm: .*float.*lengths of int32 or int64"),
    ({"x": LSTM[0][0]}, r"lstm: x has shape \(4, 2\), expected three dimensions: batch, time"),
    ({"kernel": LSTM[1][:1]}, r"lstm: the kernel has shape \(1, 20\), expected \(features, 4 \* "),
    ({"kernel": LSTM[1][:, :16]}, r"lstm: the kernel has shape \(2, 16\).*\(5, 20\)"),
    ({"recurrent_kernel": LSTM[2][:4]}, r"lstm: the recurrent kernel has shape \(4, 20\)"),
    ({"recurrent_kernel": LSTM[2][0]}, r"lstm: the recurrent kernel has shape \(20,\)"),
    ({"bias": LSTM[3][:5]}, r"lstm: the bias has shape \(5,\), expected \(4 \* units,\)"),
    ({"initial_state": (LSTM[4][:2], LSTM[5])}, r"lstm: the initial state has shape \(2, 5\)"),
    ({"initial_state": (LSTM[4], LSTM[5][:, :4])}, r"lstm: the initial cell state has shape"),
    ({"initial_state": LSTM[4]}, r"(?s)lstm: initial_state is .*expected \(h, c\)"),
    ({"bidirectional": True}, r"lstm: there are 1 kernels.*two for each layer"),
    ({"kernel": []}, r"lstm: there are 0 kernels"),
    ({"kernel": [LSTM[1]] * 2}, r"lstm: there are 2 kernels"),
    ({"x": LSTM[0].astype("int32"), "kernel": LSTM[1].astype("int32"), "initial_state": None,
      "recurrent_kernel": LSTM[2].astype("int32"), "bias": LSTM[3].astype("int32")},
     r"lstm: .*int32.*floating"),
])
def test_invalid_arguments_raise(change, message):
    names = ("x", "kernel", "recurrent_kernel", "bias")
    given = {**dict(zip(names, LSTM, strict=False)), "initial_state": tuple(LSTM[4:]), **change}
    with pytest.raises(errors.DualflowError, match=message):
        df.nn.lstm(**given)


@pytest.mark.parametrize("bias, message", [
    (np.zeros(15), r"gru: the bias has shape \(15,\), expected \(2, 15\)"),
    (np.zeros((2, 14)), r"gru: the bias has shape \(2, 14\), expected \(2, 15\)"),
])
def test_invalid_bias_raises(bias, message):
    x, kernel, recurrent, *_ = arguments("gru_after", 4, 3, 2, 5)
    with pytest.raises(errors.ShapeError, match=message):
        df.nn.gru(x, kernel, recurrent, bias)
    with pytest.raises(errors.InvalidArgumentError, match="activation is 'elu'"):
        df.nn.simple_rnn(x, kernel[:, :5], recurrent[:, :5], activation="elu")


@pytest.mark.parametrize("op, own", [("lstm_grad", []), ("gru_grad", ["reset_after"]),
                                     ("simple_rnn_grad", ["relu"])])
def test_invalid_operands_of_gradient_ops_raise(op, own):
    """Users do not call gradient ops; operands of any shape must raise, not crash."""
    handle = _core.get_op(op)
    attrs = dict.fromkeys(["reverse", "time_major", "wants_x", *own], True)
    rng = np.random.default_rng(0)
    shapes = [(), (0,), (2,), (2, 3), (3, 2, 2), (0, 0, 0), (1, 1, 1), (2, 2, 8)]
    for _ in range(300):
        operands = [df.zeros(shapes[rng.integers(len(shapes))],
                             ("float32", "uint8", "int64", "float64")[rng.integers(4)])
                    for _ in range(handle.n_in)]
        with pytest.raises(errors.DualflowError, match=op):
            _core.apply(op, *operands, **attrs)


def test_residual_of_another_size_raises():
    arrays = constants(arguments("lstm", 2, 3, 2, 4, "float32"))
    lengths = df.constant([2, 2, 2])
    order = {"reverse": False, "time_major": False}
    y, h, c, kept = _core.apply("lstm", *arrays, lengths, **order)
    with pytest.raises(errors.ShapeError, match="residuals"):
        _core.apply("lstm_grad", y, h, c, *arrays, lengths, y, kept[:, :, :-4], wants_x=False,
                    **order)
