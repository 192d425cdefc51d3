"""The programs match TensorFlow: structure, dtypes, shapes and values."""

import json

import numpy as np
import pytest

import dualflow.compat.v1 as tf
from tests.compat.programs import PROGRAMS, REFERENCE, plain

EXPECTED = json.loads(REFERENCE.read_text())


def compare(found, wanted, path):
    if isinstance(wanted, list):
        assert len(found) == len(wanted), path
        for k, (x, y) in enumerate(zip(found, wanted, strict=True)):
            compare(x, y, f"{path}[{k}]")
    elif isinstance(wanted, dict):
        assert (found["dtype"], found["shape"]) == (wanted["dtype"], wanted["shape"]), path
        np.testing.assert_allclose(found["values"], wanted["values"], rtol=3e-6, atol=1e-6,
                                   err_msg=path)
    else:
        assert found == wanted, path


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_matches_tensorflow(name):
    compare(json.loads(json.dumps(plain(PROGRAMS[name](tf)))), EXPECTED[name], name)
