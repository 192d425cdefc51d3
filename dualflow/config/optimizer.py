"""Defaults of the optimisation of traced functions, under TensorFlow's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualflow._util.flags import Switches
from dualflow.errors import InvalidArgumentError

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]

# The names that TensorFlow documents, without those that begin with auto_mixed_precision.
OPTIONS = """
    arithmetic_optimization auto_parallel constant_folding debug_stripper
    dependency_optimization disable_meta_optimizer disable_model_pruning function_optimization
    implementation_selector layout_optimizer loop_optimization min_graph_nodes pin_to_host
    remapping scoped_allocator_optimization shape_optimization use_plugin_optimizers"""
_chosen: dict[str, Any] = {}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Set options for the functions that are defined afterwards.

    Parameters
    ----------
    options : dict
        ``disable_meta_optimizer`` switches all passes off, as `passes=False` of
        `dualflow.function` does. TensorFlow's other options are stored and have no effect:
        dualflow has other passes, which never change a result.

    Raises
    ------
    InvalidArgumentError
        If TensorFlow has no such option.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    >>> df.config.optimizer.get_experimental_options()["disable_meta_optimizer"]
    True
    >>> df.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    """
    unknown = sorted([name for name in {*options} - {*OPTIONS.split()}
                      if not str(name).startswith("auto_mixed_precision")])
    if unknown:
        raise InvalidArgumentError(f"set_experimental_options: there is no option {unknown[0]!r}; "
                                   f"there are {', '.join(OPTIONS.split())}")
    _chosen.update(options)
    Switches.passes = not _chosen.get("disable_meta_optimizer")


def get_experimental_options() -> dict[str, Any]:
    """Return the options that were set.

    Examples
    --------
    >>> import dualflow as df
    >>> isinstance(df.config.optimizer.get_experimental_options(), dict)
    True
    """
    return dict(_chosen)


def set_jit(enabled: bool | str) -> None:
    """Set the default of `jit_compile` for the functions that are defined afterwards.

    Parameters
    ----------
    enabled : bool or "autoclustering"

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.optimizer.set_jit("autoclustering")
    >>> df.config.optimizer.get_jit()
    'autoclustering'
    >>> df.config.optimizer.set_jit(False)
    """
    if enabled not in (True, False, "", "autoclustering"):
        raise InvalidArgumentError(f"set_jit: enabled is {enabled!r}, expected a bool or "
                                   "'autoclustering'")
    Switches.jit_compile = bool(enabled)


def get_jit() -> str:
    """Return "autoclustering" if functions are compiled by default, else "".

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.optimizer.get_jit()
    ''
    """
    return "autoclustering" if Switches.jit_compile else ""


def __dir__() -> list[str]:
    return __all__
