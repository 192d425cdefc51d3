"""What users see of tensors in a graph besides what all tensors have."""

from __future__ import annotations

from typing import Any

from dualflow._core import Symbol
from dualflow.compat.v1.bounds import element
from dualflow.compat.v1.defaults import default_session
from dualflow.compat.v1.shapes import TensorShape
from dualflow.graph.ir import Node


class TensorFace:
    """Methods and properties of tensors; `self` is the Symbol."""

    @staticmethod
    def shape_of(x: Symbol, dims: tuple[Any, ...]) -> TensorShape:
        """The shape as TensorFlow shows it."""
        return TensorShape(dims if x.graph.editions.knows_shape(x) else None)

    @staticmethod
    def text(x: Symbol) -> str:
        """How it is printed."""
        shape = TensorFace.get_shape(x)
        described = f", shape={shape}" if shape.known_rank else ""
        return f'Tensor("{x.name}"{described}, dtype={x.dtype.name})'

    @staticmethod
    def representation(x: Symbol) -> str:
        """How it is printed in lists."""
        return f"<tf.Tensor {x.name!r} shape={TensorFace.get_shape(x)} dtype={x.dtype.name}>"

    @staticmethod
    def element(x: Symbol, key: Any) -> Any:
        """x[key]"""
        return x.graph.call(element, (x, key), {})

    def get_shape(self: Any) -> TensorShape:
        """The shape, with None for sizes that differ from run to run."""
        return TensorFace.shape_of(self, self.shape)

    def set_shape(self: Any, shape: Any) -> None:
        """Adds to what is known of the shape, for what is made of it from now on. Of a tensor that
        follows from a placeholder of unknown rank nothing is known besides."""
        now, more = TensorFace.get_shape(self), TensorShape(shape)
        now.assert_is_compatible_with(more)
        if not more.known_rank:
            return
        if now.known_rank:
            sizes = [b if a is None else a
                     for a, b in zip(now.as_list(), more.as_list(), strict=True)]
            if sizes != now.as_list():
                self.know(sizes)
        elif self in self.graph.unranked and not TensorFace.consumers(self):
            self.graph.editions.settle(self)
            self.know(more.as_list(), self.graph.hints(more.as_list()))

    def eval(self: Any, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in a session, by default the one in force."""
        return default_session(session, "eval", "Cannot evaluate tensor using `eval()`",
                               self.graph).run(self, feed_dict)

    def consumers(self: Any) -> list[Node]:
        """The operations that read it."""
        return [op for op in self.graph.get_operations() if any([x is self for x in op.inputs])]

    @property
    def device(self: Any) -> str:
        """Where it was asked to be."""
        return str(self.node.device)

    @property
    def value_index(self: Any) -> int:
        """Which output of its operation it is."""
        return int(self.index)
