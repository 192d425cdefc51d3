"""Files that an export writes, and errors; test_build.py checks that they build and run
correctly."""

import errno
import json
import re
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow.aot import builds, csrc, runtime
from dualflow.aot.check import FACTOR, hash_of, is_nan, one_nan
from dualflow.aot.names import identifier
from tests.aot.models import control, mlp, returned_as_is


def exported(tmp_path, functions, **options):
    df.export(tmp_path / "model", functions, **options)
    return {path.name: path.read_text() for path in (tmp_path / "model").iterdir()
            if path.suffix in (".c", ".h", ".txt")}


def weights(path):
    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    return {name: np.frombuffer(data[8 + n:][slice(*x["data_offsets"])],
                                {"F32": "f4", "F64": "f8", "I64": "i8"}[x["dtype"]])
            .reshape(x["shape"]) for name, x in header.items()}


def test_exported_folder_is_complete(tmp_path):
    step, predict, x, y = mlp(rate=0.5)
    texts = exported(tmp_path, {"train": step.get_concrete_function(x, y),
                                "predict": predict.get_concrete_function(x)})
    assert "int model_train(model *model, const float *x, const int32_t *y, float *result);" in (
        texts["model.h"])
    assert "int model_predict(model *model, const float *x, float *probabilities);" in (
        texts["model.h"])
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "model.h", "model.c", "check.c", "weights.safetensors", "Makefile", "CMakeLists.txt",
        "runtime.h", "runtime.c", "kernels.c"}
    held = weights(tmp_path / "model/weights.safetensors")
    assert held["random_generator"].tolist() == [7, 0]
    assert {"hidden/kernel", "last/bias", "hidden/kernel/m", "iterations"} < held.keys()


def test_exports_are_reproducible(tmp_path):
    step, _, x, y = mlp(rate=0.5)
    f = step.get_concrete_function(x, y)
    other, _, _, _ = mlp(rate=0.5)
    df.export(tmp_path / "model", {"train": f})
    assert [float(step(x, y)) for _ in range(3)] == [float(other(x, y)) for _ in range(3)]


def test_export_has_current_weights(tmp_path):
    w = df.Variable([1.0, 2.0], name="w")
    f = df.function(lambda x: w * x).get_concrete_function(df.ones([2]))
    w.assign([3.0, 4.0])
    exported(tmp_path, {"f": f})
    assert weights(tmp_path / "model/weights.safetensors")["w"].tolist() == [3, 4]


def test_variables_of_equal_names_are_numbered(tmp_path):
    v, w = df.Variable(1.0, name="v"), df.Variable(2.0, name="v")
    exported(tmp_path, {"f": df.function(lambda: v + w).get_concrete_function()})
    assert {name: float(x) for name, x in
            weights(tmp_path / "model/weights.safetensors").items()} == {"v": 1, "v_1": 2}


def test_each_size_is_an_entry(tmp_path):
    f = df.function(lambda x: x + 1)
    sizes = [f.get_concrete_function(df.ones([n, 3])) for n in (1, 32)]
    texts = exported(tmp_path, {"f": sizes})
    assert "int model_f_1(" in texts["model.h"] and "int model_f_32(" in texts["model.h"]
    with pytest.raises(df.errors.InvalidArgumentError, match="differ in the sizes"):
        df.export(tmp_path / "other", {"f": [sizes[0], sizes[0]]})


@pytest.mark.parametrize("signature", [None, [df.TensorSpec([None, 3])]])
def test_exported_sizes_are_the_requested_ones(signature, tmp_path):
    """The trace is for any size, by its signature or because there were several sizes before."""
    f = df.function(lambda x: x + 1, input_signature=signature)
    sizes = [f.get_concrete_function(df.TensorSpec([n, 3]) if n == 8 else df.ones([n, 3]))
             for n in (1, 2, 8, 4)]
    texts = exported(tmp_path, {"f": sizes})
    assert re.findall(r"input x: (.*)", texts["model.h"]) == [
        f"float32 ({n}, 3)" for n in (1, 2, 8, 4)]
    for n, g in zip((1, 2, 8, 4), sizes, strict=True):
        assert g(df.ones([n, 3])).tolist() == [[2.0] * 3] * n
        df.save_program(g, tmp_path / "f.df")
        assert df.load_program(tmp_path / "f.df")(df.ones([n, 3])).tolist() == [[2.0] * 3] * n
    if signature:
        assert f.get_concrete_function() is f.get_concrete_function(df.TensorSpec([None, 3]))


def refuse(tmp_path, function, *args, match, error=df.errors.UnimplementedError, **options):
    with pytest.raises(error, match=match):
        df.export(tmp_path / "model", {"f": function.get_concrete_function(*args)}, **options)
    assert list(tmp_path.iterdir()) == []


