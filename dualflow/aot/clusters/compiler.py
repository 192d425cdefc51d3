"""The system's C compiler: which one, how it is called, and a folder of what it has made.

A folder is for one compiler, one set of headers and flags; `folder_for` names it by all of these.
Files appear in it as a whole, so any number of processes may share it. A library ends with a
checksum of itself: one that is cut short would end the process that loads it.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dualflow._core import isa
from dualflow.aot.builds import KERNEL_FLAGS, LEVELS
from dualflow.aot.clusters.source import prelude
from dualflow.aot.runtime import closure, read, root

FLAGS = f"-O3 -std=gnu11 {KERNEL_FLAGS} -fPIC -g0 -w -fvisibility=hidden"
Runner = Callable[[Sequence[str]], str | None]  # runs a command; None, or what it said if it failed
COMPILERS = "cc", "gcc", "clang"
NONE = "there is no C compiler: install gcc or clang, or name one by CC"
PRELUDE = "prelude.h"
CLUSTERS = "clusters"           # the folder in the cache
MARK = b"dualflow"              # before the checksum
UNUSED_DAYS = 30                # after which the folder of another compiler is deleted
KEY = 24                        # hexadecimal digits


class CompilerError(Exception):
    """A compiler that does not run, or does not compile."""


def command() -> tuple[str, ...] | None:
    """What CC names, or else the first compiler there is; None if there is none."""
    named = os.environ.get("CC", "")
    if named:
        words = shlex.split(named)
        return tuple(words) if words and shutil.which(words[0]) else None
    found = next((name for name in COMPILERS if shutil.which(name)), None)
    return None if found is None else (found,)


@cache
def identity(compiler: tuple[str, ...]) -> str:
    """What decides about the code of a cluster, besides its source."""
    import subprocess

    path = shutil.which(compiler[0])
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as exc:
        raise CompilerError(f"{' '.join(compiler)} does not run: {exc}") from exc
    headers = closure_of_prelude()
    return digest([str(path), version, platform.machine(), *flags(), prelude(isa()), *headers,
                   *map(read, headers)])


def closure_of_prelude() -> list[str]:
    """The headers that the prelude includes."""
    wanted = [line.split('"')[1] for line in prelude(isa()).splitlines() if '"ops/' in line]
    return [path for path in closure(wanted) if path.endswith((".h", ".def"))]


def digest(parts: Sequence[str]) -> str:
    """A name for texts."""
    of = hashlib.sha256()
    for part in parts:
        of.update(f"{len(part)}\n{part}".encode())
    return of.hexdigest()[:KEY]


def flags() -> list[str]:
    """Those of the library's own kernels at the level in use: they decide about last bits."""
    return [*shlex.split(FLAGS), *shlex.split(LEVELS.get(isa(), "")), f"-I{root()}"]


# --- the folder ---


def folder_for(compiler: tuple[str, ...]) -> Path:
    """The folder of a compiler, made if need be: in the user's cache, or, where nothing can be
    written or others could write, one that is this process's alone."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    place = Path(base, "dualflow", CLUSTERS, identity(compiler))
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(place.parent) and is_private(place):
            os.utime(place)
            return place
    except OSError:
        pass            # a folder that cannot be written is one that cannot be used
    return own_folder()


def is_private(place: Path) -> bool:
    """Whether nobody else can have put there what would be loaded."""
    found = place.stat()
    if found.st_uid == os.getuid() and found.st_mode & 0o077:
        place.chmod(0o700)
        found = place.stat()
    return (found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
            and os.access(place, os.W_OK | os.X_OK))


@cache
def own_folder() -> Path:
    """A folder for this process, deleted when it ends."""
    place = Path(tempfile.mkdtemp(prefix="dualflow-"))
    atexit.register(delete, place, os.getpid())
    return place


def delete(place: Path, pid: int) -> None:
    """Deletes a folder at the end of the process that made it, not of its children."""
    if os.getpid() == pid:
        shutil.rmtree(place, ignore_errors=True)


def prune(folder: Path) -> None:
    """Deletes the folders of other compilers and versions that nobody has used for long."""
    for other in folder.parent.iterdir():
        if other != folder and time.time() - other.stat().st_mtime > UNUSED_DAYS * 86400:
            shutil.rmtree(other, ignore_errors=True)


# --- libraries ---


def library(folder: Path, key: str) -> Path | None:
    """The library of a cluster, if there is one and it is whole."""
    path = folder / f"{key}.so"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body, mark, checksum = data[:-40], data[-40:-32], data[-32:]
    if mark != MARK or hashlib.sha256(body).digest() != checksum:
        path.unlink(missing_ok=True)
        return None
    return path


def publish(folder: Path, built: Path, keys: Sequence[str]) -> None:
    """Makes one library that of several clusters."""
    checksum = hashlib.sha256(built.read_bytes()).digest()
    with built.open("ab") as file:
        file.write(MARK + checksum)
    for key in keys:
        beside = built.with_name(f"{built.name}-{key}")
        try:
            os.link(built, beside)
        except OSError:                 # not on every file system
            shutil.copyfile(built, beside)
        beside.replace(folder / f"{key}.so")


def compile_library(compiler: tuple[str, ...], folder: Path, texts: dict[str, str],
                    run: Runner) -> None:
    """Compiles functions, by key, as one library.

    Raises
    ------
    CompilerError
        With what the compiler says, if it fails.
    """
    header = prepared_prelude(compiler, folder, run)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as place:
        source, built = Path(place, "clusters.c"), Path(place, "clusters.so")
        source.write_text("\n".join(texts.values()))
        words = [*compiler, *flags(), "-shared", "-o", str(built)]
        said = run([*words, "-include", str(header), str(source)])
        if said is not None and drop_precompiled(header):
            said = run([*words, "-include", str(header), str(source)])
        if said is not None:
            raise CompilerError(f"{' '.join(compiler)} failed: {said.strip()[-2000:]}")
        publish(folder, built, list(texts))


def prepared_prelude(compiler: tuple[str, ...], folder: Path, run: Runner) -> Path:
    """The header that sources begin with, precompiled where the compiler can."""
    header = folder / PRELUDE
    if not header.exists():
        write(header, prelude(isa()).encode() + b"\n")
        if folder.parent.name == CLUSTERS:
            prune(folder)
    precompiled = Path(f"{header}.gch")
    if not precompiled.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as place:
            made = Path(place, "prelude.gch")
            if run([*compiler, *flags(), "-x", "c-header", str(header), "-o", str(made)]) is None:
                made.replace(precompiled)
    return header


def drop_precompiled(header: Path) -> bool:
    """Whether there was a precompiled header, which is gone now."""
    precompiled = Path(f"{header}.gch")
    if not precompiled.exists():
        return False
    precompiled.unlink(missing_ok=True)
    return True


def write(path: Path, data: bytes) -> None:
    """Writes a file that appears as a whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".write-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)
