"""The cost of starting up."""

import subprocess
import sys


def time_import():
    subprocess.run([sys.executable, "-c", "import dualflow"], check=True)


def milliseconds(program):
    """Return the median time of nine runs of a program, without the interpreter's startup."""
    code = ("import time; t = time.perf_counter(); "
            f"{program}; print((time.perf_counter() - t) * 1e3)")
    runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)]
    return sorted(runs)[4]


def track_import_in_ms():
    return milliseconds("import dualflow")


def track_import_and_first_op_in_ms():
    """Include modules that are loaded by the first op."""
    return milliseconds("import dualflow as df; df.add(1., 2.)")


track_import_in_ms.unit = track_import_and_first_op_in_ms.unit = "ms"
