"""Compares dualflow with PyTorch, TensorFlow, JAX and NumPy, each in a separate process.

    python asv_bench/side_by_side.py [pattern] [--ops] [--python torch=PATH] [--busy]
                                     [--picture FILE]

The timed work is listed in peers/work.py, and implemented for each library in peers/in_*.py;
`--ops` times single ops, listed in peers/ops.py, instead.
Libraries that are not installed are omitted; `--python LIBRARY=PATH` is the interpreter of another
environment for a library, `--python PATH` for all peers. Blocks of calls alternate, with pauses in
which spinning threads fall asleep. Figures are medians of the blocks. The share is our time over
that of the fastest peer: below 1 we are faster. `--busy` occupies one core during the run.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from asv_bench.peers.ops import OPS
from asv_bench.peers.work import WORK

LIBRARIES = ["dualflow", "torch", "tensorflow", "jax", "numpy"]
BLOCKS, BLOCK_SECONDS, PAUSE = 9, 0.05, 0.1
LONGEST = 20                        # seconds per call above which a row is skipped


class Library:
    """A process that times one library."""

    def __init__(self, name, python, threads):
        count = str(threads)
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
               "DUALFLOW_NUM_THREADS": count, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count,
               "OPENBLAS_NUM_THREADS": count,
               "OPENBLAS_THREAD_TIMEOUT": "18",     # stops its threads from spinning in our blocks
               "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu",
               "CUDA_VISIBLE_DEVICES": ""}
        self.name = name
        self.process = subprocess.Popen(
            [python, "-m", "asv_bench.peers.worker", name, count], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.version = json.loads(self.process.stdout.readline() or "{}").get("version")

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline() or '{"missing": "it died"}')
        except BrokenPipeError:
            return {"missing": "it died"}

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def measure(work, libraries, notes):
    """Return the median seconds of a call, by library."""
    calls = {}
    for library in libraries:
        found = library.ask(kind=work.kind, args=work.args)
        if "missing" in found:
            notes.append(f"{work.name}, {library.name}: {found['missing']}")
        elif found["once"] < LONGEST:
            calls[library] = max(1, math.ceil(BLOCK_SECONDS / max(found["once"], 1e-8)))
    times = {library: [] for library in calls}
    for _ in range(BLOCKS):
        for library, n in calls.items():
            time.sleep(PAUSE)
            found = library.ask(calls=n)
            if "seconds" in found:
                times[library].append(found["seconds"])
    return {library.name: statistics.median(t) for library, t in times.items() if t}


def share(found):
    """Return our time over that of the fastest peer."""
    peers = [t for name, t in found.items() if name != "dualflow"]
    return found["dualflow"] / min(peers) if peers and "dualflow" in found else None


def duration(seconds):
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3g} ms" if seconds > 1e-3 else f"{seconds * 1e6:.3g} µs"


def pythons(options):
    """Return the interpreter for each library."""
    found = dict.fromkeys(LIBRARIES, sys.executable)
    for option in options:
        name, _, path = option.rpartition("=")
        found |= {name: path} if name else {n: path for n in LIBRARIES if n != "dualflow"}
    return found


def draw(rows, path):
    """Draw shares as bars on a logarithmic scale, with their targets."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    rows = [row for row in rows if row[2] is not None]
    figure, axes = plt.subplots(figsize=(9, 1 + .24 * len(rows)), layout="constrained")
    places = range(len(rows))[::-1]
    axes.barh(places, [s for _, _, s in rows], height=.7,
              color=["#3b7dd8" if s <= 1 else "#d98032" for _, _, s in rows])
    aims = [(y, work.share) for y, (work, _, _) in zip(places, rows, strict=True) if work.share]
    axes.plot([s for _, s in aims], [y for y, _ in aims], "k|", markersize=10, label="aim")
    axes.axvline(1, color="gray", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(list(places), [work.name for work, _, _ in rows], fontsize=8)
    axes.set_xlabel("our time over that of the fastest peer")
    axes.margins(y=.01)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="", help="part of the names of the rows")
    parser.add_argument("--python", action="append", default=[], metavar="[LIBRARY=]PATH")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--ops", action="store_true", help="time single ops")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--picture", help="where to draw the shares")
    parser.add_argument("--busy", action="store_true", help="another process keeps a core busy")
    parser.add_argument("--notes", action="store_true", help="print why figures are missing")
    options = parser.parse_args()
    paths, wanted = pythons(options.python), options.libraries.split(",")
    libraries = [Library(n, paths[n], options.threads) for n in LIBRARIES if n in wanted]
    libraries = [x for x in libraries if x.version is not None]
    print(", ".join(f"{x.name} {x.version}" for x in libraries) + f"; {options.threads} threads\n")
    print(f"| work | {' | '.join(x.name for x in libraries)} | share | aim |")
    print(f"|---|{'---|' * len(libraries)}---|---|")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy else None
    rows, notes = [], []
    try:
        for work in OPS if options.ops else WORK:
            if options.pattern in work.name:
                found = measure(work, libraries, notes)
                rows.append((work, found, share(found)))
                cells = [duration(found.get(x.name)) for x in libraries]
                cells += ["-" if s is None else f"{s:.2f}" for s in (share(found), work.share)]
                print(f"| {work.name} | {' | '.join(cells)} |", flush=True)
    finally:
        if busy:
            busy.kill()
        for library in libraries:
            library.stop()
    shares = [s for _, _, s in rows if s is not None]
    if shares:
        print(f"\ngeometric mean of {len(shares)} shares: {statistics.geometric_mean(shares):.2f}")
    if options.notes:
        print("\n" + "\n".join(notes))
    if options.picture:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
