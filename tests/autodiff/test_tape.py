import threading
import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, GradientWarning, InvalidArgumentError, ShapeError


def same(got, want):
    np.testing.assert_array_equal(got.numpy(), np.asarray(want))


def cube(x):
    return x * x * x


# --- what is watched ---


def test_tensor_has_to_be_watched():
    x = df.constant([1., 2.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    same(tape.gradient(y, x), [2., 4.])


@pytest.mark.parametrize("source, read", [
    (df.sparse.from_dense([[1., 0.], [0., 2.]]), lambda s: s.values),
    (df.ragged.constant([[1., 2.], [3.]]), lambda s: s.flat_values),
    (df.quantization.quantize_weights(df.eye(64), bits=4), lambda s: s.scales)],
    ids=["sparse", "ragged", "quantized"])
@pytest.mark.parametrize("nested", [False, True])
def test_floating_parts_of_composites_are_watched(source, read, nested):
    x = df.constant(3.)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with df.GradientTape() as tape:
            tape.watch([source, x])
            y = df.reduce_sum(read(source) * read(source)) * df.cast(x, read(source).dtype)
        got = tape.gradient(y, {"a": [source], "x": x} if nested else source)
    if nested:
        got = got["a"][0]
    assert type(got) is type(source) and got.shape == source.shape
    same(df.cast(read(got), "float32"), (6. * df.cast(read(source), "float32")).numpy())


def test_composites_without_gradients():
    ragged = df.ragged.constant([[1, 2], [3]])
    with df.GradientTape() as tape, pytest.warns(GradientWarning, match="a RaggedTensor without"):
        tape.watch(ragged)
    floats = df.ragged.constant([[1., 2.], [3.]])
    with df.GradientTape(persistent=True) as tape:
        tape.watch(floats)
        y = df.constant(1.) * 2.
    with pytest.warns(GradientWarning, match="no gradient"):
        assert tape.gradient(y, floats) is None
    zero = tape.gradient(y, floats, unconnected_gradients="zero")
    assert zero.to_list() == [[0., 0.], [0.]]


def test_gradient_of_the_scales_of_a_quantized_matrix():
    q = df.quantization.quantize_weights(df.random.normal([64, 8], seed=1), bits=8)
    with df.GradientTape() as tape:
        tape.watch(q)
        y = df.reduce_sum(q.dequantize() * 2.)
    got = tape.gradient(y, q)
    assert got.values is q.values and got.scales.shape == q.scales.shape
    integers = q.dequantize().numpy().T.reshape(8, 2, 32)
    scales = df.cast(q.scales, "float32").numpy()[0, :, :8].T[..., None]
    np.testing.assert_allclose(df.cast(got.scales, "float32").numpy()[0, :, :8].T,
                               (integers / scales).sum(-1) * 2., rtol=2e-2, atol=1e-3)


def test_trainable_variables_are_watched_automatically():
    v, w = df.Variable(2.), df.Variable(3., trainable=False)
    with df.GradientTape() as tape:
        y = v * w
    with pytest.warns(GradientWarning, match="trainable=False"):
        gradients = tape.gradient(y, [v, w])
    same(gradients[0], 3.)
    assert gradients[1] is None


def test_watching_variables_can_be_turned_off():
    v, w = df.Variable(2.), df.Variable(3.)
    with df.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = v * w
    with pytest.warns(GradientWarning, match="watch_accessed_variables=False"):
        assert tape.gradient(y, {"v": v, "w": w})["v"] is None


def test_watch_nested():
    x, y = df.constant(2.), df.constant(5.)
    with df.GradientTape() as tape:
        tape.watch([x, {"y": (y,)}])
        z = x * y
    gradients = tape.gradient(z, {"b": [x], "a": (y,)})
    same(gradients["b"][0], 5.)
    same(gradients["a"][0], 2.)


def test_watch_integer_warns_with_dtype():
    with df.GradientTape() as tape, pytest.warns(GradientWarning, match="int32"):
        tape.watch(df.constant([1, 2]))


@pytest.mark.parametrize("what", [1.0, "x", None, np.ones(2)])
def test_watch_rejects_other_objects(what):
    with df.GradientTape() as tape, pytest.raises(DTypeError, match="watch"):
        tape.watch(what)


# --- structure of targets and sources ---


def test_gradients_of_several_targets_are_summed():
    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        a, b = x * x, x * 3.
    same(tape.gradient([a, {"b": b}, b], x), [8., 10.])


def test_target_is_source():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    gradients = tape.gradient(y, [y, x])
    same(gradients[0], 1.)
    same(gradients[1], 4.)


def test_same_source_twice():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    gradients = tape.gradient(y, (x, x))
    assert isinstance(gradients, tuple)
    same(gradients[0], 4.)
    same(gradients[1], 4.)


def test_intermediate_source():
    x = df.Variable([1., 2.])
    with df.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y + y
    same(tape.gradient(z, y), [3., 9.])
    gradients = tape.gradient(z, [y, x])
    same(gradients[0], [3., 9.])
    same(gradients[1], [6., 36.])


def test_output_gradients():
    x = df.Variable([1., 2.])
    with df.GradientTape(persistent=True) as tape:
        y = x * x
        z = x * 3.
    same(tape.gradient(y, x, output_gradients=df.constant([1., 10.])), [2., 40.])
    same(tape.gradient(y, x, output_gradients=[1., 10.]), [2., 40.])
    same(tape.gradient([y, z], x, output_gradients=[df.constant([1., 10.]), [1., 1.]]), [5., 43.])
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        tape.gradient(y, x, output_gradients=df.constant([1., 1., 1.]))
    with pytest.raises(InvalidArgumentError, match="a list of 1 where there is a list of 2"):
        tape.gradient([y, z], x, output_gradients=[df.constant([1., 1.])])


def test_empty_sources():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, []) == []


@pytest.mark.parametrize("target, source", [(1.0, None), (None, 2.0)])
def test_targets_and_sources_must_be_tensors(target, source):
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    with pytest.raises(DTypeError, match="GradientTape"):
        tape.gradient(target or y, source or x)


# --- un-broadcasting, dtypes ---


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (1, 1, 1)])
def test_broadcast_dimensions_are_summed(shape):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=shape), rng.uniform(size=(2, 3, 4))
    x, y = df.Variable(a), df.Variable(b)
    with df.GradientTape() as tape:
        z = x * y
    dx, dy = tape.gradient(z, [x, y])
    assert dx.shape == shape
    np.testing.assert_allclose(dx.numpy().sum(), b.sum(), rtol=1e-12)
    same(dy, np.broadcast_to(a, b.shape))


