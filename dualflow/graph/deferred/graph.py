"""A graph that users build themselves: scopes, names, and looking up what is in it.

The thread's innermost graph decides whether ops run or are recorded; there is no default graph.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dualflow._core import Recording, Symbol, current_graph
from dualflow.dtypes import as_dtype, float32
from dualflow.errors import InvalidArgumentError
from dualflow.graph.deferred.session import Session
from dualflow.graph.inspect.draw import draw
from dualflow.graph.ir import Node
from dualflow.graph.passes.options import Options
from dualflow.graph.trace.trace import Trace
from dualflow.nest import flatten_tensors, pack_sequence_as
from dualflow.ops.types import DTypeLike

__all__ = ["DeferredGraph", "Graph", "name_scope"]

# Stands for the unknown dimensions of a placeholder while shape rules run: it has many divisors,
# and hardly anything else has this size, so that no op mistakes it for another.
SIZE_HINT = 5040


class DeferredGraph(Trace):
    """Ops in the order in which they were applied, to be run later.

    Parameters
    ----------
    name : str, default "graph"

    Notes
    -----
    Inside `as_default` ops are recorded instead of run. Each records the line of the program that
    applied it, and gets a unique name: the op's `name=`, prefixed by the scopes it was made in.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default():
    ...     x = g.placeholder([2], name="x")
    ...     y = df.square(x, name="y")
    >>> [op.name for op in g.get_operations()]
    ['x', 'y']
    >>> g.get_tensor_by_name("y:0") is y
    True
    """

    input_text = "placeholder {} made at {}"
    outside_text = "use the graph's run(), which gives its value"
    for_any_size = True
    encloses = False            # any node can be asked for by name

    def __init__(self, name: str = "graph") -> None:
        super().__init__(name)
        self.alive = 1
        self._by_name: dict[str, Node] = {}
        self._n_indexed = 0
        self._session = Session(self, Options())

    def as_default(self) -> Recording:
        """Ops of this thread are recorded here inside the ``with`` block."""
        return Recording(self)

    def name_scope(self, name: str) -> AbstractContextManager[str]:
        """Nodes made in the ``with`` block get names that begin with `name/`."""
        return self.names.scope(name)

    def placeholder(self, shape: Iterable[int | None], dtype: DTypeLike = float32,
                    name: str = "placeholder") -> Symbol:
        """A tensor that gets its value when the graph runs.

        Parameters
        ----------
        shape : sequence of int or None
            None stands for a dimension that may differ from run to run.
        dtype : dtype, default float32
        name : str, default "placeholder"

        Returns
        -------
        Symbol
        """
        dims = tuple(shape)
        hints = [SIZE_HINT if d is None else d for d in dims]
        return self.parameter(len(self.inputs), name, as_dtype(dtype), dims, hints)

    def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Values of what is asked for; nothing is run that these do not need.

        Parameters
        ----------
        fetches : tensor, operation, or name of one, or nested lists, tuples, dicts of them
        feeds : dict, optional
            Values of placeholders, by tensor or name.

        Returns
        -------
        The structure of `fetches`, of Tensors; None stands for operations.

        Raises
        ------
        InvalidArgumentError
            If a placeholder that is needed has no value.

        Examples
        --------
        >>> import dualflow as df
        >>> g = df.Graph()
        >>> with g.as_default():
        ...     x = g.placeholder([None], name="x")
        ...     y = x * 2.
        >>> g.run(y, {"x:0": [1., 2.]}).tolist()
        [2.0, 4.0]
        """
        wanted = [self._element(item) for item in flatten_tensors(fetches)]
        given = {self._element(key): value for key, value in (feeds or {}).items()}
        return pack_sequence_as(fetches, self._session.run(wanted, given))

    def _element(self, item: Any) -> Any:
        """What a name stands for; a tensor or operation of the graph is returned as it is."""
        if isinstance(item, str):
            return (self.get_tensor_by_name if ":" in item else self.get_operation_by_name)(item)
        if isinstance(item, Node) or (isinstance(item, Symbol) and item.graph is self):
            return item
        raise InvalidArgumentError(f"run: {item!r} is no tensor or operation of {self.name}, nor "
                                   "the name of one")

    def draw(self, path: str | os.PathLike[str] | None = None) -> str:
        """A drawing: SVG, or DOT if `path` ends in ``.dot``; written to `path` if given."""
        return draw(self, path)

    def get_operations(self) -> list[Node]:
        """All nodes, each after those that make its inputs."""
        return list(self.nodes)

    def get_operation_by_name(self, name: str) -> Node:
        """The node called `name`.

        Raises
        ------
        InvalidArgumentError
            If there is none.
        """
        for node in self.nodes[self._n_indexed:]:
            self._by_name[node.name] = node
        self._n_indexed = len(self.nodes)
        if name not in self._by_name:
            hint = "; that is the name of a tensor" if ":" in name else ""
            raise InvalidArgumentError(f"no operation of {self.name} is called {name!r}{hint}")
        return self._by_name[name]

    def get_tensor_by_name(self, name: str) -> Symbol:
        """The tensor called `name`: its operation's name, a colon, and the index of the output.

        Raises
        ------
        InvalidArgumentError
            If there is none.
        """
        of, _, index = name.rpartition(":")
        if not of or not index.isdigit():
            raise InvalidArgumentError(f"{name!r} is no name of a tensor, want 'operation:index'")
        outputs = self.get_operation_by_name(of).outputs
        if int(index) >= len(outputs):
            raise InvalidArgumentError(f"{of} has {len(outputs)} outputs, so none called {name!r}")
        return outputs[int(index)]


def name_scope(name: str) -> AbstractContextManager[str]:
    """Nodes made in the ``with`` block get names that begin with `name/`; eagerly it does nothing.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.Graph()
    >>> with g.as_default(), df.name_scope("layer") as scope:
    ...     y = df.add(1., 2.)
    >>> scope, y.name
    ('layer/', 'layer/add:0')
    """
    graph = current_graph()
    return nullcontext(f"{name}/") if graph is None else graph.names.scope(name)


Graph = DeferredGraph       # the public name, TensorFlow's; inside dualflow a Graph is an ir.Graph
