"""Loads Keras with dualflow as its backend.

Keras has a fixed set of backends, each a package that it imports by name. While Keras is imported,
a finder serves dualflow's modules under the names of the openvino backend, which is never loaded.
Afterwards the configured backend is named "dualflow", so Keras's tests for particular backends
select the generic code. No source file of Keras is changed.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dualflow._core import Dim
from dualflow._util.frames import pass_over

NAME = "dualflow"
PLACE = "openvino"  # the backend whose name dualflow's modules are served under
OLDEST = (3, 12)                            # the oldest tested version
ROOT = f"keras.src.backend.{PLACE}"
MODULES = {                                 # module name that Keras imports: dualflow's module
    ROOT: "dualflow.keras.src",
    f"{ROOT}.core": "dualflow.keras.src.ops.core",
    f"{ROOT}.layer": "dualflow.keras.src.layer",
    f"{ROOT}.trainer": "dualflow.keras.src.trainer",
    f"{ROOT}.export": "dualflow.keras.src.export",
}


class Finder(MetaPathFinder, Loader):
    """Finds dualflow's modules under the names that Keras imports."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(MODULES[name])


@contextmanager
def _served() -> Iterator[None]:
    """Configure Keras for the replaced backend and serve dualflow's modules instead."""
    finder, before = Finder(), os.environ.get("KERAS_BACKEND")
    sys.meta_path.insert(0, finder)
    os.environ["KERAS_BACKEND"] = PLACE
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if before is None:
            del os.environ["KERAS_BACKEND"]
        else:
            os.environ["KERAS_BACKEND"] = before


def _check() -> None:
    """Raise ImportError if another backend is configured or Keras is imported already."""
    wanted = os.environ.get("KERAS_BACKEND")
    if wanted and wanted != NAME:
        raise ImportError(f"dualflow.keras: KERAS_BACKEND is {wanted!r}; set it to {NAME!r} or "
                          "leave it unset")
    config = sys.modules.get("keras.src.backend.config")
    if config is not None:
        raise ImportError(
            f"dualflow.keras: Keras is imported already, on {config.backend()!r}; import "
            "dualflow.keras first, or run the program as `python -m dualflow.keras program.py`")


def _load() -> ModuleType:
    try:
        with _served():
            keras = importlib.import_module("keras")
            importlib.import_module("keras.src.export")  # served only now
    except BaseException as error:
        for name in [n for n in sys.modules if n.split(".")[0] == "keras"]:
            del sys.modules[name]
        if isinstance(error, ModuleNotFoundError) and error.name == "keras":
            raise ImportError("dualflow.keras needs Keras 3: pip install dualflow[keras]"
                              ) from None
        raise
    version = tuple(int(part) for part in keras.__version__.split(".")[:2])
    if version < OLDEST:
        raise ImportError(f"dualflow.keras: Keras is {keras.__version__}, expected "
                          f"3.{OLDEST[1]} or newer")
    return keras


def _switch_by_name() -> None:
    """Let Keras's backend switch (DynamicBackend) accept "dualflow"."""
    utils: Any = importlib.import_module("keras.src.utils.backend_utils")
    backend = importlib.import_module("dualflow.keras.src")
    of_others, switch = utils.DynamicBackend.__getattr__, utils.DynamicBackend.set_backend

    def getattr_(self: Any, name: str) -> Any:
        return getattr(backend, name) if self._backend == NAME else of_others(self, name)

    def set_backend(self: Any, name: str) -> None:
        if name == NAME:
            self._backend = name
        else:
            switch(self, name)

    utils.DynamicBackend.__getattr__ = getattr_
    utils.DynamicBackend.set_backend = set_backend


def _open_sizes() -> None:
    """Let Keras see sizes that are unknown during shape inference as None, also in the shapes with
    which layers are built."""
    backend: Any = importlib.import_module("keras.src.backend")
    plain = backend.standardize_shape

    def standardize_shape(shape: Any) -> Any:
        if isinstance(shape, tuple | list):
            shape = tuple([None if type(d) is Dim else d for d in shape])
        return plain(shape)

    variables: Any = importlib.import_module("keras.src.backend.common.variables")
    backend.standardize_shape = variables.standardize_shape = standardize_shape


class _Narrower(dict[str, str]):
    """A map from 64-bit dtypes to the 32-bit dtypes that Keras's promotion rules return instead.

    It leaves out float64 while float64 is the default dtype (`floatx`).
    """

    def get(self, dtype: str, default: Any = None) -> Any:
        config: Any = sys.modules["keras.src.backend.config"]
        return dtype if dtype == "float64" == config.floatx() else super().get(dtype, default)


def _keep_float64() -> None:
    """Let Keras's promotion rules return float64 while it is the default dtype.

    Keras narrows float64 to float32 on all backends but TensorFlow, to agree with JAX, where 64-bit
    dtypes are off by default.
    """
    dtypes: Any = importlib.import_module("keras.src.backend.common.dtypes")
    dtypes.BIT64_TO_BIT32_DTYPE = _Narrower(dtypes.BIT64_TO_BIT32_DTYPE)


def _assert_ours(keras: Any) -> None:
    for made, by in ((keras.Variable, "dualflow.keras.src.variable"),
                     (keras.Model, "dualflow.keras.src.trainer"),
                     (keras.layers.Layer, "dualflow.keras.src.layer")):
        if by not in [base.__module__ for base in made.__mro__]:
            raise ImportError(f"dualflow.keras: {made.__name__} of Keras {keras.__version__} does "
                              f"not derive from {by}; is this version supported?")


def _tensorflow_is_installed() -> bool:
    try:
        return importlib.util.find_spec("tensorflow") is not None
    except ValueError:      # the name is bound to dualflow, a module without a spec
        return False


def load() -> ModuleType:
    """Import Keras on dualflow and return it.

    Raises
    ------
    ImportError
        If KERAS_BACKEND names another backend, or if Keras is imported already, is not installed,
        or has an unsupported version.
    """
    _check()
    keras = _load()
    config: Any = importlib.import_module("keras.src.backend.config")
    config._BACKEND = NAME
    _switch_by_name()
    _open_sizes()
    _keep_float64()
    _assert_ours(keras)
    pass_over(keras.__path__[0])
    importlib.import_module("dualflow.keras.src.optimizer").install(keras.optimizers)
    importlib.import_module("dualflow.keras.src.rnn").install(keras.layers)
    importlib.import_module("dualflow.keras.src.quantization").install(keras.layers.Embedding)
    importlib.import_module("dualflow.keras.src.saving").install(
        importlib.import_module("keras.src.saving.saving_lib"))
    modules: Any = importlib.import_module("keras.src.utils.module_utils")
    importlib.import_module("dualflow.keras.src.tensorflow_only").install(keras, modules.tensorflow)
    if not _tensorflow_is_installed():
        importlib.import_module("dualflow.keras.src.stand_ins").install(keras)
        importlib.import_module("dualflow.keras.src.text_layers").install()
    export: Any = importlib.import_module("keras.src.export.export_utils")
    importlib.import_module("dualflow.keras.src.export").install(
        keras.Model, export.get_input_signature,
        importlib.import_module("keras.src.utils.io_utils").print_msg)
    return keras
