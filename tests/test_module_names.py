"""`dir()` of a public module lists its public names and no imports for internal use."""

import ast
import importlib
import types
from pathlib import Path

import pytest

import dualflow as df

# Lists Keras's names, and those of the array API.
ELSEWHERE = {"dualflow.keras", "dualflow.experimental.numpy"}


def handed_on(module):
    """Return the names that a module without `__all__` re-exports: `from x import y as y`."""
    tree = ast.parse(Path(module.__file__).read_text())
    return {a.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            for a in node.names}


def public_modules():
    """Return the modules reachable by public names, without `dualflow.ops`, which is tested
    otherwise."""
    found, left = set(), ["dualflow", "dualflow.compat.v1", "dualflow.dtypes", "dualflow.errors"]
    while left:
        name = left.pop()
        if name in found or name in ELSEWHERE or name.startswith("dualflow.ops"):
            continue
        found.add(name)
        module = importlib.import_module(name)
        left += [thing.__name__ for public in getattr(module, "__all__", handed_on(module))
                 if isinstance(thing := getattr(module, public or "", None), types.ModuleType)]
    return sorted(found)


@pytest.mark.parametrize("name", public_modules())
def test_dir_shows_public_names(name):
    module = importlib.import_module(name)
    shown = {n for n in dir(module) if not n.startswith("__")}
    assert shown and all(hasattr(module, n) for n in shown)
    if hasattr(module, "__all__"):
        public = {n for n in module.__all__ if not n.startswith("__")}
        late = {"dtypes", "errors"} if module is df else handed_on(module)
        assert public <= shown <= public | late
        return
    for n in shown - handed_on(module):
        thing = getattr(module, n)
        home = getattr(thing, "__module__", None) or "dualflow"
        assert not n.startswith("_") and not isinstance(thing, types.ModuleType), n
        assert home.startswith("dualflow") or home == "builtins", n


def test_public_modules_are_found():
    names = public_modules()
    assert {"dualflow.nn", "dualflow.optimizers.schedules", "dualflow.compat.v1.train",
            "dualflow.compat.v1.contrib.layers"} <= {*names} and len(names) > 40
