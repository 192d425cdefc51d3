"""The files of a pretrained model, as Hugging Face writes them: `config.json`, and tensors in one
or several files in the safetensors format.

Tensors are views of the memory-mapped files, except those of bfloat16. The names, shapes and
offsets of all tensors are checked before the first is returned. `language_model.py` calls
`read_json` and `read_tensors`.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualflow as df

# From the format's name of a dtype: the size of an element in bytes, and dualflow's dtype.
DTYPES = {"F64": (8, df.float64), "F32": (4, df.float32), "F16": (2, df.float16),
          "BF16": (2, df.bfloat16), "I64": (8, None), "I32": (4, None), "I16": (2, None),
          "I8": (1, None), "U64": (8, None), "U32": (4, None), "U16": (2, None), "U8": (1, None),
          "BOOL": (1, None), "F8_E4M3": (1, None), "F8_E5M2": (1, None)}
MAX_HEADER = 100_000_000        # bytes, as in the safetensors package
# Buffers that earlier versions of the models stored, and that can be computed.
BUFFERS = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq")


class ModelError(ValueError):
    """A file of a model is missing or damaged, or it does not have the expected content."""


class Stored(NamedTuple):
    """A tensor in a file: its dtype as the format names it, its shape, its offset in bytes."""

    dtype: str
    shape: tuple[int, ...]
    start: int


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        return parse(path.read_bytes(), path)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}, expected a JSON file") from None


def parse(text: bytes, path: Path) -> dict[str, Any]:
    def unique(pairs: list) -> dict:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        found = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: {error}, expected JSON") from None
    if type(found) is not dict:
        raise ModelError(f"{path}: {type(found).__name__} in JSON, expected an object")
    return found


def is_count(x: Any) -> bool:
    return type(x) is int and 0 <= x < 1 << 63


def read_header(path: Path) -> dict[str, Stored]:
    """Return the tensors of a safetensors file by name. The file consists of the size of the
    header, the header in JSON, and the tensors without gaps."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            n = int.from_bytes(file.read(8), "little")
            if n > min(MAX_HEADER, size - 8):
                raise ModelError(f"{path}: the size of the header is {n} bytes and of the file "
                                 f"{size}, expected a safetensors file")
            header = parse(file.read(n), path)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}, expected a safetensors file") from None
    header.pop("__metadata__", None)
    found, spans = {}, []
    for name, entry in header.items():
        where = f"{path}: tensor {name!r}"
        if type(entry) is not dict:
            raise ModelError(f"{where} is {entry!r:.80}, expected dtype, shape and data_offsets")
        dtype, shape, span = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if type(dtype) is not str or dtype not in DTYPES:
            raise ModelError(f"{where} has dtype {dtype!r:.80}, expected one of "
                             f"{', '.join(DTYPES)}")
        if type(shape) is not list or len(shape) > 32 or not all(map(is_count, shape)):
            raise ModelError(f"{where} has shape {shape!r:.80}, expected at most 32 sizes")
        expected = math.prod(shape) * DTYPES[dtype][0]
        if (type(span) is not list or len(span) != 2 or not all(map(is_count, span))
                or span[1] - span[0] != expected):
            raise ModelError(f"{where} has data_offsets {span!r:.80}, expected {expected} bytes "
                             f"for {dtype} {shape}")
        if 8 + n + span[1] > size:
            raise ModelError(f"{where} ends at byte {8 + n + span[1]}, but the file has {size}: "
                             "expected a complete file")
        found[name] = Stored(dtype, tuple(shape), 8 + n + span[0])
        spans.append((*span, name))
    end = 0
    for start, stop, name in sorted(spans):
        if start != end:
            raise ModelError(f"{path}: tensor {name!r} starts at offset {start}, expected {end}: "
                             "tensors without gaps or overlaps")
        end = stop
    if 8 + n + end != size:
        raise ModelError(f"{path}: the tensors end at byte {8 + n + end}, but the file has {size}")
    return found


def find_tensors(folder: Path) -> dict[str, tuple[Path, Stored]]:
    """Return the file and position of each tensor of a folder."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        path = folder / "model.safetensors"
        return {name: (path, stored) for name, stored in read_header(path).items()}
    parts = read_json(index).get("weight_map")
    if type(parts) is not dict or not parts:
        raise ModelError(f"{index}: weight_map is {parts!r:.80}, expected a file for each tensor")
    for name, part in parts.items():
        if type(part) is not str or Path(part).name != part:
            raise ModelError(f"{index}: the file of tensor {name!r} is {part!r:.80}, expected the "
                             "name of a file in the same folder")
    headers = {part: read_header(folder / part) for part in sorted({*parts.values()})}
    for name, part in parts.items():
        if name not in headers[part]:
            raise ModelError(f"{folder / part}: there is no tensor {name!r}, expected by {index}")
    return {name: (folder / part, headers[part][name]) for name, part in parts.items()}


def read_tensors(folder: Path, expected: dict[str, tuple[int, ...]], unused: str,
                 convert: Callable[[str, df.Tensor], Any]) -> dict[str, Any]:
    """Return the expected tensors, given their shapes, after `convert(name, tensor)`. `unused` is
    the name of another tensor that may exist."""
    found = find_tensors(folder)
    without_prefix = "transformer.wte.weight" in expected and "wte.weight" in found
    prefix = "transformer." if without_prefix else ""       # the first files of GPT-2 have none
    found = {prefix + name: where for name, where in found.items()}
    for name, shape in expected.items():
        if name not in found:
            raise ModelError(f"{folder}: there is no tensor {name!r}, expected shape {shape}")
        path, stored = found[name]
        if stored.shape != shape:
            raise ModelError(f"{path}: tensor {name!r} has shape {stored.shape}, expected {shape}")
        if DTYPES[stored.dtype][1] is None:
            raise ModelError(f"{path}: tensor {name!r} has dtype {stored.dtype}, expected F32, "
                             "F16, BF16 or F64")
    for name, (path, _) in found.items():
        if name not in expected and name != unused and not name.endswith(BUFFERS):
            raise ModelError(f"{path}: tensor {name!r} is not part of the model in config.json")
    files = {path: np.memmap(path, np.uint8, "r") for path, _ in found.values()}
    return {name: convert(name, mapped(files[found[name][0]], found[name][1]))
            for name in expected}


def mapped(file: np.ndarray, stored: Stored) -> df.Tensor:
    """Return a tensor of a mapped file: a view, unless it is stored in bfloat16, which NumPy does
    not have."""
    nbytes, own = DTYPES[stored.dtype]
    data = file[stored.start:stored.start + math.prod(stored.shape) * nbytes]
    kind = "u" if own is df.bfloat16 else "f"
    found = df.from_dlpack(data.view(f"<{kind}{nbytes}").reshape(stored.shape))
    return df.bitcast(found, own) if own is df.bfloat16 else found
