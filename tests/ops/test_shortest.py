"""Printed floats have the shortest text of their dtype, as in NumPy."""

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.shortest import shortest

ml_dtypes = pytest.importorskip("ml_dtypes")


def bits(dtype, n):
    """Return `n` random values of a dtype, all its powers of two, and its limits; all finite."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    word = {2: np.uint16, 4: np.uint32}[kind.itemsize]
    random = np.random.default_rng(0).integers(0, 2 ** (8 * kind.itemsize), n, dtype=word)
    with np.errstate(all="ignore"):
        powers = (2. ** np.arange(-149, 128)).astype(np.float32).astype(kind)
        values = np.concatenate([random.view(kind), powers])
        return values[np.isfinite(values)]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_numbers_are_numpys(dtype):
    for value in bits(dtype, 5000):
        assert shortest(float(value), dtype) == float(str(value))


def test_bfloat16_reads_back_and_has_at_most_four_digits():
    for value in bits("bfloat16", 5000):
        near = shortest(float(value), "bfloat16")
        assert ml_dtypes.bfloat16(near) == value
        digits = f"{near:.8e}".split("e")[0].replace(".", "").strip("-").rstrip("0")
        assert len(digits) <= 4


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 0., -0.])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values(value, dtype):
    assert str(shortest(value, dtype)) == str(value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_scalars_print_as_written(dtype, capsys):
    x = df.constant(0.1, dtype)
    assert repr(x) == str(x) == f"<dualflow.Tensor shape=() dtype={dtype} 0.1>"
    assert f"{x}" == format(x, "") == "0.1" and f"{x:>5}" == "  0.1"
    assert repr([x, x]) == f"[{x!r}, {x!r}]"
    assert repr(df.Variable(x, name="v")) == f"<dualflow.Variable 'v' shape=() dtype={dtype} 0.1>"
    df.print(x, [x], {"k": df.Variable(x)})
    traced = df.function(lambda x: df.print(x, [x]))
    traced(x)
    assert capsys.readouterr().out == "0.1 [0.1] {'k': 0.1}\n0.1 [0.1]\n"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_arrays_print_as_written(dtype):
    x = df.constant([[0.1, 2.], [0.3, -1.]], dtype)
    assert "[[ 0.1  2. ]\n [ 0.3 -1. ]]" in repr(x)
    many = df.fill([40, 40], df.constant(0.1, dtype))
    assert repr(many).count("0.1 0.1 0.1 ... 0.1 0.1 0.1") == 6
    assert "[]" in repr(df.zeros([0], dtype))


def test_values_and_formats_with_digits_stay():
    x = df.constant(0.1)
    assert x.item() == x.tolist() == float(x) == float(np.float32(0.1)) != 0.1
    assert f"{x:.10f}" == f"{float(np.float32(0.1)):.10f}" and f"{x:e}" == "1.000000e-01"
    assert f"{df.constant(7):>3}" == "  7" and f"{df.constant(True)}" == "True"


def test_constants_of_a_graph():
    text = str(df.function(lambda x: x * 0.1 + [0.2, 0.3]).graph_for(df.constant([1., 2.])))
    assert "constant(0.1)" in text and "constant([0.2, 0.3])" in text


def test_a_scalar_is_printed_without_numpy():
    import subprocess
    import sys
    code = "import sys, dualflow as df; print(df.constant(0.1)); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True,
                          text=True).stdout.endswith(" 0.1>\n")
