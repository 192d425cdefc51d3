"""Signatures of saved modules."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import content


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


class Scale(df.Module):
    def __init__(self):
        super().__init__()
        self.v = df.Variable(3.)

    @df.function
    def __call__(self, x):
        return x * self.v

    @df.function(input_signature=[df.TensorSpec([None, 2]), df.TensorSpec([], df.int32)])
    def both(self, x, n):
        return {"scaled": x * self.v, "more": n + 1}

    @df.function(input_signature=[df.TensorSpec([])])
    def assign(self, value):
        self.v.assign(value)


def test_signatures_of_every_kind(folder):
    module = Scale()
    assert not df.saved_model.contains_saved_model(folder)
    df.saved_model.save(module, folder)
    assert df.saved_model.contains_saved_model(folder)
    assert df.saved_model.load(folder).signatures == {}
    call = module.__call__.get_concrete_function(df.TensorSpec([None], df.float32))
    df.saved_model.save(module, folder, signatures=call)
    loaded = df.saved_model.load(folder, tags=["serve"])
    key = df.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    assert list(loaded.signatures) == [key] == ["serving_default"]
    infer = loaded.signatures[key]
    assert infer(x=df.constant([1., 2.]))["output_0"].tolist() == [3., 6.]
    assert infer(df.ones([5]))["output_0"].shape == (5,)
    assert infer.structured_outputs == {"output_0": df.TensorSpec([None], name="output_0")}
    assert infer.structured_input_signature == ((), {"x": df.TensorSpec([None], name="x")})
    loaded.assign(5.)
    assert infer(x=[1.])["output_0"].tolist() == [5.]
    df.saved_model.save(module, folder, signatures={
        "one": call, "both": module.both,
        "scalar": module.__call__.get_concrete_function(df.TensorSpec([], df.float32))})
    loaded = df.saved_model.load(folder)
    assert sorted(loaded.signatures) == ["both", "one", "scalar"]
    found = loaded.signatures["both"](n=df.constant(2), x=df.ones([3, 2]))
    assert sorted(found) == ["more", "scaled"] and found["more"].item() == 3
    assert loaded.signatures["scalar"](x=2.)["output_0"].item() == 6.
    assert loaded(df.ones([4])).shape == (4,) and loaded(df.constant(2.)).item() == 6.
    with df.GradientTape() as tape:
        y = loaded.signatures["one"](x=df.constant([2.]))["output_0"]
    assert tape.gradient(y, loaded.v).item() == 2.


@pytest.mark.parametrize(("shape", "sizes"), [
    ([None, None, None], [3, 28, 28]), ([None], [1568]), ([None, None], [56, 28]),
    ([None, 28, 28], [3, 28, 28])])
def test_unknown_sizes_are_not_assumed_to_be_eight(folder, shape, sizes):
    module = df.Module()
    module.flat = df.function(lambda x: df.reshape(x, [-1, 784]) * 2.,
                              input_signature=[df.TensorSpec(shape, name="x")])
    df.save(module, folder, signatures=module.flat)
    loaded = df.load(folder)
    x = df.random.normal(sizes, seed=1)
    assert loaded.flat(x).tolist() == module.flat(x).tolist()
    infer = loaded.signatures["serving_default"]
    assert infer(x)["output_0"].tolist() == module.flat(x).tolist()
    if len(shape) != 3 or shape[1] is None:
        with pytest.raises(errors.ShapeError, match="784"):
            loaded.flat(df.ones([1] * len(sizes)))


def test_signatures_of_a_loaded_module_are_saved_again(folder):
    module = Scale()
    df.save(module, folder, signatures=module.both)
    loaded = df.load(folder)
    df.save(loaded, folder + "2", signatures=loaded.signatures)
    again = df.load(folder + "2").signatures["serving_default"]
    assert again(df.ones([1, 2]), 3)["more"].item() == 4
    assert again.structured_outputs == loaded.signatures["serving_default"].structured_outputs
    assert "both" not in repr(again) and repr(again) == (
        "<SignatureFunction serving_default (x, n) -> {scaled, more}>")


def test_invalid_signatures_raise(folder):
    module = Scale()
    with pytest.raises(errors.InvalidArgumentError, match="without an input_signature; give it"):
        df.save(module, folder, signatures=module.__call__)
    with pytest.raises(errors.InvalidArgumentError, match="signature a is 3, expected a function"):
        df.save(module, folder, signatures={"a": 3})
    pair = df.function(lambda p: p[0] + p[1])
    with pytest.raises(errors.UnimplementedError, match="expected tensors as arguments"):
        df.save(module, folder, signatures=pair.get_concrete_function((df.ones([]), df.ones([]))))
    deep = df.function(lambda x: {"a": {"b": x}}).get_concrete_function(df.ones([]))
    with pytest.raises(errors.UnimplementedError, match="expected a tensor, or a list or dict of"):
        df.save(module, folder, signatures=deep)
    df.save(module, folder, signatures=module.both)
    infer = df.load(folder).signatures["serving_default"]
    for args, kwargs in (((), {}), ((1., 2., 3.), {}), ((1.,), {"x": 2.}), ((), {"x": 1., "y": 2})):
        with pytest.raises(TypeError, match=r"signature serving_default: got .*expected x, n"):
            infer(*args, **kwargs)
    with pytest.raises(errors.InvalidArgumentError, match="it was saved for"):
        infer(x=np.ones([3, 3], "float32"), n=1)


def test_damaged_signatures(folder):
    module = Scale()
    df.save(module, folder, signatures=module.both)
    path = folder + "/module.safetensors"
    with content.content_of(path, "dualflow module 1") as found:
        tensors, said = found.read(), found.states["module"]
    good = said["signatures"]["serving_default"]
    for bad in (3, [], {"x": 3}, {"x": {}}, {"x": {**good, "function": 99}},
                {"x": {**good, "inputs": [["x"]]}}, {"x": {**good, "inputs": 1}},
                {"x": {**good, "outputs": [["x", "float32", ["a"]]]}},
                {"x": {**good, "outputs": [["x", "no dtype", []]]}}):
        content.write_content(path, "dualflow module 1", tensors, {
            "module": {**said, "signatures": bad}})
        with pytest.raises(errors.DataLossError, match="invalid manifest"):
            df.load(folder)
    content.write_content(path, "dualflow module 1", tensors, {
        "module": {key: x for key, x in said.items() if key != "signatures"}})
    assert df.load(folder).signatures == {}             # a file of an earlier version
