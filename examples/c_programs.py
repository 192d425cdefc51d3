"""Build a C program of an example together with the model that `dualflow.export` has written."""

import argparse
import os
import shlex
import shutil
import subprocess
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"))
    parser.add_argument("--flags", default="-O2")


def build(source: Path, folder: Path, options: argparse.Namespace) -> Path:
    """Compile a C file of the examples with folder/model; return the path of the program."""
    compiler, flags = shlex.split(options.compiler), shlex.split(options.flags)
    program = folder / source.stem.removeprefix("export_")
    shutil.copy(source, folder)
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", folder / "model", "libmodel.a",
                    f"CC={options.compiler}", f"OPT={options.flags}"], check=True)
    subprocess.run([*compiler, *flags, "-I", folder / "model", "-I", folder, folder / source.name,
                    folder / "model/libmodel.a", "-lm", "-pthread", "-Wl,--gc-sections",
                    "-o", program], check=True)
    return program
