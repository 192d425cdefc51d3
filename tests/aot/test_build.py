"""Exported folders are built and give the recorded bits: by default one folder with as many
features as possible; under soak other compilers, libraries, machines and many random programs."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import dualflow as df
from tests.aot.examples import LIBRARIES, functions_of
from tests.aot.models import (
    channel_scaled,
    control,
    frozen,
    mixed,
    mlp,
    normalized,
    recurrent,
    returned_as_is,
    scaled,
)
from tests.aot.random_programs import export, random_program
from tests.soak import soak

ROOT = Path(__file__).parents[2]
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]
STEP = 20               # random functions in a folder
CROSS = "aarch64-linux-gnu-gcc"
SANITIZED = ["OPT=-O1", "CFLAGS=-fsanitize=address,undefined -fno-sanitize-recover=all"]
VARIANTS = {
    "plain": ["OPT=-O3 -Werror"],
    "small": ["OPT=-Os -Werror", "THREADS=0"],
    "clang": ["CC=clang", "OPT=-O3 -Werror"],
    "gcc 11": ["CC=gcc-11", "OPT=-O2 -Werror"],
    "sanitized": SANITIZED,
    "sanitized by clang": ["CC=clang", *SANITIZED],
    "sanitized without threads": [*SANITIZED, "THREADS=0"],
    "musl": ["CC=musl-gcc", "OPT=-O2 -Werror", "LDFLAGS=-static"],
    "all levels": ["LEVELS=baseline avx2 avx512", "OPT=-O1"],
    "aarch64": [f"CC={CROSS}", "OPT=-O2 -Werror", "LDFLAGS=-static", "RUN=qemu-aarch64-static"],
}
SOME = ["lines", "gpt"]         # examples
MAYBE = ("clang", "gcc-11", "musl-gcc", CROSS, "qemu-aarch64-static")


def functions(seeds=(1,)):
    """Return functions of every kind, by name, and the examples of some."""
    step, predict, x, y = mlp(rate=0.5)
    run, z, n = control()
    made = {"train": step.get_concrete_function(x, y),
            "predict": [predict.get_concrete_function(x[:k]) for k in (1, 16)],
            "run": run.get_concrete_function(z, n)}
    for kind in ("lstm", "gru"):
        step, predict, x, y = recurrent(kind)
        made[f"train_{kind}"] = step.get_concrete_function(x, y)
        made[kind] = predict.get_concrete_function(x)
    predict, x = frozen()
    made["frozen"] = predict.get_concrete_function(x)
    predict, x = channel_scaled()
    made["channel_scaled"] = predict.get_concrete_function(x)
    step, predict, x, y = normalized()
    made["train_compiled"] = step.get_concrete_function(x, y)
    made["compiled"] = predict.get_concrete_function(x)
    step, x, y = mixed()
    made["train_mixed"] = step.get_concrete_function(x, y)
    step, x = scaled()
    made["scaled"] = step.get_concrete_function(x, 0.3, 4)
    f, x, y = returned_as_is()
    made["returned"] = f.get_concrete_function(x, y)
    examples = {"run": (z, n)}
    for seed in seeds:
        made[f"random_{seed}"], examples[f"random_{seed}"] = random_program(seed)
    return made, examples


def write(folder, seeds=(1,)):
    """Export a folder with every kind of program."""
    made, examples = functions(seeds)
    df.export(folder, made, examples=examples)


def write_all(folder):
    """Export a folder with every kind of program, one of two models in a program, and functions of
    examples/, if the libraries that the examples need are installed."""
    made, examples = functions()
    made["wave"] = waves()[0].get_concrete_function(POINTS)
    if all(map(importlib.util.find_spec, LIBRARIES)):
        for into, more in zip((made, examples), functions_of(SOME), strict=True):
            into |= more
    df.export(folder, made, examples=examples)


def make(folder, *arguments, env=os.environ):
    """Return the output of a build and its check."""
    env = {key: value for key, value in env.items() if key not in ("LD_PRELOAD", "CC")}
    cc = f"CC={shutil.which('ccache') or ''} {COMPILER}"
    ran = subprocess.run(["make", "-j2", cc, *arguments], cwd=folder, env=env, text=True,
                         capture_output=True, check=False, timeout=1800)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip().splitlines()[-1]


def works(*command):
    return shutil.which(command[0]) is not None


def variant_or_skip(name):
    """Return the arguments of a variant, and the start of its check's output."""
    arguments = VARIANTS[name]
    for word in " ".join(arguments).replace("=", " ").split():
        if word in MAYBE and not works(word):
            pytest.skip(f"{word} is not installed")
    return arguments, "close" if name == "aarch64" else "bit-equal"