def test_python_calls_raise_with_their_line(tmp_path):
    @df.function
    def f(x):
        df.print(x)
        return df.py_function(lambda y: y, [x], df.float32)

    refuse(tmp_path, f, df.ones([2]), match=r"(?s)calls Python.*test_export.py:\d+.*"
                                            r"test_export.py:\d+")


def test_results_of_unknown_size_raise(tmp_path):
    f = df.function(lambda x: df.where(x > 0))
    refuse(tmp_path, f, df.ones([2]), match="the size of result depends on data")


def test_unknown_sizes_raise(tmp_path):
    f = df.function(lambda x: x + 1, input_signature=[df.TensorSpec([None, 3])])
    with pytest.raises(df.errors.InvalidArgumentError, match=r"x has shape \(\?, 3\)"):
        df.export(tmp_path / "model", {"f": f.get_concrete_function()})
    assert list(tmp_path.iterdir()) == []


def test_variable_arguments_raise(tmp_path):
    refuse(tmp_path, df.function(lambda v: v + 1), df.Variable(1.0), match="v is a variable",
           error=df.errors.InvalidArgumentError)


def test_constants_are_outputs(tmp_path):
    f, x, y = returned_as_is()
    texts = exported(tmp_path, {"f": f.get_concrete_function(x, y)})
    found = re.findall(r" output constants_\w+: (.*), result", texts["model.h"])
    assert found == ["float32 (3,)", "bool (3,)", "float32 (3,)", "int32 ()", "int8 (0, 2)"]
    assert len(re.findall(r" output \w+:", texts["model.h"])) == 14


def changing(function, *numbers):
    """Return the trace of a function for any numbers after a tensor."""
    f = df.function(function)
    x = df.constant([1.0, 2.0])
    for k in (0, 1):
        f(x, *[number + k for number in numbers])
    return f.get_concrete_function(x, *numbers)


def test_number_inputs_are_passed_by_value(tmp_path):
    f = changing(lambda x, rate, n: (x * rate + n, df.cast(x, df.int64) + n), 0.5, 3)
    texts = exported(tmp_path, {"f": f})
    assert "int model_f(model *model, const float *x, float rate, int64_t n, " in " ".join(
        texts["model.h"].split())


@pytest.mark.parametrize("function", [lambda x, n: x[:n], lambda x, n: x if n > 100 else -x])
def test_static_numbers_are_not_arguments(tmp_path, function):
    texts = exported(tmp_path, {"f": changing(function, 1)})
    assert "int model_f(model *model, const float *x, float *result);" in texts["model.h"]


@pytest.mark.parametrize("function, match", [
    (lambda x, n: x * (n + 1), "computes a number from n, which may change"),
    (lambda x, n: df.cast(x, df.float16) * n + df.cast(df.cast(x, df.bfloat16) * n, df.float16),
     "n is a Python number that becomes float16 and bfloat16")])
