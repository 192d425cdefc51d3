"""The code of docs/book/ch07_executor.md, from which docs/ext/book.py writes this file."""

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from ch01_tensors import Tensor
from ch03_training import step, step_arguments
from ch04_tracing import function, trace
from ch05_passes import optimize
from ch06_memory import lower, planned

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"]


def compile_c(source, target, *flags):
    """Compile a C file; end the program with a message if there is no compiler."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler.split()[0]) is None:
        sys.exit(f"{Path(source).name}: skipped, because there is no C compiler ({compiler})")
    subprocess.run([*compiler.split(), *FLAGS, *flags, str(source), "-o", str(target)],
                   check=True)
    return target


@functools.cache
def shared_library(source, *flags):
    """Return the path of the shared library of a C file, compiled once for each process."""
    folder = tempfile.mkdtemp()
    return compile_c(source, f"{folder}/{Path(source).stem}.so", "-shared", "-fPIC", *flags)


def op_numbers():
    """Return the numbers of the ops in the C file, by name."""
    names = re.findall(r"[A-Z_]+", re.search(r"enum op {(.*?)}", SOURCE.read_text(), re.S)[1])
    names = [name.lower() for name in names if not name.startswith("N_")]
    return {name: number for number, name in enumerate(names)}


NUMBERS = op_numbers()


def op_number(name):
    if name not in NUMBERS:
        raise NotImplementedError(f"{name} has no kernel in C")
    return NUMBERS[name]


def words_of(op, inputs, outputs, attributes, number):
    """Return the words of an instruction; `number` returns the index of a slot."""
    shapes, name = [x.shape for x in inputs], op.name
    operands = [number(x) for x in [*outputs, *inputs]]
    if name == "cluster":
        return cluster_words(inputs, operands, **attributes)
    if op.kind == "elementwise":
        return [size(shapes[0]), *operands[:2], operands[-1]]
    if name == "reshape":
        return [size(shapes[0]), *operands]
    if name == "transpose":
        return [*shapes[0], *operands]
    if name == "matmul":
        return [*shapes[0], shapes[1][1], *operands]
    if name == "reduce_sum":
        axis = attributes["axis"]
        return [size(shapes[0][:axis]), shapes[0][axis], size(shapes[0][axis + 1:]), *operands]
    shape = attributes["shape"]                         # of broadcast_to
    return [len(shape), *shape, *repeated_strides(shapes[0], shape), *operands]


def size(shape):
    return int(np.prod(shape))


def repeated_strides(shape, result):
    """Return the distance, in elements, of neighbours along each dimension of the result."""
    shape = (1,) * (len(result) - len(shape)) + shape
    return [0 if n == 1 else size(shape[d + 1:]) for d, n in enumerate(shape)]


def cluster_words(inputs, operands, steps, shape):
    assert len(inputs) + len(steps) <= 24, "more values than the executor has registers"
    words = [size(shape), len(inputs), len(steps), *operands,
             *[int(x.shape == () and shape != ()) for x in inputs]]
    for name, *values in steps:
        words += [op_number(name), values[0], values[-1]]
    return words


def encode(program):
    """Return the code of a program, and the slots in the order of their numbers."""
    numbers, code = {}, []
    for instruction in program.instructions:
        number = op_number(instruction.op.name)
        words = words_of(*instruction, lambda slot: numbers.setdefault(slot, len(numbers)))
        code += [len(words) + 2, number, *words]
    return np.array(code, np.int64), list(numbers)


class CProgram:
    """A program that C runs. `load` opens the library: ctypes.CDLL or ctypes.PyDLL."""

    def __init__(self, program, load=ctypes.CDLL, library=None):
        self.program = program
        self.code, slots = encode(program)
        self.run = load(library or shared_library(SOURCE)).run
        self.run.restype = None
        n_arguments, n_constants = len(program.arguments), len(program.constants)
        first = {"argument": 0, "constant": n_arguments, "arena": n_arguments + n_constants}
        self.array = np.array([first[kind] + (at if kind != "arena" else 0)
                               for kind, at, _ in slots])
        self.offset = np.array([4 * at if kind == "arena" else 0 for kind, at, _ in slots])

    def __call__(self, *tensors):
        arena = np.empty(self.program.arena, np.float32)
        arrays = [*[x.data for x in tensors], *self.program.constants, arena]
        starts = np.array([x.__array_interface__["data"][0] for x in arrays])
        table = starts[self.array] + self.offset
        self.run(ctypes.c_void_p(self.code.ctypes.data), ctypes.c_int64(len(self.code)),
                 ctypes.c_void_p(table.ctypes.data))

        def result(slot):
            if slot.kind != "arena":
                return {"argument": arrays, "constant": self.program.constants}[slot.kind][
                    slot.position]
            return arena[slot.position:slot.position + size(slot.shape)].reshape(slot.shape)
        return [Tensor(result(slot)) for slot in self.program.results]


def in_c(graph):
    """Return a function that runs a graph as an optimised program in C."""
    return CProgram(lower(optimize(graph)))


def counted_during(program, arguments):
    """Run a program once; return how far another thread counts in this time."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    program(*arguments)
    after = counted[0]
    stop.set()
    thread.join()
    return after - before


def seconds_per_step(function, arguments, n=20):
    """Return the shortest time of several runs."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    arguments = step_arguments(hidden=64)
    eager = seconds_per_step(step, arguments)
    print(f"eager mode         {eager * 1e6:7.0f} us per step")
    for name, build in (("planned, in Python", planned), ("in C", in_c)):
        t = seconds_per_step(function(step, build=build), arguments)
        print(f"{name:18} {t * 1e6:7.0f} us: {eager / t:.1f} times as fast")
    x = Tensor(np.ones((700, 700)))
    for load in (ctypes.CDLL, ctypes.PyDLL):
        square = CProgram(lower(trace(lambda x: x @ x, [x])), load)
        print(f"{load.__name__}: another thread counted to {counted_during(square, [x]):,}")
