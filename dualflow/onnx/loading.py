"""`load`: ONNX files as callable models."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dualflow._core import (
    CollectorSuspended,
    TensorBase,
    Variable,
    current_graph,
    current_tape,
)
from dualflow._util.arguments import shown
from dualflow._util.frames import warn
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.graph.calls.decorator import function
from dualflow.graph.calls.function import Function
from dualflow.onnx.interpreter import STANDARD, Body, Library, materialised, unsupported
from dualflow.onnx.package import NEWEST_IR_VERSION, NEWEST_OPSET
from dualflow.onnx.proto import Malformed, ModelProto, read
from dualflow.onnx.signature import Spec, fitted, spec_of
from dualflow.onnx.weights import mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.graph.inspect.profile import Profile

__all__ = ["Model", "load"]


class Model:
    """A callable that computes an ONNX graph.

    Attributes
    ----------
    inputs, outputs : list of TensorSpec
        Specs with names; initializers are not inputs. None in a shape is any size, and `shape` is
        None if the rank is unknown. `is_sequence` and `is_optional` mark sequences and values that
        may be None.
    variables, trainable_variables : list of Variable
        The initializers, if the file was loaded as trainable.
    program : Function or None
        Runs calls of tensors outside of tapes and traces, and has the methods of a function:
        `plan_for`, `passes_for`, `draw`. None if calls run operator by operator.

    Notes
    -----
    Inputs are passed by position, in the file's order, or by name (through ``**`` if the name is
    not an identifier). A single output is returned itself, several outputs as a tuple in the file's
    order.

    A call runs as one traced program, with the bits of the operators one by one. Under a tape, or
    while a function that calls the model is traced, the operators run as functions of this library,
    so that models have gradients and belong to the surrounding graph. A model that cannot be traced
    runs operator by operator.
    """

    def __init__(self, proto: Any, trainable: bool, traced: bool = True,
                 folder: str | None = None) -> None:
        if _is_package_message(proto):
            proto = read(ModelProto, proto.SerializeToString())
        if not isinstance(proto, ModelProto):
            raise DTypeError(f"onnx.Model: got {shown(proto)}, expected a ModelProto; df.onnx.load "
                             "reads files")
        _check_versions(proto)
        library = Library(proto, folder)
        self._body = Body(proto.graph, library)
        if library.missing:
            raise unsupported(library)
        if not trainable:
            self._body.lay_out()
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
        self.program: Function[..., Any] | None = (
            function(self._run, name=self.name, autograph=False) if traced else None)

    @property
    def trainable_variables(self) -> list[Variable]:
        return list(self.variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._bound(args, kwargs)
        if (self.program is None or current_tape() is not None or current_graph() is not None
                or not all([isinstance(x, TensorBase) for x in given])):
            return self._run(*given)
        program = self.program
        try:
            return program(*given)
        except Exception as error:
            made = self._run(*given)    # raises the error of an operator, if that is the cause
            warn(f"onnx.Model: {self.name} runs operator by operator, which is slower, as its "
                 f"program fails: {error}", RuntimeWarning)
            if not program.concrete_functions:
                self.program = None     # the model cannot be traced
            return made

    def _run(self, *given: Any) -> Any:
        """Return the outputs, computed operator by operator."""
        if current_graph() is None:
            made = [_tensor(y) for y in self._body.run(given)]
        else:
            with CollectorSuspended():
                made = [_tensor(y) for y in self._body.run(given)]
        return made[0] if len(made) == 1 else tuple(made)

    def profile(self, *args: Any, runs: int = 20, **kwargs: Any) -> Profile:
        """Return the time of each instruction of a call with these inputs.

        Parameters
        ----------
        *args, **kwargs
            Inputs, as of a call.
        runs : int, default 20

        Returns
        -------
        Profile

        Raises
        ------
        UnimplementedError
            If the model runs operator by operator.
        """
        if self.program is None:
            raise UnimplementedError(f"onnx.Model.profile: {self.name} runs operator by operator")
        return self.program.profile(*self._bound(args, kwargs), runs=runs)

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


def load(model: Any, trainable: bool = False, traced: bool = True) -> Model:
    """Load an ONNX file as a function.

    Parameters
    ----------
    model : str, path, bytes or onnx.ModelProto
    trainable : bool, default False
        Whether floating initializers become Variables instead of constants.
    traced : bool, default True
        Whether calls run as one program, which the first call with new sizes compiles. False: each
        call runs operator by operator.

    Returns
    -------
    Model, a callable

    Raises
    ------
    UnimplementedError
        If the file has unsupported operators, attributes or dtypes: all of them are listed, as
        ``Name (count)`` and ``Name with attribute (count)``. If the file needs a later version of
        the standard than dualflow supports.
    InvalidArgumentError
        If there is no model in the file, if a node violates the schema of its operator, or if
        external tensor data is missing or outside the directory of the model.
    DataLossError
        If the data of a tensor is damaged.

    Notes
    -----
    Composed operators are computed by the functions of the standard, functions of the file by their
    bodies. Sequences are lists of tensors, optional values may be None. Tensors of 8-bit and 4-bit
    floats and of 4-bit and 2-bit integers are `NarrowTensor`. Strings and machine-learning
    operators (``ai.onnx.ml``) are not supported.

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
    if _is_package_message(model):
        return Model(model, trainable, traced)
    folder = None
    if isinstance(model, bytes | bytearray | memoryview):
        data = model
    elif isinstance(model, str | os.PathLike):
        data = mapped(os.fspath(model))
        folder = os.path.dirname(os.path.abspath(model))
    else:
        raise InvalidArgumentError(f"onnx.load: model is {shown(model)}, expected a path, bytes or "
                                   "a ModelProto")
    with CollectorSuspended():
        try:
            proto = read(ModelProto, data)
        except Malformed:
            proto = ModelProto()
        if not proto.opset_import or "graph" not in vars(proto):
            raise InvalidArgumentError(f"onnx.load: there is no ONNX model in {_described(model)}")
        return Model(proto, trainable, traced, folder)


def _is_package_message(model: Any) -> bool:
    """Return True if a model is a ModelProto of the onnx package."""
    package = sys.modules.get("onnx")
    return package is not None and isinstance(model, package.ModelProto)


def _described(model: Any) -> str:
    """Return the description of a model argument for messages."""
    if isinstance(model, str | os.PathLike):
        return shown(os.fspath(model))
    return f"the {memoryview(model).nbytes} bytes"


def _check_versions(proto: Any) -> None:
    """Raise UnimplementedError if a model is of a later version than dualflow supports."""
    if proto.ir_version > NEWEST_IR_VERSION:
        raise UnimplementedError(f"onnx.load: the model has IR version {proto.ir_version}; "
                                 f"dualflow supports versions up to {NEWEST_IR_VERSION}")
    for given in proto.opset_import:
        if given.domain in STANDARD and not 1 <= given.version <= NEWEST_OPSET:
            raise UnimplementedError(f"onnx.load: the model needs opset {given.version}; "
                                     f"dualflow supports opsets 1 to {NEWEST_OPSET}")
