"""What is left in memory."""

import gc

import dualflow as df


def live_bytes():
    """Of tensors, once garbage, and what its finalizers left in turn, is gone, and the programs of
    tapes: which of them are compiled by now depends on the clock."""
    on = df.config.compiled_gradients()
    df.config.compiled_gradients(False)
    df.config.compiled_gradients(on)
    live = None
    while live != (live := df.config.memory_stats()["live"]):
        gc.collect()
    return live
