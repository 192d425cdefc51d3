"""The contents of an export: entries, the variables they share, and generator states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dualflow._core import Tensor, Variable, constant, snapshot_values
from dualflow.aot.entry import Entry, make_entry
from dualflow.aot.names import entry_name, unique
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.random.random_generator import Generator

STATE = "random_generator"


class Shared(NamedTuple):
    """A variable of the exported model, or the state of a generator: an int64 tensor (2,) with its
    seed and its number of draws.

    Attributes
    ----------
    name : str
        The variable's name. If several have the same name, later ones get `_1`, `_2`, ...
    owner : Variable or Generator
    value : Tensor
        The value at the time of the export.
    """

    name: str
    owner: Variable | Generator
    value: Tensor


class Contents:
    """The entries of an export and the variables they share.

    Parameters
    ----------
    entries : sequence of Entry

    Attributes
    ----------
    entries : tuple of Entry
    variables : tuple of Shared
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries: tuple[Entry, ...] = tuple(entries)
        variables = [v for x in self.entries for v in x.variables]
        generators = [g for x in self.entries for g in x.generators]
        owners: dict[Variable | Generator, None] = dict.fromkeys(variables)
        owners.update(dict.fromkeys(map(state_of, generators)))
        held = [x for x in owners if isinstance(x, Variable)]
        values = dict(zip(held, snapshot_values(held), strict=True))
        taken: set[str] = set()
        self.variables: tuple[Shared, ...] = tuple([
            Shared(unique(x.name, taken), x, values[x]) if isinstance(x, Variable) else
            Shared(unique(STATE, taken), x, constant([x.seed, x.counter], int64))
            for x in owners])
        self._places = {x.owner: k for k, x in enumerate(self.variables)}

    def place(self, owner: Variable | Generator) -> int:
        """Return the index of a variable, or of a generator's state."""
        return self._places[state_of(owner) if isinstance(owner, Generator) else owner]


def state_of(generator: Generator) -> Variable | Generator:
    """Return the variable that holds the state of a generator, or the generator itself."""
    return generator if generator._state is None else generator._state


def entries_of(functions: Mapping[str, Any]) -> list[Entry]:
    """Return the entries of functions by name. If a name has several functions, the input sizes in
    which they differ are appended to the name."""
    if not isinstance(functions, Mapping) or not functions:
        raise InvalidArgumentError("export: expected a dict of concrete functions by name, got "
                                   f"{type(functions).__name__ if functions else functions!r}")
    found: list[Entry] = []
    for name, given in functions.items():
        several = isinstance(given, list | tuple)
        made = [make_entry(entry_name(name), x, f"export: {name}", numbers=True)
                for x in (given if several else [given])]
        found += made if len(made) == 1 else by_size(name, made)
    names = [x.name for x in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgumentError(f"export: two entries are called {name}")
    return found


def by_size(name: str, entries: list[Entry]) -> list[Entry]:
    """Return entries named after the input sizes in which they differ: predict_1, predict_32."""
    sizes = [[d for x in entry.inputs for d in x.shape] for entry in entries]
    if not entries or len(set(map(len, sizes))) > 1 or len(set(map(tuple, sizes))) < len(sizes):
        raise InvalidArgumentError(f"export: {name} requires concrete functions that differ in the "
                                   f"sizes of their inputs, got sizes {sizes}")
    which = [k for k in range(len(sizes[0])) if len({s[k] for s in sizes}) > 1]
    return [entry._replace(name="_".join([name, *[str(s[k]) for k in which]]))
            for entry, s in zip(entries, sizes, strict=True)]
