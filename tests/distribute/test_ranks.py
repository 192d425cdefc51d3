"""The cases of cases.py under mpiexec, for one to three ranks, and four with ``--exhaustive``;
jobs in which a rank fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mpi4py", reason="training on many machines needs mpi4py")

from tests import sampling
from tests.distribute import cases

ROOT = Path(__file__).parents[2]
BESIDE = Path(sys.executable).parent / "mpiexec"
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")
NAMES = [name for name in vars(cases) if name.startswith("case_")]
SIZES = [1, 2, 3, 4] if sampling.every else [1, 2, 3]
GATHERED = [1, 3]           # sizes of jobs that exchange headers like many ranks as well

pytestmark = [pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
              pytest.mark.xdist_group("mpi")]


def launch(n, *arguments, path=str(ROOT), **options):
    return subprocess.Popen([MPIEXEC, "-n", str(n), sys.executable, *arguments], cwd=ROOT,
                            env={**os.environ, "PYTHONPATH": path}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A function from n to the results of the ranks of a job, which runs at the first request."""
    folder, found = tmp_path_factory.mktemp("ranks"), {}

    def of(n):
        if n not in found:
            job = launch(n, "-m", "tests.distribute.cases", str(folder),
                         *["gathered"] * (n in GATHERED))
            out, err = job.communicate(timeout=240)
            found[n] = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{n}_*"))]
            assert len(found[n]) == n and job.returncode == 0, out + err
        return found[n]

    return of


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", SIZES)
def test_case(results, n, name):
    for rank, result in enumerate(results(n)):
        good, said = result.get(name, (False, "an earlier case failed"))
        assert good, f"rank {rank} of {n}: {said}"


def test_results_are_independent_of_the_number_of_ranks(results):
    """Cases that return a value return the same value for every number of ranks."""
    for name in NAMES:
        said = [result[name][1] for n in SIZES for result in results(n)]
        assert all(one == said[0] for one in said), name


@pytest.mark.parametrize("n", GATHERED)
def test_headers_of_many_ranks(results, n):
    for rank, result in enumerate(results(n)):
        for name in NAMES:
            good, said = result.get(f"gathered {name}", (False, "an earlier case failed"))
            assert good, f"rank {rank} of {n}, {name}: {said}"


