"""Functions of higher layers that lower layers call, and functions that many programs do not need.

A lower layer must not import a higher one. `dualflow/__init__.py`, which is above all layers,
registers where each function is defined; a lower layer calls it by its registered name. The module
is loaded at the first call, so that `import dualflow` stays fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import MethodType

from dualflow._util.imports import import_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_locations: dict[str, tuple[str, str]] = {}


def register(name: str, module: str, attribute: str = "") -> None:
    """Register that `name` stands for an attribute of a module, or for the module itself."""
    _locations[name] = module, attribute


def is_loaded(name: str) -> bool:
    """Return True if the module that defines a registered name is loaded."""
    return _locations[name][0] in sys.modules


def late(name: str) -> Any:
    """Return the object that is registered under a name; its module is loaded if necessary.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow._util.late_binding import late
    >>> late("vmap") is df.vmap
    True
    """
    module, attribute = _locations[name]
    found = loaded(module)
    return getattr(found, attribute) if attribute else found


def loaded(path: str) -> ModuleType:
    """Return a module, loaded if necessary."""
    if path in sys.modules:
        return import_module(path)      # it may still be loading in another thread
    return import_modules(path)


def submodule(package: str, name: str) -> ModuleType:
    """Return a module of a package, loaded if necessary; for the ``__getattr__`` of the package."""
    path = f"{package}.{name}"
    try:
        return loaded(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name) from None


def late_method(module: str) -> Any:
    """Return a method that is the function of its name in a module, which is loaded at the first
    call."""
    return _LateMethod(module)


class _LateMethod:
    """See `late_method`."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, kind: type) -> Any:
        function = getattr(loaded(self.module), self.name)
        setattr(self.owner, self.name, function)        # later calls find the function itself
        return function if instance is None else MethodType(function, instance)
