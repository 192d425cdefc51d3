"""Runs between trace_on and trace_export: graphs before and after the passes, and run times."""

import threading

import pytest

import dualflow as df
from dualflow.summary.graph_def import DEVICE
from tests.summary.events import read, run_metadata

W = df.Variable(df.random.stateless_normal([64, 64], seed=[1, 2]), name="w")


@df.function
def step(x):
    for _ in df.range(3):
        x = df.tanh(x @ W)
    return df.reduce_sum(x * x + 1.)


@df.function
def other(x):
    return df.exp(x) * 2.


@pytest.fixture(autouse=True)
def off():
    yield
    df.summary.trace_off()


def export(tmp_path, name="t"):
    with df.summary.create_file_writer(tmp_path).as_default(step=1):
        df.summary.trace_export(name)


def graph(metadata):
    (one,) = metadata.function_graphs
    return {node.name: node for node in one.pre_optimization_graph.node}


@pytest.mark.parametrize("profiler", [False, True])
def test_graphs_and_times(tmp_path, profiler):
    x = df.ones([32, 64])
    want = step(x), step(x)                    # cached calls are traced as well
    df.summary.trace_on(graph=True, profiler=profiler)
    assert step(x).item() == want[0].item()
    export(tmp_path)
    before, after = run_metadata(tmp_path, "t"), run_metadata(tmp_path, "t/optimized")
    assert "tanh" in {n.op for n in graph(before).values()}
    assert "tanh" not in {n.op for n in graph(after).values()}
    plugin = read(tmp_path).SummaryMetadata("t/optimized").plugin_data
    assert plugin.content == b"1"
    assert plugin.plugin_name == "graph_run_metadata" + "_graph" * (not profiler)
    if not profiler:
        assert not after.step_stats.dev_stats
        return
    (device,) = after.step_stats.dev_stats
    assert device.device == DEVICE
    times = {s.node_name: s for s in device.node_stats}
    assert set(times) <= set(graph(after))
    assert all(s.all_end_rel_micros >= 1 for s in times.values())
    loop = next(name for name, n in graph(after).items() if n.op == "loop")
    (product,) = [name for name in times if name.startswith(f"{loop}/")]
    assert 0 < times[product].all_end_rel_nanos <= times[loop].all_end_rel_nanos
    assert times[product].output[0].tensor_description.allocation_description.requested_bytes == (
        32 * 64 * 4)


def test_several_functions_are_scopes(tmp_path):
    df.summary.trace_on(profiler=True)
    step(df.ones([4, 64])), other(df.ones([4])), other(df.ones([5]))
    export(tmp_path)
    after = run_metadata(tmp_path, "t/optimized")
    scopes = {name.split("/")[0] for name in graph(after)}
    assert scopes == {"step", "other", "other_1"}
    assert {s.node_name.split("/")[0] for s in after.step_stats.dev_stats[0].node_stats} == scopes


def test_under_a_tape(tmp_path):
    x = df.ones([4])
    df.summary.trace_on(profiler=True)
    assert df.grad(lambda x: df.reduce_sum(other(x)))(x).shape == (4,)
    export(tmp_path)
    assert len({name.split("/")[0] for name in graph(run_metadata(tmp_path, "t"))}) == 2


def test_threads(tmp_path):
    df.summary.trace_on()
    thread = threading.Thread(target=other, args=(df.ones([7]),))
    thread.start()
    thread.join()
    export(tmp_path)
    assert "x" in graph(run_metadata(tmp_path, "t"))


def test_effects_happen_once():
    v = df.Variable(0.)
    f = df.function(lambda x: v.assign_add(x))
    f(df.constant(1.))
    df.summary.trace_on(profiler=True)
    f(df.constant(1.))
    df.summary.trace_off()
    f(df.constant(1.))
    assert v.numpy() == 3.


def test_invalid_uses_raise():
    with pytest.raises(ValueError, match="trace_export: no trace is on"):
        df.summary.trace_export("t", step=1)
    df.summary.trace_on(graph=False)
    with pytest.raises(ValueError, match="no trace is on"):
        df.summary.trace_export("t", step=1)
    df.summary.trace_on()
    with pytest.warns(UserWarning, match="a trace is on already"):
        df.summary.trace_on()
    df.summary.trace_export("t")            # without a writer nothing is written; the trace ends
    with pytest.raises(ValueError, match="no trace is on"):
        df.summary.trace_export("t", step=1)


def test_failing_run():
    f = df.function(lambda x, k: df.gather(x, k))
    df.summary.trace_on(profiler=True)
    with pytest.raises(IndexError):
        f(df.ones([3]), df.constant(7))
    df.summary.trace_off()
