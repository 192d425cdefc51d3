"""The benchmark comparison with other libraries: every listed workload runs, and the report states
what was timed."""

import ast
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dualflow as df
from asv_bench import history, onnx_side_by_side, side_by_side
from asv_bench.peers import in_dualflow, in_numpy, ops, work
from asv_bench.peers.work import WORK

PEERS = Path(work.__file__).parent
SMALL = {"n": 64, "times": 2, "rows": 9, "m": 4, "k": 3, "batch": 2, "size": 6, "inputs": 4,
         "outputs": 4, "sizes": [5, 4, 3], "tokens": 3, "layers": 1, "width": 8, "heads": 2,
         "rounds": 5, "steps": 3}


def kinds(path):
    """Return the functions of a module and their arguments."""
    return {node.name: [a.arg for a in node.args.args] + ["**"] * bool(node.args.kwarg)
            for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path", sorted(PEERS.glob("in_*.py")), ids=lambda p: p.stem)
def test_modules_accept_the_listed_arguments(path):
    found = kinds(path)
    known = {w.kind for w in WORK}
    if path.stem == "in_dualflow":
        assert known <= set(found)
    for w in WORK:
        arguments = found.get(w.kind)
        assert arguments is None or "**" in arguments or set(w.args) <= set(arguments), w.name


def test_workload_names_are_unique_and_targets_valid():
    assert len({w.name for w in WORK}) == len(WORK)
    assert all(w.share is None or 0 < w.share <= 1 for w in WORK)


@pytest.mark.parametrize("w", {w.kind: w for w in WORK}.values(), ids=lambda w: w.kind)
def test_dualflow_workloads_run(w):
    made = getattr(in_dualflow, w.kind)(**w.args | {k: v for k, v in SMALL.items() if k in w.args})
    call = made[0] if isinstance(made, tuple) else made
    call()


@pytest.mark.parametrize("w", [w for w in ops.OPS if w.args["n"] == ops.SMALL],
                         ids=lambda w: w.name)
def test_ops_of_the_sweep_run(w):
    assert set(w.args["texts"]) <= set(side_by_side.LIBRARIES)
    in_dualflow.expression(**w.args | {"n": 100})()


def test_names_of_the_sweep_are_unique():
    assert len({w.name for w in ops.OPS}) == len(ops.OPS)


@pytest.mark.parametrize("kind, args", [("add", {"n": 5}), ("matmul", {"m": 2, "k": 3, "n": 4}),
                                        ("along", {"op": "argmax", "axis": 1})])
def test_libraries_compute_equal_results(kind, args):
    assert (getattr(in_dualflow, kind)(**args)().numpy().tolist()
            == pytest.approx(getattr(in_numpy, kind)(**args)(), rel=1e-5))


def test_worker_times_requested_workloads():
    library = side_by_side.Library("dualflow", sys.executable, 1)
    try:
        assert library.version
        assert library.ask(kind="add", args={"n": 4})["once"] > 0
        assert library.ask(calls=3)["seconds"] > 0
        assert "AttributeError" in library.ask(kind="fly", args={})["missing"]
        assert "missing" in library.ask(calls=1)
    finally:
        library.stop()


def test_missing_library_is_reported():
    assert subprocess.run([sys.executable, "-m", "asv_bench.peers.worker", "nothing", "1"],
                          check=True, cwd=PEERS.parent.parent, text=True,
                          capture_output=True).stdout.startswith('{"missing"')


def test_share_and_duration_text():
    assert side_by_side.share({"dualflow": 1., "numpy": 4., "torch": 2.}) == .5
    assert side_by_side.share({"dualflow": 1.}) is side_by_side.share({"numpy": 1.}) is None
    assert [side_by_side.duration(s) for s in (None, 1.5e-6, .25)] == ["-", "1.5 µs", "250 ms"]
    paths = side_by_side.pythons(["a", "torch=b"])
    assert paths["torch"] == "b" and paths["jax"] == "a" and paths["dualflow"] == sys.executable


def test_draw_writes_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [(w, {}, .5 if k % 2 else None) for k, w in enumerate(WORK)]
    side_by_side.draw(rows, tmp_path / "shares.png")
    assert (tmp_path / "shares.png").stat().st_size > 1000


def test_history_curves(tmp_path, monkeypatch):
    """Read asv results: a list of values for each benchmark, null for failures."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(history, "RESULTS", tmp_path)
    monkeypatch.setattr(history, "full", lambda commit: commit)
    (tmp_path / "machine").mkdir()
    for k, (commit, _) in enumerate(history.milestones()):
        (tmp_path / "machine" / f"{commit}.json").write_text(json.dumps({
            "commit_hash": commit, "result_columns": ["result", "params"],
            "results": {"headline.Headline.time_work": [[1. + k, None], [["'a'", "'b'"]]]}}))
    found = history.figures()
    assert found["a"] == [1. + k for k in range(len(history.milestones()))]
    assert set(found["b"]) == {None}
    history.draw(tmp_path / "history.svg")
    assert "µs" in (tmp_path / "history.svg").read_text()


def test_milestones_are_commits():
    if not (PEERS.parent.parent / ".git").exists():
        pytest.skip("no git history")
    for commit, name in history.milestones():
        assert name and len(history.full(commit)) == 40


def test_models_of_files(tmp_path, monkeypatch, capsys):
    """The worker prints the time to the first result, one for each block, and its peak memory."""
    pytest.importorskip("onnx")
    path = str(tmp_path / "model.onnx")
    df.onnx.save(lambda x: df.tanh(x) * 2., path, df.TensorSpec([3, 2]))
    monkeypatch.setattr(onnx_side_by_side, "BLOCK_SECONDS", 0)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n"))
    onnx_side_by_side.work("dualflow", path, 1)
    *times, memory = [float(line) for line in capsys.readouterr().out.split()]
    assert len(times) == 3 and min(times) > 0 and memory > 20
