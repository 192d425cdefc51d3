"""Solutions of the exercises of chapter 13."""

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from ch01_tensors import network
from ch03_training import batches, generate, initial_parameters, step, step_arguments
from ch04_tracing import trace
from ch05_passes import optimize
from ch06_memory import lower
from ch07_executor import SOURCE, compile_c
from ch13_export import MAIN, array, entry, export, literal, train_in_c


def pointers(arrays):
    table = np.array([x.ctypes.data for x in arrays], np.uint64)
    return table, ctypes.c_void_p(table.ctypes.data)


def call(function, arguments, result_shapes, arena):
    """Call an exported entry of a shared library."""
    results = [np.empty(shape, np.float32) for shape in result_shapes]
    memory = np.empty(arena, np.float32)
    keep, given = pointers([x.data for x in arguments])
    kept, returned = pointers(results)
    function(given, returned, ctypes.c_void_p(memory.ctypes.data))
    return results if len(keep) and len(kept) else []


def test_exercise_1_entries():
    """The executor is included once; both entries call its function `run`."""
    folder, arguments = Path(tempfile.mkdtemp()), step_arguments()
    programs = {"step": lower(optimize(trace(step, arguments))),
                "network": lower(optimize(trace(network, [arguments[0], *arguments[2:]])))}
    sources = []
    for name, program in programs.items():
        source, header = entry(name, program)
        (folder / f"{name}.h").write_text(header)
        sources.append(source.replace('#include "executor.c"\n', "") if sources else source)
    (folder / "executor.c").write_text(SOURCE.read_text())
    (folder / "model.c").write_text("\n".join(sources))
    library = ctypes.CDLL(str(compile_c(folder / "model.c", folder / "model.so", "-shared",
                                        "-fPIC", "-Wno-unused-variable")))
    shapes = [(), *[p.shape for p in arguments[2:]]]
    _, *trained = call(library.step, arguments, shapes, programs["step"].arena)
    _, *expected = step(*arguments)
    assert [p.tobytes() for p in trained] == [p.data.tobytes() for p in expected]
    y, = call(library.network, [arguments[0], *expected], [(20, 10)], programs["network"].arena)
    assert y.tobytes() == network(arguments[0], *expected).data.tobytes()


def check_source(arguments, results):
    """Return the text of check.c."""
    parts = ['#include <math.h>\n#include <string.h>\n#include "step.h"\n',
             "static float arena[STEP_ARENA];\n"]
    for name, values in (("argument", arguments), ("result", results)):
        parts += [array("float", f"{name}_{k}", map(literal, x.data.reshape(-1)))
                  for k, x in enumerate(values)]
    parts += [f"static float got_{k}[sizeof result_{k} / 4];\n" for k in range(len(results))]
    given = ", ".join(f"argument_{k}" for k in range(len(arguments)))
    got = ", ".join(f"got_{k}" for k in range(len(results)))
    equal = " && ".join(f"!memcmp(got_{k}, result_{k}, sizeof got_{k})"
                        for k in range(len(results)))
    parts.append(f"int main(void)\n{{\n    const float *arguments[] = {{{given}}};\n"
                 f"    float *results[] = {{{got}}};\n    step(arguments, results, arena);\n"
                 f"    return !({equal});\n}}\n")
    return "".join(parts)


def test_exercise_2_check():
    folder, arguments = Path(tempfile.mkdtemp()), step_arguments(hidden=4)
    export(folder, "step", step, arguments)
    results, codes = step(*arguments), []
    for k in range(2):
        (folder / "check.c").write_text(check_source(arguments, results))
        program = compile_c(folder / "check.c", folder / "check", str(folder / "step.c"),
                            "-Wno-unused-variable")
        codes.append(subprocess.run([program], check=False).returncode)
        results[-1] = results[-1] + 1e-6
        assert k < 2
    assert codes == [0, 1]


def test_exercise_3_kernels():
    """Only the entries of the tables refer to a kernel; without them the compiler drops it."""
    folder, arguments = Path(tempfile.mkdtemp()), step_arguments(hidden=4)
    program = lower(optimize(trace(lambda x, w: x @ w, [arguments[0], arguments[2]])))
    (folder / "y.c").write_text(entry("y", program)[0])
    (folder / "y.h").write_text(entry("y", program)[1])
    used = {instruction.op.name for instruction in program.instructions}
    full = SOURCE.read_text()
    less = re.sub(r"\[([A-Z_]+)\] = (\w+)(,?)\s*",
                  lambda m: m[0] if m[2] in used else "", full)
    sizes = []
    for text in (full, less):
        (folder / "executor.c").write_text(text)
        made = compile_c(folder / "y.c", folder / "y.o", "-c", "-Wno-unused-function",
                         "-Wno-unused-variable")
        sizes.append(made.stat().st_size)
    assert used == {"matmul"} and sizes[1] < sizes[0] / 2


def test_exercise_4_options():
    """The order of the operations is that of the text, and each is rounded: optimisation must not
    change either. -ffast-math would allow it to."""
    folder, outputs = Path(tempfile.mkdtemp()), set()
    export(folder, "step", step, step_arguments())
    data = list(batches(*generate(60), 20, np.random.default_rng(0)))
    for flags in (["-O0"], ["-O2"], ["-O3", "-march=native"]):
        program = compile_c(MAIN, folder / "train", f"-I{folder}", str(folder / "step.c"), *flags)
        outputs.add(train_in_c(program, initial_parameters(56, 16), data)[1])
    assert len(outputs) == 1
