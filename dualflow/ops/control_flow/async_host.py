"""Asynchronous host operations of a graph: a start node, and a wait node that has the results."""

from __future__ import annotations

from dualflow._core import HostFunction, apply, current_graph
from dualflow.ops.control_flow.registered import type_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from dualflow._core import Tensor
    from dualflow.dtypes import DType
    from dualflow.ops.control_flow.registered import Types

    Memory = tuple[DType, tuple[int, ...], memoryview]

    class Future(Protocol):
        """An operation that has been started."""

        def result(self) -> object: ...

__all__ = ["async_host_call"]


def async_host_call(name: str, start: Callable[[list[Memory], list[Memory]], Future],
                    inputs: Sequence[Tensor], result_types: Types) -> Callable[[], list[Tensor]]:
    """Record the start of an asynchronous operation in the current graph. Return a function that
    records the wait and returns the results; call it once.

    Parameters
    ----------
    name : str
    start : callable (reads, fills) -> object with result()
        Called with the memory of `inputs` and of the results: buffers that the operation may read
        and buffers that it must fill before ``result()`` returns. It must not use them after that.
        Exceptions of `start` and of ``result()`` are raised by the run. If the run fails for
        another reason, ``result()`` is not called and the views stay valid.
    inputs : sequence of Tensor
        Their sizes must not depend on data.
    result_types : list of (dtype, shape)
        Dtypes and shapes of the results.
    """
    graph = current_graph()
    host = HostFunction(start, name)
    graph.host_functions.append(host)
    handle, *filled = apply("host_start", *inputs, id=host.id, types=type_words(result_types),
                            name=f"start_{name}")

    def wait() -> list[Tensor]:
        found: Any = apply("host_wait", handle, *filled, *inputs, id=host.id,
                           results=len(filled), name=f"wait_for_{name}")
        return list(found)

    return wait
