"""Complex tensors in checkpoints, TensorProto messages, saved models, datasets and summaries."""

import struct

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError

DTYPES = ("complex64", "complex128")
Z = [1 + 2j, 3 - 4j]


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_checkpoints(shape, tmp_path):
    rng = np.random.default_rng(0)
    given = {dtype: (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
             for dtype in DTYPES}
    saved = {dtype: df.Variable(x) for dtype, x in given.items()}
    df.train.Checkpoint(**saved).write(tmp_path / "c")
    loaded = {dtype: df.Variable(df.zeros(shape, dtype)) for dtype in DTYPES}
    df.train.Checkpoint(**loaded).read(tmp_path / "c")
    for dtype, x in given.items():
        np.testing.assert_array_equal(loaded[dtype], x)
    found = df.train.load_checkpoint(tmp_path / "c").get_variable_to_dtype_map()
    assert found["complex64"] is df.complex64 and found["complex128"] is df.complex128


def test_files_of_checkpoints(tmp_path):
    """Other programs read complex64, and complex128 as pairs of float64."""
    safetensors = pytest.importorskip("safetensors.numpy")
    df.train.Checkpoint(w=df.Variable(Z, dtype=df.complex64), v=df.Variable(Z)).write(
        tmp_path / "c")
    held = safetensors.load_file(tmp_path / "c.safetensors")
    assert held["w"].dtype == "complex64" and held["w"].tolist() == Z
    assert held["v"].dtype == "float64" and held["v"].tolist() == [[1, 2], [3, -4]]


@pytest.mark.parametrize("other", [df.complex64, df.float64])
def test_checkpoints_of_other_dtypes_raise(other, tmp_path):
    df.train.Checkpoint(v=df.Variable(Z)).write(tmp_path / "c")
    v = df.Variable(df.zeros([2, 2] if other is df.float64 else [2], other))
    with pytest.raises(InvalidArgumentError, match=r"v is complex128 \(2,\) in the checkpoint"):
        df.train.Checkpoint(v=v).read(tmp_path / "c")


@pytest.mark.parametrize("dtype, code, field, part", [
    ("complex64", 8, 9, "f"), ("complex128", 18, 12, "d")])
def test_tensor_messages(dtype, code, field, part):
    x = df.constant([Z], dtype)
    message = df.io.serialize_tensor(x)
    assert message.numpy()[:2] == bytes([8, code])
    y = df.io.parse_tensor(message, dtype)
    assert y.dtype is x.dtype and y.tolist() == [Z]
    values = struct.pack(f"<4{part}", 1, 2, 3, -4)
    listed = bytes([8, code, 0x12, 4, 0x12, 2, 8, 2, field << 3 | 2, len(values)]) + values
    assert df.io.parse_tensor(listed, dtype).tolist() == Z
    with pytest.raises(DTypeError, match=f"has dtype {dtype}, expected float32"):
        df.io.parse_tensor(message, df.float32)


class Model(df.Module):
    def __init__(self):
        super().__init__()
        self.w, self.v = df.Variable(Z, dtype=df.complex64), df.Variable(Z)

    @df.function(input_signature=[df.TensorSpec([2], df.complex64)])
    def __call__(self, x):
        return {"y": x * self.w, "z": df.cast(x, df.complex128) * self.v + (1 + 2j)}


def test_saved_models(tmp_path):
    m, x = Model(), df.constant(Z, df.complex64)
    df.saved_model.save(m, tmp_path / "m")
    want, got = m(x), df.saved_model.load(tmp_path / "m")(x)
    for key, y in want.items():
        assert got[key].dtype is y.dtype and got[key].tolist() == y.tolist()


def test_datasets(tmp_path):
    x = df.constant(Z, df.complex64)
    ds = df.data.Dataset.from_tensor_slices(x).map(lambda v: v * 1j).batch(2)
    assert ds.element_spec.dtype is df.complex64
    assert ds.get_single_element().tolist() == [1j * z for z in Z]
    ds.save(str(tmp_path / "ds"))
    assert df.data.Dataset.load(str(tmp_path / "ds")).get_single_element().tolist() == [
        1j * z for z in Z]
    made = df.data.Dataset.from_generator(lambda: iter(Z), output_signature=df.TensorSpec(
        [], df.complex64))
    assert [v.item() for v in made] == Z


def test_summaries_raise():
    for call in (lambda: df.summary.scalar("a", 1j, step=1),
                 lambda: df.summary.histogram("a", Z, step=1),
                 lambda: df.summary.image("a", df.ones([1, 2, 2, 1], df.complex64), step=1)):
        with pytest.raises(DTypeError, match=r"complex.*df\.math\.real"):
            call()
