"""A pytest plugin that runs Keras's own tests on dualflow; docs/keras.md says how.

Keras's tests come with its wheel, and its way to leave out what a backend has not does not: here it
is the reason of a skip.
"""

import importlib
from contextlib import contextmanager

import pytest

import dualflow.keras as keras  # before anything else imports Keras

MARKS = ("requires_trainable_backend: wants gradients, which there are",
         "skipif_backend: names backends that cannot do it",
         "multi_device: wants several devices")


@contextmanager
def named(name):
    """Keras under another backend's name, while a module asks for it."""
    config = importlib.import_module("keras.src.backend.config")
    own, config._BACKEND = config._BACKEND, name
    try:
        yield
    finally:
        config._BACKEND = own


class Module(pytest.Module):
    """A module that imports the trainer by the name of a backend that Keras knows."""

    def _getobj(self):
        with named("openvino"):
            module = super()._getobj()
        module.CPU_DEVICES["dualflow"] = "cpu:0"
        return module


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    assert keras.config.backend() == "dualflow"


def pytest_pycollect_makemodule(module_path, parent):
    if module_path.name == "trainer_test.py":
        return Module.from_parent(parent, path=module_path)
    return None
