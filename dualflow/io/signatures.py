"""Signatures of saved modules: functions of named tensors that return dicts of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualflow._core import BoundFunction, Tensor, TensorSpec, as_tensor
from dualflow.dtypes import as_dtype
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.graph.calls.any_rank import AnyRankFunction
from dualflow.graph.calls.arguments import TensorLeaf, rebuild
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.decorator import function
from dualflow.graph.calls.function import Function
from dualflow.graph.calls.trace_arguments import n_leaves
from dualflow.io.loaded import LoadedFunction
from dualflow.io.structure import COMPOSITES
from dualflow.modules import Module
from dualflow.ops.ragged.ragged_tensor import RaggedTensor
from dualflow.ops.ragged.spec import RaggedTensorSpec
from dualflow.ops.sparse.sparse_tensor import SparseTensor, SparseTensorSpec
from dualflow.ops.string_tensor import string, text

__all__ = ["SignatureFunction"]

DEFAULT = "serving_default"


class SignatureFunction:
    """A signature of a loaded module. Arguments are given by name, and the result is a dict.

    Attributes
    ----------
    structured_input_signature : tuple
        ``((), specs)``, with the spec of each input by its name.
    structured_outputs : dict of str to TensorSpec
    """

    def __init__(self, key: str, function: LoadedFunction, inputs: list[Any],
                 outputs: list[Any]) -> None:
        self.name = key
        self._function = function
        self._inputs = specs_of(inputs)
        self.structured_outputs: dict[str, TensorSpec] = specs_of(outputs)

    @property
    def structured_input_signature(self) -> tuple[Any, dict[str, TensorSpec]]:
        return (), dict(self._inputs)

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the inputs."""
        return [*self._inputs.values()]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the outputs."""
        return [*self.structured_outputs.values()]

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        names = [*self._inputs]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) + len(kwargs) != len(names) or given.keys() != self._inputs.keys():
            got = [*["a positional argument"] * len(args), *kwargs]
            raise TypeError(f"signature {self.name}: got {', '.join(got) or 'no arguments'}, "
                            f"expected {', '.join(names) or 'none'}")
        return named(self._function(*[as_input(given[name], spec, f"{self.name}: {name}")
                                      for name, spec in self._inputs.items()]))

    def __repr__(self) -> str:
        return (f"<SignatureFunction {self.name} ({', '.join(self._inputs)}) -> "
                f"{{{', '.join(self.structured_outputs)}}}>")


def as_input(x: Any, spec: Any, what: str) -> Any:
    """Return the argument of a signature for a value."""
    if not isinstance(spec, TensorSpec):
        return x
    return text(x, what) if spec.dtype is string else as_tensor(x, spec.dtype)


def specs_of(listed: list[Any]) -> dict[str, Any]:
    """Return specs by name."""
    return {name: spec_of(name, *rest) for name, *rest in listed}


def spec_of(name: str, dtype: str, shape: Any, kind: str = "", ragged_rank: int = 0) -> Any:
    """Return a spec: of a tensor, or of a kind of composite."""
    shape = None if shape is None else tuple(shape)
    if kind == "ragged":
        return RaggedTensorSpec(shape, TensorSpec(shape, dtype).dtype, ragged_rank)
    return SparseTensorSpec(shape, dtype) if kind == "sparse" else TensorSpec(shape, dtype, name)


def named(result: Any) -> dict[str, Any]:
    """Return a result as a dict; a dict as it is, other results as output_0, output_1 ..."""
    if isinstance(result, Mapping):
        return dict(result)
    parts = result if isinstance(result, list | tuple) else [] if result is None else [result]
    return {f"output_{k}": x for k, x in enumerate(parts)}


def functions_by_key(signatures: Any) -> dict[str, Any]:
    """Return the argument `signatures` of `save` as a dict of traces by key."""
    if signatures is None:
        return {}
    if not isinstance(signatures, Mapping):
        signatures = {DEFAULT: signatures}
    return {key: trace_of(str(key), x) for key, x in signatures.items()}


def trace_of(key: str, x: Any) -> Any:
    """Return the trace for a signature."""
    held = x.function if isinstance(x, BoundFunction) else x
    if isinstance(held, SignatureFunction):
        return held
    if isinstance(held, Function):
        if held.input_signature is None:
            raise InvalidArgumentError(
                f"save: the signature {key} is a function without an input_signature; give it one, "
                "or pass the result of its get_concrete_function")
        held = held.get_concrete_function(*held.input_signature)
    if not isinstance(held, ConcreteFunction):
        raise InvalidArgumentError(f"save: the signature {key} is {x!r}, expected a function "
                                   "traced by dualflow")
    return held


def described(key: str, trace: Any) -> tuple[list[Any], list[Any]]:
    """Return the inputs and the outputs of a signature as JSON: name, dtype and shape."""
    if isinstance(trace, SignatureFunction):
        return ([listed(n, s) for n, s in trace._inputs.items()],
                [listed(n, s) for n, s in trace.structured_outputs.items()])
    inputs = []
    unknown = trace.open if isinstance(trace, AnyRankFunction) else ()      # of unknown rank
    rest = list(enumerate(trace.leaves))
    for name, part in zip(trace.arguments.names, trace.treedef, strict=True):
        own, rest = rest[:n_leaves(part)], rest[n_leaves(part):]
        value = rebuild(part, iter([spec_of_leaf(leaf) for _, leaf in own]))
        if not isinstance(value, (TensorSpec, *COMPOSITES.values())):
            rest = own or rest          # no leaves: an empty *args
            if own:
                break
        else:
            inputs.append(listed(name, value, own[0][0] in unknown))
    for k, leaf in rest:
        raise UnimplementedError(f"save: the signature {key} takes {trace.paths[k]}, {leaf}; "
                                 "expected tensors as arguments")
    values = iter(trace.graph.outputs)
    _, returned = trace.result
    outputs = named(trace.structure([next(values) if x is None else x[0] if isinstance(x, tuple)
                                     else x for x in returned]))
    for name, y in outputs.items():
        if not hasattr(y, "dtype") or not isinstance(name, str):
            raise UnimplementedError(f"save: the signature {key} returns {y!r} as {name!r}; "
                                     "expected a tensor, or a list or dict of tensors")
    return inputs, [listed(name, y, bool(unknown)) for name, y in outputs.items()]


def spec_of_leaf(leaf: Any) -> Any:
    """Return the spec for the leaf of a tensor, or the value of another leaf."""
    if isinstance(leaf, TensorLeaf):
        return TensorSpec(leaf.shape, leaf.dtype)
    return getattr(leaf, "value", None)


def listed(name: str, x: Any, any_rank: bool = False) -> list[Any]:
    """Return the name, dtype and shape of a tensor as JSON, and for composites the kind and the
    number of ragged dimensions; no shape for any rank."""
    if any_rank or getattr(x, "ndim", 0) is None:
        return [name, x.dtype.name, None]
    if isinstance(x, RaggedTensor) and isinstance(x.row_splits, TensorSpec):
        x = spec_of_ragged(x)
    kind = (["ragged", x.ragged_rank] if isinstance(x, RaggedTensor | RaggedTensorSpec) else
            ["sparse"] if isinstance(x, SparseTensor | SparseTensorSpec) else [])
    dims = x._dims if isinstance(x, SparseTensor) else x.shape
    return [name, x.dtype.name, [d if type(d) is int else None for d in dims], *kind]


def spec_of_ragged(x: Any) -> RaggedTensorSpec:
    """Return the spec of a ragged tensor whose parts are specs."""
    n = x.row_splits.shape[0]
    inner = spec_of_ragged(x.values) if isinstance(x.values, RaggedTensor) else x.values
    return RaggedTensorSpec([None if n is None else n - 1, None, *inner.shape[1:]], inner.dtype,
                            x.ragged_rank)


def as_module(x: Any) -> tuple[Module, dict[str, Any]]:
    """Return a module for an object to be saved, and its default signatures. A model of Keras
    becomes a module of its variables, with the function `__call__` for its inputs."""
    specs = getattr(x, "inputs", None)
    if isinstance(x, Module) or not hasattr(x, "add_loss") or not specs:
        return x, {}
    names = getattr(x, "output_names", None)

    def call(*inputs: Any) -> Any:
        found = x(inputs[0] if len(inputs) == 1 else list(inputs), training=False)
        parts = {key: as_tensor(y) for key, y in named(found).items()}
        return parts if names is None else dict(zip(names, parts.values(), strict=True))

    given = [TensorSpec(tuple(spec.shape), as_dtype(spec.dtype), spec.name) for spec in specs]
    module = Module(name=x.name if x.name.isidentifier() else None)
    serve: Any = function(named_parameters(call, [s.name for s in specs]), input_signature=given)
    module.__dict__.update(model_variables=list(x.variables), serve=serve)
    return module, {DEFAULT: serve}


def named_parameters(call: Any, names: list[str]) -> Any:
    """Return a function with these positional parameters."""
    import inspect

    def with_names(*inputs: Any) -> Any:
        return call(*inputs)

    with_names.__signature__ = inspect.Signature([      # type: ignore[attr-defined]
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    return with_names
