"""The public functions and classes of the package, with all their public names.

Independent of Sphinx, because tests also use it.
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
PACKAGES = {"dualflow.ops", "dualflow.autodiff"}                # reached through the package


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
    """Yield the public names of a module with their values; names in NOT_OURS are not imported."""
    for name in exported(module):
        if f"{path}.{name}" not in NOT_OURS:
            yield name, getattr(module, name, None)


def exported(module):
    """Return `__all__`, or else the definitions and the names that are imported `as` themselves."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    tree = ast.parse(Path(module.__file__).read_text())
    passed_on = [alias.asname for node in tree.body if isinstance(node, ast.ImportFrom)
                 for alias in node.names if alias.asname == alias.name]
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
           and not node.name.startswith("_")]
    return passed_on + own


def spaces():
    """Return the modules with public names, by their public paths."""
    found, queue = {}, [(root, importlib.import_module(root)) for root in ROOTS]
    while queue:
        path, module = queue.pop(0)
        if path in PACKAGES or module in found.values():
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
    """Return the line numbers of the functions and classes of a module."""
    path = file_of(module)
    tree = ast.parse(Path(path).read_text() if path.endswith(".py") else "")    # or Cython
    return {node.name: node.lineno for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def line_of(value):
    return lines(value.__module__).get(value.__name__, 0)


def _rank(path, name):
    """Sort key: outside compat, short, not in `math`, the name of the definition."""
    return "compat" in path, path.count("."), ".math." in path, path.rpartition(".")[2] != name


def entries():
    """Return the public functions and classes by defining module, in the order of the source."""
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
            continue                        # dualflow's function under TensorFlow 1's name
        found.setdefault(home, []).append(Entry(own, others, value, line_of(value)))
    found["dualflow.errors"] = _errors()
    return {module: sorted(group, key=lambda e: e.line) for module, group in found.items()}


def _errors():
    """Return the exceptions, under the names that tracebacks print."""
    module = importlib.import_module("dualflow.errors")
    return [Entry(f"dualflow.errors.{name}", [], value, line_of(value))
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == "dualflow.errors"]


def documented(folder):
    """Return the modules that the pages of a folder document by `{api}`."""
    return [line.split()[1] for page in sorted(Path(folder).glob("*.md"))
            for line in page.read_text().splitlines() if line.startswith("```{api} ")]
