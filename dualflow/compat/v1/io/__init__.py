"""`tf.io`: files."""

from dualflow.compat.v1.io import gfile as gfile
from dualflow.compat.v1.train.graph_io import write_graph as write_graph

__all__ = ["gfile", "write_graph"]


def __dir__() -> list[str]:
    return __all__
