"""Samples of matrices, and the accuracy of results of factorisations."""

from dataclasses import dataclass

import numpy as np

from tests.ops.case import FIELD, sample


@dataclass(frozen=True)
class regular(sample):
    """Return matrices that are well-conditioned, and not symmetric."""

    def draw(self, rng, dtype):
        x = super().draw(rng, dtype)
        return (x + 3 * x.shape[-1] ** 0.5 * np.eye(x.shape[-1])).astype(dtype)


@dataclass(frozen=True)
class definite(sample):
    """Return matrices that are symmetric or Hermitian, and positive definite."""

    def draw(self, rng, dtype):
        x = super().draw(rng, dtype)
        return (x @ np.swapaxes(x, -1, -2).conj() + x.shape[-1] * np.eye(x.shape[-1])).astype(dtype)


NEAR = {"rel": 1e-5, "edges": False, "signed_zero": False}
BOTH = {"dtypes": FIELD, **NEAR}        # real and complex matrices
