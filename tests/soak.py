"""Run a check with consecutive seeds for `--minutes` from `--seed` on; a failure names its seed."""

import time

import numpy as np


def soak(request, check, step=1):
    """Call `check` with consecutive seeds until time is up. One call covers `step` seeds."""
    seed, minutes = request.config.getoption("seed"), request.config.getoption("minutes")
    if seed is None:
        seed = int(np.random.SeedSequence().entropy % 10**9)
    end = time.monotonic() + 60 * minutes
    while True:
        try:
            check(seed)
        except BaseException as error:
            error.add_note(f"soak: fails with --minutes 0 --seed {seed}")
            raise
        seed += step
        if time.monotonic() >= end:
            return
