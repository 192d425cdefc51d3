"""Memory still in use."""

import gc

import dualflow as df


def live_bytes():
    """Return the bytes of live tensors. Collects garbage until nothing more is freed, and drops
    compiled backward passes: how many exist depends on timing."""
    on = df.config.compiled_gradients()
    df.config.compiled_gradients(False)
    df.config.compiled_gradients(on)
    live = None
    while live != (live := df.config.memory_stats()["live"]):
        gc.collect()
    return live
