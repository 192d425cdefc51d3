"""The code of docs/book/ch13_export.md, from which docs/ext/book.py writes this file."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from ch03_training import batches, generate, initial_parameters, step, step_arguments
from ch04_tracing import trace
from ch05_passes import optimize
from ch06_memory import lower
from ch07_executor import SOURCE as EXECUTOR, compile_c, encode, size

MAIN = Path(__file__).with_suffix(".c")


def literal(x):
    """Return a float32 as a C literal with the same bits."""
    x = float(x)
    if x != x:
        return "NAN"
    return f"{'-' if x < 0 else ''}INFINITY" if abs(x) == float("inf") else f"{x.hex()}f"


def array(kind, name, items):
    """Return the definition of an array, at most 100 columns wide."""
    lines, line = [], "   "
    for item in map(str, items):
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {item},"
    body = "\n".join([*lines, line])
    return f"static const {kind} {name}[] = {{\n{body}\n}};\n"


def entry(name, program):
    """Return the C source of an entry, and its header."""
    code, slots = encode(program)
    parts = ['#include "executor.c"\n#include <math.h>\n#include "' + name + '.h"\n',
             array("int64_t", f"{name}_code", code)]
    for k, values in enumerate(program.constants):
        parts.append(array("float", f"{name}_constant_{k}", map(literal, values.reshape(-1))))

    def pointer(slot):
        kind, at, _ = slot
        return {"argument": f"(float *)arguments[{at}]", "arena": f"arena + {at}",
                "constant": f"(float *){name}_constant_{at}"}[kind]

    table = "".join(f"        {pointer(slot)},\n" for slot in slots)
    copies = "".join(f"    memcpy(results[{k}], {pointer(slot)}, {size(slot.shape)} * 4);\n"
                     for k, slot in enumerate(program.results))
    parts.append(f"void {name}(const float *const *arguments, float *const *results, "
                 f"float *arena)\n{{\n    float *const slots[] = {{\n{table}    }};\n"
                 f"    run({name}_code, {len(code)}, slots);\n{copies}}}\n")
    sizes = [array("int64_t", f"{name}_{what}_sizes", [size(x.shape) for x in values])
             for what, values in (("argument", program.arguments), ("result", program.results))]
    header = (f"/* Runs {name}. `arena` has {name.upper()}_ARENA floats. */\n"
              f"#include <stdint.h>\nenum {{ {name.upper()}_ARENA = {program.arena} }};\n"
              f"{''.join(sizes)}void {name}(const float *const *arguments, float *const *results, "
              "float *arena);\n")
    return "\n".join(parts), header


def export(folder, name, python_function, arguments):
    """Write an entry, its header and the executor to a folder."""
    source, header = entry(name, lower(optimize(trace(python_function, arguments))))
    for file, text in ((f"{name}.c", source), (f"{name}.h", header),
                       ("executor.c", EXECUTOR.read_text())):
        (Path(folder) / file).write_text(text)


def train_in_c(program, parameters, data):
    """Run the exported program; return the losses and the bytes of the parameters."""
    given = [*parameters, *(x for batch in data for x in batch)]
    output = subprocess.run([program], input=b"".join(x.data.tobytes() for x in given),
                            stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(output[:4 * len(data)], np.float32), output[4 * len(data):]


def compare(folder, n=200, hidden=16):
    """Train in Python and in C; return the losses of both, and whether all bits are equal."""
    export(folder, "step", step, step_arguments(hidden))
    program = compile_c(MAIN, f"{folder}/train", f"-I{folder}", f"{folder}/step.c")
    parameters = initial_parameters(56, hidden)
    data = list(batches(*generate(n), 20, np.random.default_rng(0)))
    losses, final = train_in_c(program, parameters, data)
    expected = []
    for x, labels in data:
        loss, *parameters = step(x, labels, *parameters)
        expected.append(float(loss.data))
    same = final == b"".join(p.data.tobytes() for p in parameters)
    return losses.tolist(), expected, same and losses.tolist() == expected


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    losses, expected, same = compare(folder)
    print("losses:", [round(x, 4) for x in losses])
    print("bit-identical to Python:", same)
    for file in sorted(Path(folder).iterdir()):
        print(f"{file.name:12} {file.stat().st_size:6} bytes")
