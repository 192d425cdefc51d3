"""The exported folder that several tests use."""

import shutil

import pytest

from dualflow.aot.clusters.worker import WORKER
from tests.once import alone


@pytest.fixture
def interpreted(monkeypatch):
    """Leave clusters to the interpreter: their compilation in the background takes longer than most
    exports, which never wait for it."""
    monkeypatch.setattr(WORKER, "add", lambda jobs: None)


@pytest.fixture
def built(shared, interpreted):
    """Return the folder of an export of every kind of program, which its Makefile has built, and
    the output of its check. The first test that needs it builds it for all processes of the run."""
    from tests.aot.test_build import make, write_all

    folder, said = shared / "export/model", shared / "export/said"
    folder.parent.mkdir(exist_ok=True)
    with alone(folder):
        if not said.exists():
            shutil.rmtree(folder, ignore_errors=True)
            write_all(folder)
            said.write_text(make(folder, "OPT=-O0 -Wno-error"))
    return folder, said.read_text()
