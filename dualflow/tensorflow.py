"""`import dualflow.tensorflow` binds the name `tensorflow` to dualflow in this process, so that
programs for TensorFlow run unmodified: ``import tensorflow as tf``, ``from tensorflow.keras import
layers``, ``import tensorflow.compat.v1 as tf``.

``python -m dualflow.tensorflow [--v1] PROGRAM [ARGUMENTS]`` runs a program or a notebook this way,
and prints the names that were missing. The option ``--v1`` before PROGRAM binds the name to
dualflow.compat.v1, for programs that were written for TensorFlow 1.

`tf.keras` is Keras 3 on dualflow, with the names of TensorFlow's package. Names that dualflow lacks
are counted; `report` lists them. The real TensorFlow cannot be imported in the same process.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import re
import runpy
import sys
import tempfile
from collections import Counter
from types import ModuleType
from typing import Any

import dualflow
from dualflow._util.frames import FROZEN, user_frame

__all__ = ["VERSION", "bind", "missing", "report"]

# By major version. Programs compare it as text or as numbers: later than "2.8" and "2.21".
VERSIONS = {1: "1.15.0", 2: "2.99.0"}
VERSION = VERSIONS[2]
ROOT = "tensorflow"
IPYTHON = re.compile(r"\s*([\w, ]+=\s*)?(!|%%?\w)")     # lines such as ``files = !ls``
# What to use instead of the names of a module that dualflow lacks.
ADVICE = {
    "distribute": "processes train together by MPI: dualflow.distribute",
    "estimator": "train a Keras model on a dualflow.data.Dataset",
    "feature_column": "preprocess in dualflow.data.Dataset.map, or with Keras's layers",
    "experimental.dispatch": "a class of the program has methods that call the ops",
    "tpu": "the CPU is the only device",
}
missing: Counter[str] = Counter()       # uses of names that dualflow lacks
places: dict[str, list[str]] = {}       # the lines of these uses


class _Module(ModuleType):
    """A module of the name `tensorflow`, with the names of a module of dualflow."""

    def __init__(self, name: str, target: Any) -> None:
        super().__init__(name, f"{name}, on dualflow")
        self.__path__: list[str] = []       # a package, so that its modules can be imported
        self._target = target

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not (name == "__version__" and "keras" in self.__name__):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = f"{self.__name__}.{name}"
        try:
            value = _named(path, self._target, name)
        except AttributeError as error:
            _note(path)
            advice = [text for start, text in ADVICE.items() if f".{start}" in path]
            raise AttributeError(f"{path} is not in dualflow: " + "; ".join([str(error), *advice]),
                                 name=name) from None
        if isinstance(value, ModuleType):
            value = _module(path, value)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self._target)


def _named(path: str, target: Any, name: str) -> Any:
    """Return the object of dualflow that a name of TensorFlow stands for."""
    if path in ("tensorflow.keras", "tensorflow.compat.v1.keras", "tensorflow.compat.v2.keras"):
        return _keras("keras._tf_keras.keras")
    if path == "tensorflow.version.VERSION":
        return VERSION
    if path == "tensorflow.compat.v2":
        return dualflow
    if path == "tensorflow.compat":
        return dualflow.compat
    if target is dualflow and path in ("tensorflow.losses", "tensorflow.metrics"):
        return getattr(_keras("keras._tf_keras.keras"), name)
    try:
        return getattr(target, name)
    except AttributeError:
        if "tensorflow.keras" not in path and "v1.keras" not in path:
            raise
        home = path.partition("keras")[1:]      # old names that Keras 3 has without TensorFlow's
        found: Any = sys.modules["keras"]
        for part in "".join(home).split(".")[1:]:
            found = getattr(found, part)
        return found


def _keras(name: str) -> ModuleType:
    """Return a module of Keras on dualflow. Keras must not find the name `tensorflow`, whose
    modules it would use in place of its own paths for other backends."""
    hidden = {key: sys.modules.pop(key) for key in [*sys.modules]
              if key == ROOT or key.startswith(f"{ROOT}.")}
    finders = [finder for finder in sys.meta_path if isinstance(finder, _Finder)]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]
    try:
        importlib.import_module("dualflow.keras")
        lazy: Any = importlib.import_module("keras.src.utils.module_utils")
        lazy.tensorflow._available = False
        found = importlib.import_module(name)
        for old in ("backend", "layers"):       # the deprecated functions call TensorFlow's
            module: Any = sys.modules.get(f"keras.src.legacy.{old}")
            if module is not None:
                module.tf = importlib.import_module("dualflow.keras.src.text_layers").Names()
        return found
    finally:
        sys.meta_path[:0] = finders
        sys.modules.update(hidden)


def _module(path: str, target: ModuleType) -> ModuleType:
    if path not in sys.modules:
        sys.modules[path] = _Module(path, target)
    return sys.modules[path]


def _note(path: str) -> None:
    """Count the use of a missing name."""
    frame, _ = user_frame(1)
    while frame is not None and frame.f_code.co_filename.startswith(FROZEN):    # of an import
        frame = frame.f_back
    line = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"
    missing[path] += 1
    lines = places.setdefault(path, [])
    if line not in lines:
        lines.append(line)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules of the name `tensorflow`."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != ROOT and not fullname.startswith(f"{ROOT}."):
            if fullname == "keras":     # a program that imports Keras itself means the same one
                return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        if spec.name == "keras":
            return _keras("keras")
        parts = spec.name.split(".")
        found: Any = _root()
        for name in parts[1:]:
            try:
                found = getattr(found, name)
            except AttributeError as error:
                raise ModuleNotFoundError(str(error), name=spec.name) from None
        if not isinstance(found, ModuleType):
            raise ModuleNotFoundError(f"{spec.name} is not a module", name=spec.name)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


def _root() -> ModuleType:
    return sys.modules.get(ROOT) or bind()


def bind(major: int = 2) -> ModuleType:
    """Bind the name `tensorflow` to dualflow and return the module. The import of this module has
    done it already, for TensorFlow 2.

    Parameters
    ----------
    major : {2, 1}
        1 binds the name to `dualflow.compat.v1`, for programs for TensorFlow 1.

    Examples
    --------
    >>> import dualflow.tensorflow
    >>> import tensorflow as tf
    >>> tf.reduce_sum(tf.constant([1, 2])).numpy(), tf.__version__ >= "2.8"
    (np.int32(3), True)
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    found = sys.modules.get(ROOT)
    if not isinstance(found, _Module) or found.__version__ != VERSIONS[major]:
        for name in [name for name in sys.modules if name.startswith(f"{ROOT}.")]:
            del sys.modules[name]
        target = dualflow if major == 2 else importlib.import_module("dualflow.compat.v1")
        found = sys.modules[ROOT] = _Module(ROOT, target)
        found.__version__ = VERSIONS[major]     # type: ignore[attr-defined]
    return found


