"""Distribution: metadata, contents of sdist and wheel, messages of a build without a compiler."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import dualflow as df
from dualflow.aot import csrc
from dualflow.aot.csrc import in_archive, in_folder

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_is_defined_once():
    assert "version" in PROJECT["project"]["dynamic"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dualflow.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", df.__version__)


def test_license():
    """PEP 639: an SPDX expression and a license file exclude license classifiers."""
    project = PROJECT["project"]
    assert project["license"] == "Apache-2.0" and project["license-files"] == ["LICENSE"]
    assert not any("License" in entry for entry in project["classifiers"])
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_classifiers_name_the_versions_of_wheels():
    builds = PROJECT["tool"]["cibuildwheel"]["build"]
    versions = [f"3.{build.removeprefix('cp3').removesuffix('-*')}" for build in builds]
    named = [entry.rpartition(" ")[2] for entry in PROJECT["project"]["classifiers"]
             if re.search(r":: 3\.\d+$", entry)]
    assert named == versions


def test_extra_all_contains_the_extras_of_users():
    extras = dict(PROJECT["project"]["optional-dependencies"])
    (every,) = extras.pop("all")
    named = re.fullmatch(r"dualflow\[(.*)\]", every)[1].split(",")
    assert sorted(named) == sorted({*extras} - {"bench", "docs", "packages", "test"})


def test_extras_in_documentation_and_messages_exist():
    """Check the extras that pages and messages recommend."""
    named = set()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("dualflow/**/*.py")]:
        named |= set(re.findall(r"install (?:-\w )?'?(?:dualflow|\.)\[(\w+)\]", path.read_text()))
    assert "keras" in named and named <= set(PROJECT["project"]["optional-dependencies"])


# Each line of the input names a build, which a fork runs: setuptools and Cython are imported once.
BUILDS = """
import json, os, runpy, sys
import Cython.Build, Cython.Compiler.Pipeline, Cython.Compiler.ParseTreeTransforms
import setuptools.command.build_ext, setuptools.command.build_py

for line in sys.stdin:
    folder, output, arguments, environment = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.environ.update(environment)
        for stream in (1, 2):
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        sys.argv = ["setup.py", "-q", "build_ext", *arguments]
        runpy.run_path("setup.py", run_name="__main__")
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def build():
    """A function that runs setup.py in a folder and returns its exit code and its output."""
    if find_spec("Cython") is None or find_spec("setuptools") is None:
        pytest.skip("building needs cython and setuptools")

    def run_build(folder, *arguments, **environment):
        output = folder / "output"
        output.unlink(missing_ok=True)
        print(json.dumps([str(folder), str(output), arguments, environment]), file=process.stdin,
              flush=True)
        return int(process.stdout.readline()), output.read_text()

    with subprocess.Popen([sys.executable, "-c", BUILDS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        yield run_build


def write_tree(folder):
    """Copy or create the files that setup.py requires."""
    (folder / "setup.py").write_text((ROOT / "setup.py").read_text())
    core = folder / "dualflow/_core"
    core.mkdir(parents=True)
    for name in "op/table.c", "fuse/run.c":
        path = folder / "csrc" / name
        path.parent.mkdir(parents=True)
        path.write_text("")
    (core / "_core.pyx").write_text("")


@pytest.mark.soak
def test_core_is_translated_again_only_after_a_change(build, tmp_path):
    write_tree(tmp_path)
    few = "--isa", "baseline"
    code, said = build(tmp_path, *few)
    assert code == 0, said
    core = tmp_path / "dualflow/_core"
    for arguments, change in ((), None), ((), "new.pxi"), (("--checks",), "directive"):
        os.utime(core / "_core.c", (1e9, 1e9))
        for path in core.glob("*.p*"):
            os.utime(path, (1e9 - 1, 1e9 - 1))
        if change and change != "directive":
            (core / change).write_text("")
        code, said = build(tmp_path, *few, *arguments)
        assert code == 0, said
        assert ((core / "_core.c").stat().st_mtime != 1e9) == bool(change)


@pytest.mark.parametrize("compiler, says", [
    ("no-such-compiler", "there is no no-such-compiler here"),
    ("false", "false lacks a C compiler that works"),
])
def test_build_without_compiler_names_packages_to_install(build, tmp_path, compiler, says):
    """The last lines of the output name the packages to install."""
    write_tree(tmp_path)
    code, said = build(tmp_path, CC=compiler)
    assert code == 1
    *_, before, after = said.split("dualflow is built by a C compiler, and ")
    assert not before.endswith("raise") and after.startswith(says)
    assert "apt-get install gcc" in after and "xcode-select --install" in after


def test_build_without_python_headers(build, tmp_path):
    """The compiler works, but cannot find Python.h."""
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\nfor word; do case "$word" in *probe.c) grep -q Python "$word" '
                      '&& exit 1;; esac; done\nexit 0\n')
    script.chmod(0o755)
    (tmp_path / "tree").mkdir()
    write_tree(tmp_path / "tree")
    code, said = build(tmp_path / "tree", CC=str(script))
    assert code == 1 and "lacks the headers of Python" in said


@pytest.mark.parametrize("editable, wanted, whole", [
    (False, "", True), (True, "", False), (True, "all", True)])
