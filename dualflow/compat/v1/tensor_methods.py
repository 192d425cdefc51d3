"""Methods and properties that TensorFlow 1 defines on tensors of a graph."""

from __future__ import annotations

from typing import Any

from dualflow._core import Symbol
from dualflow.compat.v1.bounds import element
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.shapes import TensorShape
from dualflow.graph.ir import Node


class TensorMethods:
    """Methods and properties of tensors; `self` is the Symbol."""

    @staticmethod
    def shape_of(x: Symbol, dims: tuple[Any, ...]) -> TensorShape:
        """Return the shape; unknown if it depends on a placeholder of unknown rank."""
        return TensorShape(dims if x.graph.specializations.knows_shape(x) else None)

    @staticmethod
    def text(x: Symbol) -> str:
        """Return the text for str()."""
        shape = TensorMethods.get_shape(x)
        described = f", shape={shape}" if shape.known_rank else ""
        return f'Tensor("{x.name}"{described}, dtype={x.dtype.name})'

    @staticmethod
    def representation(x: Symbol) -> str:
        """Return the text for repr()."""
        return f"<tf.Tensor {x.name!r} shape={TensorMethods.get_shape(x)} dtype={x.dtype.name}>"

    @staticmethod
    def element(x: Symbol, key: Any) -> Any:
        """Return x[key]."""
        return x.graph.call(element, (x, key), {})

    def get_shape(self: Any) -> TensorShape:
        """Return the shape, with None for sizes that differ between runs."""
        return TensorMethods.shape_of(self, self.shape)

    def set_shape(self: Any, shape: Any) -> None:
        """Refine the static shape; later operations use it. No effect on a tensor computed from a
        placeholder of unknown rank."""
        now, more = TensorMethods.get_shape(self), TensorShape(shape)
        now.assert_is_compatible_with(more)
        if not more.known_rank:
            return
        if now.known_rank:
            sizes = [b if a is None else a
                     for a, b in zip(now.as_list(), more.as_list(), strict=True)]
            if sizes != now.as_list():
                self.know(sizes)
        elif self in self.graph.unranked and not TensorMethods.consumers(self):
            self.graph.specializations.settle(self)
            self.know(more.as_list(), self.graph.hints(more.as_list()))

    def eval(self: Any, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value in a session, by default the default session."""
        return default_session(session, "eval", "Cannot evaluate tensor using `eval()`",
                               self.graph).run(self, feed_dict)

    def consumers(self: Any) -> list[Node]:
        """Return the operations that read the tensor."""
        return [op for op in self.graph.get_operations() if any([x is self for x in op.inputs])]

    @property
    def device(self: Any) -> str:
        """The requested device of the operation."""
        return str(self.node.device)

    @property
    def value_index(self: Any) -> int:
        """The index among the outputs of the operation."""
        return int(self.index)