def report() -> str:
    """Return the names of TensorFlow that were used and that dualflow lacks, with the number of
    uses and the lines; "" if there are none.

    Examples
    --------
    >>> import dualflow.tensorflow
    >>> isinstance(dualflow.tensorflow.report(), str)
    True
    """
    return "\n".join([f"{n:5} {name}  {', '.join(places[name][:3])}"
                      for name, n in missing.most_common()])


def cells(path: str) -> list[str]:
    """Return the code cells of a notebook. Lines for IPython, and cells in other languages, become
    comments."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["cells"]
    return [_python("".join(cell["source"])) for cell in found if cell["cell_type"] == "code"]


def _python(cell: str) -> str:
    """Return a cell with lines for IPython, and the lines that continue them, as comments."""
    try:
        ast.parse(cell)
        return cell
    except (SyntaxError, ValueError):
        lines = cell.split("\n")
    other = cell.startswith("%%") and not cell.startswith(("%%time", "%%capture"))
    continued = False
    for k, line in enumerate(lines):
        if other or continued:
            lines[k] = f"# {line}"
        elif IPYTHON.match(line):
            lines[k] = re.sub(r"\S", r"pass  # \g<0>", line, count=1)
        else:
            continue
        continued = line.endswith("\\")
    return "\n".join(lines)


def run(arguments: list[str]) -> None:
    """Run the program; its own exit code is the result."""
    if arguments[:1] == ["--v1"]:
        bind(1)
        arguments = arguments[1:]
    if not arguments:
        sys.exit("usage: python -m dualflow.tensorflow [--v1] PROGRAM [ARGUMENTS]")
    path = arguments[0]
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    made = ""
    if path.endswith(".ipynb"):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write("\n\n".join(cells(path)) + "\n")
        path = made = file.name
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        if made:
            os.unlink(made)
        if missing:
            print("\nNames of TensorFlow that dualflow lacks, with the number of uses:",
                  file=sys.stderr)
            print(report(), file=sys.stderr)


if __name__ == "__main__":
    importlib.import_module("dualflow.tensorflow").run(sys.argv[1:])
else:
    bind()
