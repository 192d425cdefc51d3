"""Compiled clusters of exported programs: their C, and the cluster that each instruction runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dualflow.aot.amalgamation import HEADER, HEADERS, TITLE, Joined
from dualflow.aot.clusters.request import compilable, written
from dualflow.aot.clusters.source import EXPORTED, formulas
from dualflow.aot.clusters.worker import Refused, name_of
from dualflow.aot.runtime import Runtime
from dualflow.graph.program.spec import ProgramSpec

__all__ = ["FILE", "Cluster", "Clusters"]

FILE = "clusters.c"
HEAD = f"""\
#include "{HEADER}"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wenum-compare"
#pragma GCC diagnostic ignored "-Wunused-variable"
"""


class Cluster(NamedTuple):
    """A compiled cluster of an instruction: the index of its function, from 1 on, and the layout of
    its slots, which the executor reads."""

    place: int
    layout: tuple[int, ...]


class Clusters:
    """The compiled clusters of programs. Equal clusters share a function.

    Attributes
    ----------
    of : dict of int to Cluster
        By identity of the instruction. Clusters of other instructions are interpreted.
    """

    def __init__(self, specs: Iterable[ProgramSpec]) -> None:
        self.of: dict[int, Cluster] = {}
        self._texts: dict[str, str] = {}
        for spec in specs:
            for _, x in compilable(spec):
                try:
                    made = written(spec, x)
                except Refused:
                    continue
                self._texts[made.key] = made.text.replace(f"{EXPORTED} ", "static ")
                place = list(self._texts).index(made.key) + 1
                self.of[id(x)] = Cluster(place, tuple(made.layout))

    def __bool__(self) -> bool:
        return bool(self._texts)

    def source(self, runtime: Runtime) -> str:
        """Return the source of the functions, which is compiled once per SIMD level."""
        there: set[str] = set()
        Joined(runtime.changed, there).text(HEADERS)
        files = {**runtime.changed, FILE: formulas()}
        table = ", ".join(map(name_of, self._texts))
        return "\n".join([
            TITLE.format(what="compiled clusters."), HEAD,
            *[*Joined(files, there).expanded(FILE, None)][1:], *self._texts.values(),
            "extern const df_compiled_fn DF_SYM(df_clusters)[];",
            f"const df_compiled_fn DF_SYM(df_clusters)[] = {{{table}}};", ""])
