"""Signatures of saved modules: functions of named tensors that return dicts of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualflow._core import BoundFunction, Tensor, TensorSpec, as_tensor
from dualflow.dtypes import as_dtype
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.graph.calls.any_rank import AnyRankFunction
from dualflow.graph.calls.arguments import TensorLeaf
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.decorator import function
from dualflow.graph.calls.function import Function
from dualflow.io.loaded import LoadedFunction, for_some_sizes
from dualflow.modules import Module

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
        return named(self._function(*[as_tensor(given[name], spec.dtype)
                                      for name, spec in self._inputs.items()]))

    def __repr__(self) -> str:
        return (f"<SignatureFunction {self.name} ({', '.join(self._inputs)}) -> "
                f"{{{', '.join(self.structured_outputs)}}}>")


def specs_of(listed: list[Any]) -> dict[str, TensorSpec]:
    """Return specs by name."""
    return {name: TensorSpec(None if shape is None else tuple(shape), as_dtype(dtype), name)
            for name, dtype, shape, *_ in listed}


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
        held = for_some_sizes(lambda specs: held.get_concrete_function(*specs),
                              list(held.input_signature))
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
    for k, (path, leaf) in enumerate(zip(trace.paths, trace.leaves, strict=True)):
        if not isinstance(leaf, TensorLeaf) or not path.isidentifier():
            raise UnimplementedError(f"save: the signature {key} takes {path}, {leaf}; expected "
                                     "tensors as arguments")
        inputs.append(listed(path, leaf, k in unknown))
    values = iter(trace.graph.outputs)
    _, leaves = trace.result
    outputs = named(trace.structure([next(values) if x is None else x for x in leaves]))
    for name, y in outputs.items():
        if not hasattr(y, "dtype") or not isinstance(name, str):
            raise UnimplementedError(f"save: the signature {key} returns {y!r} as {name!r}; "
                                     "expected a tensor, or a list or dict of tensors")
    return inputs, [listed(name, y, bool(unknown)) for name, y in outputs.items()]


def listed(name: str, x: Any, any_rank: bool = False) -> list[Any]:
    """Return the name, dtype and shape of a tensor as JSON; no shape for any rank."""
    if any_rank or getattr(x, "ndim", 0) is None:
        return [name, x.dtype.name, None]
    return [name, x.dtype.name, [d if type(d) is int else None for d in x.shape]]


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
