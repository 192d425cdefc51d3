"""Profiles: a row per instruction, tables, traces."""

import json

import pytest

import dualflow as df
from dualflow.graph.inspect.profile import Profile, Row, peak

w = df.Variable(df.ones([8, 16]), name="w")


@pytest.fixture
def step():
    w.assign(df.ones([8, 16]))

    @df.function(passes=False)
    def step(x):
        y = df.matmul(x, w)
        z = df.exp(y) * 0.
        w.assign_sub(df.ones([8, 16]))
        return df.reduce_sum(z)

    return step


def test_profile_has_a_row_per_instruction(step):
    profile = step.profile(df.ones([32, 8]), runs=3)
    rows = {row.label: row for row in profile.rows}
    product = rows["matmul"]
    assert product.flops == 2 * 32 * 8 * 16
    assert (product.read, product.written) == (4 * (32 * 8 + 8 * 16), 4 * 32 * 16)
    assert rows["exp"].flops == rows["reduce_sum"].flops == 32 * 16
    assert "test_profile.py" in product.line
    assert all(row.ns >= 0 and row.duration >= 0 for row in profile.rows)
    starts = [row.start for row in profile.rows]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert profile.runs == 3


def test_profiling_leaves_variables_unchanged(step):
    step.profile(df.ones([32, 8]), runs=3)
    assert w.numpy().min() == w.numpy().max() == 1.
    step(df.ones([32, 8]))
    assert w.numpy().max() == 0.


def test_flops_of_batched_matmul():
    f = df.function(lambda a, b: df.matmul(a, b, transpose_b=True))
    a, b = df.ones([3, 1, 4, 5]), df.ones([2, 6, 5])
    assert f.profile(a, b, runs=1).rows[0].flops == 2 * (3 * 2) * 4 * 5 * 6


def test_flops_of_clusters_count_every_step():
    f = df.function(lambda x: df.tanh(x * x + 1.) * x)
    profile = f.profile(df.ones([1000]), runs=1)
    assert sum(row.flops for row in profile.rows) == 4000


def row(label, ns, start=0, **others):
    return Row(**{"label": label, "name": label, "ns": ns, "start": start, "duration": int(ns),
                  "read": 4000, "written": 4000, "flops": 1e6, "line": "file.py:1"} | others)


def test_table_is_sorted_and_shows_peak_rates():
    profile = Profile("f", [row("fast", 1000.), row("slow", 9000.)], 5)
    lines = str(profile).splitlines()
    assert lines[0].startswith("f: 2 instructions, 10.0 us (medians of 5 runs); this machine:")
    assert [line.split()[-2] for line in lines[2:]] == ["slow", "fast"]
    assert lines[2].split()[:7] == ["9.00", "90.0", "4.0", "4.0", "1.000", "0.9", "111.1"]


def test_roofline_is_bound_by_memory_or_arithmetic():
    bound_by_memory = row("a", 1e6, read=int(peak().bandwidth / 2e3), written=0, flops=0.)
    assert bound_by_memory.roofline == pytest.approx(0.5, rel=1e-3)
    bound_by_arithmetic = row("b", 1e6, read=0, written=0, flops=peak().flops / 4e3)
    assert bound_by_arithmetic.roofline == pytest.approx(0.25, rel=1e-3)
    assert row("c", 0.).roofline == row("c", 0.).speed == 0.


def test_chrome_trace(tmp_path, step):
    profile = step.profile(df.ones([32, 8]), runs=2)
    text = profile.chrome_trace(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == text
    events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events] == [row.label for row in profile.rows]
    for event in events:
        assert {"ts", "dur", "pid", "tid", "args"} <= set(event)
        assert event["tid"] == 1


def test_concurrent_rows_get_separate_trace_threads():
    rows = [row("a", 100., 0), row("b", 50., 10), row("c", 10., 70), row("d", 10., 120)]
    events = json.loads(Profile("f", rows, 1).chrome_trace())["traceEvents"]
    assert [e["tid"] for e in events if e["ph"] == "X"] == [1, 2, 2, 1]
