"""`dualflow.load_program`: loads a program file as a callable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dualflow._core import (
    CachedResults,
    Executable,
    Program,
    ProgramFile,
    Tensor,
    Variable,
    current_graph,
)
from dualflow.aot.save_program import MAGIC
from dualflow.aot.structures import Described, Structure, described
from dualflow.dtypes import uint8
from dualflow.errors import (
    DataLossError,
    DualflowError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from dualflow.graph.program.compile import source
from dualflow.graph.program.spec import (
    SLOT_KINDS,
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    SlotKind,
    SlotSpec,
    VariableSpec,
)
from dualflow.graph.trace import parameters

__all__ = ["LoadedProgram", "load_program"]

CALL, VARIABLE, WRITTEN, KEY, CACHED, CONSTANT = range(6)         # df_model_origin


def load_program(file: str | os.PathLike[str]) -> LoadedProgram:
    """Load a file that `save_program` wrote.

    Parameters
    ----------
    file : str or path

    Returns
    -------
    LoadedProgram
        Called like the saved function.

    Raises
    ------
    NotFoundError
        If the file does not exist.
    InvalidArgumentError
        If the argument is the content of a file.
    DataLossError
        If the file is not a program file, is truncated, has another version, or is inconsistent;
        the message names the problem and its location.
    UnimplementedError
        If it requires ops, or versions of ops, that this dualflow does not have.

    Notes
    -----
    The file need not be trusted. It contains no code: ops are looked up by name, and every number,
    shape and memory offset is checked against the ops' own inference before anything runs. It may
    still require much memory, or contain an infinite loop, which signals interrupt.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> double = df.function(lambda x: x + x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "double.df")
    ...     df.save_program(double.get_concrete_function(df.constant([1, 2])), file)
    ...     f = df.load_program(file)
    >>> f
    <program <lambda>(x: int32 (2,)) -> result: int32 (2,)>
    >>> f(df.constant([3, 4])).tolist()
    [6, 8]
    """
    path = os.fspath(file)
    if isinstance(path, bytes) and path.startswith(MAGIC):
        raise InvalidArgumentError("load_program: expected the path of a file, got its content")
    if not os.path.isfile(path):
        raise NotFoundError(f"load_program: there is no file {path}")
    try:
        return LoadedProgram(ProgramFile(os.fsencode(path)))
    except (UnimplementedError, ResourceExhaustedError) as error:
        raise type(error)(f"load_program: {error}") from error
    except DualflowError as error:
        named = str(error) if path[:100] in str(error) else f"{path}: {error}"
        raise DataLossError(f"load_program: {named}") from error


class LoadedProgram:
    """A function of a program file, created by `load_program`.

    Attributes
    ----------
    name : str
        The name of the saved function.
    variables : tuple of Variable
        The program's variables, with the file's values; calls read and write them. The state of a
        random generator is an int64 variable with its seed and its number of draws.
    spec : ProgramSpec
        The program; its string form is readable.
    """

    def __init__(self, file: ProgramFile) -> None:
        structure = Structure(file.structure, file.inputs, len(file.outputs), len(file.variables))
        self.name: str = structure.name
        self.variables: tuple[Variable, ...] = tuple([
            Variable(x, trainable and x.dtype.is_inexact, name)
            for (name, x), trainable in zip(file.variables, structure.trainable, strict=True)])
        self._structure = structure
        self._outputs = file.outputs
        parts, sources, returns = file.entry
        distinct = list(dict.fromkeys([(*x[:2], id(x[2])) for x in returns]))
        self._order = [distinct.index((*x[:2], id(x[2]))) for x in returns]
        first = [returns[self._order.index(k)] for k in range(len(distinct))]
        cached = None if file.cached is None else self._spec(*file.cached)
        self.spec: ProgramSpec = self._spec(parts, sources, first, file.inputs, cached)
        self._executable = Executable(
            Program(self.spec), list(map(source, self.spec.arguments)),
            *variables_of(self.spec),
            None if cached is None else CachedResults(Program(cached), variables_of(cached)[0]))

    def _spec(self, parts: Any, sources: Sequence[Any], returns: Sequence[Any],
              inputs: Sequence[Described] = (), cached: ProgramSpec | None = None) -> ProgramSpec:
        """Return the specification of the entry's program, or of the program of cached values."""
        variables = [VariableSpec(self.variables[index], origin == WRITTEN)
                     for origin, index, _ in sources if origin in (VARIABLE, WRITTEN)]
        n = len(sources) - len(variables)
        if any([origin in (VARIABLE, WRITTEN) for origin, _, _ in sources[:n]]):
            raise DataLossError("arguments that are variables come before others")
        if [index for origin, index, _ in sources if origin == CACHED] != list(
                range(0 if cached is None else len(cached.results))):
            raise DataLossError("the cached values are not arguments in order")
        arguments = [self._argument(x, inputs) for x in sources[:n]]
        return spec_of(self.name, parts, arguments, variables, returns, cached)

    def _argument(self, given: Any, inputs: Sequence[Described]) -> ArgumentSpec:
        origin, index, data = given
        if origin == CALL:
            path, dtype, shape = inputs[index]
            return ArgumentSpec(parameters.Argument(index, path), dtype, shape, path)
        if origin == KEY:
            state = self.variables[index]
            return ArgumentSpec(parameters.Feed(next_key, (state,)), state.dtype, (2,), state.name)
        if origin == CACHED:
            return ArgumentSpec(parameters.CachedParameter(index), uint8, ())
        return ArgumentSpec(parameters.Feed(identity, (data,)), uint8, data.shape)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_graph() is not None:
            raise InvalidArgumentError(f"{self.name}: a loaded program cannot be traced; call it "
                                       "outside a trace, or save the function by df.save")
        inputs = self._structure.bind(args, kwargs)
        made = self._executable.run(inputs)
        return self._structure.pack([made[k] for k in self._order], self.variables)

    def __repr__(self) -> str:
        made = ", ".join(map(described, self._outputs)) or "nothing"
        text = f"<program {self.name}({self._structure.wanted()}) -> {made}"
        if self.variables:
            n = sum([x.size * x.dtype.itemsize for x in self.variables])
            text += f", {len(self.variables)} variables of {n} bytes"
        return text + ">"


def next_key(state: Variable) -> Tensor:
    """Return the key of the next draw and increment the count in the state."""
    before = state.value()
    state.assign_add([0, 1])
    return before


def identity(x: Tensor) -> Tensor:
    """Return a constant unchanged."""
    return x


def variables_of(spec: ProgramSpec) -> tuple[list[Variable], list[bool]]:
    """Return the variables of a program, and whether it writes each."""
    return [x.variable for x in spec.variables], [x.written for x in spec.variables]


def spec_of(name: str, parts: Any, arguments: Sequence[ArgumentSpec],
            variables: Sequence[VariableSpec], returns: Sequence[Any],
            cached: ProgramSpec | None = None) -> ProgramSpec:
    """Return the specification of a program from the parts in a `ProgramFile`."""
    slots, instructions, _, _, arena_bytes, _ = parts
    constants = dict.fromkeys([x for x in (*[s[5] for s in slots], *[r[2] for r in returns])
                               if x is not None])
    places = {id(x): k for k, x in enumerate(constants)}
    made = [SlotSpec(SLOT_KINDS[kind], dtype, shape, index if data is None else places[id(data)],
                     offset if data is None else 0, last_use)
            for kind, dtype, shape, offset, index, data, last_use in slots]
    results = [ResultSpec(SLOT_KINDS[kind], index if data is None else places[id(data)], dtype,
                          shape)
               for kind, index, data, dtype, shape in returns]
    return ProgramSpec(name, tuple(made), tuple([instruction_of(x) for x in instructions]),
                       tuple(arguments), tuple(variables), tuple(constants), tuple(results),
                       arena_bytes, cached)


def instruction_of(x: Any) -> InstructionSpec:
    """Return the specification of an instruction."""
    op, inputs, outputs, attrs, workspace, dynamic, poll, wave, cost, bodies = x
    return InstructionSpec(op, inputs, outputs, attrs, None if workspace == -1 else workspace,
                           bool(dynamic), bool(poll), wave, cost, op.name, None,
                           tuple(map(body_of, bodies)))


def body_of(parts: Any) -> ProgramSpec:
    """Return the specification of a body, whose arguments have no names."""
    slots, _, n_args, _, _, returned = parts
    arguments = [ArgumentSpec(parameters.Argument(k, f"input {k}"), uint8, ())
                 for k in range(n_args)]
    returns = [(slots[k][0], k if slots[k][0] == SlotKind.DYNAMIC else slots[k][4], None,
                slots[k][1], slots[k][2]) for k in returned]
    return spec_of("body", parts, arguments, (), returns)
