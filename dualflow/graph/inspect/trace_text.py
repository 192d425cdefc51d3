"""The reprs of traced functions and of their traces.

The reprs of `ConcreteFunction` are functions here, which it loads at the first use.
"""

from __future__ import annotations

from dualflow._core import Symbol, TensorBase
from dualflow._util.notebook import card, counted
from dualflow.graph.ir.text import type_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["function_html", "signatures"]


class Bare(str):
    """A text whose repr has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(self: Any) -> str:
    given = ", ".join(f"{p}: {m}" for p, m in zip(self.paths, self.leaves, strict=True))
    try:
        leaves = self.returned()
    except StopIteration:           # while the function is traced
        return f"{self.name}({given})"
    result = self.structure([Bare(type_text(x) if isinstance(x, Symbol | TensorBase)
                                  else repr(x)) for x in leaves])
    return f"{self.name}({given}) -> {result}"


def __repr__(self: Any) -> str:
    return (f"<dualflow.ConcreteFunction {_signature(self)}: "
            f"{counted(len(self.trace.nodes), 'node')}>")


def _repr_svg_(self: Any) -> str:
    """Return the drawing of the graph."""
    svg: str = self.trace._repr_svg_()
    return svg


def _repr_html_(self: Any) -> str:
    return card(_signature(self), picture=f"<div>{_repr_svg_(self)}</div>")


def signatures(traces: Any, verbose: bool) -> str:
    """Return the arguments and the result of each trace as a text.

    Parameters
    ----------
    traces : list of ConcreteFunction
    verbose : bool
        Whether to add a line for each argument and each variable.

    Examples
    --------
    >>> from dualflow.graph.inspect.trace_text import signatures
    >>> signatures([], True)
    ''
    """
    parts = []
    for c in traces:
        lines = [_signature(c)]
        if verbose:
            lines += [f"  Args: {p}: {m}" for p, m in zip(c.paths, c.leaves, strict=True)]
            lines += [f"  Captures: {v.name}: {type_text(v)}" for v in c.trace.variables]
        parts.append("\n".join(lines))
    return ("\n\n" if verbose else "\n").join(parts)


def function_html(name: str, traces: Any) -> str:
    """Return the HTML of a traced function, with a row for each trace.

    Parameters
    ----------
    name : str
    traces : list of ConcreteFunction

    Examples
    --------
    >>> from dualflow.graph.inspect.trace_text import function_html
    >>> "Function f(x)" in function_html("f(x)", [])
    True
    """
    rows = [(_signature(c), counted(len(c.trace.nodes), "node"), f"{c.ms:.1f} ms", c.cause)
            for c in traces]
    return card(f"Function {name}", rows, ("trace", "graph", "tracing", "because"))
