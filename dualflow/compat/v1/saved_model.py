"""Parts of a graph saved with the values of their variables, under the names of `tf.saved_model`.

The directory is the one of `dualflow.save`, so that `dualflow.load` reads it, too. Names of inputs,
outputs and variables are saved; other operations of a loaded graph have new names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from dualflow._core import Tensor, as_tensor
from dualflow.compat.v1.creation import placeholder
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import identity
from dualflow.compat.v1.programs import part_for
from dualflow.compat.v1.train.saver import values_of
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.compat.v1.variables import Variable
from dualflow.errors import UnimplementedError
from dualflow.io.content import content_of, write_content
from dualflow.io.load import contains_saved_model
from dualflow.io.manifest import check_manifest, reading
from dualflow.io.replay import TraceInterpreter
from dualflow.io.save import FILE, FORMAT
from dualflow.io.serialize_trace import SerializedTrace

__all__ = ["Builder", "SignatureDef", "TensorInfo", "build_signature_def", "build_tensor_info",
           "builder", "contains_saved_model", "load", "loader", "predict_signature_def",
           "signature_constants", "signature_def_utils", "simple_save", "tag_constants", "utils"]


class TensorInfo(NamedTuple):
    """The name, dtype and shape of a tensor of a graph."""

    name: str
    dtype: Any
    tensor_shape: Any


class SignatureDef(NamedTuple):
    """Inputs and outputs of a part of a graph, by key."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]
    method_name: str


class MetaGraph(NamedTuple):
    """The result of `load`."""

    signature_def: dict[str, SignatureDef]
    tags: list[str]


def build_tensor_info(tensor: Any) -> TensorInfo:
    """Return the name, dtype and shape of a tensor.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None, 2], name="x")
    ...     tf.saved_model.utils.build_tensor_info(x).name
    'x:0'
    """
    return TensorInfo(tensor.name, tensor.dtype, tensor.get_shape())


def build_signature_def(inputs: Mapping[str, TensorInfo] | None = None,
                        outputs: Mapping[str, TensorInfo] | None = None,
                        method_name: str | None = None) -> SignatureDef:
    """Return a signature.

    Parameters
    ----------
    inputs, outputs : dict of str to TensorInfo, optional
        Results of `build_tensor_info` by key.
    method_name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.saved_model.build_signature_def(method_name="predict").method_name
    'predict'
    """
    return SignatureDef(dict(inputs or {}), dict(outputs or {}), method_name or "")


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """Return the signature of a prediction.

    Parameters
    ----------
    inputs, outputs : dict of str to tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], name="x")
    ...     tf.saved_model.predict_signature_def({"x": x}, {"y": x + 1.}).outputs["y"].name
    'add:0'
    """
    return build_signature_def({key: build_tensor_info(x) for key, x in inputs.items()},
                               {key: build_tensor_info(y) for key, y in outputs.items()},
                               PREDICT)


