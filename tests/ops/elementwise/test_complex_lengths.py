"""Elementwise ops on complex numbers at each length: the bits of a result depend on its operands
alone, not on its position in a vector, whose parts are separated in blocks."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests import levels
from tests.ops.complex_checks import drawn

OPS = {
    "multiply": (2, np.multiply), "divide": (2, np.divide), "square": (1, np.square),
    "abs": (1, np.abs), "conj": (1, np.conj), "real": (1, np.real), "imag": (1, np.imag),
    "angle": (1, np.angle), "reciprocal": (1, np.reciprocal), "sign": (1, np.sign),
    "equal": (2, np.equal), "not_equal": (2, np.not_equal),
    "squared_difference": (2, lambda a, b: np.abs(a - b) ** 2), "exp": (1, np.exp),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OPS)
def test_each_length(name, dtype):
    n_in, reference = OPS[name]
    function, most = getattr(df.math, name), 37
    operands = [drawn(k, most, dtype=dtype) for k in range(n_in)]
    operands[-1][::5] = operands[0][::5]                # some are equal
    alone = [function(*[x[i:i + 1] for x in operands]).numpy()[0] for i in range(most)]
    # The sign of numbers of older releases of NumPy is that of the real part.
    want = operands[0] / np.abs(operands[0]) if name == "sign" else reference(*operands)
    np.testing.assert_allclose(alone, want, 2e-6 if dtype == "complex64" else 1e-14)
    for n in range(1, most + 1):
        made = function(*[x[:n] for x in operands]).numpy()
        assert made.tobytes() == np.array(alone[:n]).tobytes(), n


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_length_of_parts(dtype):
    re, im = drawn(0, 37, dtype=dtype), drawn(1, 37, dtype=dtype)
    for n in range(1, 38):
        z = df.complex(re[:n], im[:n])
        np.testing.assert_array_equal(z, re[:n] + 1j * im[:n])
        assert df.math.real(z).numpy().tobytes() == re[:n].tobytes()
        assert df.math.imag(z).numpy().tobytes() == im[:n].tobytes()


@pytest.mark.parametrize("level", [x for x in ("baseline", "avx2", "avx512", "neon")
                                   if x != _core.isa()])
def test_levels(level):
    levels.skip_unless_available(level)
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                          __file__, "-k", "each_length"],
                         cwd=Path(__file__).resolve().parents[3], capture_output=True, text=True,
                         env={**os.environ, "DUALFLOW_ISA": level}, timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
