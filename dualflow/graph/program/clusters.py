"""The interface to the cluster compiler, `dualflow.aot.clusters`, which is a higher layer.

`compile` starts it and inspection reads its state. It must be imported on first use only.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import Program
from dualflow._util.late_binding import late
from dualflow.graph import ir
from dualflow.graph.program.spec import InstructionSpec, ProgramSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Cluster(Protocol):
        """An instruction that runs a cluster, and the state of its compilation."""

        @property
        def instruction(self) -> InstructionSpec: ...

        @property
        def state(self) -> str:
            """`COMPILED`, `PENDING`, or the reason why the cluster is interpreted."""
            ...

    class Compiler(Protocol):
        """The compiler of clusters."""

        def start(self, spec: ProgramSpec, program: Program) -> Sequence[Cluster]:
            """Start to compile the clusters of a program and its bodies; return the clusters."""
            ...

        def wait(self, timeout: float | None = None) -> bool:
            """Wait until no compilation is pending; return False after `timeout` s."""
            ...

PENDING, COMPILED = "pending", "compiled"


def text(cluster: Cluster) -> str:
    """Return the state of a cluster as text, such as `tanh, multiply: compiled`."""
    attrs = cluster.instruction.attrs
    assert attrs is not None
    tile_text = ir.tile_text
    return f"{tile_text.to_text(attrs.as_dict()[tile_text.CODE])}: {cluster.state}"


class Loaded:
    """The loaded compiler; None before the first function that uses it."""

    compiler: Compiler | None = None


def start(spec: ProgramSpec, program: Program) -> Sequence[Cluster]:
    """Start to compile the clusters of a program and its bodies; return the clusters."""
    if Loaded.compiler is None:
        Loaded.compiler = late("cluster_compiler")()
    return Loaded.compiler.start(spec, program)


def wait(timeout: float | None = None) -> bool:
    """Wait until no cluster is pending; return False after `timeout` s."""
    return Loaded.compiler is None or Loaded.compiler.wait(timeout)