START = """
import os, signal, sys, time
import dualflow as df
df.distribute.init()
rank = df.distribute.rank()
df.distribute.barrier()
if rank == 0:                   # lines of two ranks would mix
    print("ready", os.getpid(), flush=True)
time.sleep(0.2)
"""
FAILURES = {        # rank 1's code, exit code (0: any other than 0), output
    "raises": ("raise KeyError('lost')", 1, "KeyError: 'lost'"),
    "exits": ("sys.exit(3)", 3, "rank 1 ends the job: sys.exit(3)"),
    "ends": ("pass", 1, "allreduce: rank 1 ended, or called shutdown, while rank 0 started it"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", 0, ""),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failing_rank_ends_the_job(what):
    does, code, message = FAILURES[what]
    wait = "df.distribute.allreduce(1.)" if what != "exits" else "time.sleep(600)"
    job = launch(2, "-c", START + f"if rank == 1:\n    {does}\nelse:\n    {wait}\n")
    assert job.stdout.readline().startswith("ready")
    out, err = job.communicate(timeout=60)      # far below the limit of a wait
    assert job.returncode == code or (not code and job.returncode), out + err
    assert message in err


def test_ctrl_c_ends_a_wait():
    job = launch(2, "-c", START + """
if rank == 0:
    df.distribute.allreduce(1., name="alone")
time.sleep(600)
""")
    os.kill(int(job.stdout.readline().split()[1]), signal.SIGINT)
    _, err = job.communicate(timeout=30)
    assert job.returncode and "KeyboardInterrupt" in err


def test_ctrl_c_ends_a_wait_in_a_program():
    """The outstanding operation continues in memory that is not reused."""
    job = launch(2, "-c", """
import os, threading, time
import dualflow as df
df.distribute.init()
v = df.Variable(df.ones([100_000]), name="alone")

@df.function
def step(x):
    with df.GradientTape() as tape:
        loss = df.reduce_sum(v * x)
    return df.distribute.DistributedGradientTape(tape).gradient(loss, v)

step(df.ones([100_000]))
if df.distribute.rank() == 0:
    threading.Timer(0.5, lambda: print("ready", os.getpid(), flush=True)).start()
    try:
        step(df.ones([100_000]))
    except KeyboardInterrupt:
        for k in range(5):
            assert df.reduce_sum(df.ones([100_000]) * float(k)).item() == 1e5 * k
        print("interrupted", flush=True)
        raise
time.sleep(60)
""")
    os.kill(int(job.stdout.readline().split()[1]), signal.SIGINT)
    out, err = job.communicate(timeout=30)
    assert job.returncode and "KeyboardInterrupt" in err and "interrupted" in out


def test_without_mpi4py():
    code = """
import sys
sys.modules["mpi4py"] = None
import dualflow as df
try:
    df.distribute.init()
except ImportError as error:
    assert "pip install 'dualflow[distribute]'" in error.__notes__[0]
else:
    raise AssertionError
try:
    df.distribute.size()
except df.errors.InvalidArgumentError as error:
    assert "df.distribute.init()" in str(error)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_mpi_is_imported_only_by_init():
    code = ("import sys, dualflow as df; df.distribute.allreduce; "
            "assert 'mpi4py' not in sys.modules; df.distribute.init(); "
            "assert 'mpi4py.MPI' in sys.modules")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


TRAIN = """
import os, signal, sys
import dualflow as df
d = df.distribute
d.init()
v = df.Variable([0., 0.])
optimizer = d.DistributedOptimizer(df.optimizers.Adam(0.1), shards=4)
state = d.elastic.State(sys.argv[1], v=v, optimizer=optimizer, epoch=0)

@d.elastic.run
def train(state, until, lost):
    each = 4 // d.size()
    while state.epoch < until:
        for k in range(d.rank() * each, (d.rank() + 1) * each):
            optimizer.apply_gradients([(df.constant([k + 1., state.epoch + 0.5]), v)])
        state.epoch += 1
        if state.epoch == lost and d.rank() == d.size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        state.commit()

train(state, 6, int(sys.argv[2]))
if d.rank() == 0:
    print(v.numpy().tobytes().hex(), state.epoch)
"""


def test_killed_job_continues_with_other_ranks(tmp_path):
    whole, lost = tmp_path / "whole", tmp_path / "lost"
    job = launch(1, "-c", TRAIN, str(whole), "0")
    want, err = job.communicate(timeout=60)
    assert job.returncode == 0 and want.endswith(" 6\n"), err
    job = launch(2, "-c", TRAIN, str(lost), "3")
    job.communicate(timeout=60)
    assert job.returncode
    job = launch(4, "-c", TRAIN, str(lost), "0")
    said, err = job.communicate(timeout=60)
    assert (job.returncode, said) == (0, want), err


def test_example_runs(tmp_path):
    """On files of images, since importing scikit-learn takes longer than the example."""
    pytest.importorskip("tqdm")
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    for kind, shape, high in (("images-idx3", (500, 28, 28), 256), ("labels-idx1", (500,), 10)):
        head = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">i4").tobytes()
        pixels = rng.integers(0, high, shape, np.uint8).tobytes()
        (tmp_path / f"train-{kind}-ubyte").write_bytes(head + pixels)
    job = launch(2, "examples/digits.py", "--distributed", "--epochs", "2", "--data", str(tmp_path),
                 "--picture", str(tmp_path / "a.png"), "--curves", str(tmp_path / "b.png"))
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, err
    assert out.count("epoch  2:") == 1 and (tmp_path / "a.png").exists()
