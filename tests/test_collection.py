"""Suspension of Python's garbage collector while modules are loaded."""

import gc

from dualflow._util.collection import HAS_GENERATIONS, loading_modules


def test_loaded_modules_join_the_oldest_generation():
    """Objects that the user has frozen stay frozen."""
    enabled, suite = gc.isenabled(), gc.get_freeze_count()      # the suite freezes its items
    gc.enable()
    gc.unfreeze()
    try:
        with loading_modules():
            assert not gc.isenabled()
            made = [[] for _ in range(2000)]
        assert gc.isenabled() and gc.get_freeze_count() == 0
        if HAS_GENERATIONS:
            assert any(made[0] is x for x in gc.get_objects(generation=2))
        gc.freeze()
        frozen = gc.get_freeze_count()
        with loading_modules():
            pass
        assert gc.get_freeze_count() >= frozen / 2
        gc.disable()
        with loading_modules():
            pass
        assert not gc.isenabled()
    finally:
        gc.unfreeze()
        if suite:
            gc.freeze()
        (gc.enable if enabled else gc.disable)()
