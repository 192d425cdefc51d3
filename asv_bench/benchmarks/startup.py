"""What it costs to begin."""

import subprocess
import sys


def time_import():
    subprocess.run([sys.executable, "-c", "import dualflow"], check=True)


def track_import_in_ms():
    """Import alone, the interpreter's own start taken off."""
    code = ("import time; t = time.perf_counter(); import dualflow; "
            "print((time.perf_counter() - t) * 1e3)")
    runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)]
    return sorted(runs)[4]


track_import_in_ms.unit = "ms"
