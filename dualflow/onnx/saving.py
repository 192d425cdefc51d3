"""`save`: writes functions as ONNX files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dualflow import nest
from dualflow._core import Dim, Symbol, Tensor, TensorBase, TensorSpec, Variable, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import as_dtype, float64, int64
from dualflow.errors import DualflowError, InvalidArgumentError
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.decorator import function
from dualflow.graph.trace.parameters import Argument, Guard
from dualflow.graph.trace.specialize import specialize
from dualflow.io.files import write_atomically
from dualflow.onnx.exporter import NO_COMPLEX, Exporter
from dualflow.onnx.package import onnx
from dualflow.onnx.values import Value
from dualflow.onnx.writer import Writer, opsets
from dualflow.ops.indexing.indexed_slices import IndexedSlices

LARGEST = 2_000_000_000             # bytes; a protobuf holds 2 GiB, larger models use a data file
TRIED = (1, 2, 3, 16, 257)          # sizes for which guards are tested

__all__ = ["save"]


def save(fn: Callable[..., Any], path: str | os.PathLike[str], *args: Any,
         input_names: Sequence[str] | None = None,
         output_names: Sequence[str] | None = None) -> None:
    """Write a function as an ONNX file.

    Parameters
    ----------
    fn : callable
        Function of tensors, or of lists, tuples and dicts of tensors. Variables that it reads
        become constants of the file. A `ConcreteFunction` is saved as traced, without `args`.
    path : str or path
        An existing file is replaced atomically.
    *args : Tensor, TensorSpec or anything else
        The arguments to trace `fn` for. A tensor means any tensor of its dtype and shape; None in
        the shape of a TensorSpec is any size. Any other argument is a constant of the function.
    input_names, output_names : sequence of str, optional
        Names in the file, in the order of the tensors. By default the names of the arguments, and
        "output", "output_1" and so on, or the keys of a dict.

    Raises
    ------
    UnimplementedError
        If ops cannot be expressed in ONNX: all of them are listed, with the user's lines.
    InvalidArgumentError
        If the number of names is wrong, or `fn` returns a value that is not a tensor.

    Warns
    -----
    UserWarning
        If Python branched on an unknown size: the file is valid only for sizes with the same
        outcome.

    Notes
    -----
    The file uses operators of opset 26. It is written from the trace before passes, so it follows
    the program, and the nodes name its lines. Other libraries round differently: results are close,
    not bit-identical.

    Examples
    --------
    >>> import dualflow as df, tempfile, os
    >>> w = df.Variable([[1.], [2.]], name="w")
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    >>> df.onnx.save(lambda x: df.nn.relu(x @ w), path, df.TensorSpec([None, 2]))
    >>> import onnx.reference
    >>> import numpy as np
    >>> model = onnx.reference.ReferenceEvaluator(path)
    >>> model.run(None, {"x": np.array([[3, -1]], "float32")})[0].tolist()
    [[1.0]]
    """
    onnx()                                      # raise before tracing if the package is missing
    model = to_model(_traced(fn, args), input_names, output_names)
    if model.ByteSize() < LARGEST:              # larger models are checked as files
        onnx("checker").check_model(model, full_check=True)
    _write(model, os.fspath(path))


def _traced(fn: Any, args: Sequence[Any]) -> ConcreteFunction:
    """Return the trace of a function for some arguments."""
    if isinstance(fn, ConcreteFunction):
        if args:
            raise InvalidArgumentError("onnx.save: a ConcreteFunction is saved as traced, "
                                       "expected no arguments")
        return fn
    if not callable(fn):
        raise InvalidArgumentError(f"onnx.save: fn is {shown(fn)}, expected a function")

    name = getattr(fn, "__name__", type(fn).__name__)

    def traced(*given: Any) -> Any:
        returned = _dense(fn(*given))       # numbers may follow from sizes
        if not nest.flatten(returned):
            raise InvalidArgumentError(f"onnx.save: {name} returns {shown(returned)}, "
                                   "expected tensors")
        return returned

    traced.__name__ = name
    traced.__signature__ = _signature(fn)       # type: ignore[attr-defined]
    specs = [_spec(a) for a in args]
    concrete = function(traced).get_concrete_function(*specs)
    _check_sizes(concrete, specs)
    return concrete


def _check_sizes(concrete: ConcreteFunction, specs: Sequence[Any]) -> None:
    """Raise an error if the trace holds for one value of a size that a TensorSpec leaves open."""
    wanted = [s.shape for s in nest.flatten(specs) if isinstance(s, TensorSpec)]
    traced = {x.node.data.path: x.known_shape for x in concrete.graph.inputs
              if isinstance(x.node.data, Argument)}
    n_open = [sum([n is None for shape in shapes for n in shape])
              for shapes in (wanted, traced.values())]
    if n_open[0] > n_open[1]:
        listed = ", ".join([f"{path}: {shape}" for path, shape in traced.items()])
        raise InvalidArgumentError(
            f"onnx.save: {concrete.name} turns an unknown size into a constant, so its trace "
            f"is valid for ({listed}) only; use dualflow.shape(x), or return the size itself")


def _dense(x: Any) -> Any:
    """Replace `IndexedSlices` in a result by dense tensors."""
    if isinstance(x, dict):
        return {key: _dense(value) for key, value in x.items()}
    if type(x) in (list, tuple):
        return type(x)([_dense(value) for value in x])
    return as_tensor(x) if isinstance(x, IndexedSlices) else x


def _signature(fn: Any) -> Any:
    """Return a signature with the argument names of `fn`, from which inputs are named."""
    import inspect  # slow import

    parameters = inspect.signature(fn).parameters.values()
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if any([p.kind is not plain for p in parameters]):
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    return inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in parameters])


def _spec(arg: Any) -> Any:
    """Return the spec to trace for: tensors and arrays become TensorSpecs."""
    def one(x: Any) -> Any:
        if isinstance(x, TensorBase) and not isinstance(x, Variable):
            return TensorSpec(x.shape, x.dtype)
        if hasattr(x, "__array_interface__"):
            return TensorSpec(x.shape, as_dtype(x.dtype))
        return x
    return nest.map_structure(one, arg)


def to_model(concrete: ConcreteFunction, input_names: Sequence[str] | None = None,
             output_names: Sequence[str] | None = None) -> Any:
    """Convert a trace to a ModelProto."""
    trace, helper = concrete.graph, onnx("helper")
    _warn_of_decisions(concrete)
    w = Writer()
    walk = Exporter(trace, w)
    arguments = [x for x in trace.inputs if isinstance(x.node.data, Argument)]
    named = _names("input_names", input_names, [x.node.data.path for x in arguments])
    for x, name in zip(arguments, named, strict=True):
        if x.dtype.is_complex:
            walk.refused.append(f"the input {name} is {x.dtype.name}, {NO_COMPLEX}")
        w.values[x] = Value(w, w.shared.names.unique(name), x.dtype)
    returned = _returned(concrete)
    walk.refused += [f"the constant result {y!r} is {y.dtype.name}, {NO_COMPLEX}" for y in returned
                     if isinstance(y, Tensor) and type(y) is not Symbol and y.dtype.is_complex]
    outputs = _names("output_names", output_names, _output_names(concrete, len(returned)))
    outputs = [w.shared.names.unique(name) for name in outputs]
    walk.write(w, trace)
    walk.check(concrete.name)
    w.at = ""
    made = []
    for y, name in zip(returned, outputs, strict=True):
        value = _written(w, y)
        w.shared.read.add(value.name)
        w.nodes.append(helper.make_node("Identity", [value.name], [name]))
        shape = () if isinstance(y, Dim) else y.known_shape if isinstance(y, Symbol) else y.shape
        made.append(w.info(Value(w, name, value.dtype), tuple(shape)))
    graph = w.graph(concrete.name, [w.info(w.value(x), x.known_shape) for x in arguments], made)
    return helper.make_model(graph, opset_imports=opsets(), producer_name="dualflow",
                             ir_version=helper.find_min_ir_version_for(opsets()))


def _returned(concrete: ConcreteFunction) -> list[Any]:
    """Return the outputs: symbols, Dims, and constant tensors."""
    def output(x: Any) -> Any:
        if isinstance(x, Dim | Symbol):
            return x
        try:
            return as_tensor(x)
        except DualflowError:
            raise InvalidArgumentError(f"onnx.save: {concrete.name} returns {shown(x)}, "
                                       "expected tensors") from None
    return [output(x) for x in concrete.returned()]


def _written(w: Writer, y: Any) -> Value:
    """Return the value of one output in the file."""
    if isinstance(y, Dim):
        return w.number(y).cast(float64 if isinstance(y.hint, float) else int64)
    return w.value(y) if isinstance(y, Symbol) else w.constant(y)


def _output_names(concrete: ConcreteFunction, n: int) -> list[str]:
    """Return the keys of the result if it is a dict of tensors, else the same name for all."""
    places = concrete.structure(range(n))
    if not isinstance(places, dict) or len(places) != n:
        return ["output"] * n
    named = {place: str(key) for key, place in places.items() if isinstance(place, int)}
    return [named.get(k, "output") for k in range(n)]


def _names(what: str, given: Sequence[str] | None, default: list[str]) -> list[str]:
    if given is None:
        return default
    if len(given) != len(default):
        raise InvalidArgumentError(f"onnx.save: {what} are {shown(list(given))}, "
                                   f"expected {len(default)}")
    return [str(name) for name in given]


def _warn_of_decisions(concrete: ConcreteFunction) -> None:
    """Warn if guards of the trace fail for other sizes."""
    trace = concrete.graph
    arguments = [x for x in trace.inputs if isinstance(x.node.data, Argument)]
    if not trace.guards or all([None not in x.known_shape for x in arguments]):
        return
    for size in TRIED:
        shapes = {x.node.data.leaf: [size if n is None else n for n in x.known_shape]
                  for x in arguments}
        broken: list[Guard] = []
        specialize(trace, shapes, broken=broken)
        if broken:
            warnings.warn(f"onnx.save: {concrete.name} branches on a size at {broken[0].line}; "
                          f"the file is wrong for {size}; fix that size in the "
                          "TensorSpec", stacklevel=4)
            return


def _write(model: Any, path: str) -> None:
    if model.ByteSize() < LARGEST:
        write_atomically(path, lambda file: file.write(model.SerializeToString()))
    else:
        onnx().save(model, path, save_as_external_data=True,
                    location=f"{os.path.basename(path)}.data")
        onnx("checker").check_model(path)
