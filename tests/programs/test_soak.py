"""Random programs for a given time: ``pytest -m soak --minutes 60``.

Prints the number of programs, the rate, the last seed and the process memory, and checks that
finished programs leak nothing. A failure names its seed; ``--minutes 0 --seed N`` runs only that
seed.
"""

import gc
import resource
import time

import numpy as np
import pytest

from dualflow.graph.trace.trace import Trace
from tests import sampling
from tests.live import live_bytes
from tests.programs import (
    around,
    composites,
    control,
    derivatives,
    failures,
    names,
    program,
    signatures,
    sizes,
    state,
    written,
)

EVERY = 30.             # seconds between lines

CHECKS = {"programs": program.check, "gradients around calls": around.check,
          "failures": failures.check, "branches and loops": control.check,
          "written": written.check, "names": names.check, "derivatives": derivatives.check,
          "composites": composites.check, "signatures": signatures.check,
          "sizes": sizes.check, "state": state.check}


def left():
    """Return the number of traces and the bytes of tensors, which finished programs must
    release."""
    live = live_bytes()
    return sum(isinstance(x, Trace) for x in gc.get_objects()), live


def resident():
    """Return the resident memory of this process in MB."""
    with open("/proc/self/statm") as f:
        return (int(f.read().split()[1]) * resource.getpagesize()) >> 20


def test_finished_programs_leak_nothing():
    for one in CHECKS.values():
        one(0)
    before = left()
    for seed in sampling.part([2, 1], 2):
        for one in CHECKS.values():
            one(seed)
    assert left() == before


@pytest.mark.soak
def test_soak(request, capsys):
    minutes = request.config.getoption("minutes")
    seed = request.config.getoption("seed")
    if seed is None:
        seed = int(np.random.SeedSequence().entropy % 10**9)
    start = time.monotonic()
    said, count, before = start, 0, left()
    with capsys.disabled():
        print(f"\nsoak: from seed {seed}, {minutes} minutes")
        while True:
            for name, one in CHECKS.items():
                try:
                    one(seed + count)
                except BaseException:
                    print(f"soak: {name} fails at seed {seed + count}, program {count + 1}")
                    raise
            count += 1
            now = time.monotonic()
            done = now - start >= 60 * minutes
            if done or now - said >= EVERY:
                said = now
                print(f"soak: seed {seed + count - 1}, {count} of each of {', '.join(CHECKS)}, "
                      f"{count / (now - start):.1f} a second, {resident()} MB")
                assert left() == before
            if done:
                return
