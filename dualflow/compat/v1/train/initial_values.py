"""`init_from_checkpoint`: initial values of variables from a checkpoint."""

from __future__ import annotations

from typing import Any

from dualflow._core import Variable as own_variable
from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.train.checkpoint import load_checkpoint
from dualflow.compat.v1.train.optimizer import name_of

__all__ = ["init_from_checkpoint"]


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Initialize variables with the values of a checkpoint: their initializers assign these values.

    Parameters
    ----------
    ckpt_dir_or_file : str
        A checkpoint, or a directory of checkpoints.
    assignment_map : dict, or list of pairs
        From names in the checkpoint to variables or their names; or from scopes in the checkpoint
        to scopes of the graph, both with a slash at the end, where "/" is the outermost scope.

    Raises
    ------
    ValueError
        If a variable is not in the graph or in the checkpoint, or has another shape or dtype.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         w = tf.Variable(3., name="old/w")
    ...         sess.run(w.initializer)
    ...         path = tf.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         w = tf.Variable(0., name="new/w")
    ...         tf.train.init_from_checkpoint(path, {"old/": "new/"})
    ...         sess.run(tf.global_variables_initializer())
    ...         print(sess.run(w))
    3.0
    """
    found = load_checkpoint(ckpt_dir_or_file)
    pairs = assignment_map.items() if hasattr(assignment_map, "items") else assignment_map
    for source, target in list(pairs):
        for name, v in variables_for(source, target):
            value, shape = found.get(name), tuple([int(d) for d in v.shape])
            if value is None:
                raise ValueError(f"Tensor {name} ({name_of(v)} in the graph) is not found in "
                                 f"{ckpt_dir_or_file} checkpoint: {', '.join(sorted(found))}")
            if value.shape != shape or str(value.dtype) != v.dtype.name:
                raise ValueError(f"Variable {name_of(v)} is {v.dtype.name} {shape}, but "
                                 f"tensor {name} of the checkpoint is {value.dtype} {value.shape}")
            if isinstance(v, own_variable):
                v.assign(value)
            else:
                v.initialize_with(value)


def variables_for(source: str, target: Any) -> list[tuple[str, Any]]:
    """Return names in the checkpoint and variables for an entry of an assignment map."""
    if not isinstance(target, str):
        return [(source, target)]
    every = default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
    variables = {name_of(v): v for v in every}
    if target in variables:
        return [(source, variables[target])]
    if not source.endswith("/") or not target.endswith("/"):
        raise ValueError(f"Assignment map with scope only name {source} should map to scope only "
                         f"{target}. Should be 'scope/': 'other_scope/'." if source.endswith("/")
                         else f"Variable {target} is not found in the graph")
    begin, scope = "" if source == "/" else source, "" if target == "/" else target
    found = [(begin + name[len(scope):], v) for name, v in variables.items()
             if name.startswith(scope)]
    if not found:
        raise ValueError(f"No variables in the scope {target}")
    return found
