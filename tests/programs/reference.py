"""Derivatives along a direction by central differences, in float64.

The functions run eagerly with Python's own control flow. The library does not compute the
derivative of the order in question, so an error of a gradient rule in any mode is detected.
"""

from collections.abc import Callable, Sequence

import numpy as np

STEP = 2e-3
TOLERANCE = 2e-6        # two step sizes must agree to this


def differences(f: Callable[[float], float]) -> float | None:
    """Return df/dt at t = 0, or None if the differences of two steps disagree.

    The differences disagree if another branch is taken nearby. The error of each is O(step⁴).
    """
    values = {k: f(k * STEP / 2) for k in (-4, -2, -1, 1, 2, 4)}

    def slope(k: int) -> float:
        step = k * STEP / 2
        return (8. * (values[k] - values[-k]) - (values[2 * k] - values[-2 * k])) / (12. * step)

    wide, narrow = slope(2), slope(1)
    largest = max(1., abs(narrow), *[abs(x) for x in values.values()])
    return narrow if abs(wide - narrow) <= TOLERANCE * largest else None


def moved(xs: Sequence[np.ndarray], direction: Sequence[np.ndarray], t: float) -> list[np.ndarray]:
    """Return the point at distance t along a direction."""
    return [x + t * u for x, u in zip(xs, direction, strict=True)]
