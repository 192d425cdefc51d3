"""`load`: loads a module that `save` has written. It runs no code outside of this package."""

from __future__ import annotations

import os
from typing import Any

from dualflow._core import Variable
from dualflow.errors import NotFoundError
from dualflow.io.content import content_of
from dualflow.io.loaded import GLOBAL, LoadedFunction
from dualflow.io.manifest import check_manifest, reading
from dualflow.io.save import FILE, FORMAT, FUNCTIONS, SIGNATURES
from dualflow.io.signatures import SignatureFunction
from dualflow.modules import Module
from dualflow.ops.array.shape import reshape
from dualflow.ops.random.random_generator import Generator, get_global_generator
from dualflow.ops.string_tensor import text

__all__ = ["LoadedModule", "contains_saved_model", "load"]


def load(export_dir: Any, tags: Any = None, options: Any = None) -> LoadedModule:
    """Load a module that `save` has written: it has the same attributes, and its functions accept
    the arguments for which they had been traced.

    Parameters
    ----------
    export_dir : str
    tags : ignored
    options : LoadOptions, optional
        Has no effect.

    Returns
    -------
    LoadedModule
        Its attribute `signatures` is a dict of functions that take tensors by name and return
        dicts of tensors.

    Raises
    ------
    NotFoundError
        If the directory has no saved module.
    DataLossError
        If the file is damaged.

    Notes
    -----
    No code but dualflow's runs. The functions are differentiable and can be called in traced
    functions, and the variables can be trained.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> module = df.Module(name="powers")
    >>> module.square = df.function(lambda x: x * x)
    >>> y = module.square(df.constant(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.save(module, folder)
    ...     powers = df.load(folder)
    >>> powers.name, powers.square(df.constant(4)).item()
    ('powers', 16)
    """
    path = os.path.join(os.fspath(export_dir), FILE)
    if not os.path.exists(path):
        raise NotFoundError(f"there is no saved module in {export_dir} (no file {path})")
    with content_of(path, FORMAT) as content:
        tensors = content.read()
        with reading(path):
            return Loading(content.states["module"], tensors).modules[0]


def contains_saved_model(export_dir: Any) -> bool:
    """Return True if the directory `export_dir` has a saved module.

    Examples
    --------
    >>> import dualflow as df
    >>> df.saved_model.contains_saved_model("/no/such/folder")
    False
    """
    return os.path.isfile(os.path.join(os.fspath(export_dir), FILE))


class LoadedModule(Module):
    """A module created by `load`, with the attributes of the saved module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function that was saved as ``__call__``."""
        return self.__getattr__("__call__")(*args, **kwargs)

    @property
    def signatures(self) -> dict[str, SignatureFunction]:
        """The signatures by key."""
        return dict(self.__dict__.get(SIGNATURES, {}))

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get(FUNCTIONS, {}).get(name)
        if found is None:
            raise AttributeError(f"the loaded module {self.name} has no {name!r}: only traced "
                                 "functions, variables, modules, numbers and strings are saved")
        return found


class Loading:
    """The state of one call of `load`."""

    def __init__(self, said: Any, tensors: dict[str, Any]) -> None:
        check_manifest(said, tensors)
        self.saved: dict[str, Any] = {
            name: Variable(tensors.pop(name), trainable, called)
            for name, (called, trainable) in said["variables"].items()}
        self.saved |= tensors
        for name, (shape, texts) in said.get("texts", {}).items():
            self.saved[name] = reshape(text([x.encode("latin-1") for x in texts], "load"), shape)
        for name, state in said["generators"].items():
            self.saved[name] = Generator(0)
            self.saved[name].__setstate__(state)
            if "variable" in state:
                self.saved[name]._state = self.saved[state["variable"]]
        self.functions: list[LoadedFunction] = [LoadedFunction(f, self.saved)
                                                for f in said["functions"]]
        self.modules: list[LoadedModule] = [LoadedModule(tree["name"]) for tree in said["modules"]]
        for module, tree in zip(self.modules, said["modules"], strict=True):
            has = {name: self._made(x) for name, x in tree["has"].items()}
            functions = {name: x for name, x in has.items() if isinstance(x, LoadedFunction)}
            module.__dict__.update({k: x for k, x in has.items() if k not in functions})
            module.__dict__[FUNCTIONS] = functions
        self.modules[0].__dict__[SIGNATURES] = {
            key: SignatureFunction(key, self.functions[x["function"]], x["inputs"], x["outputs"])
            for key, x in said.get("signatures", {}).items()}

    def _made(self, saved: Any) -> Any:
        """Return the value of an attribute."""
        if saved is None:
            return None
        (kind, x), = saved.items()
        if kind in ("variable", "generator"):
            return get_global_generator() if x == GLOBAL else self.saved[x]
        if kind == "module":
            return self.modules[x]
        if kind == "function":
            return self.functions[x]
        if kind == "dict":
            return {key: self._made(y) for key, y in x}
        if kind in ("list", "tuple"):
            made = [self._made(y) for y in x]
            return made if kind == "list" else tuple(made)
        return x
