"""The format of cache files: a header in JSON, then for each leaf the bytes of all elements."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

from dualflow._core import Tensor, rebuild
from dualflow.data.json_state import decode_leaf, encode_leaf, raw
from dualflow.data.stage import Stage
from dualflow.data.structure import flatten, is_leaf, pack
from dualflow.errors import InvalidArgumentError
from dualflow.io.files import write_atomically

FORMAT = "dualflow.data.cache/1"


def write(path: str, source: Stage, elements: Sequence[Any]) -> None:
    """Write the file atomically: an existing file is replaced only when the new one is complete."""
    columns = list(zip(*map(flatten, elements), strict=True))
    header = {"format": FORMAT, "pipeline": source.describe(), "n": len(elements),
              "form": form(elements[0]) if elements else None,
              "columns": [described(column) for column in columns]}

    def contents(file: BinaryIO) -> None:
        file.write(json.dumps(header).encode() + b"\n")
        for column in columns:
            file.writelines(raw(x) for x in column if isinstance(x, Tensor))

    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    write_atomically(path, contents)


def form(element: Any) -> Any:
    """Return the structure of an element as JSON: None for a leaf, a list for a tuple, an object
    for a dict, the type's name for other containers, which only the pipeline can rebuild."""
    if is_leaf(element):
        return None
    if type(element) is tuple:
        return [form(x) for x in element]
    if type(element) is dict and all([isinstance(key, str) for key in element]):
        return {key: form(x) for key, x in element.items()}
    return type(element).__name__


def as_tuples(form: Any) -> Any:
    """Return a form with tuples in place of JSON lists."""
    if isinstance(form, list):
        return tuple(map(as_tuples, form))
    return {key: as_tuples(x) for key, x in form.items()} if isinstance(form, dict) else form


def described(column: Sequence[Any]) -> Any:
    """Return the header's entry for a leaf of all elements: dtype and shapes, or a single shape if
    all are equal; for leaves that are not tensors, the objects."""
    if not isinstance(column[0], Tensor):
        return {"objects": [encode_leaf(x) for x in column]}
    shapes = [list(x.shape) for x in column]
    same = all([shape == shapes[0] for shape in shapes])
    return {"dtype": column[0].dtype.name, "shapes": shapes[:1] if same else shapes}


def read(path: str, source: Stage) -> list[Any]:
    """Return the elements of a file. Raise if another pipeline wrote the file."""
    with open(path, "rb") as file:
        header = header_of(path, file)
        if header["pipeline"] != json.loads(json.dumps(source.describe())):
            raise InvalidArgumentError(f"cache: {path} was written by another pipeline; remove it, "
                                       "or name another file")
        return elements_of(path, file, header, source)


def elements_of(path: str, file: BinaryIO, header: Any, stage: Stage) -> list[Any]:
    """Return the elements after a header; `stage` has their spec."""
    columns = [read_column(path, file, c, header["n"]) for c in header["columns"]]
    like = as_tuples(header["form"])
    if not rebuildable(like):
        like = stage.spec
    return [pack(like, [column[k] for column in columns]) for k in range(header["n"])]


def rebuildable(like: Any) -> bool:
    """Return True if a form has tuples and dicts only."""
    return not any([isinstance(x, str) for x in flatten(like)])


def header_of(path: str, file: BinaryIO) -> Any:
    try:
        header = json.loads(file.readline())
        if header["format"] == FORMAT:
            return header
    except (ValueError, KeyError, TypeError):
        pass
    raise InvalidArgumentError(f"cache: {path} is not a cache of a dataset")


def read_column(path: str, file: BinaryIO, column: Any, n: int) -> list[Any]:
    if "objects" in column:
        return [decode_leaf(x) for x in column["objects"]]
    shapes = column["shapes"] * n if len(column["shapes"]) == 1 else column["shapes"]
    empty = rebuild(column["dtype"], (0,), b"")
    found = []
    for shape in shapes:
        size = empty.dtype.itemsize
        for d in shape:
            size *= d
        data = file.read(size)
        if len(data) != size:
            raise InvalidArgumentError(f"cache: {path} is truncated")
        found.append(rebuild(column["dtype"], tuple(shape), data))
    return found
