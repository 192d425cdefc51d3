"""Datasets in traced functions: each run of the graph calls Python for the elements.

Called by `Dataset.__df_elements__`, for the operator `for`, and by `Iterator.__next__`. An element
that a trace reads must consist of tensors. The order of host calls in a graph is that of the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from dualflow._core import Tensor, TensorSpec, TraceContext, host_depth, set_failure_hook
from dualflow._util.locks import ThreadLocal
from dualflow.data.stage import Stage
from dualflow.data.structure import flatten, pack
from dualflow.dtypes import bool_, int64
from dualflow.errors import OutOfRangeError, UnimplementedError
from dualflow.ops.control_flow import registered

__all__ = ["Elements", "next_element"]

# open_passes: of this thread, a list of (host_depth, Elements, number of the pass)
_local = ThreadLocal()


def _end_passes(depth: int) -> None:
    """End the passes of a run that has failed."""
    passes = getattr(_local, "open_passes", None)
    while passes and passes[-1][0] >= depth:
        _, elements, number = passes[-1]
        elements._end(number)


def host(function: Callable[..., Any], inputs: list[Tensor], types: Any, name: str) -> Any:
    """Add a node that calls a Python function in each run."""
    return registered.from_python(function, inputs, types, name, lambda x: x, None)


def tensor_specs(spec: Any, what: str) -> list[TensorSpec]:
    """Return the specs of the leaves of an element."""
    found = flatten(spec)
    for leaf in found:
        if not isinstance(leaf, TensorSpec) or leaf.ndim is None:
            raise UnimplementedError(
                f"{what} in a traced function: the elements are {spec}, expected tensors of known "
                "rank: iterate outside, and call the function with each element")
    return found


def next_element(cursor: Any, spec: Any) -> Any:
    """Return ``next(iterator)`` in a trace. A run at the end of the pass raises OutOfRangeError.

    Parameters
    ----------
    cursor : iterator
        Called in each run.
    spec : structure of TensorSpec
        The spec of the elements.

    Examples
    --------
    >>> import dualflow as df
    >>> it = iter(df.data.Dataset.range(3))
    >>> f = df.function(lambda: next(it))
    >>> f().item(), f().item()
    (0, 1)
    """
    def advance() -> list[Any]:
        for element in cursor:
            return flatten(element)
        raise OutOfRangeError("next: the dataset has no more elements")

    return pack(spec, host(advance, [], tensor_specs(spec, "next"), "next"))


class Elements:
    """The elements of a dataset for a traced `for`. Each run of the loop is a pass of its own.

    Parameters
    ----------
    stage : Stage
    start : callable () -> iterator
        Begins a pass.
    """

    def __init__(self, stage: Stage, start: Callable[[], Any]) -> None:
        with TraceContext(None):    # the first element may be computed
            self.spec = stage.spec
        self.specs: list[TensorSpec] = tensor_specs(self.spec, "a dataset")
        self.start = start
        self.passes: dict[int, Any] = {}        # by the number of the pass, while it lasts
        self.ahead: dict[int, Any] = {}         # the element that `more` has read
        self.numbers = count()
        self.handle: Any = host(self._open, [], TensorSpec((), int64), "begin_pass")

    def _open(self) -> int:
        number = next(self.numbers)
        self.passes[number] = self.start()
        if not hasattr(_local, "open_passes"):
            _local.open_passes = []
            set_failure_hook(_end_passes)
        _local.open_passes.append((host_depth(), self, number))
        return number

    def _more(self, handle: Tensor) -> bool:
        number = int(handle)
        for element in self.passes[number]:
            self.ahead[number] = flatten(element)
            return True
        return False

    def _take(self, handle: Tensor) -> Any:
        return self.ahead.pop(int(handle))

    def _close(self, handle: Tensor) -> list[Any]:
        self._end(int(handle))
        return []

    def _end(self, number: int) -> None:
        """Release a pass, which this thread has begun."""
        self.passes.pop(number, None)
        self.ahead.pop(number, None)
        _local.open_passes[:] = [x for x in _local.open_passes if x[1:] != (self, number)]

    def more(self) -> Any:
        """Return whether there is another element, a traced bool."""
        return host(self._more, [self.handle], TensorSpec((), bool_), "has_next")

    def item(self) -> Any:
        """Return the element that `more` has announced."""
        return pack(self.spec, host(self._take, [self.handle], self.specs, "next"))

    def close(self) -> None:
        """End the pass."""
        host(self._close, [self.handle], [], "end_pass")
