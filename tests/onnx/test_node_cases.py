"""The node cases shipped with the onnx package: loaded files compute the expected outputs, eager
and traced, with known and unknown sizes."""

import functools
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import onnx.backend.test.loader as loader
from onnx import TensorProto

import dualflow as df
from tests.onnx.runtimes import leaves, tensor

# Reasons why cases are skipped or not compared, derived from their contents.
NOT_KNOWN = {
    "strings": "there is no dtype of strings",
    "ml": "the domain ai.onnx.ml is of trees and tables of strings",
    "random": "numbers drawn are those of no standard",
    "codec": "needs decoders of images",
}
# The expected output has rounding errors where the exact result is zero.
NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {c.name: c for c in loader.load_model_tests(kind="node")}


def nodes(graph):
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from nodes(a.g)


def reason(name):
    """Return the reason from NOT_KNOWN; None if a case is computed."""
    model = cases()[name].model
    inside = [*nodes(model.graph), *[n for f in model.functions for n in f.node]]
    kinds = {n.op_type for n in inside}
    dtypes = {v.type.tensor_type.elem_type for v in (*model.graph.input, *model.graph.output)}
    if "ai.onnx.ml" in {n.domain for n in inside}:
        return "ml"
    if TensorProto.STRING in dtypes:
        return "strings"
    if any(k.startswith("Random") or k == "Bernoulli" for k in kinds) or re.search(
            r"training_dropout(?!_zero)", name):
        return "random"
    return "codec" if "ImageDecoder" in kinds else None


def is_operand(k, x):
    """Return True if an input is a shape, axes or the like, which must be constant when traced."""
    return isinstance(x, df.TensorBase) and (
        (k > 0 and x.dtype.is_integer and x.ndim <= 1) or (x.dtype.is_bool and x.ndim == 0))


ALL_OPERANDS = {"ConstantOfShape", "Range", "MelWeightMatrix"}
THE_FIRST = {"Loop"}                    # the trip count
ALL_BUT_THE_FIRST = {"Resize", "Upsample", "OneHot", "Dropout"}


def traced(model, given, case):
    """Return the model with operands fixed as a function of the other inputs, of any sizes."""
    kinds = {node.op_type for node in case.model.graph.node}
    fixed = [is_operand(k, x) or bool(kinds & ALL_BUT_THE_FIRST and k > 0)
             or bool(kinds & ALL_OPERANDS) or bool(kinds & THE_FIRST and k == 0)
             for k, x in enumerate(given)]
    free = [x for x, f in zip(given, fixed, strict=True) if not f]

    @df.function
    def fn(*xs):
        rest = iter(xs)
        return model(*[x if f else next(rest) for x, f in zip(given, fixed, strict=True)])
    return fn(*free)


def check(case, run):
    model = df.onnx.load(case.model, traced=False)
    for inputs, outputs in case.data_sets:
        made = run(model, [tensor(x) for x in inputs])
        made = made if isinstance(made, tuple) else (made,)
        for want, got in zip(leaves(map(tensor, outputs)), leaves(made), strict=True):
            assert (want.dtype, want.shape) == (got.dtype, got.shape), case.name
            a, b = [np.asarray(y.numpy(), "float64") for y in (want, got)]
            half = 1e-2 if want.dtype.is_floating and want.dtype.itemsize == 2 else 0
            noise = NOISE.get(case.name, 0)
            np.testing.assert_allclose(b, a, rtol=max(case.rtol, half),
                                       atol=max(case.atol, half, noise), err_msg=case.name)


def check_eagerly(name):
    check(cases()[name], lambda model, given: model(*given))


def check_traced(name):
    check(cases()[name], lambda model, given: traced(model, given, cases()[name]))


@functools.cache
def known():
    """Return the sorted names of the cases that are computed. The package computes the expected
    outputs of all cases when it loads them, for ten seconds, so that collection does not."""
    return [name for name in sorted(cases()) if reason(name) is None]


@pytest.mark.filterwarnings("ignore")
def test_sampled_cases():
    for name in known()[::23]:
        check_eagerly(name)
        check_traced(name)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(50))
@pytest.mark.parametrize("run", [check_eagerly, check_traced])
def test_every_case(run, part):
    for name in known()[part::50]:
        run(name)


@pytest.mark.filterwarnings("ignore")
def test_unsupported_cases_raise():
    """Test the first and the last case of a reason."""
    for why in sorted(set(NOT_KNOWN) - {"random"}):
        found = [n for n in sorted(cases()) if reason(n) == why]
        for name in (found[0], found[-1]):
            with pytest.raises(df.errors.UnimplementedError):
                check_eagerly(name)
