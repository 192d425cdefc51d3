"""Ctrl-C during the training of an example keeps what was trained."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("tqdm")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parent.parent
SMALL = {"chars": ["--text", "license", "--units", "16", "--rounds", "2000", "--batch", "1",
                   "--span", "5"],
         "gpt": ["--steps", "100000", "--layers", "1", "--width", "16", "--heads", "2", "--length",
                 "16", "--write", "20"]}


def start(name, folder):
    return subprocess.Popen(
        [sys.executable, ROOT / "examples" / f"{name}.py", *SMALL[name], "--checkpoints",
         folder / "kept", "--picture", folder / "loss.png"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=open(folder / "progress", "w"), text=True)


def interrupted(name, folder):
    """Run an example until it trains, press Ctrl-C; return its output and its progress bar."""
    process = start(name, folder)
    end = time.monotonic() + 600
    while "loss=" not in (folder / "progress").read_text():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output, (folder / "progress").read_text()


@pytest.mark.parametrize("name", SMALL)
def test_ctrl_c_keeps_what_was_trained(name, tmp_path):
    output, progress = interrupted(name, tmp_path)
    assert "interrupted" in output and "loss=" in progress
    assert (tmp_path / "loss.png").stat().st_size > 0
    assert list((tmp_path / "kept").iterdir())
    (tmp_path / "progress").unlink()
    output, progress = interrupted(name, tmp_path)
    first = re.search(r"(\d+)/\d+", progress)
    assert "interrupted" in output
    assert int(first[1]) > 0 or "round 1:" not in output        # resumed
