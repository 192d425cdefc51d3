"""``python -m dualflow.keras program.py`` runs a program that imports keras on dualflow."""

import os
import runpy
import sys

USAGE = "usage: python -m dualflow.keras program.py [arguments]\n"


def main() -> None:
    """Run the program named by the first argument, as Python would."""
    if len(sys.argv) < 2:
        sys.exit(USAGE)
    if sys.argv[1] == "-m":
        if len(sys.argv) < 3:
            sys.exit(USAGE)
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
