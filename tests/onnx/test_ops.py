"""Every op can be saved, or has a reason why not; saved ops compute the same."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import dualflow as df
from dualflow import _core
from dualflow.onnx.exporters import REASONS, RULES
from tests.onnx.runtimes import assert_close, model_of, reference, runtime
from tests.ops import harness
from tests.ops.cases import CASES

OWN_NODES = {"call"}                # saved node by node
DTYPES = ("float32", "int32", "bool")
WRITTEN = [c for c in CASES if c.op in RULES]

# Errors of the reference evaluator of onnx 1.23; the other runtime is used.
FAULTS = {
    "conv_backprop_input": "ConvTranspose in groups: reshapes to a wrong size",
    "local_response_normalization": "LRN: windows begin at a wrong channel",
    "lstm": "sequence_lens are not looked at",
    "gru": "sequence_lens are not looked at",
    "simple_rnn": "sequence_lens are not looked at",
    "sparse_softmax_cross_entropy": "GatherElements wants sizes the standard does not want",
    "in_top_k": "GatherElements wants sizes the standard does not want",
}


def test_every_op_has_a_rule_or_a_reason():
    assert set(RULES) & set(REASONS) == set()
    assert set(RULES) | set(REASONS) | OWN_NODES == set(_core.ops()) - LEAVES
    assert all(REASONS.values())


LEAVES = {"parameter", "constant", "variable"}


def _first_dtype(case):
    return next((d for d in DTYPES if d in case.dtypes), None)


def check(case, dtype):
    args = harness.make(case, dtype)
    is_array = lambda a: isinstance(a, np.ndarray | np.generic)  # noqa: E731
    arrays = [np.asarray(a) for a in harness.results(args) if is_array(a)]
    if any(a.size == 0 for a in arrays):
        return                      # runtimes crash
    want = harness.run(case, args)

    def fn(*xs):
        given = iter(xs)
        again = harness.each(lambda a: next(given) if is_array(a) else a, args)
        return harness.results(harness.function(case)(*again, **case.kwargs))

    try:
        model = model_of(fn, *[df.TensorSpec(a.shape, a.dtype) for a in arrays])
    except df.errors.UnimplementedError as error:
        assert case.op in str(error) and "test_ops.py" in str(error)
        return
    try:
        assert_close(want, reference(model, *arrays))
    except Exception:
        if case.op not in FAULTS:
            raise
        pytest.importorskip("onnxruntime")
        given = [a for a, i in zip(arrays, model.graph.input, strict=True) if i.name in
                 {name for node in model.graph.node for name in node.input}]
        if dtype == "float32":
            assert_close(want, runtime(model, *given))


@pytest.mark.parametrize("op", sorted({c.op for c in WRITTEN}))
def test_values(op):
    """Test the first rows of each op."""
    for case in [c for c in WRITTEN if c.op == op][:2]:
        if _first_dtype(case) is not None:
            check(case, _first_dtype(case))


@pytest.mark.soak
@pytest.mark.parametrize("case", WRITTEN, ids=str)
def test_values_of_all_rows(case):
    for dtype in case.dtypes:
        if dtype in ("float32", "float64", "int32", "int64", "bool", "uint8"):
            check(case, dtype)
