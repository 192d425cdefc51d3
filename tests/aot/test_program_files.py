"""Program files: saved programs are loaded; damaged files raise with the position of the damage."""

import errno
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.aot.save_program import HEADER, program_bytes, with_header
from tests.aot.fuzz import CONSTANTS, STRINGS, STRUCTURE, WEIGHTS, WORDS, kept, sections_of
from tests.aot.models import control, mlp, returned_as_is
from tests.aot.random_programs import check_file, random_program
from tests.soak import soak

ROOT = Path(__file__).resolve().parent.parent.parent


def same(a, b):
    """Return True if two results have equal structure and bits."""
    left, right = df.nest.flatten(a), df.nest.flatten(b)
    df.nest.assert_same_structure(a, b)
    return all([type(x) is type(y) and (
        x.dtype is y.dtype and bytes(_core.memory_of(x)) == bytes(_core.memory_of(y))
        if isinstance(x, df.Tensor) else x == y) for x, y in zip(left, right, strict=True)])


def saved(tmp_path, function, *args):
    file = tmp_path / "f.df"
    df.save_program(function.get_concrete_function(*args), file)
    return df.load_program(file)


@pytest.mark.parametrize("threads", [1, 3])
def test_loaded_training_step_continues(tmp_path, threads):
    step, _, x, y = mlp(rate=0.5)
    step(x, y)
    f = saved(tmp_path, step, x, y)
    before = df.config.num_threads()
    df.config.set_num_threads(threads)
    try:
        for _ in range(3):
            assert same(step(x, y), f(x, y))
    finally:
        df.config.set_num_threads(before)
    named = {v.name: v for v in f.variables}
    assert named["random_generator"].tolist() == [7, 4]
    assert named["hidden/kernel"].trainable and not named["random_generator"].trainable


def test_branches_loops_and_cached_results(tmp_path):
    run, x, n = control()
    f = saved(tmp_path, run, x, n)
    for k in (4, 0, 7):
        assert same(run(x, df.constant(k)), f(x, df.constant(k)))
    g, z = kept(), df.ones([3, 8])
    f = saved(tmp_path, g, z)
    w, = f.variables
    for factor in (1, 2, 2):
        w.assign(df.ones([8, 8]) * factor)
        product, flags, given = f(z)
        assert product.tolist() == (z @ (w @ w)).tolist() and flags.tolist() == [False, True]
        assert given is z


@pytest.mark.parametrize("seed", [1, 6])
def test_random_programs(seed, tmp_path):
    concrete, args = random_program(seed)
    df.save_program(concrete, tmp_path / "f.df")
    f = df.load_program(tmp_path / "f.df")
    for _ in range(2):
        assert same(concrete(*args), f(*args))


@pytest.mark.parametrize("dtype", df.dtypes.ALL, ids=str)
def test_variables_and_constants_of_any_size(dtype, tmp_path):
    """Memory blocks are larger than the tensors in them, and contain old bytes."""
    def function(v, constant):
        return df.function(lambda x: (v.value(), constant, x,
                                      df.where(x, df.reshape(v, [-1, 1]), constant)))

    for n in (0, 1, 3, 63, 64, 65):
        drawn = df.random.stateless_uniform([n], [n, 0], 0, 2, df.int64)
        v = df.Variable(df.cast(drawn, dtype), name="v", trainable=False)
        f = function(v, df.cast(1 - drawn, dtype))
        concrete = f.get_concrete_function(df.constant(True))
        df.save_program(concrete, tmp_path / "f.df")
        used = [df.fill([size], df.constant(255, df.uint8)) for size in (1, 64, 128, 256, 512)] * 4
        del used
        loaded = df.load_program(tmp_path / "f.df")
        for x in (True, False):
            assert same(concrete(df.constant(x)), loaded(df.constant(x)))


def test_results_returned_unchanged(tmp_path):
    """Return constants, arguments and variable values, each also twice."""
    f, x, y = returned_as_is()
    loaded = saved(tmp_path, f, x, y)
    for _ in range(2):
        got = loaded(x, y)
        assert same(f(x, y), got)
        assert got["constants"][0] is got["constants"][2][0] and got["arguments"][0] is x


