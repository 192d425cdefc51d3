"""Random programs for as long as asked: ``pytest -m soak --minutes 60``.

Prints how many ran, how fast, and the last seed. A failure names its seed; with ``--minutes 0
--seed N`` only that one runs.
"""

import time

import numpy as np
import pytest

from tests.programs import around, failures, program

EVERY = 30.             # seconds between lines

CHECKS = {"programs": program.check, "gradients around calls": around.check,
          "failures": failures.check}


@pytest.mark.soak
def test_soak(request, capsys):
    minutes = request.config.getoption("minutes")
    seed = request.config.getoption("seed")
    if seed is None:
        seed = int(np.random.SeedSequence().entropy % 10**9)
    start = time.monotonic()
    said, count = start, 0
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
                      f"{count / (now - start):.1f} a second")
            if done:
                return
