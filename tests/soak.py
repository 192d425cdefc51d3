"""Checks of consecutive seeds for `--minutes`, from `--seed` on; a failure names its seed."""

import time

import numpy as np


def soak(request, check, step=1):
    """Call `check` with a seed again and again. A call covers `step` seeds from that one on."""
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
