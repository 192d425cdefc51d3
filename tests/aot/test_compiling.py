"""Compilation in the background: caches, missing or failing compilers, forks, process exits."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dualflow as df
from dualflow.aot.clusters import compiler
from tests import levels
from tests.graph.build import assert_same

pytestmark = pytest.mark.skipif(compiler.command() is None, reason="no C compiler")

SCRIPT = """
import os, dualflow as df
x = df.constant([0.5, -2.0, 3.0])
f = df.function(lambda x: df.tanh(x) * x + {number}, jit_compile=True)
want = f(x).tolist()
print(f.clusters_for(x, wait=True), flush=True)       # before there are two processes
assert f(x).tolist() == want == (df.tanh(x) * x + {number}).tolist()
"""
CODE = "tanh, multiply, add"


def run(place, code=SCRIPT, number=1.5, **environment):
    """Return the output of a process, both streams, that compiles to a cache folder."""
    # Two processes write to one pipe: buffering ensures whole lines.
    environment = {"XDG_CACHE_HOME": str(place), "PYTHONUNBUFFERED": ""} | environment
    made = subprocess.run([sys.executable, "-c", code.format(number=number)],
                          env=os.environ | environment,
                          capture_output=True, text=True, check=False, timeout=300)
    assert made.returncode == 0, made.stderr
    return made.stdout + made.stderr


@pytest.fixture(scope="module")
def prepared(folder):
    """A cache folder in which the header is already compiled."""
    run(folder)
    return folder


@pytest.fixture
def place(prepared, tmp_path):
    """A copy of it."""
    # Other libraries keep caches in the same folder.
    shutil.copytree(prepared / "dualflow", tmp_path / "cache/dualflow",
                    ignore=shutil.ignore_patterns(".*", "*.so"))
    return tmp_path / "cache"


def libraries(place):
    return sorted(place.rglob("*.so"))


def script(path, text):
    """Write an executable shell script."""
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def real_compiler():
    return shlex.join(compiler.command())


def test_processes_share_compiled_clusters(place, tmp_path):
    log = tmp_path / "log"
    cc = script(tmp_path / "cc", f'echo "$@" >> {log}\nexec {real_compiler()} "$@"\n')
    assert run(place, CC=cc) == f"{CODE}: compiled\n"
    calls = log.read_text()
    assert "clusters.c" in calls and "c-header" in calls
    assert {path.stat().st_mode & 0o777 for path in place.rglob("*")
            if path.is_dir() and path.name != "dualflow"} == {0o700}
    assert run(place, CC=cc) == f"{CODE}: compiled\n"
    assert log.read_text() == calls + "--version\n"
    assert run(place, number=2.5, CC=cc) == f"{CODE}: compiled\n"       # constants are operands
    assert log.read_text() == calls + "--version\n" * 2
    assert not list(place.rglob(".*"))      # no partial files


def test_damaged_files_are_compiled_again(place):
    run(place)
    found, = libraries(place)
    whole = found.read_bytes()
    for damaged in (whole[:100], b"", whole[:2000] + b"x" + whole[2001:], b"no library" * 99):
        found.write_bytes(damaged)
        assert run(place) == f"{CODE}: compiled\n"
        assert found.read_bytes()[-40:-32] == whole[-40:-32] and len(found.read_bytes()) > 5000
    for header in place.rglob("*.gch"):         # for each optimisation level that tests use
        header.write_bytes(header.read_bytes()[:5000])
    found.unlink()
    assert run(place) == f"{CODE}: compiled\n"


def test_unwritable_cache(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run(file, TMPDIR=str(temporary)) == f"{CODE}: compiled\n"
    assert list(temporary.iterdir()) == []


def test_cache_writable_by_others_is_made_private(place):
    of_clusters = next(place.rglob("clusters"))
    of_clusters.chmod(0o777)
    assert run(place) == f"{CODE}: compiled\n"
    assert of_clusters.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text, why", [
    (None, "there is no C compiler"),
    ("exit 1\n", "does not run"),
    ('[ "$1" = --version ] || { echo "out of order" >&2; exit 1; }\n', "out of order"),
    ('[ "$1" = --version ] || for f; do [ "$p" = -o ] && echo junk > $f; p=$f; done\n',
     "cannot be loaded"),
])
def test_failing_compilers_warn_once(tmp_path, text, why):
    """Results are computed by the interpreter."""
    cc = str(tmp_path / "cc") if text is None else script(tmp_path / "cc", text)
    said = run(tmp_path, SCRIPT + SCRIPT, CC=cc)
    assert said.count(f"{CODE}: not compiled: ") == 2
    assert said.count("CompilerWarning: jit_compile: clusters are interpreted") == 1
    assert why in said


def test_calls_do_not_wait_for_the_compiler(place, tmp_path):
    """The compiler hangs; the process still computes and exits."""
    hangs = script(tmp_path / "cc", f'[ "$1" = --version ] || exec sleep 1000\n'
                                    f'exec {real_compiler()} --version\n')
    said = run(place, "import dualflow as df\n"
                      "f = df.function(lambda x: df.exp(x) + x, jit_compile=True)\n"
                      "print(f(df.constant(0.)).item(), f.clusters_for(df.constant(0.)))\n"
                      "print(f.trace_report())\n", CC=hangs)
    assert "1.0 exp, add: pending" in said
    assert "0 of 1 clusters compiled" in said


def test_concurrent_processes(place):
    """They compile the same file, and each finds it complete."""
    env = os.environ | {"XDG_CACHE_HOME": str(place)}
    many = [subprocess.Popen([sys.executable, "-c", SCRIPT.format(number=1.5)], env=env,
                             stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [made.communicate(timeout=300)[0] for made in many] == [f"{CODE}: compiled\n"] * 3
    assert len(libraries(place)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks(place):
    """Children compile pending clusters of the parent, and keep using its compiled ones."""
    code = SCRIPT + """
