"""Compares loaded ONNX files with ONNX Runtime: a call, and the start.

The start is the import of the library, without NumPy, the load and the first call.

    python asv_bench/onnx_side_by_side.py --python ~/peers/bin/python [NAME...] [--files FOLDER]
                                          [--threads N] [--rounds N]

The other environment has torch, torchvision, transformers and onnxscript, which export the models
of `onnx_models.py` (only those that FOLDER lacks), and onnxruntime. Each side runs in a separate
process; blocks of calls alternate. Times are medians of the blocks, in milliseconds; memory is the
largest resident size of a process, in MB; each share is our figure over ONNX Runtime's.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

BLOCK_SECONDS = 0.4


def inputs_of(shapes):
    """Return an array for each (shape, whether integers are expected)."""
    import numpy as np

    rng = np.random.default_rng(0)
    return [rng.integers(0, 1000, shape) if integers
            else rng.normal(size=shape).astype("float32") for shape, integers in shapes]


def loaded_by_dualflow(df, path, threads):      # the environment has set the threads
    model = df.onnx.load(path)
    found = inputs_of([(spec.shape, spec.dtype.is_integer) for spec in model.inputs])
    given = [df.constant(x) for x in found]
    return lambda: model(*given)


def loaded_by_onnxruntime(onnxruntime, path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    arrays = inputs_of([(x.shape, "int" in x.type) for x in inputs])
    given = {x.name: array for x, array in zip(inputs, arrays, strict=True)}
    return lambda: session.run(None, given)


SIDES = {"dualflow": loaded_by_dualflow, "onnxruntime": loaded_by_onnxruntime}


def work(side, path, threads):
    """Print the ms from the import to the first result; for each line of the input, run a block of
    calls and print the median ms of a call; last, print the peak memory in MB."""
    import numpy as np

    np.random.default_rng(0)            # imported by both sides
    start = time.perf_counter()
    run = SIDES[side](import_module(side), path, threads)
    run()
    print((time.perf_counter() - start) * 1e3, flush=True)
    for _ in sys.stdin:
        times = []
        until = time.perf_counter() + BLOCK_SECONDS
        while not times or time.perf_counter() < until:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        print(statistics.median(times) * 1e3, flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def compare(path, pythons, options):
    """Return by side: ms of a call, ms from the import to the first result, peak memory in MB."""
    processes = {side: subprocess.Popen(
        [python, __file__, "--worker", side, path, "--threads", str(options.threads)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(python) | {"DUALFLOW_NUM_THREADS": str(options.threads)})
        for side, python in pythons.items()}
    first = {side: float(p.stdout.readline()) for side, p in processes.items()}
    blocks = {side: [] for side in processes}
    for _ in range(options.rounds):
        for side, p in processes.items():
            print(file=p.stdin, flush=True)
            blocks[side].append(float(p.stdout.readline()))
    memory = {side: float(p.communicate()[0]) for side, p in processes.items()}
    return {side: (statistics.median(blocks[side]), first[side], memory[side])
            for side in processes}


def environment(python):
    root = str(Path(__file__).resolve().parent.parent)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return env | {"PYTHONPATH": root} if python == sys.executable else env


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--python", required="--worker" not in sys.argv)
    parser.add_argument("--files", default=Path(tempfile.gettempdir(), "onnx_models"), type=Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.names[0], options.threads)
        return
    options.files.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [options.python, Path(__file__).with_name("onnx_models.py"), options.files, *options.names],
        stdout=subprocess.PIPE, text=True, check=True, env=environment(options.python))
    pythons = {"dualflow": sys.executable, "onnxruntime": options.python}
    columns = f"{'dualflow':>10}{'ORT':>10}{'share':>7}"
    print(f"{'':18}{'call':^27}{'start':^27}{'memory':^27}\n{'':18}{columns * 3}")
    shares = []
    for name, path in json.loads(done.stdout.splitlines()[-1]).items():
        made = compare(path, pythons, options)
        rows = list(zip(*(made[side] for side in SIDES), strict=True))
        shares.append([ours / theirs for ours, theirs in rows])
        print(f"{name:18}" + "".join(f"{ours:10.3f}{theirs:10.3f}{ours / theirs:7.2f}"
                                     for ours, theirs in rows), flush=True)
    means = [math.exp(statistics.mean(map(math.log, column)))
             for column in zip(*shares, strict=True)]
    print(f"{'geometric mean':18}" + "".join(f"{mean:27.2f}" for mean in means))


if __name__ == "__main__":
    main()
