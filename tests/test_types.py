"""The stub of the extension module lists the same names as the module, and the package exports the
names it imports."""

import ast
import builtins
import importlib
import sys
from pathlib import Path

import pytest

import dualflow as df
from dualflow._core import _core
from dualflow.ops import foreign, methods
from dualflow.ops.state import variable

STUB = Path(__file__).resolve().parent.parent / "dualflow/_core/_core.pyi"
TREE = ast.parse(STUB.read_text())
CLASSES = {n.name: n for n in TREE.body if isinstance(n, ast.ClassDef)}
FUNCTIONS = {n.name for n in TREE.body if isinstance(n, ast.FunctionDef)}
# Classes without a use in the Python layers, which the stub leaves out.
INTERNAL = {"NumberGuard", "RunBuffer", "WritableBuffer", "DonatedArguments", "LeafGuard",
            "ContainerGuard",
            "TensorGuard", "ProgramParts", "OutstandingRun", "ValueGuard",
            "BackwardPass", "ExpectedValue"}


def public(names):
    return {n for n in names if not n.startswith("_")}


# base classes defined in other modules
METHODS = {"TensorMethods": methods.TensorMethods, "PartMethods": methods.PartMethods,
           "VariableMethods": variable.VariableMethods}


def members(node):
    """Return the names of a stub class, including names of its bases."""
    found = {getattr(n, "name", None) or n.target.id for n in node.body
             if isinstance(n, ast.FunctionDef | ast.AnnAssign)}
    for base in [b.value.id if isinstance(b, ast.Subscript) else b.id for b in node.bases]:
        if base in CLASSES:
            found |= members(CLASSES[base])
        elif base != "Generic":
            found |= set(vars(METHODS[base]) if base in METHODS else dir(getattr(builtins, base)))
    return found - {"__dict__", "__weakref__", "__module__"}


def test_stub_and_module_have_the_same_names():
    homes = {_core.__name__, "dualflow._core", "dualflow"}     # classes name a public module
    own = {n for n in public(dir(_core)) if getattr(getattr(_core, n), "__module__", None) in homes}
    own |= {n for n in public(dir(_core)) if type(getattr(_core, n)).__name__.startswith("cython")}
    assert own - INTERNAL == public(FUNCTIONS | set(CLASSES))


@pytest.mark.parametrize("name", sorted(public(CLASSES)))
def test_stub_and_class_have_the_same_members(name):
    runtime, stub = getattr(_core, name), members(CLASSES[name])
    assert public(dir(runtime)) - foreign.ABSENT <= stub, "missing in the stub"
    # The stub of TensorBase declares members that only its subclasses have.
    if name != "TensorBase":
        assert stub - {"__buffer__"} <= set(dir(runtime)), "missing at run time"


def imports_for_checkers(module=df):
    """Return the names that a module imports for type checkers, and their modules."""
    tree = ast.parse(Path(module.__file__).read_text())
    named = {a.asname: n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)
             for a in n.names}
    assert None not in named
    return named


def test_package_exports_the_names_it_imports():
    named = {*imports_for_checkers()} | {"bool", "double", "half", "newaxis"}
    assert set(df.__all__) == public(named)
    assert set(df.__all__) <= set(dir(df)) and all(hasattr(df, name) for name in df.__all__)


def test_lazy_names_match_imports_for_type_checkers():
    for name, module in imports_for_checkers().items():
        want = sys.modules[f"dualflow.{name}"] if module == "dualflow" else getattr(
            importlib.import_module(module), name)
        assert getattr(df, name) is want, name


def test_lazy_names_of_nn_match_imports_for_type_checkers():
    named = imports_for_checkers(df.nn)
    del named["_submodule"]
    assert sorted(named) == df.nn.__all__ == dir(df.nn)
    for name, module in named.items():
        assert getattr(df.nn, name) is getattr(importlib.import_module(module), name), name
    assert not hasattr(df.nn, "matmul")
