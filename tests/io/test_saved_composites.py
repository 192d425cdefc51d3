"""Saved modules with functions of sparse, ragged and text tensors."""

import os
import pickle
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import content
from tests.io.damage import damaged_files

RAGGED = df.ragged.constant([[1., 2.], [], [3.]])
OTHER = df.ragged.constant([[4.], [5., 6., 7.]])
SPARSE = df.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
WORDS = df.constant(["a", "b", ""])


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


def plain(x):
    """Return nested lists for a structure of tensors of any kind."""
    if isinstance(x, df.RaggedTensor):
        return ["ragged", x.ragged_rank, x.to_list()]
    if isinstance(x, df.SparseTensor):
        return ["sparse", x.indices.tolist(), x.values.tolist(), x.dense_shape.tolist()]
    if isinstance(x, dict):
        return {key: plain(y) for key, y in x.items()}
    if isinstance(x, list | tuple):
        return [type(x).__name__, *map(plain, x)]
    return x.tolist() if hasattr(x, "tolist") else x


def module_of(f, *calls, **options):
    module = df.Module()
    module.f = df.function(f, **options)
    for args in calls:
        module.f(*args)
    return module


PROGRAMS = {
    "ragged": (lambda x: (x * 2., df.reduce_sum(x, axis=1), {"x": x}),
               df.RaggedTensorSpec([None, None]), [RAGGED, OTHER]),
    "two ragged dimensions": (lambda x: df.concat([x, x], 0), df.RaggedTensorSpec([None] * 3),
                              [df.ragged.constant([[[1.], []], [[2., 3.]]]),
                               df.ragged.constant([[[1., 5.]]])]),
    "ragged text": (lambda x: (x, x[0]), df.RaggedTensorSpec([None, None], df.string),
                    [df.ragged.constant([["a", "b"], ["c"]]), df.ragged.constant([["d"]])]),
    "sparse": (lambda x: (x * 2., df.sparse.to_dense(x), df.sparse.reduce_sum(x)),
               df.SparseTensorSpec([None, 2]), [SPARSE, df.sparse.eye(2)]),
    "sparse of fixed shape": (lambda x: (df.sparse.transpose(x), df.sparse.to_dense(x)),
                              df.SparseTensorSpec([3, 2]), [SPARSE, df.sparse.eye(3, 2)]),
    "sparse product": (lambda x: df.sparse.sparse_dense_matmul(x, df.ones([2, 3])),
                       df.SparseTensorSpec([None, 2]), [SPARSE, df.sparse.eye(2)]),
    "text": (lambda x: (x, x == "a", df.concat([x, ["end", ""]], 0), df.gather(x, [1])),
             df.TensorSpec([None], df.string), [WORDS, df.constant(["x", "a"])]),
}


