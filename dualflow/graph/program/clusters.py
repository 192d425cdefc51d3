"""Where programs meet who compiles their clusters, which lives above: `dualflow.aot.clusters`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dualflow._core import Program
from dualflow._util.late_binding import late
from dualflow.graph.ir.tile_text import CODE, to_text
from dualflow.graph.program.spec import InstructionSpec, ProgramSpec

PENDING, COMPILED = "pending", "compiled"


class Cluster(Protocol):
    """An instruction that runs a cluster, and what has become of it."""

    @property
    def instruction(self) -> InstructionSpec: ...

    @property
    def state(self) -> str:
        """`COMPILED`, `PENDING`, or why it is interpreted."""
        ...


class Compiler(Protocol):
    """Who compiles clusters."""

    def start(self, spec: ProgramSpec, program: Program) -> Sequence[Cluster]:
        """The clusters of a program and its bodies, which are compiled from now on."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until all that was started is done; False: not within `timeout` s."""
        ...


def text(cluster: Cluster) -> str:
    """`tanh, multiply: compiled`"""
    attrs = cluster.instruction.attrs
    assert attrs is not None
    return f"{to_text(attrs.as_dict()[CODE])}: {cluster.state}"


class Loaded:
    """The module is loaded for the first function that wants it."""

    compiler: Compiler | None = None


def start(spec: ProgramSpec, program: Program) -> Sequence[Cluster]:
    """The clusters of a program and its bodies, which are compiled from now on."""
    if Loaded.compiler is None:
        Loaded.compiler = late("cluster_compiler")()
    return Loaded.compiler.start(spec, program)


def wait(timeout: float | None = None) -> bool:
    """Waits until no cluster is pending; False: not within `timeout` s."""
    return Loaded.compiler is None or Loaded.compiler.wait(timeout)
