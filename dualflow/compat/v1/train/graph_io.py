"""Writing a graph to a GraphDef file."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["write_graph"]


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph to a file as a GraphDef.

    Parameters
    ----------
    graph_or_graph_def : Graph or GraphDef
    logdir : str
        Directory, created if it does not exist.
    name : str
        Name of the file.
    as_text : bool, default True
        Whether to write the text format.

    Returns
    -------
    str
        The path of the file.

    Notes
    -----
    Requires the package tensorboard.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default() as g, tempfile.TemporaryDirectory() as folder:
    ...     x = tf.placeholder(tf.float32, [2], name="x")
    ...     path = tf.train.write_graph(g, folder, "graph.pbtxt")
    ...     print(open(path).readlines()[1].strip())
    name: "x"
    """
    found = graph_or_graph_def
    if hasattr(found, "as_graph_def"):
        found = found.as_graph_def()
    path = os.path.join(os.fspath(logdir), name)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if as_text:
        text = import_module("google.protobuf.text_format").MessageToString(found)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        with open(path, "wb") as file:
            file.write(found.SerializeToString(deterministic=True))
    return path
