"""`save`: writes a module, with its traced functions, as a folder.

The folder holds one file with the structure of a checkpoint: the tensors are the values of
variables and the constants of traces; the manifest has the tree of modules and a serialised trace
for each trace. `load.py` reads it.
"""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

from dualflow._core import (
    BoundFunction,
    Tensor,
    TensorSpec,
    Variable,
    current_graph,
    snapshot_values,
    unwrapped,
)
from dualflow.errors import DualflowError, InvalidArgumentError, UnimplementedError
from dualflow.graph.calls.any_rank import (
    AnyRankFunction,
    has_unknown_rank,
    traces_for_ranks,
)
from dualflow.graph.calls.arguments import NumberLeaf, StaticLeaf, TensorLeaf
from dualflow.graph.calls.concrete import DATA_NUMBER, ROWS, ConcreteFunction
from dualflow.graph.calls.function import Function
from dualflow.io.content import write_content
from dualflow.io.files import SUFFIX, safetensors
from dualflow.io.loaded import GLOBAL, LoadedFunction
from dualflow.io.serialize_trace import NAMED, SerializedTrace
from dualflow.io.signatures import as_module, described, functions_by_key
from dualflow.io.structure import VALUES, plain, saved_parameter, saved_skeleton
from dualflow.modules import Module, attributes
from dualflow.ops.random.random_generator import Generator, get_global_generator
from dualflow.ops.string_handles import is_constant_text
from dualflow.ops.string_tensor import StringTensor

__all__ = ["save"]

FORMAT = "dualflow module 1"
FILE = f"module{SUFFIX}"
FUNCTIONS = "_functions"        # the attribute of a loaded module that holds its functions
SIGNATURES = "_signatures"      # and its signatures


