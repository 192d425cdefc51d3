"""Run folders of programs for TensorFlow on dualflow and report what fails, by cause.

`python -m tests.public.report FOLDER ...` runs each program and notebook below the folders that
names TensorFlow or Keras, each in a process of its own in an empty directory. Nothing is fetched.
With DUALFLOW_PUBLIC_CELLS=FILE the report counts which of the cells that TensorFlow runs also run
here. FILE is a JSON object: for the end of the path of a notebook, the numbers of these cells.
`tests/public/test_public.py` does the same for the folders of the variable DUALFLOW_PUBLIC.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATES = ["runs", "fails", "follows", "needs", "time", "crash"]
CELL = float(os.environ.get("DUALFLOW_PUBLIC_SECONDS", "60"))    # the time limit of a cell
FILE = 10 * CELL


def files(folder):
    """Return the programs and notebooks below `folder` that name TensorFlow or Keras."""
    found = [folder] if folder.is_file() else sorted(
        [*folder.rglob("*.py"), *folder.rglob("*.ipynb")])
    return [path for path in found
            if re.search(r"\b(tensorflow|keras)\b", path.read_text("utf-8", "replace"))]


def run(path):
    """Return the lines of `tests/public/cells.py` for a file, and its missing names."""
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore",
                   "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tests.public.cells", str(path.resolve()), str(CELL)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        with log.open("w") as file:
            try:
                code = subprocess.run(command, cwd=folder, env=environment, timeout=FILE,
                                      stdin=subprocess.DEVNULL, stdout=file, check=False,
                                      stderr=subprocess.DEVNULL).returncode
            except subprocess.TimeoutExpired:
                code = None
        made = []
        for line in log.read_text("utf-8", "replace").splitlines():
            if line.startswith('{"cell"') or line.startswith('{"missing"'):
                made.append(json.loads(line))
    lines = [line for line in made if "cell" in line]
    missing = Counter({name: n for line in made for name, n in line.get("missing", {}).items()})
    if code != 0:                       # the process ended inside a cell
        lines.append({"cell": len(lines), "state": "time" if code is None else "crash",
                      "error": f"exit code {code}"})
    return lines, missing


def reference():
    """Return the cells that TensorFlow runs, by the ends of the paths of notebooks."""
    path = os.environ.get("DUALFLOW_PUBLIC_CELLS")
    return json.loads(Path(path).read_text("utf-8")) if path else {}


def share(cells, lines, write):
    """Write the number of `cells` and how many of them run; return both."""
    runs = sum([line["state"] == "runs" and line["cell"] in cells for line in lines])
    write(f"    of {len(cells)} cells that TensorFlow runs, {runs} run "
          f"({100 * runs / max(len(cells), 1):.1f} %)")
    return len(cells), runs


def report(folders, write=print):
    """Run the files below `folders`, write a report, and return the counts of states."""
    total, causes, missing = Counter(), Counter(), Counter()
    cells, wanted, running = reference(), 0, 0
    for folder in folders:
        for path in files(Path(folder)):
            lines, names = run(path)
            counts = Counter([line["state"] for line in lines])
            total += counts
            missing += names
            write(f"{path}: " + ", ".join([f"{counts[s]} {s}" for s in STATES if counts[s]]))
            for name in [name for name in cells if str(path).endswith(name)]:
                n, k = share(set(cells[name]), lines, write)
                wanted, running = wanted + n, running + k
            for line in lines:
                if line["state"] not in ("runs", "follows"):
                    write(f"    cell {line['cell']} {line['state']}: {line['error'][:300]}")
                if line["state"] == "fails":
                    causes[re.sub(r"0x\w+|\d+", "N", line["error"])[:150]] += 1
    write("\nCells: " + ", ".join([f"{total[s]} {s}" for s in STATES]))
    if cells:
        write(f"Of {wanted} cells that TensorFlow runs, {running} run "
              f"({100 * running / max(wanted, 1):.1f} %)")
    write("\nCauses, with the number of cells:")
    for text, n in causes.most_common():
        write(f"{n:5} {text}")
    write("\nNames that dualflow lacks, with the number of uses:")
    for name, n in missing.most_common():
        write(f"{n:5} {name}")
    return total


if __name__ == "__main__":
    report(sys.argv[1:], lambda text: print(text, flush=True))
