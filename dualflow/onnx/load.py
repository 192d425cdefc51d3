"""ONNX files as functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dualflow._core import TensorBase, Variable
from dualflow.arguments import shown
from dualflow.errors import (
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    UnimplementedError,
)
from dualflow.onnx.interpreter import STANDARD, Body, Library, materialised, unsupported
from dualflow.onnx.package import onnx
from dualflow.onnx.signature import Spec, fitted, spec_of

__all__ = ["Model", "load"]


class Model:
    """What a file computes: a callable.

    Attributes
    ----------
    inputs, outputs : list of TensorSpec
        With names; inputs are those that are no initialisers. None in a shape is any size; where
        the file says no shape at all, `shape` is None. Sequences, and values that may be None, say
        `is_sequence` and `is_optional`.
    variables, trainable_variables : list of Variable
        The initialisers, if the file was loaded as trainable.

    Notes
    -----
    Inputs are given by position, in the file's order, or by name, through ``**`` where that is no
    identifier. One output comes alone, several as a tuple in the file's order. Operators run one by
    one, as functions of this library: under a tape they have gradients, and in `dualflow.function`
    they are traced, sizes and all.
    """

    def __init__(self, proto: Any, trainable: bool) -> None:
        if not isinstance(proto, onnx().ModelProto):
            raise DTypeError(f"onnx.Model: got {shown(proto)}, want a ModelProto; df.onnx.load "
                             "reads files")
        _check_versions(proto)
        library = Library(proto)
        self._body = Body(proto.graph, library)
        if library.missing:
            raise unsupported(library)
        constants = self._body.constants
        self.variables: list[Variable] = []
        for name, x in constants.items() if trainable else ():
            if isinstance(x, TensorBase) and x.dtype.is_floating:
                constants[name] = Variable(x, name=name)
                self.variables.append(constants[name])
        free = [i for i in proto.graph.input if i.name not in constants]
        self._body.inputs = [i.name for i in free]
        self.inputs: list[Spec] = [spec_of(i) for i in free]
        self.outputs: list[Spec] = [spec_of(o) for o in proto.graph.output]
        self.name: Any = proto.graph.name

    @property
    def trainable_variables(self) -> list[Variable]:
        return list(self.variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._body.run(self._bound(args, kwargs))
        made = [_tensor(y) for y in made]
        return made[0] if len(made) == 1 else tuple(made)

    def _bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        names = self._body.inputs
        wanted = f"{self.name} takes {', '.join(names) or 'no inputs'}"
        if len(args) > len(names):
            raise InvalidArgumentError(f"{wanted}: got {len(args)} by position")
        given = dict(zip(names, args, strict=False))
        for name, x in kwargs.items():
            if name not in names or name in given:
                raise InvalidArgumentError(f"{wanted}: got {name!r} "
                                           f"{'twice' if name in given else 'by name'}")
            given[name] = x
        given = {s.name: None for s in self.inputs if getattr(s, "is_optional", False)} | given
        missing = [n for n in names if n not in given]
        if missing:
            raise InvalidArgumentError(f"{wanted}: {', '.join(missing)} not given")
        return [fitted(self.name, spec, given[spec.name]) for spec in self.inputs]

    def __repr__(self) -> str:
        listed = ", ".join([f"{s.name}: {s.dtype} {s.shape}" for s in self.inputs])
        return f"<dualflow.onnx.Model {self.name} ({listed})>"


def _tensor(x: Any) -> Any:
    if isinstance(x, list):             # a sequence
        return [_tensor(y) for y in x]
    x = materialised(x)
    return x.value() if isinstance(x, Variable) else x


def load(model: Any, trainable: bool = False) -> Model:
    """A function that computes what an ONNX file says.

    Parameters
    ----------
    model : str, path, bytes or onnx.ModelProto
    trainable : bool, default False
        Whether floating initialisers become Variables; otherwise they are constants.

    Returns
    -------
    Model, a callable

    Raises
    ------
    UnimplementedError
        If the file has operators, attributes of theirs or dtypes that are not known: all of them
        are listed, as ``Name (count)`` and ``Name with attribute (count)``. If it is of a later
        version than the onnx package knows.
    InvalidArgumentError
        If there is no model in the file, a node does not fit its operator, or tensors are kept in
        files that are not there, or not below the folder of the model.
    DataLossError
        If the data of a tensor are damaged.

    Notes
    -----
    Operators that the standard composes of others are computed as it says, and functions of the
    file likewise. Sequences are lists of tensors, optional values may be None. Tensors of 8-bit and
    4-bit floats and of 4-bit and 2-bit integers are a `NarrowTensor`. Strings and machine-learning
    operators (``ai.onnx.ml``) are not known.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    >>> df.onnx.save(lambda x: df.tanh(x) * 2., path, df.TensorSpec([None, 2]))
    >>> model = df.onnx.load(path)
    >>> model
    <dualflow.onnx.Model <lambda> (x: float32 (None, 2))>
    >>> model([[0., 100.]]).numpy().tolist()
    [[0.0, 2.0]]
    """
    return Model(_proto(model), trainable)


def _proto(model: Any) -> Any:
    package = onnx()
    if isinstance(model, package.ModelProto):
        return model
    try:
        if isinstance(model, bytes | bytearray | memoryview):
            proto = package.load_model_from_string(bytes(model))
        elif isinstance(model, str | os.PathLike):
            proto = package.load(os.fspath(model), load_external_data=False)
            _with_data_beside(proto, os.path.dirname(os.path.abspath(model)))
        else:
            raise InvalidArgumentError(f"onnx.load: model is {shown(model)}, want a path, bytes or "
                                       "a ModelProto")
    except import_module("google.protobuf.message").DecodeError:
        raise InvalidArgumentError(f"onnx.load: there is no ONNX model in {_told(model)}") from None
    if not proto.opset_import or not proto.HasField("graph"):
        raise InvalidArgumentError(f"onnx.load: there is no ONNX model in {_told(model)}")
    return proto


def _told(model: Any) -> str:
    """What was given, for messages: bytes say nothing."""
    if isinstance(model, str | os.PathLike):
        return shown(os.fspath(model))
    return f"the {memoryview(model).nbytes} bytes"


def _check_versions(proto: Any) -> None:
    """Raises where a model is of a later version than the onnx package knows."""
    package, newest = onnx(), onnx("defs").onnx_opset_version()
    if proto.ir_version > package.IR_VERSION:
        raise UnimplementedError(f"onnx.load: the model has IR version {proto.ir_version}; the "
                                 f"onnx package knows versions up to {package.IR_VERSION}")
    for given in proto.opset_import:
        if given.domain in STANDARD and not 1 <= given.version <= newest:
            raise UnimplementedError(f"onnx.load: the model wants opset {given.version}; the onnx "
                                     f"package knows opsets 1 to {newest}")


def _with_data_beside(proto: Any, folder: str) -> None:
    """Reads tensors that are kept in files of their own, in the model's folder or below."""
    try:
        onnx("external_data_helper").load_external_data_for_model(proto, folder)
    except onnx("checker").ValidationError as error:
        raise InvalidArgumentError(f"onnx.load: {error}") from None
    except (OSError, ValueError) as error:
        raise DataLossError(f"onnx.load: data beside the model cannot be read: {error}") from None