def save(obj: Any, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Save a module with the traces of its functions, so that it can run without its code.

    Parameters
    ----------
    obj : Module, or a model of Keras with known inputs
        Saved are its variables and those of inner modules; numbers, strings and random generators
        in attributes; and all traces of each `function`. A function with an `input_signature`
        and without traces is traced for the signature.
    export_dir : str
        Created if it does not exist. An existing module is replaced once the new one is on disk.
    signatures : function, result of `get_concrete_function`, or dict of str to these, optional
        Functions of tensors, which `load` returns as `signatures`; a single one has the key
        "serving_default". Functions need an `input_signature`. A model of Keras has the signature
        of its inputs by default.
    options : SaveOptions, optional
        Has no effect.

    Raises
    ------
    UnimplementedError
        If a trace calls Python (`py_function`, `df.strings`, lookup tables), takes variables or
        objects as arguments, or returns containers other than list, tuple, dict and ragged, sparse
        and text tensors. Assertions are saved, and `print`, which prints in calls of the loaded
        function, unless it prints to a file.
    OSError
        If the file cannot be written; an existing file is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> import dualflow as df
    >>> class Scale(df.Module):
    ...     def __init__(self, by):
    ...         super().__init__()
    ...         self.by = df.Variable(by)
    ...     @df.function(input_signature=[df.TensorSpec([None])])
    ...     def __call__(self, x):
    ...         return x * self.by
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     df.save(Scale(3.), folder)
    ...     scale = df.load(folder)
    >>> scale(df.constant([1., 2.])).tolist(), scale.variables[0].item()
    ([3.0, 6.0], 3.0)
    """
    module, default = as_module(obj)
    if not isinstance(module, Module):
        raise InvalidArgumentError(f"save: got {type(module).__name__}, expected a Module")
    if current_graph() is not None:
        raise InvalidArgumentError("save: a traced function cannot save; save between its calls")
    safetensors()
    saved = Saved(module)
    saved.add_signatures(functions_by_key(signatures if signatures is not None else default))
    path = os.path.join(os.fspath(export_dir), FILE)
    write_content(path, FORMAT, saved.tensors(), {"module": saved.description()})


class Saved:
    """The content of a module to be saved.

    Attributes
    ----------
    names : dict of int to str
        The names in the file of variables, constants and generators, by id.
    """

    def __init__(self, module: Module) -> None:
        self.names: dict[int, str] = {}
        self._named: list[Any] = []         # retains the objects, so that ids stay unique
        self.variables: dict[str, Variable] = {}
        self.constants: dict[str, Tensor] = {}
        self.generators: dict[str, Generator] = {}
        self.texts: dict[str, StringTensor] = {}
        self.functions: list[Any] = []
        self._known: dict[int, int] = {}        # indices of functions, by id
        self.modules: list[Module] = [module, *module.submodules]
        self._places = {id(m): k for k, m in enumerate(self.modules)}
        for k, m in enumerate(self.modules):
            for path, x in leaves_of(m):
                if isinstance(unwrapped(x), Variable | Generator):
                    self.name(unwrapped(x), f"{k}/{path}" if k else path)
        self.trees: list[Any] = [self._tree(m) for m in self.modules]
        self.signatures: dict[str, Any] = {}

    def add_signatures(self, traces: dict[str, Any]) -> None:
        """Add functions under their keys."""
        for key, x in traces.items():
            inputs, outputs = described(key, x)
            self.signatures[key] = {"function": self._function(getattr(x, "_function", x), key),
                                    "inputs": inputs, "outputs": outputs}

    def name(self, x: Variable | Tensor | StringTensor | Generator, wanted: str = "") -> str:
        """Return the name of a variable, constant or generator; add it to the file if it is new."""
        found = self.names.get(id(x))
        if found is None and isinstance(x, Generator) and x is get_global_generator():
            return GLOBAL
        if found is None:
            kind = ("variables" if isinstance(x, Variable) else
                    "generators" if isinstance(x, Generator) else
                    "texts" if isinstance(x, StringTensor) or is_constant_text(x) else "constants")
            among: dict[str, Any] = getattr(self, kind)
            found = f"{kind}/{wanted or len(among)}"
            while found in among:
                found += "'"
            self.names[id(x)] = found
            self._named.append(x)
            among[found] = (StringTensor._made(x) if kind == "texts" and isinstance(x, Tensor)
                            else x)
        return found

    def tensors(self) -> dict[str, Any]:
        """Return all tensors of the file."""
        values = snapshot_values(list(self.variables.values()))
        return {**dict(zip(self.variables, values, strict=True)), **self.constants}

    def description(self) -> Any:
        """Return the JSON part of the file."""
        return {"modules": self.trees, "functions": self.functions, "signatures": self.signatures,
                "variables": {name: [v.name, v.trainable] for name, v in self.variables.items()},
                "texts": {name: [list(x.shape), [y.decode("latin-1") for y in x._array.ravel()]]
                          for name, x in self.texts.items()},
                "generators": {name: self._state(g) for name, g in self.generators.items()}}

    def _state(self, generator: Generator) -> dict[str, Any]:
        """Return the state of a generator as JSON, with the name of the variable that programs
        carry it in, if there is one."""
        carried = self.names.get(id(generator._state))
        return {**generator.__getstate__(), **({"variable": carried} if carried else {})}

    # --- modules ---

    def _tree(self, module: Module) -> Any:
        """Return a module as JSON: its name and its saved attributes."""
        has: dict[str, Any] = {}
        for name, x in [*functions_of(module), *attributes(module)]:
            found = None if name in (FUNCTIONS, SIGNATURES) else self._attribute(
                x, f"{type(module).__name__}.{name}", ())
            if found is not None:
                has[name] = found
        return {"name": module.name, "has": has}

    def _attribute(self, x: Any, caller: str, around: tuple[int, ...]) -> Any:
        """Return an attribute's value as JSON, or None if it is not saved."""
        held = unwrapped(x)
        if isinstance(held, Variable):
            return {"variable": self.name(held)}
        if isinstance(x, Generator):
            return {"generator": self.name(x)}
        if isinstance(x, Module):
            return {"module": self._places[id(x)]} if id(x) in self._places else None
        if isinstance(x, BoundFunction | Function | ConcreteFunction | LoadedFunction):
            return {"function": self._function(x, caller)}
        if type(x) in VALUES:
            return {"value": x}
        if id(x) in around or not isinstance(x, list | tuple | dict):
            return None
        around = (*around, id(x))
        if isinstance(x, dict):
            return {"dict": [[key, self._attribute(y, caller, around)] for key, y in x.items()
                             if type(key) in VALUES]}
        return {"list" if isinstance(x, list) else "tuple":
                [self._attribute(y, caller, around) for y in x]}

    # --- functions ---

    def _function(self, x: Any, caller: str) -> int:
        function = x.function if isinstance(x, BoundFunction) else x
        if id(function) not in self._known:
            said = self._again(function) if isinstance(function, LoadedFunction) else {
                "name": function.name, "who": caller,
                "parameters": [saved_parameter(p, f"save: {function.name}") for p in
                               function.arguments.signature.full.parameters.values()],
                "traces": [self._trace(trace) for trace in traces_of(function)]}
            self._known[id(function)] = len(self.functions)
            self.functions.append(said)
            self._try_out(said)
        return self._known[id(function)]

    def _try_out(self, said: Any) -> None:
        """Raise an error if a function could not be loaded."""
        try:
            LoadedFunction(json.loads(json.dumps(said)),
                           {**self.variables, **self.constants, **self.generators,
                            **self.texts}).validate()
        except (DualflowError, LookupError, AttributeError, ValueError) as error:
            raise UnimplementedError(f"save: {said['name']} cannot be saved: its trace cannot be "
                                     f"replayed ({error})") from error

    def _again(self, function: LoadedFunction) -> Any:
        """Return the JSON of a loaded function, with the names of this file."""
        def renamed(step: list[Any]) -> list[Any]:
            named = step[0] in NAMED
            return [*step[:-1], self.name(function.saved[step[-1]])] if named else step

        return {**function.said, "traces": [
            {**trace, "returned": list(map(renamed, trace["returned"])),
             "graphs": [[*graph[:3], list(map(renamed, graph[3])), *graph[4:]]
                        for graph in trace["graphs"]]}
            for trace in function.said["traces"]]}

    def _trace(self, concrete: ConcreteFunction) -> Any:
        caller = f"save: {concrete.name}"
        recipe = SerializedTrace(concrete.trace, self.name)
        treedef, leaves = concrete.result
        return {"arguments": [saved_skeleton(s, caller) for s in concrete.treedef],
                "leaves": [self._leaf(leaf, path, caller)
                           for leaf, path in zip(concrete.leaves, concrete.paths, strict=True)],
                "graphs": recipe.graphs,
                "result": saved_skeleton(treedef, caller),
                "returned": [self._returned(x, recipe, caller) for x in leaves],
                "options": [concrete.options.fast_math, concrete.options.passes]}

    def _returned(self, x: Any, recipe: SerializedTrace, caller: str) -> list[Any]:
        """Return a leaf of a trace's result as JSON."""
        if x is None or x is DATA_NUMBER or x is ROWS:
            return ["tensor" if x is None else "number" if x is DATA_NUMBER else "rows"]
        if not isinstance(x, tuple):
            return ["size", recipe.dim(x)]
        held = unwrapped(x[0])
        if isinstance(held, Variable | Tensor | StringTensor):
            return ["saved", self.name(held)]
        return ["value", plain(x[0], caller)]

    def _leaf(self, leaf: Any, path: str, caller: str) -> Any:
        """Return the pattern for a leaf of a trace's arguments as JSON."""
        if isinstance(leaf, TensorLeaf):
            return ["tensor", leaf.dtype.name, list(leaf.shape)]
        if isinstance(leaf, NumberLeaf) and leaf.kind in (int, float):
            return ["number", leaf.kind.__name__, leaf.large]
        if isinstance(leaf, StaticLeaf) and type(leaf.value) in VALUES:
            return ["value", leaf.value]
        raise UnimplementedError(f"{caller}: argument {path} is {leaf}, expected a tensor, a "
                                 "number, a string or None")


def traces_of(function: Function[..., Any] | ConcreteFunction) -> list[ConcreteFunction]:
    """Return the traces of a function. A function with a signature also has a trace for the
    signature, unless a trace is valid for all its sizes."""
    if isinstance(function, AnyRankFunction):
        return traces_for_ranks(function.find, *function.given)
    if isinstance(function, ConcreteFunction):
        return [function]
    signature, found = function.input_signature, function.concrete_functions
    if signature is None:
        return found
    if has_unknown_rank(signature):
        return traces_for_ranks(function.get_concrete_function, tuple(signature), {})
    try:
        trace: ConcreteFunction = function.get_concrete_function(*signature)
    except DualflowError:
        if not found:
            raise
        return found
    general = not any([isinstance(spec, TensorSpec) and leaf.shape != spec.shape for leaf, spec in
                       zip(trace.leaves, function.arguments.specs or (), strict=False)])
    if not general and not found:
        raise UnimplementedError(
            f"save: the Python code of {function.name} decides by sizes that its input_signature "
            "leaves open; call it with the sizes for which it is to be saved")
    return found if not general or any([x is trace for x in found]) else [*found, trace]


def leaves_of(module: Module) -> list[tuple[str, Any]]:
    """Return the variables and generators of a module, without inner modules, with their paths."""
    return [(path, x) for of, path, x in module._flatten(
        lambda x: isinstance(unwrapped(x), Variable | Generator)) if of is module]


def functions_of(module: Module) -> list[tuple[str, Any]]:
    """Return the traced functions among the methods of a module."""
    names = dict.fromkeys([name for cls in type(module).__mro__ for name in vars(cls)])
    found = [(name, getattr(module, name)) for name in sorted(names)
             if isinstance(inspect.getattr_static(type(module), name), Function)]
    return [*found, *vars(module).get(FUNCTIONS, {}).items()]
