"""Compares exported programs with the same functions in Python, and with ONNX Runtime.

    python asv_bench/exported_side_by_side.py [--threads N] [--rounds N] [--compiler CC]

The C of `df.export`, Python's `df.function`, and ONNX Runtime with the file of `df.onnx.save` run
in separate processes. Blocks of calls alternate, with pauses in which spinning threads fall asleep.
Figures are medians of the blocks. The share is C's time over that of the fastest other.

ONNX Runtime is called from Python, by `run` and with inputs and outputs bound beforehand; the row
"nothing" is a model that adds two numbers, and shows the overhead of such a call.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCKS, BLOCK_SECONDS, PAUSE = 15, 0.05, 0.1
STEP, NOTHING = "784-128-10, step of Adam, 32 rows", "nothing"
AIMS = {STEP: 1.0, "784-128-10, 1 row": 0.5, "convolutional, 28x28, 1 image": 0.5, NOTHING: None}

MAIN = """\
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Runs the model as often as each input line requests, and prints the seconds per call. */
int main(void)
{{
    {buffers}
    struct timespec begin, end;
    long n;
    model *m = model_new();
    if (model_load(m, "weights.safetensors")) return puts(model_error(m)), 1;
    while (scanf("%ld", &n) == 1) {{
        timespec_get(&begin, TIME_UTC);
        for (long i = 0; i < n; i++)
            if (model_run({arguments})) return puts(model_error(m)), 1;
        timespec_get(&end, TIME_UTC);
        printf("%.9g\\n", ((end.tv_sec - begin.tv_sec) + 1e-9 * (end.tv_nsec - begin.tv_nsec)) / n);
        fflush(stdout);
    }}
    model_free(m);
    return 0;
}}
"""


def functions():
    """Return by name: a function, its arguments, and a variant for ONNX Runtime (NCHW images)."""
    import dualflow as df

    def variable(name, *shape):
        n = 1
        for d in shape[:-1]:
            n *= d
        return df.Variable(df.random.stateless_normal(shape, [len(name), n]) * n**-.5, name=name)

    hidden, b, last, c = (variable("hidden", 784, 128), variable("b", 128),
                          variable("last", 128, 10), variable("c", 10))
    weights, optimizer = [hidden, b, last, c], df.optimizers.Adam(1e-3)

    def net(x):
        return df.nn.relu(x @ hidden + b) @ last + c

    def step(x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(y, net(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    def predict(x):
        return df.nn.softmax(net(x))

    one, two, dense = (variable("one", 3, 3, 1, 32), variable("two", 3, 3, 32, 64),
                       variable("dense", 1600, 10))

    def convolutional(x, layout="NHWC"):
        for kernel in (one, two):
            x = df.nn.relu(df.nn.conv2d(x, kernel, 1, "VALID", data_format=layout))
            x = df.nn.max_pool2d(x, 2, 2, "VALID", data_format=layout)
        return df.nn.softmax(df.reshape(x, [1, 1600]) @ dense)

    image = df.random.stateless_uniform([1, 28, 28, 1], [0, 1])
    row, rows = df.reshape(image, [1, 784]), df.random.stateless_uniform([32, 784], [0, 2])
    labels = df.random.stateless_uniform([32], [0, 3], 0, 10, df.int32)
    names = list(AIMS)
    return {names[0]: (step, (rows, labels), None),
            names[1]: (predict, (row,), (predict, (row,))),
            names[2]: (convolutional, (image,), (lambda x: convolutional(x, "NCHW"),
                                                 (df.reshape(image, [1, 1, 28, 28]),))),
            names[3]: (lambda x: x + x, (row[:, :1],), (lambda x: x + x, (row[:, :1],)))}


def build(folder, function, arguments, compiler):
    """Build the program of a function."""
    import dualflow as df

    f = df.function(function).get_concrete_function(*arguments)
    df.export(folder, {"run": f})
    kinds = {"float32": "float", "int32": "int32_t"}
    buffers = [f"static {kinds[x.dtype.name]} in_{k}[{x.size}];" for k, x in enumerate(arguments)]
    words = ["m", *[f"in_{k}" for k in range(len(arguments))], "out"]
    (folder / "main.c").write_text(MAIN.format(
        buffers="\n    ".join([*buffers, "static float out[1000];"]), arguments=", ".join(words)))
    subprocess.run(["make", "-j2", f"CC={compiler}", "libmodel.a"], cwd=folder, check=True,
                   capture_output=True)
    subprocess.run([*shlex.split(compiler), "-O2", "main.c", "libmodel.a", "-lm", "-pthread",
                    "-Wl,--gc-sections", "-s", "-o", "main"], cwd=folder, check=True)


def serve(call):
    """Time as many calls as each input line requests."""
    for line in sys.stdin:
        n = range(int(line))
        begin = time.perf_counter()
        for _ in n:
            call()
        print((time.perf_counter() - begin) / len(n), flush=True)


def in_python(name):
    import dualflow as df

    function, arguments, _ = functions()[name]
    f = df.function(function)
    serve(lambda: f(*arguments))


def in_onnxruntime(path, threads, bound):
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    x = np.ones(given.shape, np.float32)
    if not bound:
        serve(lambda: session.run(None, {given.name: x}))
        return
    binding, y = session.io_binding(), onnxruntime.OrtValue
    binding.bind_ortvalue_input(given.name, y.ortvalue_from_numpy(x))
    made = session.run(None, {given.name: x})[0]
    binding.bind_ortvalue_output(session.get_outputs()[0].name, y.ortvalue_from_numpy(made))
    serve(lambda: session.run_with_iobinding(binding))


class Process:
    """A serving process."""

    def __init__(self, command, threads, cwd=None):
        env = {**os.environ, "DUALFLOW_NUM_THREADS": str(threads),
               "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        self.process = subprocess.Popen(command, env=env, cwd=cwd, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def seconds(self, n):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def measure(name, folder, threads, rounds):
    """Return the median seconds per call, by name of the process."""
    me = [sys.executable, __file__]
    commands = {"C": ["./main"], "Python": [*me, "--serve", name]}
    path = folder / "model.onnx"
    if path.exists():
        ort = [*me, "--threads", str(threads), "--onnx", str(path)]
        commands |= {"ONNX Runtime": ort, "bound": [*ort, "--bound"]}
    processes = {who: Process(command, threads, folder) for who, command in commands.items()}
    times = {who: [] for who in processes}
    calls = {}
    for who, process in processes.items():
        process.seconds(10)
        calls[who] = max(1, round(BLOCK_SECONDS / process.seconds(20)))
    for _ in range(rounds):
        for who, process in processes.items():
            time.sleep(PAUSE)
            times[who].append(process.seconds(calls[who]))
    for process in processes.values():
        process.stop()
    return {who: statistics.median(t) for who, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=BLOCKS)
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--onnx", help=argparse.SUPPRESS)
    parser.add_argument("--bound", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return in_python(options.serve)
    if options.onnx:
        return in_onnxruntime(options.onnx, options.threads, options.bound)
    import dualflow as df

    print("| work | C | Python | ONNX Runtime | bound | share | aim |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for k, (name, (function, arguments, other)) in enumerate(functions().items()):
            folder = Path(place) / str(k)
            build(folder, function, arguments, options.compiler)
            if other is not None:
                df.onnx.save(other[0], folder / "model.onnx", *other[1])
            found = measure(name, folder, options.threads, options.rounds)
            others = [t for who, t in found.items() if who != "C" and (
                who != "Python" or other is None)]
            figures = [f"{found[who] * 1e6:.3g} µs" if who in found else "-"
                       for who in ("C", "Python", "ONNX Runtime", "bound")]
            print(f"| {name} | {' | '.join(figures)} | {found['C'] / min(others):.2f} | "
                  f"{AIMS[name] or '-'} |", flush=True)
    return None


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