class Builder:
    """Saves parts of the graph of a session.

    Parameters
    ----------
    export_dir : str
        A new or empty directory.
    """

    def __init__(self, export_dir: Any) -> None:
        self._folder = os.fspath(export_dir)
        if os.path.isdir(self._folder) and os.listdir(self._folder):
            raise AssertionError(f"Export directory {self._folder} already exists, and isn't "
                                 "empty. Please choose a different export directory, or delete "
                                 "all the contents of the specified directory")
        self._tensors: dict[str, Any] = {}
        self._said: dict[str, Any] | None = None

    def add_meta_graph_and_variables(self, sess: Any, tags: Any, signature_def_map: Any = None,
                                     *ignored: Any, **more: Any) -> None:
        """Add the parts that compute the outputs of signatures from their inputs, and the values
        of their variables in a session. Other arguments are ignored."""
        if self._said is not None:
            raise UnimplementedError("SavedModelBuilder: a directory has one graph")
        names: dict[Any, str] = {}

        def name(x: Any) -> str:
            if isinstance(x, VariableHandle):
                return names.setdefault(x, f"variables/{x.name}")
            if not isinstance(x, Tensor):
                raise UnimplementedError(f"SavedModelBuilder: {x!r} cannot be saved")
            found = names.setdefault(id(x), f"constants/{len(names)}")
            self._tensors[found] = x
            return found

        functions, signatures = [], {}
        for key, signature in (signature_def_map or {}).items():
            functions.append(_function(key, signature, sess.graph, name))
            signatures[key] = {
                "function": len(functions) - 1, "method": signature.method_name,
                **{kind: [_listed(k, info) for k, info in infos.items()] for kind, infos in (
                    ("inputs", signature.inputs), ("outputs", signature.outputs))}}
        handles = [x for x in names if isinstance(x, VariableHandle)]
        self._tensors |= {names[x]: as_tensor(value) for x, value in zip(
            handles, values_of(sess, handles), strict=True)}
        trainable = {getattr(v, "op", v).name for v in sess.graph.get_collection(
            GraphKeys.TRAINABLE_VARIABLES)}
        self._said = {
            "modules": [{"name": "saved_model", "has": {"graph_variables": {
                "list": [{"variable": names[x]} for x in handles]}}}],
            "functions": functions, "signatures": signatures, "generators": {},
            "variables": {names[x]: [x.name, x.name in trainable] for x in handles},
            "tags": list(tags)}

    def save(self, as_text: bool = False) -> str:
        """Write the file and return its path."""
        path = os.path.join(self._folder, FILE)
        write_content(path, FORMAT, self._tensors, {"module": self._said})
        return path


def _function(key: str, signature: SignatureDef, graph: Any, name: Any) -> dict[str, Any]:
    """Return the part of a graph for a signature in the form of `LoadedFunction`."""
    fed = [graph.get_tensor_by_name(x.name) for x in signature.inputs.values()]
    outputs = [graph.get_tensor_by_name(y.name) for y in signature.outputs.values()]
    part = SerializedTrace(part_for(graph, outputs, fed), name)
    whole = part.graphs[-1]
    whole[1] = [part._at(y) for y in outputs]
    whole[3] = [["argument", part._at(x), k] for k, x in enumerate(fed)] + whole[3]
    n = len(outputs)
    return {"name": key, "who": key, "parameters": [[f"input_{k}", 1] for k in range(len(fed))],
            "traces": [{"arguments": [None] * len(fed), "graphs": part.graphs,
                        "leaves": [["tensor", *_listed(k, x)[1:3]]
                                   for k, x in signature.inputs.items()],
                        "result": {"dict": [[*signature.outputs], [*range(n)], [None] * n]},
                        "returned": [["tensor"]] * n, "options": [False, True]}]}


def _listed(key: str, info: TensorInfo) -> list[Any]:
    """Return a tensor's description as JSON."""
    if info.tensor_shape.rank is None:
        raise UnimplementedError(f"SavedModelBuilder: {info.name} has an unknown rank; give its "
                                 "placeholder a shape, with None for unknown sizes")
    return [key, info.dtype.name, info.tensor_shape.as_list(), info.name]


def simple_save(session: Any, export_dir: Any, inputs: Mapping[str, Any],
                outputs: Mapping[str, Any], legacy_init_op: Any = None) -> None:
    """Save the part of a graph that computes outputs from inputs, with the values of its variables.

    Parameters
    ----------
    session : Session
    export_dir : str
        A new or empty directory.
    inputs, outputs : dict of str to tensor
    legacy_init_op : ignored

    Examples
    --------
    >>> import tempfile
    >>> import dualflow.compat.v1 as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None], name="x")
    ...     w = tf.Variable(2., name="w")
    ...     sess.run(w.initializer)
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": x * w})
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.saved_model.loader.load(sess, ["serve"], folder)
    ...     y = found.signature_def["serving_default"].outputs["y"].name
    ...     print(sess.run(y, {"x:0": [1., 2.]}))
    [2. 4.]
    """
    made = Builder(export_dir)
    made.add_meta_graph_and_variables(session, ["serve"], {
        "serving_default": predict_signature_def(inputs, outputs)})
    made.save()


