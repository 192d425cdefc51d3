"""`dualflow.export`: functions written as C programs that run without Python."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dualflow._core import isa
from dualflow.aot.amalgamation import joined
from dualflow.aot.builds import cmake, makefile
from dualflow.aot.check import Check
from dualflow.aot.check_vectors import record
from dualflow.aot.clusters.exported import FILE as CLUSTERS, Clusters
from dualflow.aot.contents import Contents, entries_of
from dualflow.aot.entry import programs
from dualflow.aot.model import header, source
from dualflow.aot.names import DEFAULT, own_symbols, prefix_of
from dualflow.aot.needs import needs_of
from dualflow.aot.runtime import runtime
from dualflow.aot.weights import weights
from dualflow.errors import AlreadyExistsError, InvalidArgumentError
from dualflow.graph.calls.concrete import ConcreteFunction

__all__ = ["export"]


def write_c(folder: Path, functions: Mapping[str, Any], examples: Mapping[str, Any],
            prefix: str) -> None:
    """Write the folder of a C export."""
    prefix = prefix_of(prefix)
    contents = Contents(entries_of(functions))
    check = Check(contents, record(contents, examples), prefix)
    parts = runtime(*needs_of(programs([x.spec for x in contents.entries])))
    clusters = Clusters(programs([x.spec for x in contents.entries if x.jit]))
    title = "A model: " + ", ".join([x.name for x in contents.entries]) + "."
    texts = {f"{prefix}.h": header(contents, title, prefix),
             f"{prefix}.c": own_symbols(source(contents, parts.ops, prefix, clusters),
                                        prefix),
             "check.c": check.text,
             "Makefile": makefile(isa(), machine_name(), prefix, bool(clusters)),
             "CMakeLists.txt": cmake(isa(), machine_name(), prefix, bool(clusters)),
             **{path: own_symbols(text, prefix) for path, text in joined(parts).items()}}
    if clusters:
        texts[CLUSTERS] = own_symbols(clusters.source(parts), prefix)
    write_texts(folder, texts)
    (folder / "weights.safetensors").write_bytes(
        weights({x.name: x.value for x in contents.variables}))


FORMATS: dict[str, Callable[[Path, Mapping[str, Any], Mapping[str, Any], str], None]] = {
    "c": write_c}


def export(path: str | os.PathLike[str],
           functions: Mapping[str, ConcreteFunction | Sequence[ConcreteFunction]],
           format: str = "c", examples: Mapping[str, Sequence[Any]] | None = None,
           prefix: str = DEFAULT) -> None:
    """Write functions as C code that runs without Python, to a new folder at `path`.

    Parameters
    ----------
    path : str or path
        Must not exist yet.
    functions : dict of str to ConcreteFunction
        Each becomes a C function ``model_<name>``. Concrete functions for different shapes in a
        list become one C function each, with the sizes in which they differ in their names.
    format : str, default "c"
    examples : dict of str to sequence of tensors, optional
        Inputs of entries for the recorded runs of the check. By default, random inputs are drawn;
        integers are 0 or 1.
    prefix : str, default "model"
        Prefix of the names of files and functions: ``digits.h``, ``digits_new``. Models can be
        linked into one program if their prefixes differ.

    Raises
    ------
    AlreadyExistsError
        If `path` exists.
    UnimplementedError
        If a function calls Python when it runs, or the size of a result depends on data.
    InvalidArgumentError
        If a function is not a concrete function, if its arguments are not tensors of fixed shapes,
        or if `prefix` is not a C identifier.

    Notes
    -----
    The functions share their variables, whose current values are written to
    ``weights.safetensors``. Random ops continue from the current state of their generators. The
    export changes none of them; on failure, no folder is left. `docs/export.md` describes the
    folder.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> w = df.Variable([1.0, 2.0], name="w")
    >>> @df.function
    ... def predict(x):
    ...     return w * x
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = os.path.join(folder, "model")
    ...     df.export(place, {"predict": predict.get_concrete_function(df.constant([3.0, 4.0]))})
    ...     print("model.c" in os.listdir(place))
    True
    """
    if format not in FORMATS:
        raise InvalidArgumentError(f"export: format is {format!r}, expected one of "
                                   f"{', '.join(map(repr, FORMATS))}")
    write_folder(path, "export", lambda folder: FORMATS[format](
        folder, functions, examples or {}, prefix))


def machine_name() -> str:
    """Return the machine's name in compiler triples: ``x86_64``, ``aarch64``."""
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


def write_folder(path: str | os.PathLike[str], caller: str, write: Callable[[Path], None]) -> None:
    """Create a folder atomically: `write` fills a temporary folder, which is then renamed."""
    place = Path(os.path.abspath(path))
    if os.path.lexists(place):
        raise AlreadyExistsError(f"{caller}: {place} already exists")
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        write(beside)
        beside.chmod(0o777 & ~_umask())
        beside.rename(place)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files by path."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _umask() -> int:
    """Return the umask, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
