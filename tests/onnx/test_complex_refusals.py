"""ONNX has no operators of complex numbers: exports and imports name the value that is complex."""

import pytest

import dualflow as df
from dualflow.errors import UnimplementedError

pytest.importorskip("onnx")
VARIABLE = df.Variable(df.ones([2], df.complex64))
R, Z = df.TensorSpec([2], df.float32), df.TensorSpec([2], df.complex64)


@pytest.mark.parametrize("f, spec, value", [
    (lambda x: df.abs(x), Z, "the input x is complex64"),
    (lambda x: df.abs(df.complex(x, x)), R, "complex:0 is complex64"),
    (lambda x: x + df.math.real(df.constant(1j)), R, "constant:0 is complex128"),
    (lambda x: df.cast(df.cast(x, df.complex128), df.bool_), R, "cast:0 is complex128"),
    (lambda x: (x, df.constant([1j])), R, "the constant result .* is complex128"),
    (lambda x: df.where(x > 0, VARIABLE, 0), R, "is complex64"),
])
def test_save(f, spec, value, tmp_path):
    with pytest.raises(UnimplementedError, match=f"(?s){value}.*ONNX has no operators of complex"):
        df.onnx.save(f, tmp_path / "a.onnx", spec)
    assert not (tmp_path / "a.onnx").exists()


def test_load(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info
    input_ = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                               [info("x", TensorProto.COMPLEX64, [2])],
                               [info("y", TensorProto.COMPLEX64, [2])])
    constant = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["y"])], "g", [],
        [info("y", TensorProto.COMPLEX64, [2])],
        [helper.make_tensor("c", TensorProto.COMPLEX64, [2], [1 + 2j, 3j])])
    for graph, name in ((input_, "x"), (constant, "c")):
        path = tmp_path / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
        with pytest.raises(UnimplementedError, match=f"'{name}' is COMPLEX64"):
            df.onnx.load(path)