def test_mixed_dtypes():
    x, y = df.Variable([1., 2.]), df.Variable(np.array([3., 4.]))
    with df.GradientTape() as tape:
        z = x * y
    dx, dy = tape.gradient(z, [x, y])
    assert dx.dtype is df.float32
    assert dy.dtype is df.float64


def test_integers_stop_gradients():
    x = df.Variable([1.5, 2.5])
    with df.GradientTape() as tape:
        n = df.cast(x, df.int32)
        y = df.cast(n, df.float32) * 2.
    with pytest.warns(GradientWarning, match=r"cast \(its result has dtype int32\)"):
        assert tape.gradient(y, x) is None


# --- why a gradient is missing ---


def missing(match, tape, y, x):
    with pytest.warns(GradientWarning, match=match):
        assert tape.gradient(y, x) is None


def test_missing_not_watched():
    x = df.constant(2.)
    with df.GradientTape() as tape:
        y = x * x
    missing("does not watch it", tape, y, x)


def test_missing_unused_variable():
    x, v = df.Variable(2.), df.Variable(3.)
    with df.GradientTape() as tape:
        y = x * x
    missing("no op read this variable", tape, y, v)


def test_missing_integer():
    x, n = df.Variable(2.), df.constant(3)
    with df.GradientTape() as tape:
        y = x * x
    missing("dtype is int32", tape, y, n)


def test_missing_integer_target():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = df.cast(x, df.int32)
    missing("target has dtype int32", tape, y, x)