def load(sess: Any, tags: Any, export_dir: Any, import_scope: Any = None) -> MetaGraph:
    """Add the parts of a saved graph to the graph of a session, and restore their variables.

    Parameters
    ----------
    sess : Session
    tags : list of str
        The tags with which the graph was saved.
    export_dir : str
    import_scope : ignored

    Returns
    -------
    MetaGraph
        `signature_def` has the names of inputs and outputs.

    Raises
    ------
    OSError
        If the directory has no saved graph.
    RuntimeError
        If it was saved with other tags.
    DataLossError
        If the file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow.compat.v1 as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": tf.square(x, name="y")})
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _ = tf.saved_model.load(sess, ["serve"], folder)
    ...     print(sess.run("y:0", {"x:0": 3.}))
    9.0
    """
    path = os.path.join(os.fspath(export_dir), FILE)
    if not os.path.exists(path):
        raise OSError(f"SavedModel file does not exist at: {path}")
    with content_of(path, FORMAT) as content, sess.graph.as_default(), reading(path):
        said, tensors = content.states["module"], content.read()
        check_manifest(said, tensors)
        if set(tags) != set(said.get("tags", ["serve"])):
            raise RuntimeError(f"MetaGraphDef associated with tags {list(tags)} could not be "
                               f"found in SavedModel, which has {said.get('tags')}")
        saved: dict[str, Any] = dict(tensors)
        for name, (called, trainable) in said["variables"].items():
            saved[name] = Variable(tensors[name].numpy(), trainable=trainable, name=called)
            sess.run(saved[name].initializer)
        known: dict[str, Any] = {}
        found = {key: _replayed(key, x, said["functions"][x["function"]], saved, known)
                 for key, x in said["signatures"].items()}
    return MetaGraph(found, list(tags))


def _replayed(key: str, x: Any, function: Any, saved: Any, known: dict[str, Any]) -> SignatureDef:
    """Record the operations of a signature in the default graph."""
    for _, dtype, shape, name in x["inputs"]:
        if name not in known:
            known[name] = placeholder(as_dtype(dtype), shape, name.partition(":")[0])
    leaves = [known[name] for *_, name in x["inputs"]]
    trace = TraceInterpreter(key, function["traces"][0]["graphs"], saved, leaves)
    for (*_, name), y in zip(x["outputs"], trace.run(), strict=True):
        if name not in known:
            known[name] = identity(y, name=name.partition(":")[0])
    inputs, outputs = [{k: build_tensor_info(known[name]) for k, *_, name in x[kind]}
                       for kind in ("inputs", "outputs")]
    return SignatureDef(inputs, outputs, x.get("method", ""))


PREDICT = "tensorflow/serving/predict"
builder = SimpleNamespace(SavedModelBuilder=Builder)
loader = SimpleNamespace(load=load, maybe_saved_model_directory=contains_saved_model)
utils = SimpleNamespace(build_tensor_info=build_tensor_info)
signature_def_utils = SimpleNamespace(build_signature_def=build_signature_def,
                                      predict_signature_def=predict_signature_def)
tag_constants = SimpleNamespace(SERVING="serve", TRAINING="train", GPU="gpu", TPU="tpu")
signature_constants = SimpleNamespace(
    DEFAULT_SERVING_SIGNATURE_DEF_KEY="serving_default", PREDICT_METHOD_NAME=PREDICT,
    PREDICT_INPUTS="inputs", PREDICT_OUTPUTS="outputs",
    CLASSIFY_INPUTS="inputs", CLASSIFY_METHOD_NAME="tensorflow/serving/classify",
    CLASSIFY_OUTPUT_CLASSES="classes", CLASSIFY_OUTPUT_SCORES="scores",
    REGRESS_INPUTS="inputs", REGRESS_METHOD_NAME="tensorflow/serving/regress",
    REGRESS_OUTPUTS="outputs")


def __dir__() -> list[str]:
    return __all__