def test_returned_variables(tmp_path):
    """Calls return the values of the variables of the loaded program, including variables that it
    does not read otherwise."""
    v, unread = df.Variable([1.0, 2.0], name="v"), df.Variable(3, name="unread")
    f = df.function(lambda x: (v.assign_add(x), [unread, v], v.value()))
    x = df.constant([0.5, -1.0])
    loaded = saved(tmp_path, f, x)
    for _ in range(2):
        want, (first, (other, second), value) = f(x), loaded(x)
        assert same(first, second) and same(first, v.value()) and other.item() == 3
        assert {x.name for x in loaded.variables} == {"v", "unread"}
        assert same(value, want[2])


@pytest.mark.parametrize("make", [lambda: df.constant([1, 2]), lambda: df.Variable([1, 2]),
                                  lambda: None, lambda: df.zeros([0])])
def test_functions_without_ops(make, tmp_path):
    value = make()
    got = saved(tmp_path, df.function(lambda: value))()
    assert type(got) is (type(None) if value is None else df.Tensor)
    if value is not None:
        assert same(df.identity(got), df.identity(value))


def test_random_functions(tmp_path):
    for seed in range(30):
        check_file(seed, tmp_path / "f.df")


@pytest.mark.soak
def test_many_random_functions(request, tmp_path, cache):
    soak(request, lambda seed: check_file(seed, tmp_path / "f.df"))


def test_saving_a_loaded_program_gives_the_same_file(tmp_path):
    """Reading and writing a file preserves every word."""
    step, _, x, y = mlp()
    concrete = step.get_concrete_function(x, y)
    df.save_program(concrete, tmp_path / "f.df")
    assert (tmp_path / "f.df").read_bytes() == b"".join(program_bytes(concrete))
    f = df.load_program(tmp_path / "f.df")
    spec = concrete.compiled([x, y]).spec
    assert len(f.spec.instructions) == len(spec.instructions)
    assert [x.op for x in f.spec.instructions] == [x.op for x in spec.instructions]
    assert f.spec.arena_bytes == spec.arena_bytes and "arena" in str(f.spec)


def test_structures(tmp_path):
    @df.function
    def f(pair, scale=2, *, mode="sum", extra=None):
        a, b = pair["a"], pair["b"][0]
        return {"both": (a + b, [a * scale]), mode: None, "n": 3, "size": a.shape[0]}, True

    a, b = df.constant([1.0, 2.0]), df.constant([3.0, 4.0])
    g = saved(tmp_path, f, {"a": a, "b": [b]})
    assert same(f({"a": a, "b": [b]}), g({"a": a, "b": [b]}))
    assert same(g({"a": a, "b": [b]}), g({"b": [b.numpy()], "a": df.Variable(a)}, 2, mode="sum"))
    for args, match in (
            (({"a": a},), "differs from the saved one"),
            (({"a": a, "b": [df.ones([3])]},), r"pair\['b'\]\[0\] is float32 \(3,\), expected"),
            (({"a": a, "b": [df.ones([2], df.int32)]},), r"int32 \(2,\), expected float32 \(2,\)"),
            (({"a": a, "b": [b]}, 3), "scale is 3, it was saved for 2"),
            (({"a": a, "b": ["x"]},), "expected float32")):
        with pytest.raises(df.errors.DualflowError, match=match):
            g(*args)
    with pytest.raises(TypeError, match="signature"):
        g()


def test_loaded_program_cannot_be_traced(tmp_path):
    g = saved(tmp_path, df.function(lambda x: x + 1), df.ones([2]))
    with pytest.raises(df.errors.InvalidArgumentError, match="cannot be traced"):
        df.function(g)(df.ones([2]))


def test_unsupported_functions_raise(tmp_path):
    file = tmp_path / "f.df"
    file.write_text("before")
    calls_python = df.function(lambda x: df.py_function(lambda y: y, [x], df.float32))
    for function, args, match in (
            (calls_python, (df.ones([2]),), "^save_program: <lambda> calls Python"),
            (df.function(lambda x: df.where(x > 0)), (df.ones([2]),), "depends on data"),
            (df.function(lambda x: [x, Path("a")]), (df.ones([2]),),
             r"^save_program: <lambda>, result\[1\]: .* is a \w*Path, expected None"),
            (df.function(lambda x, how: x), (df.ones([2]), Path("a")),
             r"^save_program: <lambda>, how: .* is a \w*Path, expected None"),
            (df.function(lambda x: {x}), (), None)):
        if match:
            with pytest.raises(df.errors.UnimplementedError, match=match):
                df.save_program(function.get_concrete_function(*args), file)
    with pytest.raises(df.errors.InvalidArgumentError, match="expected a concrete function"):
        df.save_program(calls_python, file)
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["f.df"]