def test_missing_op_without_gradient():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = df.cast(x > 1., df.float32) * 2.
    missing("greater", tape, y, x)


def test_missing_stopped():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        x * x
        with tape.stop_recording():
            y = x * 3.
    missing("recording was stopped", tape, y, x)


def test_missing_not_connected():
    x, v = df.Variable(2.), df.Variable(3.)
    with df.GradientTape() as tape:
        y, _ = x * x, v * v
    missing("does not depend on it", tape, y, v)


def test_warning_points_at_the_caller():
    x = df.constant(2.)
    with df.GradientTape() as tape:
        y = x * x
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tape.gradient(y, x)
    assert seen[0].filename == __file__


def test_unconnected_zero():
    x, v = df.Variable(2.), df.Variable([[3., 4.]])
    with df.GradientTape() as tape:
        y = x * x
    g = tape.gradient(y, v, unconnected_gradients=df.UnconnectedGradients.ZERO)
    same(g, [[0., 0.]])
    with pytest.raises(InvalidArgumentError, match="'zeros'"):
        tape.gradient(y, v, unconnected_gradients="zeros")


# --- repeated gradients, persistence, memory ---


def test_second_gradient_raises():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    same(tape.gradient(y, x), 4.)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)


def test_persistent():
    x = df.Variable([1., 2.])
    with df.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    for _ in range(3):
        same(tape.gradient(z, x), [4., 32.])
        same(tape.gradient(y, x), [2., 4.])


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_freed_by_gradient():
    x = df.Variable(np.ones(1 << 18, "float32"))
    before = df._core.memory_stats()["live"]
    with df.GradientTape() as tape:
        y = x
        for _ in range(8):
            y = df.exp(y * 0.01)
    held = df._core.memory_stats()["live"] - before
    assert held >= 8 << 20
    df._core.reset_peak_memory()
    g = tape.gradient(y, x)
    peak = df._core.memory_stats()["peak"] - before
    assert peak <= held + (5 << 20)          # a few gradients, not one per op
    del y, g
    assert df._core.memory_stats()["live"] - before <= 4096


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_freed_with_the_tape():
    x = df.Variable(np.ones(1 << 16, "float32"))
    before = df._core.memory_stats()["live"]
    with df.GradientTape(persistent=True) as tape:
        y = x
        for _ in range(8):
            y = df.exp(y * 0.01)
    tape.gradient(y, x)
    del y
    assert df._core.memory_stats()["live"] - before >= 1 << 20
    del tape
    assert df._core.memory_stats()["live"] - before <= 4096


def test_reset():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * 3.
    assert tape.gradient(z, x, unconnected_gradients="zero").item() == 3
    tape.reset()
    assert tape.gradient(y, x, unconnected_gradients="zero").item() == 0


# --- assignment, stops, errors ---


def test_assignment_between_use_and_gradient():
    v = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = v * v
    v.assign([100., 100.])
    same(tape.gradient(y, v), [2., 4.])
    same(v, [100., 100.])


def test_assignment_inside_the_tape():
    v = df.Variable(3.)
    with df.GradientTape() as tape:
        y = v * v
        v.assign_add(1.)
        y = y + v * 10.
    same(tape.gradient(y, v), 16.)


@pytest.mark.usefixtures("no_garbage")
def test_training_steps_do_not_copy_the_variable():
    v = df.Variable(np.ones(1 << 16, "float32"))
    for _ in range(3):
        with df.GradientTape() as tape:
            y = v * v
        g = tape.gradient(y, v)
        del y
        df._core.reset_peak_memory()
        before = df._core.memory_stats()["live"]
        v.assign_sub(g)
        assert df._core.memory_stats()["peak"] == before


def test_exception_inside_ends_recording():
    x = df.Variable(2.)
    with pytest.raises(ZeroDivisionError), df.GradientTape() as tape:
        y = x * x
        raise ZeroDivisionError
    assert df._core.current_tape() is None
    same(tape.gradient(y, x), 4.)


