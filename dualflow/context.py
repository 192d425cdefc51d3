"""The execution context under TensorFlow's names: eager or graph mode, devices, control
dependencies."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, EnumType
from typing import Any

import dualflow as df
from dualflow._core import Operand, Symbol, TensorBase, current_graph
from dualflow._util.arguments import shown
from dualflow._util.frames import warn
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.graph.trace.trace import suspended
from dualflow.nest import flatten

__all__ = ["VariableAggregation", "VariableSynchronization", "control_dependencies", "device",
           "executing_eagerly", "get_logger", "get_static_value", "group", "init_scope",
           "is_symbolic_tensor", "is_tensor", "no_op", "timestamp"]


ACCELERATORS = "gpu", "tpu", "cuda", "mps", "xla_gpu"


class _Choices(EnumType):
    """Enumerations that are called only with a value. The other arguments of `EnumType.__call__`
    would create an enumeration."""

    def __call__(cls, value: Any, names: Any = None, *, module: Any = None,
                 qualname: Any = None, type: Any = None, start: int = 1,
                 boundary: Any = None) -> Any:
        others = [x for x in (names, module, qualname, type, boundary) if x is not None]
        if others or not isinstance(start, int) or start != 1:
            raise DTypeError(f"{cls.__name__}: expected only a value, not names or type")
        try:
            return super().__call__(value)
        except (TypeError, ValueError):
            members: Any = cls.__members__
            names = ", ".join([f"{name} ({choice.value})" for name, choice in members.items()])
            raise InvalidArgumentError(f"{cls.__name__}: got {shown(value)}, expected one of "
                                       f"{names}") from None


class VariableSynchronization(Enum, metaclass=_Choices):
    """The time at which copies of a variable agree. No effect: a variable has one copy."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum, metaclass=_Choices):
    """The aggregation of updates of copies of a variable. No effect: a variable has one copy."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


# --- tensors ---------------------------------------------------------------------------------


def is_tensor(x: Any) -> bool:
    """Return True if `x` is a tensor, a variable, a ragged tensor or `IndexedSlices`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.is_tensor(df.constant(1.)), df.is_tensor([1.])
    (True, False)
    """
    return isinstance(x, TensorBase | Operand | df.IndexedSlices)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return True if `tensor` is symbolic: its value is computed when a graph runs.

    Examples
    --------
    >>> import dualflow as df
    >>> df.is_symbolic_tensor(df.constant(1.))
    False
    """
    return isinstance(tensor, Symbol)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor as an array, or None if it is symbolic.

    Parameters
    ----------
    tensor : Tensor
    partial : bool
        Ignored.

    Returns
    -------
    numpy.ndarray, a NumPy scalar, or None

    Examples
    --------
    >>> import dualflow as df
    >>> df.get_static_value(df.constant([1, 2])).tolist()
    [1, 2]
    """
    if isinstance(tensor, Symbol):
        return None
    return df.convert_to_tensor(tensor).numpy()


# --- graphs ----------------------------------------------------------------------------------


def executing_eagerly() -> bool:
    """Return True if ops run at once, False while a function is traced or a graph is built.

    Examples
    --------
    >>> import dualflow as df
    >>> df.executing_eagerly()
    True
    """
    return current_graph() is None


def init_scope() -> AbstractContextManager[Any]:
    """Return a context in which ops run at once, also while a function is traced.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def f():
    ...     with df.init_scope():
    ...         return df.executing_eagerly()
    >>> f()
    True
    """
    return suspended()


def device(device_name: Any) -> AbstractContextManager[None]:
    """Accept any `device_name`; everything runs on the CPU.

    Warns
    -----
    UserWarning
        Once per kind of device, if the name is not a CPU's.

    Examples
    --------
    >>> import dualflow as df
    >>> with df.device("/CPU:0"):
    ...     x = df.constant(1.)
    """
    kind = absent_device(device_name)
    if kind is not None and kind not in _warned:
        _warned.add(kind)
        warn(f"device: there is no {kind}: the ops of {device_name!r} run on the CPU, the only "
             "device", UserWarning)
    graph = current_graph()
    return graph.device(device_name) if hasattr(graph, "device") else nullcontext()


_warned: set[str] = set()           # kinds of devices


def absent_device(name: Any) -> str | None:
    """Return the kind of device in a device name, such as ``GPU`` in ``/job:a/device:gpu:0``,
    unless it is a CPU or the name contains no kind."""
    if not isinstance(name, str):
        return None
    for part in name.lower().split("/"):
        kind = part.removeprefix("device:").split(":")[0]
        if kind in ACCELERATORS:
            return kind.upper()
    return None


def control_dependencies(
        control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Return a context in which ops run after the given ones.

    Parameters
    ----------
    control_inputs : list of Tensor, or None

    Notes
    -----
    In eager code and traced functions ops with effects run in program order, so only a `Graph` that
    is built by hand needs control dependencies.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable(1.)
    >>> with df.control_dependencies([v.assign_add(1.)]):
    ...     y = v * 10.
    >>> y.item()
    20.0
    """
    graph = current_graph()
    if not hasattr(graph, "control_dependencies"):
        return nullcontext()
    return graph.control_dependencies(control_inputs)


def no_op(name: str | None = None) -> Any:
    """Do nothing; while a `Graph` is built, return an operation that does nothing.

    Examples
    --------
    >>> import dualflow as df
    >>> df.no_op()
    """
    graph = current_graph()
    return graph.outside_op("NoOp", name or "NoOp") if hasattr(graph, "outside_op") else None


def group(*inputs: Any, **kwargs: Any) -> Any:
    """Return None; while a `Graph` is built, return an operation that runs the arguments.

    Parameters
    ----------
    *inputs : Tensor, operation, or nested lists of them
    name : str, optional

    Examples
    --------
    >>> import dualflow as df
    >>> df.group(df.constant(1.), df.constant(2.))
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"group: got {', '.join(kwargs)}, expected no keyword except name")
    graph = current_graph()
    if not hasattr(graph, "outside_op"):
        return None
    with control_dependencies([x for x in flatten(list(inputs)) if x is not None]):
        return no_op(name or "group_deps")


# --- the process -----------------------------------------------------------------------------


def timestamp(name: str | None = None) -> df.Tensor:
    """Return the seconds since 1970 as float64; a traced function reads the clock in each run.

    Examples
    --------
    >>> import dualflow as df
    >>> df.timestamp().item() > 1.7e9
    True
    """
    made: df.Tensor = _clock(name=name)
    return made


_clock = df.register_op("timestamp", lambda: df.constant(time.time(), df.float64),
                        infer=lambda: ((), df.float64))


def get_logger() -> logging.Logger:
    """Return the logger named ``"dualflow"``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.get_logger().name
    'dualflow'
    """
    return logging.getLogger("dualflow")