def test_levels_of_a_build(editable, wanted, whole, tmp_path, monkeypatch):
    """An editable install has one level, the best of this CPU, unless all are wanted."""
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setuptools, "setup", lambda **options: None)
    monkeypatch.setenv("DUALFLOW_LEVELS", wanted)
    names = runpy.run_path("setup.py")
    known = names["ISA_LEVELS"].get(names["MACHINE"], {"baseline": []})
    command = names["BuildExt"](setuptools.Distribution())
    command.editable_mode = editable
    command.compiler = setuptools._distutils.ccompiler.new_compiler()
    setuptools._distutils.sysconfig.customize_compiler(command.compiler)
    command.include_dirs = []
    levels = list(command.levels(tmp_path))
    assert levels == list(known) if whole else len(levels) == 1
    monkeypatch.setenv("DUALFLOW_LEVELS", "avx3")
    with pytest.raises(SystemExit, match="DUALFLOW_LEVELS=avx3: expected all"):
        command.levels(tmp_path)
    order = list(known)
    assert order.index(levels[-1]) >= order.index(df.config.isa())


def test_archive_of_sources(tmp_path, monkeypatch):
    """The package contains the archive; it has the texts of csrc, and nothing about this build."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(pytest.importorskip("setuptools"), "setup", lambda **options: None)
    write_archive = runpy.run_path("setup.py")["write_archive"]
    write_archive(tmp_path / "csrc.tar.xz")
    found = in_archive(tmp_path / "csrc.tar.xz")
    assert found == in_folder(ROOT / "csrc")
    assert {*found} == {path.relative_to(ROOT / "csrc").as_posix()
                        for suffix in ("c", "h", "def") for path in ROOT.glob(f"csrc/**/*.{suffix}")
                        if not path.is_relative_to(ROOT / "csrc/build")}
    with tarfile.open(tmp_path / "csrc.tar.xz") as archive:
        assert archive.getnames() == sorted(found, key=lambda path: path.split("/"))
        assert {(x.mtime, x.uid, x.gid, x.uname, x.gname, x.mode) for x in archive} == {
            (0, 0, 0, "", "", 0o644)}


def test_installed_package_reads_the_archive(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "csrc.tar.xz", "w:xz") as archive:
        archive.add(ROOT / "csrc/op/ops.def", "op/ops.def")
    monkeypatch.setattr(csrc, "__file__", str(tmp_path / "aot/csrc.py"))
    texts = csrc.texts.__wrapped__
    assert texts() == {"op/ops.def": (ROOT / "csrc/op/ops.def").read_text()}
    (tmp_path / "csrc.tar.xz").unlink()
    with pytest.raises(df.errors.NotFoundError, match="C sources of dualflow are not installed"):
        texts()


# Exports and compiled clusters read the C sources.
USES_OF_SOURCES = """
import dualflow as df
f = df.function(lambda x: df.exp(x) + x, jit_compile=True)
x = df.constant([0.0, 1.0])
f(x)
assert f.clusters_for(x, wait=True) == "exp, add: compiled"
df.export("model", {"f": f.get_concrete_function(x)})
df.save_program(f.get_concrete_function(x), "f.df")
df.export_library("library", ["f.df"])
"""


@pytest.mark.soak
def test_sdist_and_wheel_contents(tmp_path):
    """The sdist has the files git tracks; the wheel has only the sources that exports need."""
    pytest.importorskip("build")
    run(tmp_path, sys.executable, "-m", "build", "-q", "--sdist", "-o", tmp_path, ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    run(tmp_path, "tar", "xzf", sdist)
    tree = tmp_path / sdist.name.removesuffix(".tar.gz")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    for path in tracked.split():
        assert path.startswith(".") or (tree / path).exists() or not (ROOT / path).exists()
    assert not list(tree.rglob("_core.c")) and not list(tree.rglob("*.so"))
    if (ROOT / "build/objects").exists():   # those whose sources the sdist lacks are built again
        shutil.copytree(ROOT / "build/objects", tree / "build/objects")
    run(tmp_path, sys.executable, "-m", "venv", "fresh")
    fresh = tmp_path / "fresh/bin/python"
    run(tmp_path, fresh, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, tree)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 5e6       # kernels of three SIMD levels take 3.2 MB
    run(tmp_path, fresh, "-m", "pip", "install", "-q", wheel, "pytest", "hypothesis")
    packed = subprocess.run([fresh, "-m", "zipfile", "-l", wheel], capture_output=True, text=True)
    assert "_core.pyi" in packed.stdout and "py.typed" in packed.stdout
    assert not re.findall(r"^(\S+\.(?:c|h|pyx|pxi|pxd))\s", packed.stdout, re.M)
    assert "dualflow/csrc.tar.xz" in packed.stdout
    run(tmp_path, "env", f"XDG_CACHE_HOME={tmp_path}", fresh, "-c", USES_OF_SOURCES)
    # Move the tests away from the package sources, so that they test the installed package.
    run(tmp_path, "mv", tree / "tests", tmp_path / "tests")
    run(tmp_path, fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_tensor.py",
        "tests/test_variable.py", "tests/autodiff/test_tape.py", "-c", tree / "pyproject.toml",
        "--rootdir", tmp_path)


def run(folder, *command):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    made = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True,
                          env=environment)
    assert made.returncode == 0, made.stdout + made.stderr
