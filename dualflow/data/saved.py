"""Saved datasets: a folder with an index in JSON, and parts in the format of cache files. Nothing
in them is executed."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from dualflow._core import Tensor, TensorSpec
from dualflow._util.cached import cached_property
from dualflow.data import cache_file
from dualflow.data.sources import spec_text
from dualflow.data.stage import Cursor, Stage
from dualflow.data.structure import common, fits, flatten, pack, spec_of
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.io.files import write_atomically

FORMAT = "dualflow.data.dataset/1"
INDEX = "dataset.json"
PART_SIZE = 1 << 26                     # bytes of tensors in a part, approximately
TYPES: dict[str, Any] = {"str": str, "bytes": bytes, "NoneType": type(None)}


def write(stage: Stage, elements: Iterable[Any], path: str) -> None:
    """Write the elements of a stage to a folder. The index is written last."""
    os.makedirs(path, exist_ok=True)
    index = os.path.join(path, INDEX)
    if os.path.exists(index):
        os.remove(index)
    counts: list[int] = []
    spec: Any = None
    form: Any = None
    for part in parts(elements):
        if not counts:
            spec, form = spec_of(part[0]), cache_file.form(part[0])
        for element in part:
            found = spec_of(element)
            if found != spec:
                spec = common(spec, found, "save")
        cache_file.write(part_name(path, len(counts)), stage, part)
        counts.append(len(part))
    for name in glob.glob(os.path.join(glob.escape(path), "*.part")):
        if name not in [part_name(path, k) for k in range(len(counts))]:
            os.remove(name)
    if not counts:
        spec = stage.spec
        form = cache_file.form(spec)
    content = {"format": FORMAT, "parts": counts, "form": form,
               "spec": [leaf_as_json(x) for x in flatten(spec)]}
    write_atomically(index, lambda file: file.write(json.dumps(content).encode()))


def parts(elements: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of consecutive elements."""
    part: list[Any] = []
    size = 0
    for element in elements:
        part.append(element)
        size += sum([64 + x.nbytes if isinstance(x, Tensor) else 64 for x in flatten(element)])
        if size >= PART_SIZE:
            yield part
            part, size = [], 0
    if part:
        yield part


def part_name(path: str, number: int) -> str:
    return os.path.join(path, f"{number:05}.part")


def leaf_as_json(spec: Any) -> Any:
    """Return the spec of a leaf as JSON."""
    if isinstance(spec, TensorSpec):
        return {"dtype": spec.dtype.name, "shape": list(spec.shape)}
    if getattr(spec, "__origin__", None) is list:
        return [leaf_as_json(spec.__args__[0])]
    name = getattr(spec, "__name__", "")
    if TYPES.get(name) is not spec:
        raise UnimplementedError(f"save: the elements have {spec}, expected tensors and strings")
    return name


def leaf_from_json(found: Any) -> Any:
    if isinstance(found, list):
        return list[leaf_from_json(found[0])]       # type: ignore[misc]
    if isinstance(found, dict):
        return TensorSpec(found["shape"], found["dtype"])
    return TYPES[found]


class Saved(Stage):
    """The elements of a saved dataset, read part by part."""

    def __init__(self, path: str, element_spec: Any) -> None:
        super().__init__()
        self.path = path
        self.counts, self.given = read_index(path, element_spec)

    def options(self) -> dict[str, Any]:
        return {"n": self.size, "spec": spec_text(self.given)}

    @property
    def size(self) -> int:
        return sum(self.counts)

    @cached_property
    def spec(self) -> Any:
        return self.given

    def cursor(self, epoch: int) -> Cursor:
        return SavedCursor(self)

    def part(self, number: int) -> list[Any]:
        """Return the elements of a part."""
        name = part_name(self.path, number)
        with open(name, "rb") as file:
            header = cache_file.header_of(name, file)
            found = cache_file.elements_of(name, file, header, self)
        if len(found) != self.counts[number]:
            raise InvalidArgumentError(f"load: {name} has {len(found)} elements, expected "
                                       f"{self.counts[number]}")
        return found


def read_index(path: str, element_spec: Any) -> tuple[list[int], Any]:
    """Return the number of elements of each part, and the spec."""
    name = os.path.join(path, INDEX)
    with open(name, "rb") as file:
        try:
            index = json.load(file)
            if index["format"] != FORMAT:
                raise ValueError
            counts, form = [int(n) for n in index["parts"]], cache_file.as_tuples(index["form"])
            leaves = [leaf_from_json(x) for x in index["spec"]]
        except (ValueError, KeyError, TypeError):
            raise InvalidArgumentError(f"load: {name} is not the index of a dataset that "
                                       "Dataset.save wrote") from None
    if element_spec is None and not cache_file.rebuildable(form):
        raise InvalidArgumentError(f"load: the elements of {path} have containers other than "
                                   f"tuples and dicts, {form}; pass element_spec")
    like = form if element_spec is None else element_spec
    if len(flatten(like)) != len(leaves):
        raise InvalidArgumentError(f"load: element_spec is {element_spec}, and the elements of "
                                   f"{path} have {len(leaves)} leaves")
    found = pack(like, leaves)
    if element_spec is not None:
        check_spec(found, element_spec)
    return counts, found


def check_spec(found: Any, wanted: Any) -> None:
    """Raise an error if the spec of a saved dataset does not have the wanted dtypes and sizes."""
    for x, y in zip(flatten(found), flatten(wanted), strict=True):
        if x != y and not (isinstance(x, TensorSpec) and isinstance(y, TensorSpec)
                           and x.dtype is y.dtype and fits(x.shape, y.shape)):
            raise InvalidArgumentError(f"load: the elements are {found}, expected element_spec, "
                                       f"{wanted}")


class SavedCursor(Cursor):
    stage: Saved
    place: int

    def __init__(self, stage: Saved) -> None:
        self.stage, self.place = stage, 0
        self.elements: list[Any] = []       # of the current part
        self.begin: int = 0                 # index of its first element

    def __next__(self) -> Any:
        while self.place >= self.begin + len(self.elements):
            if self.place >= self.stage.size:
                raise StopIteration
            self.enter()
        element = self.elements[self.place - self.begin]
        self.place += 1
        return element

    def enter(self) -> None:
        """Read the part that contains the position."""
        begin = 0
        for number, n in enumerate(self.stage.counts):
            if begin <= self.place < begin + n:
                self.elements, self.begin = self.stage.part(number), begin
                return
            begin += n

    def advance(self, n: int) -> int:
        n = max(0, min(n, self.stage.size - self.place))
        self.place += n
        return n

    def state(self) -> Any:
        return self.place

    def restore(self, state: Any) -> None:
        self.place = state
