"""Elementwise rows on empty, scalar, broadcast and incompatible shapes."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.case import sample
from tests.ops.cases import CASES

ELEMENTWISE = [c for c in CASES if harness.elementwise(c)]
BINARY = [c for c in ELEMENTWISE if sum(isinstance(a, sample) for a in c.args) > 1]
ALONE = [(), (0,), (1,), (2, 0, 3), (1, 1, 1), (2, 3, 4, 5, 2)]
TOGETHER = [
    ((3, 1), (1, 4)), ((), (5,)), ((5,), ()), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)),
    ((1,), (0,)), ((0, 1), (1, 3)), ((70, 513), (513,)), ((70, 513), (70, 1)),
    ((3, 1, 1100), (1, 5, 1)), ((1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1)),
]


@pytest.mark.parametrize("case, dtype", harness.rows(ELEMENTWISE))
def test_empty_and_scalar(case, dtype):
    for shape in ALONE:
        harness.check(case, harness.make(case, dtype, harness.reshaped(case, shape)))


@pytest.mark.parametrize("case, dtype", harness.rows(BINARY))
def test_broadcast(case, dtype):
    for shapes in TOGETHER:
        harness.check(case, harness.make(case, dtype, harness.reshaped(case, *shapes)))


@pytest.mark.parametrize("case", BINARY, ids=str)
def test_shapes_that_do_not_broadcast(case):
    args = harness.make(case, case.dtypes[0], harness.reshaped(case, (2, 3), (2, 4)))
    with pytest.raises(df.errors.ShapeError) as caught:
        harness.run(case, args)
    message = str(caught.value)
    assert case.op in message or case.function.rpartition(".")[2] in message, message
    assert "3" in message and "4" in message, message
    harness.check(case, harness.make(case, case.dtypes[0]))      # usable afterwards


@pytest.mark.parametrize("op", [o for o in _core.ops() if _core.get_op(o).kind == "elementwise"
                                and _core.get_op(o).n_in > 1 and not _core.get_op(o).attrs])
def test_broadcast_error_of_the_op(op):
    """Cover ops that rows may not reach."""
    handle = _core.get_op(op)
    dtype = handle.dtypes[0]
    x, y = (df.constant(np.zeros(s, dtype)) for s in ((2, 3), (2, 4)))
    key = [df.constant(np.zeros((2, 3), bool))] * (handle.n_in - 2)
    with pytest.raises(df.errors.ShapeError, match=op):
        _core.apply(op, *key, x, y)