def build_by_cmake(folder):
    """Build the model of a folder with CMake, and run its check."""
    for command in (["cmake", "-S", "model", "-B", "out"], ["cmake", "--build", "out", "-j2"],
                    ["ctest", "--test-dir", "out", "--output-on-failure"]):
        ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


needs_make = pytest.mark.skipif(not (works("make") and works(COMPILER)), reason="no make or cc")


@needs_make
def test_exported_folder_gives_the_bits_of_python(built):
    folder, said = built
    assert "conv_scaled" in (folder / "model.c").read_text()
    assert said.startswith("bit-equal")
    for name in ("train, predict_1, predict_16, run", "train_lstm, lstm, train_gru, gru, frozen",
                 "channel_scaled, train_compiled, compiled, train_mixed, scaled, returned",
                 "random_1, wave"):
        assert name in said


@needs_make
def test_export_runs_compiled_clusters(built, tmp_path):
    """The check fails if the compiled clusters do nothing."""
    shutil.copytree(built[0], tmp_path / "model")
    path = tmp_path / "model/clusters.c"
    head = r"(static void df_cluster_\w+\(int64_t units, [^{;]*\{)"
    text, n = re.subn(head, r"\1 if (units) return;", path.read_text())
    assert n > 2
    path.write_text(text)
    with pytest.raises(AssertionError, match="differ") as raised:
        make(tmp_path / "model", "OPT=-O0 -Wno-error")
    wrong = set(re.findall(r"call \d+, (\w+), \w+: not the recorded bits", str(raised.value)))
    assert {"train_compiled", "compiled"} <= wrong, raised.value


def products(dtype):
    """Return a function of all kinds of products of a dtype, or of int8 with uint8, and its
    arguments. Its other ops only move data."""
    def drawn(k, dtype, *shape):
        return df.cast(df.random.stateless_uniform(shape, [k, 5], -3, 4, df.int64), dtype)

    dtypes = ("int8", "uint8", "uint8") if dtype == "mixed" else (dtype,) * 3
    as_sums = {"output_type": df.int32} if dtypes[0] in ("int8", "uint8") else {}

    def multiply(a, b, v):
        pairs = (a, b, False, False), (a, a, False, True), (b, b, True, False), (
            b, a, True, True), (a, v, False, False), (v, b, True, False)
        made = [df.matmul(*pair, **as_sums) for pair in pairs]
        if dtype.startswith("complex"):         # selects numbers without kernels of int64
            made.append(df.math.unsorted_segment_prod(v, df.constant([0, 1, 0] * 15), 2))
        if as_sums:
            images, filters = df.reshape(a, (1, 33, 15, 3)), df.reshape(a[:27], (3, 3, 3, 45))
            spots = df.reshape(a[:3], (1, 3, 1, 45))
            made += [df.nn.conv_int32(images, filters, padding="SAME", zero_point=a[0, 0]),
                     df.nn.conv_int32(df.reshape(a, (1, 3, 11, 45)), spots)]
        return made

    args = [drawn(k, dtype, *shape) for k, (dtype, shape) in enumerate(zip(
        dtypes, ((33, 45), (45, 37), (45, 1)), strict=True))]
    return df.function(multiply).get_concrete_function(*args), args


FEW = [("bfloat16", "pairs"), ("mixed", ""), ("complex64", "")]    # packed in another form
MANY = [*[("bfloat16", way) for way in ("", "float32")],
        *[(name, "") for name in ("int8", "uint8", "float16", "float32", "float64", "int32",
                                  "uint32", "int64", "uint64", "complex128")]]
PRODUCTS = [*FEW, *[pytest.param(*x, marks=pytest.mark.soak) for x in MANY]]


@needs_make
@pytest.mark.parametrize("dtype, way", PRODUCTS)
def test_products_of_one_dtype(dtype, way, tmp_path):
    """The runtime of an export has no kernels of other dtypes. `way` is DUALFLOW_BFLOAT16 of Python
    and of the checking program."""
    env = os.environ | ({"DUALFLOW_BFLOAT16": way} if way else {})
    if way:
        script = ("import sys, dualflow as df\nfrom tests.aot.test_build import products\n"
                  "df.export(sys.argv[2], {'f': products(sys.argv[1])[0]})")
        subprocess.run([sys.executable, "-c", script, dtype, tmp_path / "model"], cwd=ROOT,
                       env=env, check=True)
    else:
        df.export(tmp_path / "model", {"f": products(dtype)[0]})
    assert make(tmp_path / "model", "OPT=-O0 -Wno-error", env=env).startswith("bit-equal")