def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    f = df.function(lambda x: x + 1).get_concrete_function(df.ones([2]))
    (tmp_path / "f.df").write_text("before")

    def full(handle):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        df.save_program(f, tmp_path / "f.df")
    assert (tmp_path / "f.df").read_text() == "before" and os.listdir(tmp_path) == ["f.df"]


# --- damage -------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def sections():
    w = df.Variable([1.0, 2.0], name="w")
    half = df.constant(np.linspace(0, 1, 2, dtype="float32"))
    f = df.function(lambda x: df.exp(w * x) + half)
    return sections_of(b"".join(program_bytes(f.get_concrete_function(df.ones([2])))))


def refused(tmp_path, data, match, error=df.errors.DataLossError):
    file = tmp_path / "f.df"
    file.write_bytes(data)
    with pytest.raises(error, match=match) as caught:
        df.load_program(file)
    assert str(file) in str(caught.value)


def header(data, **fields):
    names = ["magic", "order", "version", "bytes", "zero"] + [
        f"{what}_{k}" for k in range(5) for what in ("at", "n")]
    values = dict(zip(names, HEADER.unpack(data[:HEADER.size]), strict=True)) | fields
    return HEADER.pack(*values.values()) + data[HEADER.size:]


def test_damaged_headers_raise(tmp_path, sections):
    good = b"".join(with_header(sections))
    refused(tmp_path, b"", "is not a program file")
    refused(tmp_path, b"PK" + good, "is not a program file")
    refused(tmp_path, good[:50], "cut short: 50 bytes, and the header has 112")
    for n in (112, len(good) // 2, len(good) - 1):
        refused(tmp_path, good[:n], f"cut short: {n} bytes, expected {len(good)}")
    refused(tmp_path, good + b"x", "too long")
    refused(tmp_path, header(good, order=0x04030201), "another machine")
    refused(tmp_path, header(good, version=2), "version 2 of the file format, this build "
                                               "reads version 1")
    refused(tmp_path, header(good, at_1=8), "the section of programs begins at byte 8")
    refused(tmp_path, header(good, n_4=2**63), "the section of weights")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.df"):
        df.load_program(tmp_path / "none.df")
    with pytest.raises(df.errors.InvalidArgumentError, match="expected the path of a file"):
        df.load_program(good)


def with_section(sections, k, data):
    return b"".join(with_header([*sections[:k], data, *sections[k + 1:]]))


def test_damaged_sections_raise(tmp_path, sections):
    weights = json.loads(sections[WEIGHTS][8:8 + struct.unpack("<q", sections[WEIGHTS][:8])[0]])
    assert list(weights) == ["w"]
    for k, old, new, match in (
            (WEIGHTS, b'"shape": [2]', b'"shape": [3]', r"w is F32 \(3,\), expected F32 \(2,\)"),
            (WEIGHTS, b'"w"', b'"v"', "variable w is missing"),
            (STRINGS, b"cluster\0", b"clustex\0", "uses op clustex, which this build"),
            (STRUCTURE, b'"leaves"', b'"leavex"', "structure"),
            (STRUCTURE, b'["tensor", 0]', b'["tensor", 1]', "structure"),
            (STRUCTURE, b'"returned": [["tensor", 0]', b'"returned": [["variable", 0]',
             "1 inputs, 0 outputs"),
            (STRUCTURE, b'"returned": [', b'"returned": [["variable", 1], ', "structure"),
            (STRUCTURE, b'"result": null, "returned": [',
             b'"result": {"list": [null, null]}, "returned": [["other", 0], ', "structure")):
        data = sections[k].replace(old, new)
        assert data != sections[k]
        refused(tmp_path, with_section(sections, k, data), match,
                df.errors.UnimplementedError if k == STRINGS else df.errors.DataLossError)
    refused(tmp_path, with_section(sections, STRINGS, sections[STRINGS][:-1]), "is not terminated")
    refused(tmp_path, with_section(sections, CONSTANTS, b""), "constant")
    refused(tmp_path, with_section(sections, WORDS, sections[WORDS][:-8]), "is missing")
    refused(tmp_path, with_section(sections, WORDS, sections[WORDS] + bytes(8)), "unused words")


def test_any_invalid_word_is_handled(tmp_path, sections):
    """Each word in turn is far too large: none is used before it has been checked."""
    words = struct.unpack(f"<{len(sections[WORDS]) // 8}q", sections[WORDS])
    free = 0
    for k in range(len(words)):
        changed = struct.pack(f"<{len(words)}q", *words[:k], 2**40, *words[k + 1:])
        (tmp_path / "f.df").write_bytes(with_section(sections, WORDS, changed))
        try:
            df.load_program(tmp_path / "f.df")
            free += 1               # a cost, or the offset of a slot without one
        except df.errors.DualflowError as error:
            assert str(tmp_path) in str(error)
    assert free < len(words) / 4


def test_versions_of_ops(tmp_path, sections):
    words = list(struct.unpack(f"<{len(sections[WORDS]) // 8}q", sections[WORDS]))
    assert words[1] == 4 and words[3] == 0      # level, ops, name, version
    words[3] = 9
    refused(tmp_path, with_section(sections, WORDS, struct.pack(f"<{len(words)}q", *words)),
            "uses version 9 of op", df.errors.UnimplementedError)


@pytest.mark.parametrize("name", ["host_call", "host_compute", "host_start", "host_wait"])
def test_ops_that_call_python_raise(tmp_path, sections, name):
    names = sections[STRINGS].replace(b"cluster\0", name.encode() + b"\0")
    refused(tmp_path, with_section(sections, STRINGS, names), f"{name}, which calls functions of")


def test_workspace_is_planned_for_the_loading_level(tmp_path):
    x = df.random.stateless_normal([64, 64], [1, 2])
    f = df.function(lambda x: df.nn.softmax(x @ x))
    data = sections_of(b"".join(program_bytes(f.get_concrete_function(x))))
    data[STRINGS] = data[STRINGS].replace(_core.isa().encode() + b"\0", b"other\0")
    (tmp_path / "f.df").write_bytes(b"".join(with_header(data)))
    assert same(f(x), df.load_program(tmp_path / "f.df")(x))


def test_documentation_lists_the_codes():
    page = (ROOT / "docs/program_files.md").read_text()
    text = (ROOT / "csrc/base/dtype.h").read_text()
    dtypes = re.findall(r"^    DF_([A-Z]+\d*)\b", text[:text.index("DF_N_DTYPES")], re.M)
    assert dtypes == ["BOOL", "U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F16", "BF16",
                      "F32", "F64", "C64", "C128"], "files contain these numbers: append new dtypes"
    for header, name in (("exec/program.h", "DF_SLOT_"), ("model/model.h", "DF_FROM_")):
        text = (ROOT / "csrc" / header).read_text()
        for k, kind in enumerate(re.findall(rf"^    {name}(\w+)", text, re.M)):
            assert re.search(rf"\b{k}\s{kind}\b", page), f"{k} {kind}"
    assert str(HEADER.size) in page


# --- fuzzing ------------------------------------------------------------------------------------

def run_fuzzer(tmp_path, seconds, seed):
    command = [sys.executable, "-m", "tests.aot.fuzz", "--seconds", str(seconds), "--seed",
               str(seed), "--file", str(tmp_path / "f.df")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                         timeout=seconds + 600)
    assert ran.returncode == 0, ran.stderr[-5000:]
    return ran.stdout


def test_fuzzer(tmp_path):
    counts = run_fuzzer(tmp_path, 4, 0)
    assert "refused" in counts and "ran" in counts


@pytest.mark.soak
def test_fuzzer_at_length(request, tmp_path):
    minutes = float(request.config.getoption("--minutes"))
    for seed in range(max(1, int(minutes))):
        run_fuzzer(tmp_path, 60 * min(1.0, minutes), seed)
