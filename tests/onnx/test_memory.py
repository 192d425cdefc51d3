"""The memory of loaded models: pages of the file are released, weights are stored once."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from dualflow._core import apply
from dualflow.graph.ir import Weight
from dualflow.onnx import loading
from tests.levels import skip_unless_available

K, N = 700, 1000                    # N leaves a partial panel at every SIMD level


def matrix(seed, *shape):
    """Return a matrix with elements whose bits arithmetic would change."""
    w = np.random.default_rng(seed).normal(size=shape).astype("float32")
    w[0, :4] = -0.0, np.inf, 1e-42, 3.
    w.view("uint32")[1, 1] = 0x7fc01234         # a NaN with a payload
    return w


W, V = matrix(0, K, N), matrix(1, 300, N)


def written(path, w=W, v=V):
    """Write a model with a product and a product with a transposed matrix."""
    df.onnx.save(lambda x: df.matmul(df.tanh(x @ w), v, transpose_b=True), path,
                 df.TensorSpec([None, K]))
    return path


def finite(path):
    return written(path, np.clip(np.nan_to_num(W), -2, 2), np.clip(np.nan_to_num(V), -2, 2))


def weights(model):
    return [x for x in model._body.constants.values() if isinstance(x, Weight)]


def rows(n):
    return df.constant(np.random.default_rng(n).normal(size=(n, K)).astype("float32"))


def bits(x):
    return x.numpy().tobytes()


def resident(path):
    """Return the resident bytes of the mappings of a file."""
    found, inside = 0, False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if "-" in line.split()[0]:          # the first line of a mapping
                inside = line.rstrip().endswith(str(path))
            elif inside and line.startswith("Rss:"):
                found += int(line.split()[1]) << 10
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs /proc/self/smaps")
def test_pages_of_the_file_are_released(tmp_path, monkeypatch):
    path, files = finite(tmp_path / "m.onnx"), []
    mapped = loading.mapped
    monkeypatch.setattr(loading, "mapped", lambda path: files.append(mapped(path)) or files[0])
    model = df.onnx.load(path)
    assert resident(path) < path.stat().st_size / 4
    assert sum(files[0][::4096]) and resident(path) > path.stat().st_size / 2   # a read loads pages
    assert bits(model(rows(3))) == bits(df.onnx.load(path, traced=False)(rows(3)))


def test_a_weight_is_stored_once(tmp_path):
    model = df.onnx.load(finite(tmp_path / "m.onnx"))
    assert len(weights(model)) == 2
    x = rows(5)
    before = df.memory.stats()["in_use"]
    model(x)
    assert df.memory.stats()["in_use"] - before < W.nbytes / 2
    assert [w.dense for w in weights(model)] == [None, None]


def test_other_sizes_read_the_same_packed_weights(tmp_path):
    path = finite(tmp_path / "m.onnx")
    model, plain = df.onnx.load(path), df.onnx.load(path, traced=False)
    for n in (5, 2, 300, 40):
        assert bits(model(rows(n))) == bits(plain(rows(n)))
        assert [w.dense for w in weights(model)] == [None, None]
    assert bits(model(rows(1))) == bits(plain(rows(1)))     # a vector: the matrix is unpacked
    assert None not in [w.dense for w in weights(model)]


def test_unpacking_returns_the_bits(tmp_path):
    model = df.onnx.load(written(tmp_path / "m.onnx"))
    model(rows(5))
    for weight, x in zip(weights(model), (W, V), strict=True):
        assert weight.dense is None
        dense = weight.tensor()
        assert bits(dense) == (x if x.shape == dense.shape else x.T).tobytes()


@pytest.mark.parametrize("level", ["", "baseline", "avx2"])
def test_the_padding_of_packed_operands_is_zero(level):
    """Packed operands have the size of the longest vector; unpacking and files read all of it."""
    if level:
        skip_unless_available(level)
        test = f"{__file__}::{test_the_padding_of_packed_operands_is_zero.__name__}[]"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
        env = {**os.environ, "DUALFLOW_ISA": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return
    for op, x, attrs in (("pack_matrix", df.ones([70, 1000]), {"transpose": False, "rows": 5}),
                         ("conv_pack", df.ones([3, 3, 10, 1000]), {"groups": 1})):
        for _ in range(3):
            used = [df.fill([size], 7.) for size in (70_560, 90_720, x.size)]
            used.clear()                # memory that the packed operand may get
            packed = apply(op, x, **attrs)
            numbers = packed.numpy().view(np.float32)
            assert numbers.size > x.size and numbers.sum() == x.size


def test_gradients_after_packing(tmp_path):
    path = finite(tmp_path / "m.onnx")
    found = []
    for model in (df.onnx.load(path), df.onnx.load(path, traced=False)):
        x = rows(5)
        model(x)
        for _ in range(2):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = model(x)
            found.append(bits(tape.gradient(y, x)))
        found.append(bits(df.function(df.grad(lambda x, f=model: df.reduce_sum(f(x))))(x)))
    assert len(set(found)) == 1


def test_gradients_of_the_program(tmp_path):
    path = finite(tmp_path / "m.onnx")
    model, plain = df.onnx.load(path), df.onnx.load(path, traced=False)
    x, found = rows(5), []
    model(x)
    for f in (model.program, plain):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found.append(bits(y) + bits(tape.gradient(y, x)))
    assert len(set(found)) == 1


def test_files_contain_the_matrices(tmp_path):
    """Layouts of a SIMD level stay in the process."""
    model = df.onnx.load(finite(tmp_path / "m.onnx"))
    x = rows(5)
    y = bits(model(x))
    df.onnx.save(model, tmp_path / "again.onnx", df.TensorSpec([5, K]))
    assert bits(df.onnx.load(tmp_path / "again.onnx")(x)) == y
    model(x)
    for k, f in enumerate((df.function(model), model.program)):
        concrete = f.get_concrete_function(df.TensorSpec([5, K]))
        df.save_program(concrete, tmp_path / f"{k}.df")
        assert bits(df.load_program(tmp_path / f"{k}.df")(x)) == y
        assert (tmp_path / f"{k}.df").stat().st_size < 1.1 * (W.nbytes + V.nbytes)
    holder = df.Module()
    holder.f = model.program
    df.save(holder, tmp_path / "saved")
    assert bits(df.load(tmp_path / "saved").f(x)) == y


def test_a_model_in_other_functions(tmp_path):
    path = finite(tmp_path / "m.onnx")
    model, plain = df.onnx.load(path), df.onnx.load(path, traced=False)
    x = rows(5)
    model(x)
    twice = df.function(lambda f, x: f(x) + f(x * .5), autograph=False)
    assert bits(twice(model, x)) == bits(twice(plain, x))
    branch = df.function(lambda x: df.cond(df.reduce_sum(x) > 0, lambda: model(x),
                                           lambda: model(-x)))
    assert bits(branch(x)) == bits(model(x if df.reduce_sum(x).numpy() > 0 else -x))
    assert bits(df.vmap(model)(df.stack([x, x]))) == bits(df.vmap(plain)(df.stack([x, x])))


def test_the_file_is_overwritten_later(tmp_path):
    path = finite(tmp_path / "m.onnx")
    model = df.onnx.load(path)
    y = bits(model(rows(5)))
    with open(path, "r+b") as file:
        file.truncate(100)
    assert bits(model(rows(5))) == y and bits(model.program(rows(5))) == y
    assert len(bits(model(rows(1)))) == 300 * 4
