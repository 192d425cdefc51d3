"""Inspection methods of traced functions: graphs, passes, plans, drawings, profiles.

`calls.function.Function` extends `Inspection`. No method may change what later calls run.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from dualflow._util.notebook import counted
from dualflow.graph import inspect as views
from dualflow.graph.ir import Graph
from dualflow.graph.passes import optimize
from dualflow.graph.program import clusters
from dualflow.graph.program.compile import Compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from typing import Any

    from dualflow.graph.inspect.profile import Profile


class Inspection:
    """Methods that inspect the program of a call. They take the arguments of the call and trace it
    if necessary. Their own options are keywords and are not passed to the function."""

    name: str
    python_function: Callable[..., Any]
    arguments: Any

    @property
    def concrete_functions(self) -> list[Any]:
        """The traces of the function."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return (f"<dualflow.Function {self._signature()}: "
                f"{counted(len(self.concrete_functions), 'trace')}>")

    def _repr_html_(self) -> str:
        return views.trace_text.function_html(self._signature(), self.concrete_functions)

    def _signature(self) -> str:
        import inspect
        try:
            return f"{self.name}{inspect.signature(self.python_function)}"
        except (TypeError, ValueError):         # a callable without a signature
            return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the Python function, without `self` if it is bound to an instance."""
        found: inspect.Signature = self.arguments.signature.full
        return found

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return a text with the arguments and the result of each trace.

        Parameters
        ----------
        verbose : bool, default True
            If False, one line for each trace, otherwise a line for each argument as well.

        Examples
        --------
        >>> import dualflow as df
        >>> @df.function
        ... def double(x):
        ...     return x + x
        >>> y = double(df.constant(1.)), double(df.constant([1, 2]))
        >>> print(double.pretty_printed_concrete_signatures(verbose=False))
        double(x: float32 ()) -> float32 ()
        double(x: int32 (2,)) -> int32 (2,)
        """
        return views.trace_text.signatures(self.concrete_functions, verbose)

    def compiled_for(self, *args: Any, **kwargs: Any) -> Compiled:
        """Return the graphs, the plan and the program of a call with these arguments."""
        raise NotImplementedError

    def leaves_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call in the form that its program takes."""
        raise NotImplementedError

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the graph of a call with these arguments, after the passes; print it.

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
        """Return the text of the traced graph of a call, and after each pass that changed it.

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
        """Return the memory plan of a call: size and lower bound of the arena, and all buffers.

        Examples
        --------
        >>> import dualflow as df
        >>> double = df.function(lambda x: x + x)
        >>> print(double.plan_for(df.constant([1., 2.])))  # doctest: +ELLIPSIS
        1 instructions; arena of 0 bytes, at least 0 are alive at once
        ...
        """
        text: str = views.plan_text.to_text(self.compiled_for(*args, **kwargs).plan)
        return text

    def draw(self, *args: Any, path: str | os.PathLike[str] | None = None, traced: bool = False,
             **kwargs: Any) -> str:
        """Return a drawing of the graph of a call, which a notebook shows as a picture.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the call.
        path : str or path, optional
            File to write: ``.svg`` or ``.dot``. Without it the text is SVG.
        traced : bool, default False
            Whether to draw the graph before the passes.

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
        picture: str = views.draw.draw(compiled.traced if traced else compiled.graph, path)
        return picture

    def clusters_for(self, *args: Any, wait: bool = False, **kwargs: Any) -> str:
        """Return the state of each cluster of a call, a line each: whether it is compiled.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the call.
        wait : bool, default False
            Whether to wait until no cluster of the process is pending.

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
        """Run a call several times and measure each instruction.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the call.
        runs : int, default 20

        Returns
        -------
        Profile
            Print it for a table; ``chrome_trace(path)`` writes a trace that Perfetto opens.

        Notes
        -----
        Values of variables are restored. Output that the function prints appears in each run.

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
        made: Profile = views.profile.make_profile(
            self.name, compiled.plan.instructions,
            lambda: compiled.executable.profile(leaves)[1:], written, runs)
        return made
