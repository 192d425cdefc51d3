"""Initializers of files: equal to the package's, damaged, and stored unusually."""

import os

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
import onnx.reference

import dualflow as df
from dualflow.errors import DualflowError
from tests.onnx.test_load import normal, of_nodes

helper, TensorProto = onnx.helper, onnx.TensorProto

ARRAYS = {
    "float32": np.arange(3000, dtype="float32").reshape(50, 60),
    "float64": np.linspace(0, 1, 1024),
    "float16": np.linspace(-1, 1, 4096).astype("float16").reshape(16, 16, 16),
    "int8": (np.arange(5000) % 251 - 125).astype("int8"),
    "uint64": np.arange(600, dtype="uint64") << 40,
    "bool": np.arange(5000) % 3 == 0,
    "small": np.array([1.5, 2.5], "float32"),
    "scalar": np.array(3, "int64"),
    "empty": np.zeros((0, 4), "float32"),
}


def model_of(tensors):
    """Return a model whose outputs are these initializers."""
    nodes = [helper.make_node("Identity", [t.name], [f"{t.name}_out"]) for t in tensors]
    outputs = [helper.make_tensor_value_info(f"{t.name}_out", t.data_type, list(t.dims))
               for t in tensors]
    return helper.make_model(helper.make_graph(nodes, "weights", [], outputs, tensors))


def tensors():
    return [onnx.numpy_helper.from_array(x, name) for name, x in ARRAYS.items()]


def check(model):
    for y, (name, x) in zip(model(), ARRAYS.items(), strict=True):
        assert y.shape == x.shape and y.numpy().dtype == x.dtype, name
        assert y.numpy().tobytes() == x.tobytes(), name


def test_values(tmp_path):
    data = model_of(tensors()).SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    for given in (path, str(path), data, bytearray(data), memoryview(data)):
        check(df.onnx.load(given))


def test_numbers_in_typed_fields():
    """Small numbers and bits of floats are in fields of numbers instead of bytes."""
    proto = model_of(tensors())
    for tensor, x in zip(proto.graph.initializer, ARRAYS.values(), strict=True):
        code = tensor.data_type
        numbers = x.view("uint16") if x.dtype == "float16" else x
        tensor.CopyFrom(helper.make_tensor(tensor.name, code, x.shape, x.ravel()))
        assert not tensor.raw_data and (len(numbers.ravel()) == 0 or tensor.ByteSize() > x.size)
    check(df.onnx.load(proto.SerializeToString()))


def test_a_graph_in_several_fields():
    """Messages whose field occurs several times are merged."""
    both = [model_of(part) for part in (tensors()[:3], tensors()[3:])]
    check(df.onnx.load(b"".join([m.SerializeToString() for m in both])))


def encoded(n):
    """Return a number of the wire format."""
    return bytes([n & 127 | 128]) + encoded(n >> 7) if n > 127 else bytes([n])


def field(number, content):
    """Return a field of bytes of the wire format."""
    return encoded(number << 3 | 2) + encoded(len(content)) + content


def test_data_in_several_fields():
    """The last one counts, as the package decides."""
    x = np.arange(3000, dtype="float32")
    tensor = (onnx.numpy_helper.from_array(-x, "float32").SerializeToString()
              + TensorProto(raw_data=x.tobytes()).SerializeToString())
    model = model_of([onnx.numpy_helper.from_array(x, "float32")])
    del model.graph.initializer[:]
    data = model.SerializeToString() + field(7, field(5, tensor))
    assert onnx.ModelProto.FromString(data).graph.initializer[0].raw_data == x.tobytes()
    np.testing.assert_array_equal(df.onnx.load(data)().numpy(), x)


def test_a_stream(tmp_path):
    """A file that cannot be mapped is read as a whole."""
    os.mkfifo(tmp_path / "pipe")
    data = model_of(tensors()).SerializeToString()
    pid = os.fork()
    if pid == 0:
        with open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    check(df.onnx.load(tmp_path / "pipe"))
    os.waitpid(pid, 0)


@pytest.mark.parametrize("dims, size", [((50, 60), 11996), ((50, 60), 12004), ((50, -60), 12000),
                                        ((2**40, 2**40), 12000), ((-50, -60), 12000)])
def test_sizes_that_contradict_the_shape(dims, size):
    tensor = TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT, raw_data=bytes(size))
    with pytest.raises(df.errors.DataLossError, match=f"'w' is damaged: {size} bytes"):
        df.onnx.load(model_of([tensor]).SerializeToString())


def test_bytes_cut_off():
    data = model_of(tensors()).SerializeToString()
    for n in range(0, len(data) - 1, 997):
        with pytest.raises(DualflowError):
            df.onnx.load(data[:n])()


def sparse(dims, indices):
    return helper.make_sparse_tensor(
        helper.make_tensor("w", TensorProto.FLOAT, [2], [1., 2.]),
        helper.make_tensor("i", TensorProto.INT64, np.shape(indices), np.ravel(indices)), dims)


def model_of_sparse(tensor):
    model = model_of([tensor.values])
    del model.graph.initializer[:]
    model.graph.sparse_initializer.append(tensor)
    return model


@pytest.mark.parametrize("dims, indices", [([4], [1, 3]), ([2, 2], [[0, 1], [1, 1]])])
def test_sparse(dims, indices):
    got = df.onnx.load(model_of_sparse(sparse(dims, indices)))()
    assert got.numpy().ravel().tolist() == [0., 1., 0., 2.]


@pytest.mark.parametrize("dims, indices", [([4], [1, 4]), ([2**62], [1, 3]), ([-4], [1, 3]),
                                           ([2, 2], [[0, 2], [1, 1]]), ([2**40, 2**40], [1, 3])])
def test_damaged_sparse(dims, indices):
    with pytest.raises(df.errors.DataLossError, match="'w' is damaged"):
        df.onnx.load(model_of_sparse(sparse(dims, indices)))


@pytest.mark.parametrize("code, dims", [(22, (0, 2**62, 2**62)), (17, (-1, -3)), (25, (5,))])
def test_damaged_narrow(code, dims):
    with pytest.raises(DualflowError):
        df.onnx.load(model_of([TensorProto(name="w", dims=dims, data_type=code, raw_data=b"1")]))


@pytest.mark.parametrize("shared, returned", [(False, False), (True, False), (False, True)])
def test_constant_filters(shared, returned):
    """Filters are laid out once, unless another node or the caller reads them."""
    filters, bias, x = normal(3, 3, 2, 2), normal(3, seed=1), normal(1, 3, 5, 5, seed=2)
    tensors = [onnx.numpy_helper.from_array(w, name) for name, w in
               (("a", filters), ("b", filters), ("bias", bias))]
    nodes = [helper.make_node("Conv", ["x", "a", "bias"], ["h"]),
             helper.make_node("Conv", ["h", "a" if shared else "b"], ["y"])]
    model = of_nodes(*nodes, outputs=["y", "a"] if returned else ["y"],
                     initializer=tensors[::2] if shared else tensors)
    want = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    for options in ({}, {"traced": False}, {"trainable": True}):
        fn = df.onnx.load(model, **options)
        got = fn(df.constant(x))
        for a, b in zip(want, got if returned else [got], strict=True):
            np.testing.assert_allclose(b.numpy(), a, rtol=1e-4, atol=1e-5)
        laid_out = [node("filters_last", False) for node in fn._body.nodes]
        if "trainable" in options or shared:
            assert laid_out == [False, False]
        else:
            assert laid_out == [not returned, True]