g = df.function(lambda x: df.exp(x) * x - 0.5, jit_compile=True)
want = g(x).tolist()
child = os.fork()
print(g.clusters_for(x, wait=True), f.clusters_for(x), g(x).tolist() == want, flush=True)
if child:
    print(os.waitpid(child, 0)[1])
else:
    os._exit(0)
"""
    line = f"exp, multiply, subtract: compiled {CODE}: compiled True\n"
    said = run(place, code)
    assert sorted(said.splitlines(True)) == sorted([f"{CODE}: compiled\n", line, line, "0\n"])


# --- which clusters are compiled ---

@pytest.mark.usefixtures("cache")
def test_clusters_after_products_and_in_loops_are_compiled():
    v = df.Variable([[1.0, 2.0], [3.0, 4.0]])

    @df.function(jit_compile=True)
    def step(x, n):
        y = df.nn.gelu(x @ v) * 2.0                 # after a product
        for _ in df.range(n):                       # in a loop body
            y = df.sin(y) + df.cos(y) * 0.5
        v.assign_add(df.tanh(v.value()) * 0.5)
        return y, df.nn.relu(x @ v)

    plain = df.function(step.python_function)
    start = v.value()
    x, n = df.constant([[1.0, -1.0], [0.5, 2.0], [-3.0, -4.0]]), df.constant(3)
    step(x, n)
    assert step.clusters_for(x, n, wait=True).splitlines() == [
        "gelu, multiply: compiled", "tanh, multiply, add: compiled",
        "sin, cos, multiply, add: compiled"]
    assert "3 of 3 clusters compiled" in step.trace_report()
    v.assign(start)
    got = [*step(x, n), v.value()]
    v.assign(start)
    for g, w in zip(got, [*plain(x, n), v.value()], strict=True):
        assert_same(g, w)


@pytest.mark.usefixtures("cache")
def test_gradients():
    @df.function(jit_compile=True)
    def f(x):
        return df.reduce_sum(df.nn.softmax(df.tanh(x) * x))

    x = df.constant([[0.5, -1.0, 2.0], [1.0, 0.0, -0.0]])

    def gradient(function):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    want = gradient(f.python_function)
    gradient(f)
    f.clusters_for(x, wait=True)
    assert_same(gradient(f), want)


def test_options_of_the_decorator():
    f = df.function(lambda x: x, experimental_compile=True)
    assert f.options.jit
    assert not df.function(lambda x: x, jit_compile=False, experimental_compile=True).options.jit
    assert not df.function(lambda x: x).options.jit
    assert df.function(jit_compile=True)(lambda x: x).options.jit
    assert f.clusters_for(df.constant(1.0)) == ""


def test_recently_used_folders_of_other_compilers_are_kept(tmp_path):
    kept, old = tmp_path / "kept", tmp_path / "old"
    for path in (kept, old, tmp_path / "mine"):
        path.mkdir()
    long_ago = kept.stat().st_mtime - compiler.UNUSED_DAYS * 86400 - 60
    os.utime(old, (long_ago, long_ago))
    compiler.prune(tmp_path / "mine")
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["kept", "mine"]


@pytest.mark.soak
@pytest.mark.parametrize("isa", ["baseline", "avx2", "neon"])
def test_other_levels(isa, tmp_path):
    """Run these tests with the library at another SIMD level."""
    env = os.environ | {"DUALFLOW_ISA": isa}
    levels.skip_unless_available(isa)
    made = subprocess.run([sys.executable, "-m", "pytest", "-q", f"--basetemp={tmp_path / 'base'}",
                           Path(__file__).with_name("test_clusters.py")],
                          env=env, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout
