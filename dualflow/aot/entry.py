"""The C function of a concrete function: its program, the sources of the program's arguments, and
its results. Functions that cannot run without Python are rejected here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dualflow._core import Tensor, Variable, get_op
from dualflow.aot.names import identifier, unique
from dualflow.dtypes import DType, float64, int64
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.graph.calls.arguments import NumberLeaf, TensorLeaf, VariableLeaf, flatten, rebuild
from dualflow.graph.calls.concrete import DATA_NUMBER, MADE, ConcreteFunction
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.program.spec import ProgramSpec, ResultSpec, SlotKind
from dualflow.graph.trace.parameters import Feed
from dualflow.graph.trace.specialize import Computed, deciding_arguments
from dualflow.ops.random.random_generator import Generator

HOST = tuple(map(get_op, ("host_call", "host_compute", "host_start", "host_wait")))


class Value(NamedTuple):
    """An input or output of a C function.

    Attributes
    ----------
    name : str
        Name in C.
    path : str
        Path in Python: ``batch['image']``.
    dtype : DType
    shape : tuple of int
    number : int, float or None
        The type of a Python number, which C passes by value.
    """

    name: str
    path: str
    dtype: DType
    shape: tuple[int, ...]
    number: type | None = None


class CallArgument(NamedTuple):
    """An argument of the program that the call supplies: an input leaf, as a tensor of `dtype`."""

    leaf: int
    dtype: DType


class Entry(NamedTuple):
    """A C function.

    Attributes
    ----------
    name : str
    compiled : Compiled
    spec : ProgramSpec
        The program of `compiled`, with additional constants for constant results.
    inputs, outputs : tuple of Value
    leaves : tuple of int
        For each input, the index of its leaf in a call's arguments.
    arguments : tuple of CallArgument
        The inputs as the program reads them; a number may occur with several dtypes.
    returns : tuple of ResultSpec
        For each output, the program result or constant that holds it.
    returned : tuple of Variable
        The variables that a call returns as variables.
    jit : bool
        Whether its clusters are compiled.
    state : tuple of (str, str)
        Numbers, strings and bools that Python read from its state; they are constants in C.
    """

    name: str
    compiled: Compiled
    spec: ProgramSpec
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    leaves: tuple[int, ...]
    arguments: tuple[CallArgument, ...]
    returns: tuple[ResultSpec, ...]
    returned: tuple[Variable, ...]
    jit: bool
    state: tuple[tuple[str, str], ...]

    @property
    def variables(self) -> list[Variable]:
        """The variables that the function reads, writes or returns."""
        return [*[x.variable for x in self.spec.variables], *self.returned]

    @property
    def generators(self) -> list[Generator]:
        """The generators whose keys the function draws, once for each draw."""
        return [generator_of(x.source) for x in self.spec.arguments if isinstance(x.source, Feed)]


def make_entry(name: str, function: Any, caller: str, numbers: bool = False) -> Entry:
    """Return the C function of a concrete function. Raise if it cannot run without Python; messages
    begin with `caller`. `numbers`: whether Python numbers may be inputs."""
    if not isinstance(function, ConcreteFunction):
        hint = "; get one by get_concrete_function" if callable(function) else ""
        raise InvalidArgumentError(f"{caller} is a {type(function).__name__}, expected a "
                                   f"concrete function{hint}")
    shapes = _shapes(caller, function, numbers)
    changed = function.trace.stale or function.places.broken()
    if changed:
        raise InvalidArgumentError(f"{caller}: {changed} after it was traced; "
                                   "get a new one by get_concrete_function")
    compiled = compile_trace(function.trace, shapes, function.options._replace(portable=True))
    if compiled is None:
        sizes = ", ".join([f"{function.paths[k]} {shape}" for k, shape in shapes.items()])
        raise InvalidArgumentError(f"{caller}: for {sizes} Python makes another decision than in "
                                   "the trace")
    _refuse_host(caller, compiled.spec)
    used_names: set[str] = set()
    arguments = _arguments(caller, function, compiled)
    inputs = _inputs(caller, function, shapes, arguments, used_names)
    outputs, returns, constants = _outputs(caller, function, compiled, used_names)
    spec = compiled.spec.with_constants((*compiled.spec.constants, *constants))
    returned = tuple([x[0] for x in function.result[1] if is_fixed(x, Variable)])
    return Entry(name, compiled, spec, tuple(inputs.values()), outputs, tuple(inputs), arguments,
                 returns, returned, function.options.jit, tuple(function.places.texts()))


def is_fixed(leaf: Any, kind: type) -> bool:
    """Return True if a leaf of the result is the same object of class `kind` in every call."""
    return isinstance(leaf, tuple) and isinstance(leaf[0], kind)


def _shapes(caller: str, function: ConcreteFunction, numbers: bool) -> dict[int, tuple[int, ...]]:
    """Return the shapes of the leaves that are tensors."""
    found = {}
    deciding = deciding_arguments(function.trace)
    for k, (leaf, path) in enumerate(zip(function.leaves, function.paths, strict=True)):
        if isinstance(leaf, NumberLeaf) and not (numbers and leaf.kind in (int, float)):
            raise InvalidArgumentError(f"{caller}: {path} is a Python number that may "
                                       "change; trace with a tensor in its place")
        if isinstance(leaf, NumberLeaf) and k in deciding:
            raise InvalidArgumentError(f"{caller}: a size or a decision of Python depends on "
                                       f"{path}, "
                                       f"a Python number that may change, at "
                                       f"{deciding[k] or 'an unknown line'}")
        if isinstance(leaf, VariableLeaf):
            raise InvalidArgumentError(f"{caller}: {path} is a variable; exported functions must "
                                       "capture variables")
        if not isinstance(leaf, TensorLeaf):
            continue                            # a constant of the trace
        dims = function.sizes.get(k, tuple([d for d in leaf.shape if d is not None]))
        if len(dims) < len(leaf.shape):
            shape = str(leaf.shape).replace("None", "?")
            raise InvalidArgumentError(f"{caller}: {path} has shape {shape}, expected a fixed "
                                       "shape; "
                                       "pass get_concrete_function a tensor or a TensorSpec of "
                                       "fixed shape")
        found[k] = dims
    return found


def _arguments(caller: str, function: ConcreteFunction,
               compiled: Compiled) -> tuple[CallArgument, ...]:
    """Return the inputs that the program reads, in the order of the call's arguments."""
    found = {CallArgument(k, x.dtype) for k, x in enumerate(function.leaves)
             if isinstance(x, TensorLeaf)}
    for x in compiled.spec.arguments:
        if isinstance(x.source, Computed):
            steps = x.source.formula.steps
            paths = [function.paths[step[1]] for step in steps if step[0] == "argument"]
            if paths and len(steps) > 1:
                raise InvalidArgumentError(f"{caller}: Python computes a number from "
                                           f"{' and '.join(paths)}, which may change; trace with "
                                           "tensors in their place")
            if paths:
                found.add(CallArgument(steps[0][1], x.dtype))
    return tuple(sorted(found, key=lambda x: (x.leaf, x.dtype.index)))


def _inputs(caller: str, function: ConcreteFunction, shapes: dict[int, tuple[int, ...]],
            arguments: tuple[CallArgument, ...], used_names: set[str]) -> dict[int, Value]:
    """Return the inputs by leaf. A number has the dtype that the program reads or, if there are
    several, float64 or int64, from which C converts."""
    found = {}
    for k, (leaf, path) in enumerate(zip(function.leaves, function.paths, strict=True)):
        if isinstance(leaf, NumberLeaf):
            dtypes = [x.dtype for x in arguments if x.leaf == k]
            dtype = float64 if leaf.kind is float else int64
            if len(dtypes) == 1:
                dtype = dtypes[0]
            if dtype.is_complex or (len(dtypes) > 1 and any(
                    [x.is_complex or (x.is_floating and x.itemsize == 2) for x in dtypes])):
                raise InvalidArgumentError(f"{caller}: {path} is a Python number that becomes "
                                           f"{' and '.join([x.name for x in dtypes])}; trace with "
                                           "a tensor in its place")
            found[k] = Value(unique(identifier(path), used_names), path, dtype, (), leaf.kind)
        elif isinstance(leaf, TensorLeaf):
            found[k] = Value(unique(identifier(path), used_names), path, leaf.dtype, shapes[k])
    return found


def _outputs(
        caller: str, function: ConcreteFunction, compiled: Compiled, used_names: set[str],
        ) -> tuple[tuple[Value, ...], tuple[ResultSpec, ...], list[Tensor]]:
    """Return the outputs, the program result of each, and constants that the program lacks."""
    found: list[Value] = []
    returns: list[ResultSpec] = []
    constants: list[Tensor] = []
    order: Iterator[int] = iter(compiled.order)
    treedef, rest = function.result
    for kind, path in zip(rest, paths_of(treedef, len(rest)), strict=True):
        if is_fixed(kind, Tensor):
            result = ResultSpec(SlotKind.CONSTANT, len(compiled.spec.constants) + len(constants),
                                kind[0].dtype, tuple(kind[0].shape))
            constants.append(kind[0])
        elif any([kind is x for x in MADE]):
            result = compiled.spec.results[next(order)]
        else:
            continue                            # a number, a string: returned only in Python
        if kind is DATA_NUMBER or None in result.shape:
            raise UnimplementedError(
                f"{caller}: the size of {path} depends on data, but C allocates outputs before a "
                "run; "
                "pad it to its maximal size, and declare that size by ensure_shape")
        shape = tuple([d for d in result.shape if d is not None])
        plain = re.sub(r"^result\W+(?=[A-Za-z])", "", path).rstrip("']")
        found.append(Value(unique(identifier(plain), used_names), path, result.dtype, shape))
        returns.append(result)
    return tuple(found), tuple(returns), constants


def paths_of(treedef: Any, n: int) -> list[str]:
    """Return the path of each leaf in the result of a call."""
    paths: list[str] = []
    flatten(rebuild(treedef, iter(range(n))), "result", [], paths, arrays=True)
    return paths


def generator_of(feed: Feed) -> Generator:
    """Return the generator that supplies the keys of an argument."""
    owner = getattr(feed.make, "__self__", None)
    if isinstance(owner, Generator) and not feed.args:
        return owner
    raise UnimplementedError(f"export: {feed!r} requires Python")


def _refuse_host(caller: str, spec: ProgramSpec) -> None:
    """Raise if a run calls Python, by an op or for an argument."""
    found: list[str] = []
    for x in spec.all_instructions:
        if x.op in HOST:
            found.append(f"{x.name or x.op.name} at {x.line or 'an unknown line'}")
    for argument in spec.arguments:
        if isinstance(argument.source, Feed):
            generator_of(argument.source)
    if found:
        raise UnimplementedError(f"{caller} calls Python: " + ", ".join(
            dict.fromkeys(found)))


def programs(specs: Iterable[ProgramSpec]) -> Iterator[ProgramSpec]:
    """Yield programs with their bodies and their programs of cached values."""
    pending = list(specs)
    while pending:
        spec = pending.pop()
        yield spec
        pending += [body for x in spec.instructions for body in x.bodies]
        if spec.cached is not None:
            pending.append(spec.cached)
