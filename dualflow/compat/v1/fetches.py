"""Nested fetches of a run: flattened for programs, and rebuilt from the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dualflow._core import Symbol, Tensor
from dualflow.compat.v1 import errors
from dualflow.compat.v1.operation import HostTensor, Operation
from dualflow.nest import Composite, flatten, is_nested, pack_sequence_as, parts, rebuild
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.ops.sparse.sparse_tensor import SparseTensor


def unfed_host(x: HostTensor) -> errors.InvalidArgumentError:
    """Return the error for a string placeholder without a value."""
    return errors.InvalidArgumentError(
        f"You must feed a value for placeholder tensor {x.op.name!r} with dtype {x.dtype.name} "
        f"(made at {x.op.line})", x.op)


def flat_feeds(feeds: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
    """Return fed values by tensor: a nested key, such as the state of a cell, is replaced by its
    tensors, with the values at the same positions. Without nested keys, return `feeds` itself."""
    if not feeds or not any([is_nested(key) for key in feeds]):
        return feeds
    flat: dict[Any, Any] = {}
    pending = list(feeds.items())[::-1]
    while pending:
        key, value = pending.pop()
        if not is_nested(key):
            if key in flat:
                raise ValueError(f"Could not flatten dictionary: the key {key} is not unique.")
            flat[key] = value
            continue
        keys, values = parts(key), parts(value) if is_nested(value) else [value]
        if len(keys) != len(values) or not is_nested(value):
            raise ValueError(f"Could not flatten dictionary. Key had {len(keys)} elements, but "
                             f"value had {len(values)} elements. Key: {key}, value: {value}.")
        pending += reversed([*zip(keys, values, strict=True)])
    return flat


class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices that a run returns."""

    values: Any
    indices: Any
    dense_shape: Any


class SparseTensorValue(NamedTuple):
    """The value of a sparse tensor: fed, or returned by a run."""

    indices: Any
    values: Any
    dense_shape: Any


class Known:
    """A fetch whose value is known without a run."""

    def __init__(self, value: Any) -> None:
        self.value = value


def with_rows(structure: Any) -> Any:
    """Replace IndexedSlices and sparse tensors in nested fetches by tuples of tensors."""
    if not isinstance(structure, list | tuple | Mapping | Composite):
        return structure
    return rebuild(structure, as_tuple, lambda x: isinstance(x, Composite))


def as_tuple(x: Any) -> Any:
    """Return IndexedSlices or a sparse tensor as a tuple of tensors; return anything else
    unchanged."""
    if isinstance(x, SparseTensor):
        return SparseTensorValue(*[Known(t.numpy()) if type(t) is Tensor else t
                                   for t in (x.indices, x.values, x.dense_shape)])
    if not isinstance(x, IndexedSlices):
        return x
    return IndexedSlicesValue(x.values, x.indices, Known(sizes_of(x.dense_shape)))


def sizes_of(shape: Any) -> Any:
    """Return a shape as an int32 array, or None if a size is not known before the run."""
    if shape is None or not all([isinstance(n, int) for n in shape]):
        return None
    import numpy as np

    return np.array(shape, np.int32)


class Fetches:
    """The fetches of a run.

    Attributes
    ----------
    in_python : bool
        Whether some results are computed in Python.
    wanted : tuple of Symbol or Node
        Fetches for the program, without duplicates.
    """

    structure: Any

    def __init__(self, graph: Any, structure: Any) -> None:
        self.graph = graph
        self.structure = structure = with_rows(structure)
        self.single: bool = not isinstance(structure, list | tuple | Mapping)
        items = [structure] if self.single else flatten(structure)
        self.items: list[Any] = [self._element(item) for item in items]
        self.tensors: dict[Symbol, int] = {}
        self.hosts: dict[HostTensor, None] = {}
        nodes: dict[Operation, None] = {}
        for item in self.items:
            if isinstance(item, Operation):
                nodes[item] = None
            elif not isinstance(item, Known):
                self._take(item)
        for host in self.hosts:
            nodes.update(dict.fromkeys(host.op.control_inputs))
        self.wanted: tuple[Symbol | Operation, ...] = (*self.tensors, *nodes)
        self.in_python: bool = any([isinstance(x, HostTensor | Known) for x in self.items])
        self.is_first: bool = self.single and isinstance(self.items[0], Symbol)

    def _element(self, item: Any) -> Any:
        if isinstance(item, Known):
            return item
        try:
            return self.graph.as_graph_element(item)
        except TypeError as error:
            kind = type(item).__name__
            if item is None:
                raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be '
                                "None") from None
            raise TypeError(f'Argument `fetch` = {item} has invalid type "{kind}" must be a string '
                            f"or Tensor. ({error})") from None
        except (ValueError, KeyError) as error:
            reason = error.args[0] if error.args else error
            raise ValueError(f"Argument `fetch` = {item} cannot be interpreted as a Tensor. "
                             f"({reason})") from None

    def _take(self, item: Any) -> None:
        """Add the tensors that a fetch needs."""
        pending = [item]
        while pending:
            x = pending.pop()
            if isinstance(x, Symbol):
                self.tensors.setdefault(x, len(self.tensors))
            elif x not in self.hosts:
                self.hosts[x] = None
                pending += x.inputs

    def packer(self) -> Callable[[list[Any]], Any]:
        """Return a function from the tensor values to the results, for fetches that need no
        Python."""
        places = [self.tensors.get(x, -1) if isinstance(x, Symbol) else -1 for x in self.items]
        if self.single:
            place = places[0]
            return (lambda values: values[place]) if place >= 0 else lambda values: None
        if type(self.structure) is list and all([x is y for x, y in zip(
                self.structure, self.items, strict=False)]) and len(self.items) == len(
                self.structure):
            return lambda values: [None if k < 0 else values[k] for k in places]
        return lambda values: pack_sequence_as(
            self.structure, [None if k < 0 else values[k] for k in places])

    def pack(self, session: Any, values: list[Any], given: Mapping[HostTensor, Any]) -> Any:
        """Return the results, given the tensor values; computes the results that Python
        provides."""
        made: dict[Any, Any] = {x: values[k] for x, k in self.tensors.items()}
        made.update(given)

        def value_of(x: Any) -> Any:
            if isinstance(x, Known):
                return x.value
            if x not in made:
                if x.compute is None:
                    raise unfed_host(x)
                made[x] = x.compute(session, *[value_of(y) for y in x.inputs])
            return made[x]

        results = [None if isinstance(x, Operation) else value_of(x) for x in self.items]
        return results[0] if self.single else pack_sequence_as(self.structure, results)
