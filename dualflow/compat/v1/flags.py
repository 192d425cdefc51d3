"""`tf.flags`: command-line flags by the package absl, an optional dependency that is imported at
first use (``pip install 'dualflow[tensorflow]'``).

All names of `absl.flags` are available. Unlike there, a flag can be read before the command line
is parsed: the first access parses it. Flags that the program does not define are ignored.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from dualflow.summary.tensorboard import MissingPackageError

__all__ = ["FLAGS", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum", "DEFINE_float",
           "DEFINE_integer", "DEFINE_list", "DEFINE_multi_integer", "DEFINE_multi_string",
           "DEFINE_string", "mark_flag_as_required", "mark_flags_as_required"]

DEFINE_bool: Callable[..., Any]         # these names are found by `__getattr__`
DEFINE_boolean: Callable[..., Any]
DEFINE_enum: Callable[..., Any]
DEFINE_float: Callable[..., Any]
DEFINE_integer: Callable[..., Any]
DEFINE_list: Callable[..., Any]
DEFINE_multi_integer: Callable[..., Any]
DEFINE_multi_string: Callable[..., Any]
DEFINE_string: Callable[..., Any]
mark_flag_as_required: Callable[..., Any]
mark_flags_as_required: Callable[..., Any]

# Argument names of TensorFlow 1's functions, and absl's.
ARGUMENTS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


@functools.cache
def absl(module: str) -> Any:
    """Import a module of absl: "flags" or "app"."""
    try:
        found = import_module(f"absl.{module}")
    except ModuleNotFoundError as error:
        if error.name not in ("absl", f"absl.{module}"):
            raise
        raise MissingPackageError("tf.flags and tf.app use the package absl, which is not "
                                  "installed: pip install absl-py") from error
    if module == "flags":
        found.disclaim_key_flags()      # flags belong to the module that calls this one
    return found


class Flags:
    """The flags of the program: `FLAGS.name` is the value of a flag. `FLAGS(argv)` parses
    arguments and returns the rest; other attributes are those of `absl.flags.FLAGS`."""

    def __getattr__(self, name: str) -> Any:
        flags = absl("flags").FLAGS
        if not flags.is_parsed() and (name in flags or name == "flag_values_dict"):
            parse(sys.argv)
        return getattr(flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(absl("flags").FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(absl("flags").FLAGS, name)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        rest: list[str] = absl("flags").FLAGS(argv, known_only)
        return rest

    def __getitem__(self, name: str) -> Any:
        return absl("flags").FLAGS[name]

    def __contains__(self, name: str) -> bool:
        return name in absl("flags").FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(absl("flags").FLAGS)

    def __len__(self) -> int:
        return len(absl("flags").FLAGS)

    def __dir__(self) -> list[str]:
        return dir(absl("flags").FLAGS)


FLAGS = Flags()


def parse(argv: Sequence[str]) -> list[str]:
    """Parse a command line and return the arguments that are not flags of the program."""
    return FLAGS(argv, known_only=True)


@functools.cache
def definition(name: str) -> Callable[..., Any]:
    """Return absl's function that defines a flag; TensorFlow 1's argument names are accepted."""
    define: Callable[..., Any] = getattr(absl("flags"), name)

    @functools.wraps(define)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{ARGUMENTS.get(key, key): kwargs[key] for key in kwargs})

    return renamed


def __getattr__(name: str) -> Any:
    """Return a name of `absl.flags`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return definition(name) if name.startswith("DEFINE_") else getattr(absl("flags"), name)


def __dir__() -> list[str]:
    return __all__
