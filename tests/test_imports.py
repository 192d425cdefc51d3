"""Imports of modules at run time: the collector is suspended, also where Ctrl-C ends them."""

import gc
import sys

import pytest

from dualflow._util import imports
from dualflow._util.imports import HAS_GENERATIONS, import_modules
from tests.threads.interrupt import interrupt, places

MODULE = """
import gc
suspended = not gc.isenabled()
made = [[] for _ in range(2000)]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that imports the module again."""
    (tmp_path / "made_for_imports.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def load():
        sys.modules.pop("made_for_imports", None)
        return import_modules("gc", "made_for_imports")

    yield load
    sys.modules.pop("made_for_imports", None)


@pytest.fixture
def collector():
    """Enable the collector, and unfreeze the items of the suite, during a test."""
    enabled, frozen = gc.isenabled(), gc.get_freeze_count()
    gc.enable()
    gc.unfreeze()
    yield
    gc.unfreeze()
    if frozen:
        gc.freeze()
    (gc.enable if enabled else gc.disable)()


def test_loaded_modules_join_the_oldest_generation(module, collector):
    """Objects that the user has frozen stay frozen."""
    loaded = module()
    assert loaded.suspended
    assert gc.isenabled() and gc.get_freeze_count() == 0
    if HAS_GENERATIONS:
        assert any(loaded.made[0] is x for x in gc.get_objects(generation=2))
    gc.freeze()
    frozen = gc.get_freeze_count()
    module()
    assert gc.get_freeze_count() >= frozen / 2
    gc.disable()
    module()
    assert not gc.isenabled()


@pytest.mark.filterwarnings("ignore")       # warnings of Python's import system
def test_interrupt_at_every_position(module, collector):
    """Ctrl-C leaves no collector suspended, no object frozen and no fork waiting."""
    module()
    found = places(module, ("imports.py",), 7)
    assert len(found) > 10
    for n in found:
        error = interrupt(module, n)
        assert gc.isenabled() and gc.get_freeze_count() == 0, f"after {error!r}"
        assert not imports._loading, f"after {error!r}"
        assert imports._gate.acquire(blocking=False)
        imports._gate.release()
