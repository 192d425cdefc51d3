"""The system's C compiler: its command and flags, and the cache folder of compiled libraries.

A folder serves one compiler, set of headers and flags; `folder_for` derives its name from them.
Files are created atomically, so that processes may share the folder. A library ends with a checksum
of its content, because loading a truncated library would crash the process.
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
from dualflow.aot.amalgamation import Joined
from dualflow.aot.builds import KERNEL_FLAGS, LEVELS
from dualflow.aot.clusters.source import prelude
from dualflow.aot.csrc import read
from dualflow.aot.runtime import BUILT, closure

FLAGS = f"-O3 -std=gnu11 {KERNEL_FLAGS} -fPIC -g0 -w -fvisibility=hidden"
Runner = Callable[[Sequence[str]], str | None]  # runs a command; returns None, or its error output
COMPILERS = "cc", "gcc", "clang"
NONE = "there is no C compiler: install gcc or clang, or name one by CC"
PRELUDE = "prelude.h"
CLUSTERS = "clusters"           # the folder in the user's cache
MARK = b"dualflow"              # precedes the checksum
UNUSED_DAYS = 30                # age at which the folder of another compiler is deleted
KEY = 24                        # hexadecimal digits of a digest


class CompilerError(Exception):
    """The compiler does not run, or does not compile a source."""


def command() -> tuple[str, ...] | None:
    """Return the command in CC, or else the first compiler found, or None."""
    named = os.environ.get("CC", "")
    if named:
        words = shlex.split(named)
        return tuple(words) if words and shutil.which(words[0]) else None
    found = next((name for name in COMPILERS if shutil.which(name)), None)
    return None if found is None else (found,)


@cache
def identity(compiler: tuple[str, ...]) -> str:
    """Return a digest of everything but the source that determines the code of a cluster."""
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
    """Return the headers that the prelude includes, directly or not."""
    wanted = [line.split('"')[1] for line in prelude(isa()).splitlines() if '"ops/' in line]
    return [path for path in closure(wanted) if path.endswith((".h", ".def"))]


def expanded_prelude() -> str:
    """Return the prelude with the texts of its headers in place of the includes, so that the
    compiler needs no folder of headers."""
    files = {BUILT: read(BUILT), "prelude": prelude(isa())}
    return "\n".join([*Joined(files, set()).expanded("prelude", None)][1:]) + "\n"


def digest(parts: Sequence[str]) -> str:
    """Return a short hash of texts."""
    of = hashlib.sha256()
    for part in parts:
        of.update(f"{len(part)}\n{part}".encode())
    return of.hexdigest()[:KEY]


def flags() -> list[str]:
    """Return the flags of the library's kernels at the current level, for bit-equal results."""
    return [*shlex.split(FLAGS), *shlex.split(LEVELS.get(isa(), ""))]


# --- the folder ---


def folder_for(compiler: tuple[str, ...]) -> Path:
    """Return the folder of a compiler, created if it does not exist: in the user's cache or, if
    that is not writable or not private, a temporary folder of this process."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    place = Path(base, "dualflow", CLUSTERS, identity(compiler))
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(place.parent) and is_private(place):
            os.utime(place)
            return place
    except OSError:
        pass            # fall back to a temporary folder
    return own_folder()


def is_private(place: Path) -> bool:
    """Return True if no other user can write to a folder, so that its libraries are safe to
    load."""
    found = place.stat()
    if found.st_uid == os.getuid() and found.st_mode & 0o077:
        place.chmod(0o700)
        found = place.stat()
    return (found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
            and os.access(place, os.W_OK | os.X_OK))


@cache
def own_folder() -> Path:
    """Return a folder for this process, deleted when it ends."""
    place = Path(tempfile.mkdtemp(prefix="dualflow-"))
    atexit.register(delete, place, os.getpid())
    return place


def delete(place: Path, pid: int) -> None:
    """Delete a folder at the end of the process that created it, not of a forked child."""
    if os.getpid() == pid:
        shutil.rmtree(place, ignore_errors=True)


def prune(folder: Path) -> None:
    """Delete the folders of other compilers and versions that have been unused for long."""
    for other in folder.parent.iterdir():
        if other != folder and time.time() - other.stat().st_mtime > UNUSED_DAYS * 86400:
            shutil.rmtree(other, ignore_errors=True)


# --- libraries ---


def library(folder: Path, key: str) -> Path | None:
    """Return the path of a cluster's library, or None if it is missing or damaged."""
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
    """Publish one library under the keys of all its clusters."""
    checksum = hashlib.sha256(built.read_bytes()).digest()
    with built.open("ab") as file:
        file.write(MARK + checksum)
    for key in keys:
        beside = built.with_name(f"{built.name}-{key}")
        try:
            os.link(built, beside)
        except OSError:                 # some file systems have no hard links
            shutil.copyfile(built, beside)
        beside.replace(folder / f"{key}.so")


def compile_library(compiler: tuple[str, ...], folder: Path, texts: dict[str, str],
                    run: Runner) -> None:
    """Compile functions, by key, as one library.

    Raises
    ------
    CompilerError
        With the compiler's output, if it fails.
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
    """Return the header that sources include, precompiled if the compiler supports it."""
    header = folder / PRELUDE
    if not header.exists():
        write(header, expanded_prelude().encode())
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
    """Delete the precompiled header; return False if there was none."""
    precompiled = Path(f"{header}.gch")
    if not precompiled.exists():
        return False
    precompiled.unlink(missing_ok=True)
    return True


def write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".write-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)
