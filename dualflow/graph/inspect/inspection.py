"""Looking inside what a traced function runs: methods of `dualflow.function`'s result."""

from __future__ import annotations

import os
from typing import Any

from dualflow.graph.inspect import draw as drawing, plan_text
from dualflow.graph.inspect.profile import Profile, make_profile
from dualflow.graph.ir import Graph
from dualflow.graph.passes import optimize
from dualflow.graph.program import clusters
from dualflow.graph.program.compile import Compiled


class Inspection:
    """Methods that look at the program of a call: they take the call's arguments and trace it if
    need be. Options of their own are keywords and are not passed on."""

    name: str

    def compiled_for(self, *args: Any, **kwargs: Any) -> Compiled:
        """What a call with these arguments runs: graphs, plan and program."""
        raise NotImplementedError

    def leaves_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of a call as its program takes them."""
        raise NotImplementedError

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments runs, after the passes; print it.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x, name="double")
        >>> print(double.graph_for(df.constant([1., 2.])))  # doctest: +ELLIPSIS
        graph double:
        ...
        """
        return self.compiled_for(*args, **kwargs).graph

    def passes_for(self, *args: Any, **kwargs: Any) -> str:
        """The graph of a call as it was traced, and after each pass that changed it.

        Examples
        --------
        >>> import dualflow as df
        >>> f = df.function(lambda x: (x + 0.) * 2., name="f")
        >>> text = f.passes_for(df.constant([1., 2.]))
        >>> text.splitlines()[0]
        '--- traced'
        """
        compiled = self.compiled_for(*args, **kwargs)
        last = str(compiled.traced)
        parts = ["--- traced", last]

        def watch(name: str, graph: Graph) -> None:
            nonlocal last
            text = str(graph)
            if text != last:
                parts.extend([f"--- after {name}", text])
                last = text

        optimize(compiled.traced, compiled.options, watch)
        return "\n".join(parts)

    def plan_for(self, *args: Any, **kwargs: Any) -> str:
        """The memory plan of a call: the arena's size, its lower bound, and what lies where.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> print(double.plan_for(df.constant([1., 2.])))  # doctest: +ELLIPSIS
        1 instructions; arena of 0 bytes, at least 0 are alive at once
        ...
        """
        return plan_text.to_text(self.compiled_for(*args, **kwargs).plan)

    def draw(self, *args: Any, path: str | os.PathLike[str] | None = None, traced: bool = False,
             **kwargs: Any) -> str:
        """A drawing of the graph of a call.

        Parameters
        ----------
        *args, **kwargs
            The call's.
        path : str or path, optional
            Where to write it: ``.svg``, or ``.dot``. Without it the text is SVG.
        traced : bool, default False
            Whether to show the graph as it was before the passes.

        Returns
        -------
        str

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> double.draw(df.constant([1., 2.]))[:4]
        '<svg'
        """
        compiled = self.compiled_for(*args, **kwargs)
        return drawing.draw(compiled.traced if traced else compiled.graph, path)

    def clusters_for(self, *args: Any, wait: bool = False, **kwargs: Any) -> str:
        """What has become of the clusters of a call, a line each: whether they are compiled.

        Parameters
        ----------
        *args, **kwargs
            The call's.
        wait : bool, default False
            Whether to wait until none is pending, here or elsewhere in the process.

        Returns
        -------
        str

        Examples
        --------
        >>> import dualflow as df
        >>> f = df.function(lambda x: df.tanh(x) * x + x, jit_compile=True)
        >>> print(f.clusters_for(df.ones([8]), wait=True))          # doctest: +SKIP
        tanh, multiply, add: compiled
        """
        compiled = self.compiled_for(*args, **kwargs)
        if wait:
            clusters.wait()
        return "\n".join([clusters.text(x) for x in compiled.clusters])

    def profile(self, *args: Any, runs: int = 20, **kwargs: Any) -> Profile:
        """Runs a call several times and measures each instruction.

        Parameters
        ----------
        *args, **kwargs
            The call's.
        runs : int, default 20

        Returns
        -------
        Profile
            Print it for a table; ``chrome_trace(path)`` writes a trace that Perfetto opens.

        Notes
        -----
        Variables keep their values; what the function prints is printed each time.

        Examples
        --------
        >>> import dualflow as df
        >>> product = df.function(lambda x: x @ x)
        >>> profile = product.profile(df.ones([8, 8]), runs=3)
        >>> profile.rows[0].flops
        1024.0
        """
        compiled = self.compiled_for(*args, **kwargs)
        leaves = self.leaves_for(args, kwargs)
        written = [x.variable for x in compiled.spec.variables if x.written]
        return make_profile(self.name, compiled.plan.instructions,
                            lambda: compiled.executable.profile(leaves)[1:], written, runs)