def test_unsupported_uses_of_numbers_raise(tmp_path, function, match):
    with pytest.raises(df.errors.InvalidArgumentError, match=match):
        df.export(tmp_path / "model", {"f": changing(function, 1)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("functions, match", [
    ({}, "expected a dict"), (None, "expected a dict"), ({"f": 3}, "f is a int"),
    ({"f": df.function(abs)}, "get_concrete_function"), ({"a b": None}, "expected a C ident"),
    ({"load": None}, "model_load"), ({3: None}, "expected a C ident")])
def test_invalid_functions_raise(tmp_path, functions, match):
    with pytest.raises(df.errors.InvalidArgumentError, match=match):
        df.export(tmp_path / "model", functions)
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_not_overwritten(tmp_path):
    f = df.function(lambda x: x).get_concrete_function(df.ones([2]))
    (tmp_path / "model").mkdir()
    with pytest.raises(FileExistsError, match="already exists"):
        df.export(tmp_path / "model", {"f": f})
    with pytest.raises(df.errors.InvalidArgumentError, match="expected one of 'c'"):
        df.export(tmp_path / "other", {"f": f}, format="d")


def test_failed_export_leaves_no_files(tmp_path, monkeypatch):
    f = df.function(lambda x: x).get_concrete_function(df.ones([2]))

    def full(path, text):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        df.export(tmp_path / "model", {"f": f})
    assert list(tmp_path.iterdir()) == []


def test_incompatible_examples_raise(tmp_path):
    f = df.function(lambda x: df.gather([1, 2, 3], x))
    for given, match in (({"f": (1, 2)}, "2 tensors, expected 1"), ({"f": ([1.5],)}, "float"),
                         ({"f": ([1, 2],)}, r"^export: the example of f has int32 \(2,\) for x, "
                                             r"expected int32 \(1,\)"), ({"g": ()}, r"\['g'\]"),
                         ({"f": ([7],)}, "a run with drawn inputs failed|out of range")):
        with pytest.raises(df.errors.DualflowError, match=match):
            df.export(tmp_path / "model", {"f": f.get_concrete_function(df.constant([0]))},
                      examples=given)
    assert list(tmp_path.iterdir()) == []


def test_runtime_has_only_used_ops(tmp_path):
    run, x, n = control()
    texts = exported(tmp_path, {"run": run.get_concrete_function(x, n)})
    ops = re.search(r"enum \{(.*?)\};", texts["model.c"], re.S)[1]
    assert {"OP_loop", "OP_cond", "OP_random_normal"} <= set(re.findall(r"\w+", ops))
    assert "OP_conv" not in ops and "df_op_conv" not in texts["kernels.c"]
    parts = [re.findall(r"^/\* =+ csrc/(\S+) \*/$", texts[name], re.M)
             for name in ("runtime.h", "runtime.c", "kernels.c")]
    for path in {*parts[0], *parts[1], *parts[2]}:
        assert not path.startswith(("conv/", "tape/"))
    assert "model/model.h" in parts[0] and "exec/run.c" in parts[1]
    assert "ops/control_flow/loop.c" in parts[2]
    for name in ("runtime.h", "runtime.c", "kernels.c"):
        assert set(re.findall(r'#\s*include "([^"]+)"', texts[name])) <= {"runtime.h"}
    built = dict(re.findall(r"DF_BUILT_(\w+) (\d)", texts["runtime.h"] + texts["kernels.c"]))
    assert built["F32"] == built["I64"] == "1" and built["U16"] == built["F16"] == "0"


def test_function_without_ops(tmp_path):
    f = df.function(lambda x: x).get_concrete_function(df.ones([2]))
    assert "enum {N_OPS};" in exported(tmp_path, {"f": f})["model.c"]


def test_every_op_has_a_source_file():
    assert set(runtime.file_of_ops()) == set(df._core.ops())
    assert all(path in csrc.texts() for path in runtime.file_of_ops().values())


def test_levels_match_setup():
    setup = (Path(__file__).parents[2] / "setup.py").read_text()
    for name, flags in builds.LEVELS.items():
        listed = re.search(rf'"{name}": \[(.*?)\]', setup, re.S)[1]
        assert re.findall(r'"([^"]+)"', listed) == flags.split()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_payloads_are_unified(dtype):
    x = df.constant([1.0, float("nan"), float("inf"), -float("nan"), -1.0], dtype)
    data, n = one_nan(x), x.dtype.itemsize
    assert [data[k:k + n] == b"\xff" * n for k in range(0, len(data), n)] == [
        False, True, False, True, False]
    assert is_nan(b"\xff" * n, dtype)


@pytest.mark.parametrize("n", [0, 1, 7, 1 << 16, (1 << 16) + 1, 200_001])
def test_hash_of_results(n):
    """The blocks of the hash form one polynomial."""
    data, want = bytes(np.random.default_rng(n).integers(0, 256, n, np.uint8)), 1
    for byte in data:
        want = (want * FACTOR + byte) % (1 << 64)
    assert hash_of(data) == want


def test_names_have_the_prefix(tmp_path):
    v = df.Variable([1.0], name="df_model_new")
    f = df.function(lambda df_x: df_x * v).get_concrete_function(df.ones([1]))
    texts = exported(tmp_path, {"f": f}, prefix="digits")
    assert texts.keys() == {"digits.h", "digits.c", "runtime.h", "runtime.c", "kernels.c",
                            "check.c", "CMakeLists.txt"}
    assert "int digits_f(digits *model, const float *df_x, float *result);" in texts["digits.h"]
    assert weights(tmp_path / "model/weights.safetensors").keys() == {"df_model_new"}
    for name in ("digits.h", "digits.c"):
        assert not re.search(r"(?<!df_)\bmodel_", texts[name])


@pytest.mark.parametrize("prefix", ["", "a b", "2", "int", "check", "df", "DF_model", 3, None])
def test_invalid_prefixes_raise(tmp_path, prefix):
    f = df.function(lambda x: x).get_concrete_function(df.ones([2]))
    with pytest.raises(df.errors.InvalidArgumentError, match="prefix is"):
        df.export(tmp_path / "model", {"f": f}, prefix=prefix)
    assert list(tmp_path.iterdir()) == []


def test_c_identifiers():
    assert [identifier(x) for x in ("x", "batch[0]", "d['a b']", "for", "2")] == [
        "x", "batch_0", "d_a_b", "for_", "value_2"]
