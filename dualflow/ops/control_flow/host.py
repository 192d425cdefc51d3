"""Calls of Python functions in program order: immediately in eager mode, in each run of a graph."""

from __future__ import annotations

from dualflow._core import HostFunction, apply, as_tensor, current_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["host_call"]


def host_call(function: Callable[..., Any], inputs: Sequence[TensorLike],
              name: str | None = None) -> None:
    """Call a function with the values of `inputs` as Tensors.

    Parameters
    ----------
    function : callable
        Its result is ignored; its exceptions are raised by the run.
    inputs : sequence of Tensor
    name : str, optional

    Notes
    -----
    While a graph records, the call becomes a node that is never removed and is not reordered with
    other host calls or with updates of the variables it reads. The graph keeps the function alive.

    Examples
    --------
    >>> import dualflow as df
    >>> seen = []
    >>> df.ops.control_flow.host.host_call(seen.append, [df.constant(3.)])
    >>> seen[0].item()
    3.0
    """
    graph = current_graph()
    if graph is None:
        function(*[as_tensor(x) for x in inputs])
        return
    host = HostFunction(function if inputs else lambda _: function(), name or "host_call")
    graph.host_functions.append(host)
    apply("host_call", *(inputs or [0]), id=host.id, name=name)
