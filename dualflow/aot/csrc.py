"""The texts of the C files of csrc, which exports and compiled clusters contain. A checkout has
them in the folder csrc, an installed package in the archive csrc.tar.xz, which setup.py writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dualflow.errors import NotFoundError

PATTERNS = "*/*.[ch]", "ops/*/*.[ch]", "*/*.def"    # as in setup.py


@cache
def texts() -> dict[str, str]:
    """Return the texts of all files by path."""
    package = Path(__file__).resolve().parent.parent
    archive, folder = package / "csrc.tar.xz", package.parent / "csrc"
    if archive.exists():
        return in_archive(archive)
    if (folder / "op/ops.def").exists():
        return in_folder(folder)
    raise NotFoundError("export: the C sources of dualflow are not installed with it")


def in_archive(archive: Path) -> dict[str, str]:
    """Return the texts of the files in an archive by path."""
    import tarfile

    with tarfile.open(archive, "r:xz") as tar:
        return {member.name: file.read().decode() for member in tar
                if (file := tar.extractfile(member)) is not None}


def in_folder(folder: Path) -> dict[str, str]:
    """Return the texts of the files in a folder by path."""
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for pattern in PATTERNS for path in folder.glob(pattern)}


def read(path: str) -> str:
    """Return the text of a file."""
    return texts()[path]


@cache
def all_sources() -> tuple[str, ...]:
    """Return the paths of all .c files in alphabetical order."""
    return tuple(sorted([path for path in texts() if path.endswith(".c")]))


@cache
def sources(folder: str) -> tuple[str, ...]:
    """Return the paths of the .c files in a folder and its subfolders."""
    return tuple([path for path in all_sources() if path.startswith(f"{folder}/")])
