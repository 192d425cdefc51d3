"""Cached tape signatures: the compiled backward pass returns the bits of the interpreted one, and
equal signatures mean equal backward passes."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow._core import CachedTape, get_op
from dualflow.autodiff import batched_vjp, compiled_backward, tape as tape_module
from dualflow.gradient_registry import gradient
from dualflow.graph.calls import compile_backward
from tests.gradients_both import bits

TAPES = compiled_backward.TAPES
EXPECTED = compiled_backward.Cost.of  # the value outside of these tests


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """Give each test an empty cache, and compile backward passes at the first call."""
    monkeypatch.setattr(compiled_backward.Cost, "of", classmethod(lambda cls, known: 0.))
    monkeypatch.setattr(compiled_backward.Cost, "ns_per_record",
                        compiled_backward.Cost.ns_per_record)
    monkeypatch.setattr(tape_module, "compute_gradients", compiled_backward.compute_gradients)
    monkeypatch.setattr(tape_module, "TAPES", TAPES)
    monkeypatch.setattr(batched_vjp, "compute_gradients", compiled_backward.compute_gradients)
    on = TAPES.on
    TAPES.on = True
    TAPES.clear()
    yield TAPES
    TAPES.clear()
    TAPES.on = on


def interpreted(call):
    """Return the result of a call without compiled backward passes."""
    TAPES.on = False
    try:
        return call()
    finally:
        TAPES.on = True


def numbers(*shape, dtype="float32", seed=0):
    return df.cast(df.constant(np.random.default_rng(seed).standard_normal(shape)), dtype)


def same(call, runs=1):
    """Compare the bits of interpreted and compiled passes; return how many compiled passes ran."""
    want = [bits(g) for g in interpreted(call)]
    for _ in range(2):
        assert [bits(g) for g in call()] == want
    ran = sum([known.runs for known in TAPES.programs])
    assert ran >= runs, compiled_backward.report(None)
    return ran


def mlp(sizes, dtype="float32"):
    variables = []
    for k, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False)):
        variables += [df.Variable(numbers(a, b, dtype=dtype, seed=k)),
                      df.Variable(numbers(b, dtype=dtype, seed=k + 9))]
    return variables


def through(x, variables, act=df.nn.relu):
    for w, b in zip(variables[::2], variables[1::2], strict=True):
        x = act(x @ w + b)
    return x


# --- equal bits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("persistent", [False, True])
def test_layers(dtype, persistent):
    variables, x = mlp([5, 7, 3], dtype), numbers(4, 5, dtype=dtype)

    def call():
        with df.GradientTape(persistent) as tape:
            loss = df.reduce_mean(through(x, variables) ** 2)
        return tape.gradient(loss, variables)
    assert same(call) == 2


def test_many_targets_and_output_gradients():
    x = df.Variable(numbers(3, 2))

    def call():
        with df.GradientTape(persistent=True) as tape:
            y, z = df.tanh(x), x * x
        given = numbers(3, 2, seed=4)
        return [tape.gradient([y, z], x), tape.gradient([y, z, y], x),
                tape.gradient([y, z], x, output_gradients=[given, None]),
                tape.gradient(y, x, output_gradients=given),
                tape.gradient({"y": y}, [x, x])[1]]
    same(call, 10)


def test_targets_that_are_sources():
    x = df.Variable(2.)

    def call():
        with df.GradientTape(persistent=True) as tape:
            y = x * 3.
            z = y * y
        return [tape.gradient(y, y), tape.gradient(z, y), tape.gradient([z, y], [y, x])[0],
                tape.gradient(x, x)]
    same(call, 8)


def test_unconnected_sources():
    x, y = df.Variable(2.), df.Variable(3.)

    def call(unconnected):
        with df.GradientTape() as tape:
            z = x * x
        return tape.gradient(z, [y, x], unconnected_gradients=unconnected)
    same(lambda: call("zero"))
    with pytest.warns(df.errors.GradientWarning, match="no op read this variable"):
        assert call("none")[0] is None
    assert TAPES.programs[0].runs == 3


def test_sparse_gradients():
    table, w = df.Variable(numbers(6, 3)), df.Variable(numbers(3, 2))

    def call(batched_vjp):
        with df.GradientTape() as tape:
            e = df.nn.embedding_lookup(table, batched_vjp)
            loss = df.reduce_sum((e @ w) ** 2) + df.reduce_sum(df.gather(table, [1]))
        return tape.gradient(loss, [table, w])
    for some in ([1, 2, 1], [5, 0, 0], [3, -1, 2]):
        same(lambda some=some: call(some))
    assert len(TAPES.programs) == 1                  # indices are arguments
    assert isinstance(call([1, 1, 1])[0], df.IndexedSlices)


def test_numbers_and_residuals_are_arguments():
    x = df.Variable(numbers(3))

    def call(a, b):
        with df.GradientTape() as tape:
            y = df.reduce_sum(x * a * df.constant(b) + x ** a)
        return tape.gradient(y, [x])
    for a, b in ((2., [1., 2., 3.]), (3., [1., 2., 3.]), (2., [4., 5., 6.]), (-0., [0., 1., 2.])):
        same(lambda a=a, b=b: call(a, b))


def test_attributes_and_shapes_change_the_signature():
    x = df.Variable(numbers(4, 6))

    def call(axis, shape):
        with df.GradientTape() as tape:
            y = df.reduce_sum(df.math.cumsum(x, axis), axis) * 2.
            z = df.reshape(x, shape)
            loss = df.reduce_sum(y * y) + df.reduce_sum(z[0] * z[-1])
        return tape.gradient(loss, [x])
    for axis in (0, 1):
        for shape in ([2, 12], [12, 2], [24, 1]):
            same(lambda axis=axis, shape=shape: call(axis, shape))
    assert len(TAPES.programs) == 6


def test_variables_assigned_between_reads():
    """The values of one variable are one source, but several arguments."""
    v = df.Variable(numbers(3))

    def call(between, again):
        v.assign(numbers(3))
        with df.GradientTape() as tape:
            a = df.exp(v)
            between()
            b = df.sin(v) * v
            again()
            y = df.reduce_sum(a * b * v * v)
        return tape.gradient(y, [v])
    changes = [lambda: None, lambda: v.assign(v * 2.), lambda: v.assign_add(v),
               lambda: v.assign([1.] * 3)]
    for between in changes:
        for again in changes:
            same(lambda between=between, again=again: call(between, again))


def test_random_masks_are_arguments():
    x = df.Variable(numbers(8, 8))

    def call():
        with df.GradientTape() as tape:
            y = df.reduce_sum(df.nn.dropout(x, 0.5) * x)
        return bits(tape.gradient(y, x))
    df.random.set_seed(7)
    want = interpreted(lambda: [call() for _ in range(4)])
    df.random.set_seed(7)
    assert [call() for _ in range(4)] == want and len(set(want)) == 4
    assert len(TAPES.programs) == 1 and TAPES.programs[0].runs == 4


def test_second_order():
    x = df.Variable(numbers(5))

    def call():
        with df.GradientTape() as outer:
            with df.GradientTape() as inner:
                y = df.reduce_sum(df.tanh(x) ** 3)
            g = inner.gradient(y, x)
            z = df.reduce_sum(g * g)
        return [outer.gradient(z, x), g]
    same(call)
    with df.GradientTape():
        with df.GradientTape() as inner:
            y = x * x
        inner.gradient(y, x)
    assert "another tape records it" in inner.report()


def test_jacobian_rows_run_one_program():
    x = df.Variable(numbers(3))

    def call():
        with df.GradientTape(persistent=True) as tape:
            y = df.tanh(x) * df.reduce_sum(x)
        return [tape.jacobian(y, x)]
    assert same(call) == 6                          # three rows, twice
    assert len(TAPES.programs) == 1


OPS = [df.tanh, df.exp, df.sin, df.nn.relu, df.sigmoid, df.square, df.negative,
       lambda x: x * x, lambda x: x + 1.5, lambda x: df.transpose(x), lambda x: x @ df.transpose(x),
       lambda x: df.reduce_max(x, 0, keepdims=True) - x, lambda x: x / (1. + df.abs(x)),
       lambda x: df.concat([x, x[:1]], 0), lambda x: df.nn.softmax(x), lambda x: x[:, ::-1],
       lambda x: df.where(x > 0., x, 0.1 * x), lambda x: df.stop_gradient(x) * x,
       lambda x: df.maximum(x, df.reduce_mean(x)),
       lambda x: df.cast(df.cast(x, "float16"), x.dtype)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_programs(data):
    """Straight-line programs that use values several times and write variables, with several
    targets and sources; each runs twice with different values."""
    steps = data.draw(st.lists(st.tuples(st.integers(0, len(OPS) - 1), st.integers(0, 5),
                                         st.integers(0, 5)), min_size=1, max_size=10))
    shape = data.draw(st.sampled_from([(2, 2), (1, 3), (3, 3), (4, 1)]))
    persistent, write = data.draw(st.booleans()), data.draw(st.integers(-1, 9))
    n_targets = data.draw(st.integers(1, 3))
    seeds = data.draw(st.tuples(st.integers(0, 99), st.integers(0, 99)))
    a, b = df.Variable(df.zeros(shape)), df.Variable(df.zeros(shape))
    for seed in seeds:
        def call(seed=seed):
            a.assign(numbers(*shape, seed=seed))
            b.assign(numbers(*shape, seed=seed + 1))
            with df.GradientTape(persistent) as tape:
                values = [a, b]
                for k, (op, i, j) in enumerate(steps):
                    x = OPS[op](df.convert_to_tensor(values[i % len(values)]))
                    y = values[j % len(values)]
                    values.append(x * y if x.shape == y.shape else x)
                    if k == write:
                        a.assign(a * 0.5)
            wanted = [a, b, values[len(values) // 2]]
            found = tape.gradient(values[-n_targets:], wanted, unconnected_gradients="zero")
            if persistent:
                found += tape.gradient(values[-1], wanted, unconnected_gradients="zero")
            return found
        same(call, 0)
        assert not any([known.why for known in TAPES.counted]), compiled_backward.report(None)


def test_gradients_alias_as_in_the_interpreted_pass():
    a, b = df.Variable(1.), df.Variable(2.)
    for call in (lambda: a + b, lambda: (a + b) * 2., lambda: a * 3. + b):
        def gradients(call=call):
            with df.GradientTape() as tape:
                y = call()
            g = tape.gradient(y, [a, b])
            with df.GradientTape() as again:
                again.watch(g[0])
                z = g[0] * g[1]
            return [again.gradient(z, g[0]), *g]
        same(gradients, 2)


# --- when to compile ------------------------------------------------------------------------------


def square_step(x):
    with df.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x), tape


def test_signature_is_compiled_once_interpretation_cost_as_much(monkeypatch):
    monkeypatch.setattr(compiled_backward.Cost, "of", classmethod(lambda cls, known: 1000.))
    x = df.Variable(3.)
    square_step(x)
    (known,) = TAPES.counted
    assert known.backward_passes == 1 and known.spent_ns > 0
    known.count_backward_pass(-known.spent_ns + 999)
    square_step(x)
    assert known.program is None and known.backward_passes == 3
    known.count_backward_pass(-known.spent_ns + 1000)
    assert square_step(x)[0].item() == 6.
    assert (known.runs, known.backward_passes, TAPES.programs, TAPES.counted) == (1, 4, [known], [])


def test_compilation_cost_is_estimated_from_measurements():
    known = TAPES.find(df.GradientTape()._tape, [df.constant(1.)], None, [])
    assert type(known) is CachedTape
    before = compiled_backward.Cost.ns_per_record
    compiled_backward.Cost.learn(known, int(20 * before))
    assert compiled_backward.Cost.ns_per_record == pytest.approx(before * (0.7 + 0.3 * 10))


COMPILER = "dualflow.graph.calls.compile_backward"


def test_first_compilation_includes_the_import_cost(monkeypatch):
    known = TAPES.find(df.GradientTape()._tape, [df.constant(1.)], None, [])
    monkeypatch.setattr(compiled_backward.Cost, "ns_per_record", 1000.)
    monkeypatch.setitem(sys.modules, COMPILER, compile_backward)
    assert EXPECTED(known) == 2 * 1000.
    monkeypatch.delitem(sys.modules, COMPILER)
    assert EXPECTED(known) == compiled_backward.LOAD_NS + 2 * 1000.


def test_cache_is_bounded(monkeypatch):
    for n in range(1, 70):
        square_step(df.Variable(df.zeros([n])))
    monkeypatch.setattr(compiled_backward.Cost, "of", classmethod(lambda cls, known: 1e18))
    for n in range(70, 400):
        square_step(df.Variable(df.zeros([n])))
    assert (len(TAPES.programs), len(TAPES.counted)) == (64, 64)
    for n, how in ((69, "by a compiled"), (6, "by a compiled"), (5, "not compiled yet"),
                   (399, "not compiled yet")):
        found = [square_step(df.Variable(df.zeros([n])))[1].report() for _ in range(8)]
        assert how in found[-1].splitlines()[0]         # see the next test


def test_lookups_are_sampled_while_no_signature_repeats(monkeypatch):
    monkeypatch.setattr(compiled_backward.Cost, "of", classmethod(lambda cls, known: 1e18))
    hows = [square_step(df.Variable(df.zeros([n])))[1].report() for n in range(1, 64 + 80)]
    passed = [k for k, how in enumerate(hows) if "seen twice lately" in how.splitlines()[0]]
    assert passed[0] in (64, 65) and len(passed) in (69, 70)
    monkeypatch.setattr(compiled_backward.Cost, "of", classmethod(lambda cls, known: 0.))
    hows = [square_step(df.Variable([1., 2.]))[1].report() for _ in range(20)]
    assert all(["computed by a compiled program" in how.splitlines()[0] for how in hows[8:]])


def test_long_tapes_are_interpreted():
    x = df.Variable(1.)
    with df.GradientTape() as tape:
        y = x
        for _ in range(10001):
            y = y + 1.
    assert tape.gradient(y, x).item() == 1.
    assert "10001 records, more than 10000" in tape.report()
    assert not TAPES.counted


def test_config_option():
    x = df.Variable(3.)
    square_step(x)
    assert df.config.compiled_gradients() is True and len(TAPES.programs) == 1
    assert df.config.compiled_gradients(False) is False
    assert not TAPES.programs and "switched off" in square_step(x)[1].report()
    assert not TAPES.programs
    df.config.compiled_gradients(True)
    text = square_step(x)[1].report()
    assert "computed by a compiled program" in text and "1 record (multiply)" in text


def test_another_gradient_rule_changes_the_signature():
    op, x = get_op("tanh"), df.Variable(0.5)
    rule, saves, why = op.rule, op.saves, op.why_no_gradient

    def step():
        with df.GradientTape() as tape:
            y = df.tanh(x)
        return tape.gradient(y, x).item(), tape.report()
    before = step()[0]
    try:
        gradient("tanh", saves="output")(lambda g, y, x: g * 7.)
        value, text = step()
        assert value == 7. and "the gradient rule of tanh is not dualflow's" in text
    finally:
        op.rule, op.saves, op.why_no_gradient = rule, saves, why
    assert step()[0] == before


def test_importing_does_not_load_graph_mode():
    code = ("import sys, dualflow as df\nx = df.Variable(2.)\n"
            "with df.GradientTape() as t: y = x * x\n"
            "assert t.gradient(y, x).item() == 4.\n"
            "assert not any(m.startswith('dualflow.graph') for m in sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


# --- interpreted tapes ---------------------------------------------------------------------------


def test_custom_gradients_run_each_time(capfd):
    x, seen = df.Variable(2.), []

    @df.custom_gradient
    def f(x):
        def back(g):
            seen.append(g)
            df.print("back")
            return g * 5.
        return x * x, back

    for _ in range(3):
        with df.GradientTape() as tape:
            y = f(x)
        assert tape.gradient(y, x).item() == 5.
    assert len(seen) == 3 and "".join(capfd.readouterr()).count("back") == 3
    assert "f has a custom gradient" in tape.report()


def test_numerics_checks_and_traces_are_interpreted():
    x = df.Variable(2.)
    df.debugging.enable_check_numerics()
    try:
        assert "numerics are checked" in square_step(x)[1].report()
    finally:
        df.debugging.disable_check_numerics()
    assert df.function(lambda: square_step(x)[0])().item() == 4.
    assert not TAPES.programs


def test_rules_that_read_values_are_interpreted(monkeypatch):
    op, x = get_op("exp"), df.Variable(1.)
    rule = op.rule

    def reads(g, y, x):
        return g * float(y)
    reads.__module__ = "dualflow.ops.tests"
    op.rule = reads
    try:
        for _ in range(3):
            with df.GradientTape() as tape:
                y = df.exp(x)
            assert tape.gradient(y, x).item() == pytest.approx(np.e)
        assert "not compiled yet" not in tape.report() and not TAPES.programs
    finally:
        op.rule = rule


def test_failing_rules_raise_as_in_the_interpreted_pass():
    op, x = get_op("exp"), df.Variable(1.)
    rule = op.rule

    def broken(g, y, x):
        raise ValueError("broken rule")
    broken.__module__ = "dualflow.ops.tests"
    op.rule = broken
    try:
        for _ in range(2):
            with df.GradientTape() as tape:
                y = df.exp(x)
            with pytest.raises(ValueError, match="broken rule") as info:
                tape.gradient(y, x)
            assert "in the gradient of exp" in info.value.__notes__
    finally:
        op.rule = rule


def test_failure_of_a_compiled_pass_falls_back_to_interpretation(monkeypatch):
    x = df.Variable(3.)
    square_step(x)
    (known,) = TAPES.programs
    known.set_program(known.program, [0] * len(known_arguments(known)), lambda made: 1 / 0)
    g, tape = square_step(x)
    assert g.item() == 6. and "its program failed: division by zero" in tape.report()


def known_arguments(known):
    """Return valid arguments of the compiled pass."""
    for n in range(9):
        try:
            known.set_program(known.program, [0] * n, [None])
        except TypeError:
            continue
        return [0] * n
    raise AssertionError


# --- memory, threads -----------------------------------------------------------------------------


def test_non_persistent_tape_drops_its_records():
    x = df.Variable(numbers(4))
    for _ in range(2):
        with df.GradientTape() as tape:
            h = df.exp(x)
            y = df.reduce_sum(h)
        gone = weakref.ref(h)
        del h
        tape.gradient(y, x)
        assert gone() is None and len(tape._tape) == 0
        with pytest.raises(RuntimeError, match="persistent"):
            tape.gradient(y, x)


def test_memory_peak(no_garbage):
    """Arguments are released during the pass, as in the interpreted one."""
    variables, x = mlp([128] * 13), numbers(4096, 128)

    def peak():
        df.config.trim_memory()
        df.config.reset_peak_memory()
        before = df.config.memory_stats()["live"]
        with df.GradientTape() as tape:
            h = through(x, variables)
            loss = df.reduce_mean(h * h)
            del h
        tape.gradient(loss, variables)
        return df.config.memory_stats()["peak"] - before, tape
    limit, _ = interpreted(peak)
    peak()
    most, tape = peak()
    assert "computed by a compiled program" in tape.report()
    assert most <= 1.05 * limit


def test_compiled_passes_that_take_more_memory_are_not_used(monkeypatch):
    monkeypatch.setattr(compile_backward, "MORE", 0.)
    monkeypatch.setattr(compile_backward, "MORE_BYTES", 0)
    tape = square_step(df.Variable(numbers(100)))[1]
    assert "MB, the interpreted backward pass takes" in tape.report()


def test_results_allocated_during_the_run_are_independent(no_garbage):
    w = df.Variable(numbers(256, 256))

    def call():
        with df.GradientTape(persistent=False) as tape:
            y = df.reduce_sum(df.tanh(w @ w) * w)
        return tape.gradient(y, [w])
    same(call)
    a, b = call()[0], call()[0]
    assert bits(a) == bits(b) and a.numpy().ctypes.data != b.numpy().ctypes.data


def test_nothing_leaks(no_garbage):
    variables, x = mlp([8, 300, 8]), numbers(64, 8)

    def step(persistent):
        with df.GradientTape(persistent) as tape:
            loss = df.reduce_mean(through(x, variables) ** 2)
        return tape.gradient(loss, variables)
    for persistent in (False, True):
        for _ in range(3):
            step(persistent)
        before = df.config.memory_stats()["live"]
        for _ in range(50):
            step(persistent)
        assert df.config.memory_stats()["live"] == before
    gc.collect()


def test_threads_share_one_signature():
    variables = mlp([16, 32, 4])
    xs = [numbers(64, 16, seed=k) for k in range(4)]

    def call(x):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(through(x, variables) ** 2)
        return [bits(g) for g in tape.gradient(loss, variables)]
    want = [interpreted(lambda x=x: call(x)) for x in xs]
    wrong = []

    def work(k):
        for _ in range(100):
            if call(xs[k]) != want[k]:
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and not TAPES.counted
    (known,) = TAPES.programs
    assert known.runs + known.backward_passes == 400  # interpreted while one thread compiles


@pytest.mark.parametrize("n, how", [(3, "computed by a compiled program"),
                                    (40, "interpreted: all rows at once")])
@pytest.mark.parametrize("name", ["jacobian", "batch_jacobian"])
def test_report_of_jacobians(name, n, how):
    x = numbers(2, n) if name == "batch_jacobian" else numbers(n)
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = df.tanh(x)
    for _ in range(2):
        getattr(tape, name)(y, x)
    assert tape.report().splitlines()[0] == f"the last gradient of this tape was {how}"
