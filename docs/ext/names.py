"""The public names of the package: what there is, and under which names users find it.

Knows nothing of Sphinx: the tests ask it, too.
"""

import ast
import importlib
import inspect
import types
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOTS = ["dualflow", "dualflow.compat.v1"]
NOT_OURS = {"dualflow.keras"}                                   # Keras's own names
FLOORS = {"dualflow.ops", "dualflow.autodiff"}                  # reached through the package


class Entry(NamedTuple):
    """A function or class; `name` is the shortest of its public names."""
    name: str
    others: list[str]
    value: object
    line: int

    @property
    def kind(self):
        return "class" if inspect.isclass(self.value) else "function"


def offered(path, module):
    """The values that a module offers, with their names; what is not ours is not even loaded."""
    for name in exported(module):
        if f"{path}.{name}" not in NOT_OURS:
            yield name, getattr(module, name, None)


def exported(module):
    """The names in `__all__`, or else those that the module imports `as` themselves and defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    tree = ast.parse(Path(module.__file__).read_text())
    passed_on = [alias.asname for node in tree.body if isinstance(node, ast.ImportFrom)
                 for alias in node.names if alias.asname == alias.name]
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
           and not node.name.startswith("_")]
    return passed_on + own


def spaces():
    """The modules that hold public names, by the names under which users reach them."""
    found, queue = {}, [(root, importlib.import_module(root)) for root in ROOTS]
    while queue:
        path, module = queue.pop(0)
        if path in FLOORS or module in found.values():
            continue
        found[path] = module
        for name, value in offered(path, module):
            if isinstance(value, types.ModuleType) and value.__name__.startswith("dualflow."):
                queue.append((f"{path}.{name}", value))
    return found


def file_of(module):
    return importlib.import_module(module).__file__


@cache
def lines(module):
    """Where the functions and classes of a module stand."""
    path = file_of(module)
    tree = ast.parse(Path(path).read_text() if path.endswith(".py") else "")    # or Cython
    return {node.name: node.lineno for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def line_of(value):
    return lines(value.__module__).get(value.__name__, 0)


def _rank(path, name):
    """Outside compat, then short, then not one of those that `math` has too, then as defined."""
    return "compat" in path, path.count("."), ".math." in path, path.rpartition(".")[2] != name


def entries():
    """The public functions and classes, by the module that defines them, as they stand there."""
    names, values = {}, {}
    for path, module in spaces().items():
        for name, value in offered(path, module):
            if (inspect.isroutine(value) or inspect.isclass(value)) and str(
                    getattr(value, "__module__", "")).startswith("dualflow"):
                names.setdefault(id(value), []).append(f"{path}.{name}")
                values[id(value)] = value
    found = {}
    for key, value in values.items():
        own, *others = sorted(names[key], key=lambda name: _rank(name, value.__name__))
        home = value.__module__
        if "compat" in own and "compat" not in home:
            continue                        # one of dualflow's, made to look like TensorFlow 1's
        found.setdefault(home, []).append(Entry(own, others, value, line_of(value)))
    found["dualflow.errors"] = _errors()
    return {module: sorted(group, key=lambda e: e.line) for module, group in found.items()}


def _errors():
    """Exceptions are caught by the names that tracebacks give."""
    module = importlib.import_module("dualflow.errors")
    return [Entry(f"dualflow.errors.{name}", [], value, line_of(value))
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == "dualflow.errors"]


def documented(folder):
    """The modules that the pages of a folder show by `{api}`."""
    return [line.split()[1] for page in sorted(Path(folder).glob("*.md"))
            for line in page.read_text().splitlines() if line.startswith("```{api} ")]
