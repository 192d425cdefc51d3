"""Builds and runs the C programs of tests/c: csrc without the ops and without Python."""

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Everything but kernels, and what chooses among their tables.
RUNTIME = sorted(path for path in (ROOT / "csrc").glob("*/*.c")
                 if path.parent.name in ("base", "op", "exec")
                 and path.name not in ("table.c", "registry.c"))
FUSE = sorted((ROOT / "csrc/fuse").glob("*.c"))
FLAGS = ["-std=gnu11", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-pthread"]
VARIANTS = {
    "plain": ["-O2"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O1", "-g", "-fsanitize=thread"],
}


def run(command):
    # A preloaded sanitizer belongs to this interpreter, not to the compiler or to these programs.
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def build(sources, program, flags):
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    folders = [f"-I{ROOT}/csrc", f"-I{ROOT}/tests/c"]
    return run([*compiler, *FLAGS, *flags, *folders, *map(str, sources), "-o", str(program)])


@pytest.fixture(scope="module", params=VARIANTS)
def flags(request, tmp_path_factory):
    """Flags of a variant that this compiler and this system can run."""
    folder = tmp_path_factory.mktemp(request.param)
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    flags = VARIANTS[request.param]
    if build([source], program, flags).returncode or run([program]).returncode:
        pytest.skip(f"the compiler cannot build, or this system run, {' '.join(flags)}")
    return flags


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "tests/c").glob("*_test.c")))
def test_program(name, flags, tmp_path):
    own = FUSE if name == "cluster_test" else []
    sources = [ROOT / "tests/c" / f"{name}.c", *RUNTIME, *own]
    built = build(sources, tmp_path / name, flags)
    assert built.returncode == 0, built.stderr
    ran = run([tmp_path / name])
    assert ran.returncode == 0, ran.stderr
