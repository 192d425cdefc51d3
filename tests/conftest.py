"""Command-line options, hooks and fixtures of the test suite; assertion rewriting for helpers."""

import gc
import signal
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from dualflow import random
from dualflow._core import current_graph, current_tape
from dualflow.graph.program import clusters

HERE = Path(__file__).resolve().parent
HELPERS = [".".join(path.relative_to(HERE.parent).with_suffix("").parts)
           for path in sorted(HERE.rglob("*.py"))
           if not path.name.startswith(("test_", "__init__", "conftest"))]
pytest.register_assert_rewrite(*HELPERS)

from tests import gradients_both, sampling  # noqa: E402  after their assertions are registered

# The duration of an example depends on the machine and its load.
settings.register_profile("untimed", deadline=None,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


# Traces leave many reference cycles; collections that are too frequent take a tenth of the time.
gc.set_threshold(5000, 10, 10)


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true",
                     help="every dtype at every SIMD level, finer sweeps; takes long")
    parser.addoption("--sample", type=int, default=1, metavar="N",
                     help="run one test of N, chosen by a hash of its name")
    parser.addoption("--minutes", type=float, default=1., help="the duration of `-m soak`")
    parser.addoption("--seed", type=int, default=None, help="the first seed of `-m soak`")
    parser.addoption("--gradients-both", action="store_true",
                     help="run each backward pass interpreted and compiled, and compare bits")


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:     # in a background job of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("gradients_both"):
        gradients_both.switch_on()
    sampling.every = config.getoption("exhaustive") or config.getoption("markexpr") == "soak"


def pytest_unconfigure(config):
    if config.getoption("gradients_both") and gradients_both.counts["both"]:
        print(f"\n{gradients_both.summary()}")


def pytest_collection_modifyitems(config, items):
    n = config.getoption("sample")
    whole = [Path(config.rootpath, path) for path in config.args] == [HERE]
    items[:] = [item for item in items if crc32(item.nodeid.encode()) % n == 0
                and (not whole or sampling.is_drawn(item.nodeid))]


def pytest_collection_finish():
    """Exclude the items, a million objects, from garbage collections during the tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """Seed the generators of a test by its name: a failure of a statistical test repeats."""
    seed = crc32(item.nodeid.encode())
    random.set_seed(seed)
    np.random.seed(seed)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Fail if the test left a tape or a graph open: it would record the ops of later tests."""
    tape = current_tape()
    if tape is not None:
        tape.pop()
        pytest.fail("the test left a tape recording")
    assert current_graph() is None, "the test left a graph open"


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Return a folder that all processes of the run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def folder(shared):
    """Return the cache folder of compiled clusters. All processes of the run share it, since
    compiling the header takes a second."""
    return shared / "cache"


@pytest.fixture
def cache(folder, monkeypatch):
    """Redirect compiled clusters to the cache folder of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert clusters.wait(600)
    yield folder
    assert clusters.wait(600)


@pytest.fixture
def no_garbage():
    """Collect garbage, then disable the collector while a test counts memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