@pytest.mark.parametrize("signature", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_composites(folder, name, signature):
    f, spec, values = PROGRAMS[name]
    module = module_of(f, input_signature=[spec]) if signature else module_of(
        f, *[(x,) for x in values])
    df.saved_model.save(module, folder)
    loaded = df.saved_model.load(folder)
    for x in values:
        assert plain(loaded.f(x)) == plain(module.f(x))
        assert plain(df.function(loaded.f)(x)) == plain(module.f(x))
        df.config.run_functions_eagerly(True)
        try:
            assert plain(loaded.f(x)) == plain(f(x))
        finally:
            df.config.run_functions_eagerly(False)
    df.save(loaded, folder + "2")
    again = df.load(folder + "2")
    copied = pickle.loads(pickle.dumps(loaded))
    for x in values:
        assert plain(again.f(x)) == plain(copied.f(x)) == plain(module.f(x))
    with pytest.raises(errors.InvalidArgumentError, match="it was saved for"):
        loaded.f(df.ones([2]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_signatures_of_composites(folder, name):
    f, spec, values = PROGRAMS[name]
    made = df.function(lambda x: first_of(f(x)), input_signature=[spec])
    module = df.Module()
    module.f = made
    df.saved_model.save(module, folder, signatures=made)
    infer = df.saved_model.load(folder).signatures["serving_default"]
    assert infer.structured_input_signature == ((), {"x": infer.inputs[0]})
    assert isinstance(infer.inputs[0], type(spec)) and infer.inputs[0].dtype == spec.dtype
    assert tuple(infer.inputs[0].shape) == tuple(spec.shape)
    for x in values:
        assert plain(infer(x=x)) == plain(infer(x)) == plain({"y": first_of(f(x))["y"]})
    output = infer.structured_outputs["y"]
    y = first_of(f(values[0]))["y"]
    kind = {df.RaggedTensor: df.RaggedTensorSpec, df.SparseTensor: df.SparseTensorSpec}
    assert type(output) is kind.get(type(y), df.TensorSpec) and output.dtype == y.dtype
    assert len(output.shape) == len(y.shape)
    df.save(df.load(folder), folder + "2", signatures=df.load(folder).signatures)
    again = df.load(folder + "2").signatures["serving_default"]
    assert plain(again(values[1])) == plain(infer(values[1]))
    assert again.structured_outputs == infer.structured_outputs


def first_of(result):
    return {"y": result[0] if isinstance(result, tuple) else result}


class Words(df.Module):
    def __init__(self):
        super().__init__()
        self.scale = df.Variable(2.)

    @df.function(input_signature=[df.TensorSpec([], df.string), df.TensorSpec([None], df.string)])
    def chosen(self, word, words):
        df.print("chosen:", word)
        return {"same": words == word, "words": df.where(words == "a", "first", words),
                "constant": df.constant(["x", ""])}

    @df.function(input_signature=[df.RaggedTensorSpec([2, None]), df.SparseTensorSpec([2, 2])])
    def both(self, x, by):
        return df.sparse.sparse_dense_matmul(by, df.reduce_sum(x, 1)[:, None]) * self.scale


def test_text_arguments_are_converted_and_printed(folder, capsys):
    module = Words()
    df.saved_model.save(module, folder, signatures={"chosen": module.chosen, "both": module.both})
    loaded = df.saved_model.load(folder)
    wanted = plain(module.chosen("b", WORDS))
    printed = capsys.readouterr().out
    assert wanted == {"same": [False, True, False], "words": [b"first", b"b", b""],
                      "constant": [b"x", b""]} and printed == "chosen: b\n"
    for call in (loaded.chosen, loaded.signatures["chosen"]):
        for args in (("b", WORDS), (b"b", ["a", "b", ""]), (df.constant("b"), WORDS)):
            assert plain(call(*args)) == wanted
            assert capsys.readouterr().out == printed
        assert plain(call(word="b", words=["a", "b", ""])) == wanted
        assert capsys.readouterr().out == printed
    outputs = loaded.signatures["chosen"].structured_outputs
    assert outputs["constant"] == df.TensorSpec([2], df.string, name="constant")
    x, by = df.ragged.constant([[1., 2.], [3.]]), df.sparse.eye(2)
    assert plain(loaded.both(x, by)) == plain(loaded.signatures["both"](x=x, by=by)["output_0"]) \
        == plain(module.both(x, by))


def test_gradients_of_functions_of_composites(folder):
    module = Words()
    df.save(module, folder)
    x, by = df.ragged.constant([[1., 2.], [3.]]), df.sparse.eye(2)

    def gradients(of):
        with df.GradientTape() as tape:
            tape.watch([x.flat_values, by.values])
            y = df.reduce_sum(of.both(x, by) ** 2)
        return plain(tape.gradient(y, [of.scale, x.flat_values, by.values]))

    assert gradients(df.load(folder)) == gradients(module)


def test_text_of_another_process(folder):
    """Programs hold hashes of text, which differ between processes."""
    module = Words()
    df.save(module, folder, signatures=module.chosen)
    code = ("import sys, dualflow as df; m = df.load(sys.argv[1]); print(sorted((k, x.tolist()) "
            "for k, x in m.chosen('b', ['a', 'b', 'first']).items()))")
    for seed in "12":
        found = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True,
                               check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert found.stdout == ("chosen: b\n[('constant', [b'x', b'']), ('same', [False, True, "
                                "False]), ('words', [b'first', b'b', b'first'])]\n")


def test_functions_of_text_are_refused_by_name(folder):
    module = module_of(lambda x: df.strings.lower(x), (WORDS,))
    with pytest.raises(errors.UnimplementedError, match=r"lower.* calls Python"):
        df.save(module, folder)


def test_damaged_text(folder):
    df.save(Words(), folder)
    path = folder + "/module.safetensors"
    with content.content_of(path, "dualflow module 1") as found:
        tensors, said = found.read(), found.states["module"]
    assert said["texts"] and not [x for x in tensors if x.startswith("texts")]
    name = next(iter(said["texts"]))
    for bad in (3, [], {name: 3}, {name: [[2], ["a"]]}, {name: [[1], [3]]}, {name: ["x", ["a"]]},
                {name: [[1], ["\u1234"]]}):
        content.write_content(path, "dualflow module 1", tensors, {
            "module": {**said, "texts": bad}})
        with pytest.raises(errors.DataLossError, match=r"module.safetensors has an invalid"):
            df.load(folder)


def test_malformed_modules_with_valid_checksums(folder, request):
    """The loaded module, or a call of a function, raises an error of dualflow, or succeeds."""
    module = Words()
    module.other = df.function(lambda x: df.while_loop(
        lambda x: df.reduce_sum(x) < 9., lambda x: df.cond(x[0] > 3., lambda: x * 2.,
                                                           lambda: x + 1.), [x])[0] + 1.)
    module.other(df.ones([2]))
    df.save(module, folder, signatures=module.chosen)
    times = 2000 if request.config.getoption("--exhaustive") else 150
    random = np.random.default_rng(request.config.getoption("--seed") or 5)
    for bad in damaged_files(folder, random, times):
        try:
            loaded = df.load(folder)
        except errors.DataLossError as error:
            assert "module.safetensors" in str(error) and "expected" in str(error), bad
            continue
        calls = ((lambda m: m.chosen, df.constant("b"), WORDS), (lambda m: m.other, df.ones([2])),
                 (lambda m: m.signatures["serving_default"], df.constant("a"), WORDS))
        for found, *args in calls:          # traced only: a changed loop may not end
            with suppress(AttributeError, KeyError):
                function = df.function(found(loaded))
            with suppress(errors.DualflowError, TypeError):
                function.get_concrete_function(*args)
