"""`tf.gfile`: older names of the functions of `tf.io.gfile`."""

from dualflow.compat.v1.io.gfile import GFile as GFile, renamed
from dualflow.io import gfile

__all__ = ["Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
           "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk"]

FastGFile = Open = GFile

Copy = renamed(gfile.copy, oldpath="src", newpath="dst")
DeleteRecursively = renamed(gfile.rmtree, dirname="path")
Exists = renamed(gfile.exists, filename="path")
Glob = renamed(gfile.glob, filename="pattern")
IsDirectory = renamed(gfile.isdir, dirname="path")
ListDirectory = renamed(gfile.listdir, dirname="path")
MakeDirs = renamed(gfile.makedirs, dirname="path")
MkDir = renamed(gfile.mkdir, dirname="path")
Remove = renamed(gfile.remove, filename="path")
Rename = renamed(gfile.rename, oldname="src", newname="dst")
Stat = renamed(gfile.stat, filename="path")
Walk = renamed(gfile.walk, in_order="topdown")


def __dir__() -> list[str]:
    return __all__
