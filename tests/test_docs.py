"""Examples in docstrings run, and every public function documents itself."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import dualflow as df
from tests.assembling import assembling

MODULES = ["dualflow", *sorted(
    m.name for m in pkgutil.walk_packages(df.__path__, "dualflow.") if "._core" not in m.name)]

def public_functions():
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            if inspect.isfunction(value) and value.__module__.startswith("dualflow"):
                found[f"{value.__module__}.{value.__name__}"] = value
    return found


FUNCTIONS = public_functions()


@assembling
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@assembling
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_sections(name):
    function = FUNCTIONS[name]
    doc = inspect.getdoc(function) or ""
    wanted = ["Returns", "Examples"]
    if inspect.signature(function).parameters:
        wanted.append("Parameters")
    missing = [w for w in wanted if f"\n{w}\n---" not in f"\n{doc}"]
    assert not missing, f"{name}: no section {', '.join(missing)}"
