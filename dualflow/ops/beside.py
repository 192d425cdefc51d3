"""What goes on beside a program: it is started, and waited for where its results are read."""

from __future__ import annotations

from dualflow._core import HostFunction, apply, current_graph
from dualflow.ops.registered import type_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from dualflow._core import Tensor
    from dualflow.dtypes import DType
    from dualflow.ops.registered import Types

    Memory = tuple[DType, tuple[int, ...], memoryview]

    class Started(Protocol):
        """What is waited for."""

        def result(self) -> object: ...

__all__ = ["beside"]


def beside(name: str, start: Callable[[list[Memory], list[Memory]], Started],
           inputs: Sequence[Tensor], promised: Types) -> Callable[[], list[Tensor]]:
    """Records in the current graph that something is started; what is returned records the wait for
    it, and gives the results. To be called once.

    Parameters
    ----------
    name : str
    start : callable (reads, fills) -> object with result()
        Gets memory of the program, of `inputs` and of the results: bytes that it may read, and
        that it is to fill, until ``result()`` has returned. It must not keep them longer, nor look
        at the others. What it raises, and what ``result()`` raises, comes out of the run. If the
        run fails otherwise nobody asks for the result; views keep what they see.
    inputs : sequence of Tensor
        Of sizes that do not depend on data.
    promised : list of (dtype, shape)
        Of the results.
    """
    graph = current_graph()
    host = HostFunction(start, name)
    graph.host_functions.append(host)
    ticket, *filled = apply("host_start", *inputs, id=host.id, types=type_words(promised),
                            name=f"start_{name}")

    def wait() -> list[Tensor]:
        found: Any = apply("host_wait", ticket, *filled, *inputs, id=host.id,
                           results=len(filled), name=f"wait_for_{name}")
        return list(found)

    return wait
