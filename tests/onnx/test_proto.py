"""The reader of the wire format: equal to the package's messages, and safe with damaged bytes."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("onnx")

import onnx
from onnx import helper

import dualflow as df
from dualflow.errors import DualflowError
from dualflow.onnx import proto
from dualflow.onnx.proto import FIELDS, Malformed, Message, ModelProto, read
from tests.onnx.test_load import of_nodes
from tests.onnx.test_models import models
from tests.onnx.test_node_cases import cases
from tests.onnx.test_weights import field, model_of, tensors


def assert_same(mine, package):
    """Assert that a message has the fields of the package's message which are read here."""
    fields = FIELDS[type(mine).__name__]
    present = {field.name: value for field, value in package.ListFields() if field.name in fields}
    assert {name for name, value in vars(mine).items() if value != []} == present.keys()
    for name, want in present.items():
        repeated = fields[name][1].endswith("*")
        got = getattr(mine, name)
        for a, b in zip(got, want, strict=True) if repeated else [(got, want)]:
            if name == "functions":
                assert_same(read(proto.FunctionProto, a), b)
            elif isinstance(a, Message):
                assert_same(a, b)
            elif hasattr(b, "ListFields"):
                assert a == b.SerializeToString()
            else:
                assert a == b or (a != a and b != b), name


def package_models():
    """Yield the models that come with the onnx package."""
    for case in cases().values():
        yield case.model
    for case in models().values():
        yield case.model if case.model is not None else onnx.load(
            Path(case.model_dir) / "model.onnx")


def test_the_package_s_models():
    for model in list(package_models())[::23]:
        assert_same(read(ModelProto, model.SerializeToString()), model)


@pytest.mark.soak
def test_all_of_the_package_s_models():
    for model in package_models():
        assert_same(read(ModelProto, model.SerializeToString()), model)


def test_numbers_of_fields():
    for message, fields in FIELDS.items():
        known = {"Tensor": onnx.TypeProto.Tensor, "Element": onnx.TypeProto.Sequence,
                 "Dimension": onnx.TensorShapeProto.Dimension}
        kind = known.get(message) or getattr(onnx, message)
        for name, (number, _) in fields.items():
            assert kind.DESCRIPTOR.fields_by_name[name].number == number, (message, name)


def test_missing_fields():
    model = read(ModelProto, b"")
    assert not vars(model) and model.ir_version == 0 and model.graph.name == ""
    assert list(model.graph.node) == [] and model.graph.initializer == ()


def key(number, wire_type):
    return bytes([number << 3 | wire_type])


def test_numbers_in_both_forms():
    """Repeated numbers are packed or single; unknown fields are skipped."""
    data = (key(1, 0) + b"\x05" + key(1, 2) + b"\x03\x06\x80\x01"
            + key(1, 0) + b"\xff" * 9 + b"\x01" + key(4, 5) + b"\0\0\x80\x3f"
            + key(4, 2) + b"\x04\0\0\0\x40" + key(15, 1) + bytes(8) + key(2, 2) + b"\x01\x01")
    tensor = read(proto.TensorProto, data)
    assert tensor.dims == [5, 6, 128, -1] and list(tensor.float_data) == [1., 2.]
    assert tensor.data_type == 0        # of another wire type: no such field
    package = onnx.TensorProto.FromString(data)
    assert list(package.dims) == tensor.dims and list(package.float_data) == [1., 2.]


@pytest.mark.parametrize("data", [
    b"\x80", b"\x08", b"\x08\x80", b"\x08" + b"\xff" * 10 + b"\x01", b"\x3a", b"\x3a\x05\x01",
    b"\x3a" + b"\xff" * 9 + b"\x01", b"\x00\x00", b"\x0b", b"\x0c", b"\x0f", b"\x0d\0\0\0",
    b"\x09" + bytes(7), b"\x3a\x03\x12\x01\xff", b"\x3a\x02\x12\x03abc"])
def test_malformed_bytes(data):
    with pytest.raises(Malformed):
        read(ModelProto, data)


def test_depth_of_messages():
    data = b""
    for _ in range(proto.MAX_DEPTH):
        data = field(4, field(1, data))
    with pytest.raises(Malformed):
        read(proto.TYPES["TypeProto"], data)


WHOLE = model_of(tensors()[-4:]).SerializeToString()


@given(st.data())
def test_mutated_bytes(data):
    """No error but dualflow's, and no memory beyond the size of the file."""
    changed = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at:at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    with suppress(DualflowError):
        df.onnx.load(bytes(changed))()


@given(st.sampled_from(sorted(proto.TYPES)), st.binary(max_size=60))
def test_any_bytes(name, data):
    with suppress(Malformed):
        read(proto.TYPES[name], data)


def test_the_packages_are_not_imported(tmp_path):
    """Neither by `load` nor by calls; `save` and its rules are imported at their first use."""
    path = tmp_path / "m.onnx"
    df.onnx.save(lambda x: df.nn.softmax(df.tanh(x @ x), 0), path, df.TensorSpec([2, 2]))
    code = f"""
import sys
import dualflow as df
model = df.onnx.load({str(path)!r})
model(df.ones([2, 2]))
assert not {{"onnx", "google.protobuf", "dualflow.onnx.saving", "dualflow.onnx.exporter",
             "dualflow.onnx.exporters", "dualflow.onnx.writer"}} & {{*sys.modules}}
df.onnx.save
assert "dualflow.onnx.saving" in sys.modules and "onnx" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_operators_that_need_the_package():
    """The function of a composed operator is in the schemas of the package."""
    model = of_nodes(helper.make_node("Swish", ["x"], ["h"]),
                     helper.make_node("RMSNormalization", ["h", "h"], ["y"]), opset=24)
    code = f"""
import sys
sys.modules["onnx"] = None
import dualflow as df
model = df.onnx.load({model.SerializeToString()!r})
try: model(df.ones([2, 2]))
except ImportError as error: assert "dualflow[onnx]" in str(error)
else: raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert df.onnx.load(model)(df.ones([2, 2])).shape == (2, 2)
