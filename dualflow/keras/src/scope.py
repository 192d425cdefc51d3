"""Name scopes of layers, for the paths of variables and for nodes of graphs."""

from contextlib import nullcontext
from typing import Any

from keras.src.backend.common.name_scope import name_scope as kerases

from dualflow._core import current_graph


class name_scope(kerases):
    """Keras's name scope, which also prefixes the names of graph nodes."""

    def __enter__(self) -> Any:
        super().__enter__()
        graph = current_graph() if self._pop_on_exit else None
        self._nodes = nullcontext() if graph is None else graph.names.again(self.name)
        self._nodes.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._nodes.__exit__(*raised or (None, None, None))
        super().__exit__(*raised)
