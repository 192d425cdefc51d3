"""Options of the suite, and helpers whose assertions explain themselves."""

import gc
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
HELPERS = [".".join(path.relative_to(HERE.parent).with_suffix("").parts)
           for path in sorted(HERE.rglob("*.py"))
           if not path.name.startswith(("test_", "__init__", "conftest"))]
pytest.register_assert_rewrite(*HELPERS)


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true",
                     help="every dtype at every SIMD level, finer sweeps; takes long")
    parser.addoption("--minutes", type=float, default=1., help="how long `-m soak` runs")
    parser.addoption("--seed", type=int, default=None, help="where `-m soak` begins")


@pytest.fixture
def no_garbage():
    """What other tests left is not freed while memory is counted."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
