"""A pytest plugin that runs Keras's own tests on dualflow; docs/keras.md describes its use.

Keras's tests are part of its wheel. Tests that need a package that is not installed are skipped:
some import TensorFlow, PyTorch, grain and others.
"""

import importlib
from contextlib import contextmanager
from pathlib import Path

import pytest

import dualflow.keras as keras  # before any other import of Keras

MARKS = ("requires_trainable_backend: wants gradients, which there are",
         "skipif_backend: names backends that cannot do it",
         "multi_device: wants several devices")


@contextmanager
def named(name):
    """Use another backend's name for Keras while a module is imported."""
    config = importlib.import_module("keras.src.backend.config")
    own, config._BACKEND = config._BACKEND, name
    try:
        yield
    finally:
        config._BACKEND = own


def item(self, k):
    """Return items of the trainers' data set without consulting its table of backends."""
    return keras.ops.ones((5, 4)), keras.ops.zeros((5, 3))


class Module(pytest.Module):
    """The module that imports the trainer under the name of a backend that Keras knows."""

    def _getobj(self):
        with named("openvino"):
            module = super()._getobj()
        module.TestPyDataset.__getitem__ = item
        return module


def pytest_addoption(parser):
    parser.addoption("--failing", help="a file for the ids of failing tests, a line each")


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    assert keras.config.backend() == "dualflow"
    config.failing = []


def pytest_pycollect_makemodule(module_path, parent):
    if module_path.name == "trainer_test.py":
        return Module.from_parent(parent, path=module_path)
    return None


def lacks(call):
    """Return the name of the missing package, if that is why a call failed."""
    error = call.excinfo.value if call.excinfo else None
    while error is not None:
        if isinstance(error, ImportError):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def judged(report, call, config):
    missing = lacks(call)
    if report.failed and missing:
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"lacks: {missing}")
    elif report.failed:
        config.failing.append(report.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return judged((yield), call, item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    call = getattr(report, "call", None)
    return report if call is None else judged(report, call, collector.config)


def pytest_sessionfinish(session):
    path = session.config.getoption("--failing")
    if path:
        Path(path).write_text("".join(f"{name}\n" for name in sorted(session.config.failing)))
