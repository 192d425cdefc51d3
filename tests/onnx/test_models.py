"""The small models shipped with the onnx package, most of them converted from PyTorch."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import onnx.backend.test.loader as loader

import dualflow as df
from tests.onnx.runtimes import tensor

REFUSED = {r"strnorm": "there is no dtype of strings"}
TRACED_WITH_DATA = r"expand_shape|sequence_model[78]"      # sizes are an input


@functools.cache
def models():
    kinds = "simple", "pytorch-converted", "pytorch-operator"
    return {c.name: c for kind in kinds for c in loader.load_model_tests(kind=kind)}


def sets(case):
    """Return inputs and outputs, from memory or files."""
    if case.model is not None:
        return case.data_sets
    folders = sorted(Path(case.model_dir).glob("test_data_set_*"))
    return [[[onnx.load_tensor(folder / f"{what}_{k}.pb")
              for k in range(len(list(folder.glob(f"{what}_*.pb"))))]
             for what in ("input", "output")] for folder in folders]


def check(name):
    case = models()[name]
    proto = case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")
    for traced in False, True:
        fn = df.onnx.load(proto, traced=traced)
        for inputs, outputs in sets(case):
            made = fn(*map(tensor, inputs))
            for want, got in zip(map(tensor, outputs), made if isinstance(made, tuple) else [made],
                                 strict=True):
                assert (want.dtype, want.shape) == (got.dtype, got.shape)
                np.testing.assert_allclose(want.numpy(), got.numpy(), rtol=1e-3, atol=1e-5)
        by_program = traced and not re.search(TRACED_WITH_DATA, name)
        assert by_program <= (fn.program is not None)


KNOWN = [n for n in sorted(models()) if not any([re.search(r, n) for r in REFUSED])]


@pytest.mark.parametrize("name", KNOWN[::7])
def test_model(name):
    check(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", KNOWN)
def test_every_model(name):
    check(name)


@pytest.mark.parametrize("pattern", REFUSED)
def test_unsupported_models_raise(pattern):
    for name in [n for n in models() if re.search(pattern, n)]:
        with pytest.raises(df.errors.UnimplementedError):
            check(name)
