"""The runtimes that read files: the reference evaluator, and onnxruntime if installed."""

import importlib.util

import numpy as np
import onnx
import onnx.reference

import dualflow as df
from dualflow.onnx.proto import TensorProto, read
from dualflow.onnx.saving import to_model
from dualflow.onnx.weights import to_tensor

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None


def tensor(x):
    """Return an array, or a TensorProto of a dtype that NumPy lacks, as a Tensor."""
    if isinstance(x, list):
        return [tensor(y) for y in x]
    if x is None or isinstance(x, onnx.TensorProto):
        return x if x is None else to_tensor(read(TensorProto, x.SerializeToString()))
    return df.constant(x)


def leaves(values):
    """Return the tensors of values, some of which are sequences or None."""
    for x in values:
        if isinstance(x, list):
            yield from leaves(x)
        elif x is not None:
            yield x


def model_of(fn, *args):
    """Return the checked model of a function, for arguments as `save` takes them."""
    model = to_model(df.function(fn).get_concrete_function(*args))
    onnx.checker.check_model(model, full_check=True)
    return model


def reference(model, *arrays):
    names = [i.name for i in model.graph.input]
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))


def runtime(model, *arrays):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))


RUNTIMES = [reference, runtime] if HAS_RUNTIME else [reference]


def assert_close(want, got):
    """Assert equal dtypes and shapes, and values equal up to rounding in another order."""
    assert len(want) == len(got)
    for a, b in zip(want, got, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        tolerance = {"float32": 1e-4, "float64": 1e-6}.get(str(a.dtype), 0)
        np.testing.assert_allclose(np.asarray(a, "float64"), np.asarray(b, "float64"),
                                   rtol=tolerance, atol=tolerance)