def test_error_inside_an_op_leaves_the_tape_usable():
    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        with pytest.raises(ShapeError):
            x * df.constant([1., 2., 3.])
        y = x * x
    same(tape.gradient(y, x), [2., 4.])


def test_exception_inside_stop_recording():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            raise ZeroDivisionError
        y = x * x
    same(tape.gradient(y, x), 4.)


def test_stop_recording_of_an_inactive_tape_raises():
    tape = df.GradientTape()
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass


def test_entering_a_tape_twice_raises():
    with df.GradientTape() as tape, pytest.raises(RuntimeError, match="records already"):
        tape.__enter__()
    x = df.Variable(2.)
    with tape:
        y = x * x
    same(tape.gradient(y, x), 4.)


def test_exiting_tapes_in_another_order():
    x = df.Variable(2.)
    outer = df.GradientTape()
    outer.__enter__()
    inner = df.GradientTape()
    inner.__enter__()
    y = x * x
    outer.__exit__(None, None, None)         # before the inner tape
    del outer
    z = y * x
    inner.__exit__(None, None, None)
    same(inner.gradient(z, x), 12.)
    assert df._core.current_tape() is None


# --- nesting and orders ---


def test_third_order():
    x = df.Variable([1., 2., 3.])
    with df.GradientTape() as third:
        with df.GradientTape() as second:
            with df.GradientTape() as first:
                y = cube(x) * x
            g1 = first.gradient(y, x)
        g2 = second.gradient(g1, x)
    same(g1, [4., 32., 108.])
    same(g2, [12., 48., 108.])
    same(third.gradient(g2, x), [24., 48., 72.])


def test_gradient_inside_its_own_block():
    x = df.Variable(3.)
    with df.GradientTape() as tape:
        y = x * x
        g = tape.gradient(y, x)
        x * x                                 # not recorded any more
    same(g, 6.)
    with df.GradientTape(persistent=True) as tape:
        g = tape.gradient(cube(x), x)
    same(tape.gradient(g, x), 18.)


def test_tapes_watching_different_things():
    x, y = df.constant(2.), df.constant(5.)
    with df.GradientTape() as outer:
        outer.watch(y)
        with df.GradientTape() as inner:
            inner.watch(x)
            z = x * x * y
        g = inner.gradient(z, x)
    same(g, 20.)
    same(outer.gradient(g, y), 4.)


def test_inner_tape_does_not_record_outer_values():
    x = df.constant(2.)
    with df.GradientTape() as outer:
        outer.watch(x)
        y = x * x
        with df.GradientTape() as inner:
            inner.watch(y)
            z = y * y
        g = inner.gradient(z, y)
    same(g, 8.)
    same(outer.gradient(g, x), 8.)


def test_threads_have_separate_tapes():
    results = {}

    def work(i):
        x = df.Variable(float(i))
        with df.GradientTape() as outer:
            with df.GradientTape() as inner:
                y = x
                for _ in range(200):
                    y = y + x * x
            g = inner.gradient(y, x)
        results[i] = g.item(), outer.gradient(g, x).item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    with df.GradientTape() as mine:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(mine._tape) == 0
    assert results == {i: (1 + 400. * i, 400.) for i in range(8)}


def test_tape_must_exit_in_its_own_thread():
    tape = df.GradientTape()
    caught = []

    def leave():
        try:
            tape.__exit__(None, None, None)
        except RuntimeError as error:
            caught.append(str(error))

    with tape:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert "thread" in caught[0]


# --- jacobians ---


@pytest.fixture(params=[0, 16], ids=["all rows at once", "row by row"])
def rows(request, monkeypatch):
    monkeypatch.setattr("dualflow.autodiff.batched_vjp.FEW", request.param)


