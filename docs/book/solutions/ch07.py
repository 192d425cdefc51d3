"""Solutions of the exercises of chapter 7."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import ch06_memory
import ch07_executor
import numpy as np
import pytest
from ch01_tensors import OPS, Tensor, apply, register, relu, same_shape, transpose
from ch03_training import step, step_arguments
from ch04_tracing import trace
from ch05_passes import optimize
from ch06_memory import lower
from ch07_executor import NUMBERS, SOURCE, CProgram, encode, in_c, op_numbers, shared_library


def test_exercise_1_maximum():
    """A name in the enum, a formula, an entry of the table; in Python nothing but the op record."""
    text = SOURCE.read_text()
    text = text.replace("HEAVISIDE, N_EL", "HEAVISIDE, MAXIMUM, N_EL").replace(
        "static tile_fn *const", "TILE_FUNCTION(maximum, a[i] > b[i] ? a[i] : b[i])\n"
        "static tile_fn *const").replace("heaviside};", "heaviside, [MAXIMUM] = maximum};")
    source = Path(tempfile.mkdtemp()) / "with_maximum.c"
    source.write_text(text)
    register("maximum", "elementwise", np.maximum, same_shape)
    graph = trace(lambda a, b: apply("maximum", a, b) + a, [Tensor([1, 5]), Tensor([4, 2])])
    before = dict(NUMBERS)
    ch07_executor.SOURCE = source
    NUMBERS.update(op_numbers())
    try:
        program = CProgram(lower(optimize(graph)))
        assert program(Tensor([1, 5]), Tensor([4, 2]))[0].data.tolist() == [5, 10]
    finally:
        ch07_executor.SOURCE = SOURCE
        NUMBERS.clear()
        NUMBERS.update(before)
        del OPS["maximum"]


def test_exercise_2_transpose():
    x = Tensor(np.arange(9).reshape(3, 3))
    graph = trace(lambda x: transpose(x + x), [x])
    before = ch06_memory.may_be_in_place
    ch06_memory.may_be_in_place = lambda operation, x: True
    try:
        wrong, = in_c(graph)(x)
    finally:
        ch06_memory.may_be_in_place = before
    right, = in_c(graph)(x)
    assert right.data.tolist() == (2 * x.data.T).tolist()
    assert wrong.data.tolist() != right.data.tolist()


# For each op with a fixed number of words: the index of its first slot, and its number of words.
FORMS = {"reshape": (1, 3), "transpose": (2, 4), "reduce_sum": (3, 5), "matmul": (3, 6)}


def check_code(code, n_slots):
    """Raise ValueError if the executor must not run a code."""
    names, at = {number: name for name, number in NUMBERS.items()}, 0
    while at < len(code):
        length = code[at]
        if length < 3 or at + length > len(code):
            raise ValueError(f"word {at}: length {length}")
        name, words = names.get(code[at + 1]), code[at + 2:at + length]
        if name is None:
            raise ValueError(f"word {at + 1}: no op has the number {code[at + 1]}")
        if name == "cluster":
            n_in, n_steps = words[1:3]
            used, expected = words[3:4 + n_in], 4 + 2 * n_in + 3 * n_steps
        elif name == "broadcast_to":
            used, expected = words[1 + 2 * words[0]:], 3 + 2 * words[0]
        else:
            first, expected = FORMS.get(name, (1, 4))
            used = words[first:]
        if len(words) != expected or any(not 0 <= slot < n_slots for slot in used):
            raise ValueError(f"word {at}: {name} with the words {list(words)}")
        at += length


def test_exercise_3_check():
    code, slots = encode(lower(optimize(trace(step, step_arguments()))))
    check_code(code, len(slots))
    with pytest.raises(ValueError, match="length"):
        check_code(code[:-1], len(slots))
    with pytest.raises(ValueError, match="words"):
        check_code(code, len(slots) - 1)
    code[1] = 99
    with pytest.raises(ValueError, match="number 99"):
        check_code(code, len(slots))


def test_exercise_4_contraction():
    """A fused multiply-add rounds once for a product and a sum, so low bits of sums change."""
    x = Tensor(np.random.default_rng(0).normal(size=(64, 64)))
    graph = trace(lambda x: relu(x @ x), [x])
    flags = ["-march=haswell", "-ffp-contract=fast"]
    try:
        library = shared_library(SOURCE, *flags)
    except subprocess.CalledProcessError:
        pytest.skip("the compiler has no option -march=haswell")
    if "fma" not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("the processor has no fused multiply-add")
    exact, = CProgram(lower(graph))(x)
    fused, = CProgram(lower(graph), ctypes.CDLL, library)(x)
    assert exact.data.tobytes() != fused.data.tobytes()
    assert np.allclose(exact.data, fused.data, atol=1e-4)
