import numpy as np

from tests.ops.case import case, normal, sample


class Limits(sample):
    """Limits of channels: spans are 1.75, 3.5 or 7, the other limit is -1 or 0.75."""

    def draw(self, rng, dtype):
        return (self.low + (self.high - self.low) * (2 ** rng.integers(0, 3, self.shape) - 1)
                ).astype(dtype)


MODULE = "ops.quantization.fake_quant"


def grid(low, high, least, most):
    """Return the limits and the step of a range that is not empty."""
    scale = (high - low) / (most - least)
    zero_point = np.clip(np.rint(least - low / scale), least, most)
    return (least - zero_point) * scale, (most - zero_point) * scale, scale


def rounded(x, low, high, **attrs):
    low, high, scale = grid(low, high, attrs["least"], attrs["most"])
    return np.floor(np.clip(x, low, high) / scale + 0.5) * scale


def grad(g, x, low, high, side, **attrs):
    low, high, _ = grid(low, high, **attrs)
    return np.where((x < low, (x >= low) & (x <= high), x > high)[side + 1], g, 0)


# The steps of these ranges are powers of two, so that results are exact.
BITS = {"least": 0.0, "most": 7.0}
NARROW = {"least": 1.0, "most": 15.0}
for low, high in ((-1., 0.75), (-1., Limits((4,), 0.75, 2.5)), (Limits((4,), -1., -2.75), 0.75)):
    for attrs in (BITS, NARROW):
        case("fake_quant", args=[normal(3, 4), low, high], ref=rounded, edges=False, grad=(),
             kwargs={**attrs, "divide": attrs is BITS}, signed_zero=False,
             function=f"{MODULE}.fake_quant")
    for side in (-1, 0, 1):
        case("fake_quant_grad", args=[normal(3, 4), normal(3, 4), low, high], ref=grad,
             kwargs={**BITS, "side": side}, edges=False, function=f"{MODULE}.fake_quant_grad")