def test_export_without_jit_compile_has_no_clusters(tmp_path):
    _, predict, x, _ = mlp()
    df.export(tmp_path / "model", {"predict": predict.get_concrete_function(x)})
    assert not (tmp_path / "model/clusters.c").exists()


TWO = """
#include "model.h"
#include "other.h"
#include <stdio.h>
int main(void)
{
    const float x[3] = {0.5f, -1, 2};
    float made[4];
    model *m = model_new();
    other *o = other_new();
    if (model_load(m, "model/weights.safetensors") || model_wave(m, x, made)) puts(model_error(m));
    if (other_load(o, "other/weights.safetensors") || other_run(o, x, made + 3))
        puts(other_error(o));
    model_free(m);
    other_free(o);
    fwrite(made, sizeof made, 1, stdout);
    return 0;
}
"""


POINTS = df.constant([0.5, -1.0, 2.0])


def waves():
    """Return the functions of the two models."""
    w = df.Variable([2.0, 3.0, 4.0], name="df_run")
    return (df.function(lambda x: df.cumsum(df.sin(x) * w)),
            df.function(lambda x: df.reduce_sum(w * x) - x[0]))


@needs_make
def test_two_models_in_one_program(built, tmp_path):
    functions = waves()
    (tmp_path / "model").symlink_to(built[0])
    df.export(tmp_path / "other", {"run": functions[1].get_concrete_function(POINTS)},
              prefix="other")
    assert make(tmp_path / "other", "OPT=-O0").startswith("bit-equal")
    (tmp_path / "main.c").write_text(TWO)
    subprocess.run([COMPILER, "-Imodel", "-Iother", "main.c", "model/libmodel.a",
                    "other/libother.a", "-lm", "-pthread"], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "a.out"], cwd=tmp_path, capture_output=True, check=True)
    assert ran.stdout == b"".join([f(POINTS).numpy().tobytes() for f in functions])
    names = subprocess.run(["nm", "-g", "--defined-only", tmp_path / "other/libother.a"],
                           text=True, capture_output=True, check=True).stdout
    named = [line.split()[2] for line in names.splitlines() if len(line.split()) == 3]
    assert named and all(name.startswith("other_") for name in named)


@needs_make
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="make would preload the sanitizer as well")
def test_example_continues_training_in_c(tmp_path):
    for module in ("sklearn", "tqdm", "safetensors"):
        pytest.importorskip(module)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    ran = subprocess.run([sys.executable, ROOT / "examples/export_digits.py", "--steps=2",
                          "--hidden=16", "--flags=-O0",
                          f"--compiler={shutil.which('ccache') or ''} {COMPILER}"],
                         cwd=tmp_path, env=env, text=True, capture_output=True, check=False,
                         timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "C: 2 steps" in ran.stdout and "the same bits: bias_0, " in ran.stdout


@needs_make
@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(variant, tmp_path):
    arguments, end = variant_or_skip(variant)
    write(tmp_path / "model")
    assert make(tmp_path / "model", *arguments).startswith(end)


@needs_make
def test_random_functions(interpreted, tmp_path):
    """Functions have all dtypes and sizes; the clusters of every other one are compiled."""
    export(range(20), tmp_path / "model")
    assert make(tmp_path / "model", "OPT=-O0 -Wno-error").startswith("bit-equal")


@needs_make
@pytest.mark.soak
def test_many_random_functions(request, tmp_path):
    def check(seed):
        export(range(seed, seed + STEP), tmp_path / f"model_{seed}")
        assert make(tmp_path / f"model_{seed}", "OPT=-O0 -Wno-error").startswith("bit-equal")
        shutil.rmtree(tmp_path / f"model_{seed}")

    soak(request, check, STEP)


@needs_make
@pytest.mark.soak
@pytest.mark.parametrize("first", range(10, 40, 5))
def test_random_programs(first, tmp_path):
    write(tmp_path / "model", range(first, first + 5))
    assert make(tmp_path / "model", "OPT=-O1").startswith("bit-equal")


@pytest.mark.soak
@pytest.mark.skipif(not works("cmake"), reason="cmake is not installed")
def test_cmake(tmp_path):
    write(tmp_path / "model")
    build_by_cmake(tmp_path)
