"""The node cases that come with the onnx package: what is loaded computes what they say, eagerly
and traced, sizes known and not."""

import functools
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx.backend.test.loader as loader

import dualflow as df
from tests.onnx.runtimes import tensor

# By what names of cases match: why they are not computed.
EXCLUDED = {
    r"string|strnorm|regex|tfidf|label_encoder|_ml_": "strings and the ML domain are not known",
    r"test_sequence|_to_sequence|_sequence$|_seq$|_seq_none|optional|_opt$":
        "sequences and optional values are not known",
    r"image_decoder": "needs a decoder of images",
    r"adam|adagrad|momentum": "the training domain is a preview",
    r"bernoulli|training_dropout(?!_zero)": "numbers drawn are those of no standard",
    r"FLOAT8|E8M0|e8m0|FLOAT4|UINT4|INT4|UINT2|INT2|_int4|_uint4|_int2|_uint2|e4m3|e5m2|float4":
        "dtypes of 8 bits with a fraction, of 4 and of 2 bits are not known",
    r"roialign|deform_conv|maxunpool|nonmaxsuppression|melweight":
        "there is no kernel for it yet",
    r"unique_sorted_with_": "Unique is of flat tensors",
    r"maxpool_with_argmax_2d": "MaxPool gives no indices",
    r"lstm_with_peepholes": "the kernel of LSTM has no peepholes",
    r"scan_sum": "Scan before version 9 had batches",
}
# Traced, sizes must be known or follow from shapes; these get them as data.
DATA_SIZES = r"affine_grid|loop11|range_.*expanded"


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {c.name: c for c in loader.load_model_tests(kind="node")}


def reason(name):
    return next((why for pattern, why in EXCLUDED.items() if re.search(pattern, name)), None)


def is_operand(k, x):
    """Whether an input is a shape, axes or the like, which traced functions want as constants."""
    return (k > 0 and x.dtype.is_integer and x.ndim <= 1) or (x.dtype.is_bool and x.ndim == 0)


def traced(model, given, case):
    """The model with operands fixed, as a function of the rest, of any sizes."""
    kinds = {node.op_type for node in case.model.graph.node}
    fixed = [is_operand(k, x) or bool(kinds & {"Resize", "Upsample", "OneHot", "Dropout"} and k > 0)
             or bool(kinds & {"ConstantOfShape", "Range"}) for k, x in enumerate(given)]
    free = [x for x, f in zip(given, fixed, strict=True) if not f]

    @df.function
    def fn(*xs):
        rest = iter(xs)
        return model(*[x if f else next(rest) for x, f in zip(given, fixed, strict=True)])
    return fn(*free)


def check(case, run):
    model = df.onnx.load(case.model)
    for inputs, outputs in case.data_sets:
        made = run(model, [tensor(x) for x in inputs])
        made = made if isinstance(made, tuple) else (made,)
        for want, got in zip(map(tensor, outputs), made, strict=True):
            assert (want.dtype, want.shape) == (got.dtype, got.shape)
            a, b = [np.asarray(y.numpy(), "float64") for y in (want, got)]
            half = want.dtype.itemsize == 2
            loose = max(case.rtol, 1e-2 if half else 1e-3) if want.dtype.is_floating else 0
            np.testing.assert_allclose(a, b, rtol=loose, atol=loose * (1 if half else 1e-2))


NAMES = sorted(cases())
SAMPLE = [n for n in NAMES if reason(n) is None][::23]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLE)
def test_case(name):
    check(cases()[name], lambda model, given: model(*given))
    if not re.search(DATA_SIZES, name):
        check(cases()[name], lambda model, given: traced(model, given, cases()[name]))


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if reason(n) is None])
def test_every_case_eagerly(name):
    check(cases()[name], lambda model, given: model(*given))


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if reason(n) is None
                                  and not re.search(DATA_SIZES, n)])
def test_every_case_traced(name):
    check(cases()[name], lambda model, given: traced(model, given, cases()[name]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pattern", EXCLUDED)
def test_what_is_excluded_is_refused(pattern):
    """Of those that a reason is given for, the first and the last."""
    found = [n for n in NAMES if re.search(pattern, n)]
    for name in (found[0], found[-1]):
        with pytest.raises((NotImplementedError, TypeError)):
            check(cases()[name], lambda model, given: model(*given))