def test_jacobian(rows):
    a = np.random.default_rng(0).uniform(size=(2, 3))
    x = df.Variable(a)
    with df.GradientTape(persistent=True) as tape:
        y = x * x
        z = df.matmul(x, df.constant(a.T))
    want = np.zeros((2, 3, 2, 3))
    for i, j in np.ndindex(2, 3):
        want[i, j, i, j] = 2 * a[i, j]
    same(tape.jacobian(y, x), want)
    assert tape.jacobian(z, [x])[0].shape == (2, 2, 2, 3)
    np.testing.assert_allclose(tape.jacobian(z, x).numpy(),
                               np.einsum("ik,jl->ijkl", np.eye(2), a), rtol=1e-12)


def test_jacobian_is_differentiable(rows):
    x = df.Variable([1., 2.])
    with df.GradientTape() as outer:
        with df.GradientTape() as inner:
            y = cube(x)
        j = inner.jacobian(y, x)
    same(outer.gradient(j, x), [6., 12.])


def test_jacobian_of_unconnected_sources(rows):
    x = df.Variable([1., 2.])
    y = df.Variable(3.)
    with df.GradientTape(persistent=True) as tape:
        z = x * x
    with pytest.warns(GradientWarning):
        assert tape.jacobian(z, y) is None
    same(tape.jacobian(z, y, unconnected_gradients="zero"), [0., 0.])


def test_batch_jacobian(rows):
    a = np.random.default_rng(0).uniform(size=(4, 3))
    x = df.Variable(a)
    with df.GradientTape(persistent=True) as tape:
        y = x * x
    want = np.stack([np.diag(2 * row) for row in a])
    same(tape.batch_jacobian(y, x), want)
    with pytest.raises(ShapeError, match="first dimension"):
        tape.batch_jacobian(y, df.Variable([1., 2.]))


def test_compiled_and_interpreted_jacobians_are_equal(monkeypatch):
    """Cover layers, reduced-precision products, gather, a branch and a loop, in both modes."""
    w = df.Variable(np.random.default_rng(1).normal(size=(3, 3)).astype("float32"))

    def f(x, v):
        y = df.tanh(x @ w) * v + df.gather(x, [1, 0, 2])
        y = df.cond(df.reduce_sum(y) > 0., lambda: y * y, lambda: df.sin(y))
        for _ in df.range(2):
            y = df.nn.softmax(y @ w)
        return df.cast(df.cast(y, df.float16) @ df.cast(x, df.float16), df.float32)

    def of(x, v):
        with df.GradientTape(persistent=True) as tape:
            tape.watch([x, v])
            y = f(x, v)
        return tape.jacobian(y, [x, v, w]), tape.batch_jacobian(y, x)

    given = [df.constant(np.random.default_rng(k).normal(size=(3, 3)), df.float32) for k in (2, 3)]
    made = []
    for few in (0, 16):
        monkeypatch.setattr("dualflow.autodiff.batched_vjp.FEW", few)
        made += [df.nest.flatten(g(*given)) for g in (of, df.function(of))]
    for one in zip(*made, strict=True):
        assert len({bytes(j) for j in one}) == 1


def test_jacobian_of_a_rule_that_reads_values(rows):
    @df.custom_gradient
    def clipped(x):
        return x * 1., lambda g: g if float(df.reduce_sum(g)) > 0.5 else -g

    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = clipped(x) * [1., 0.25]
    same(tape.jacobian(y, x), [[1., 0.], [0., -0.25]])


def test_reset_keeps_automatic_watching():
    v = df.Variable(3.)
    for watches in (True, False):
        tape = df.GradientTape(watch_accessed_variables=watches)
        tape.reset()
        with tape:
            y = v * v
        g = tape.gradient(y, v, unconnected_gradients="zero")
        assert g.item() == (6. if watches else 0.)


def test_watched_variables():
    a, b, c = df.Variable(1., name="a"), df.Variable(2., trainable=False), df.Variable(3., name="c")
    x = df.constant(4.)

    def watched():
        with df.GradientTape() as tape:
            tape.watch(x)
            _ = c * a * b * x
        return tape.watched_variables()

    assert [v.name for v in watched()] == ["a", "c"]

    @df.function
    def traced():
        assert [v.name for v in watched()] == ["a", "c"]
        return x

    traced()
    with df.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        _ = a * b
    assert [v is b for v in tape.watched_variables()] == [True]
