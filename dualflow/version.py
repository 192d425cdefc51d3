"""The version under TensorFlow's name, and the versions of everything that affects results."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version as version_of

import dualflow as df
from dualflow import config

__all__ = ["VERSION", "show_versions"]

VERSION = df.__version__
PACKAGES = ("numpy", "ml_dtypes", "keras", "mpi4py", "onnx", "cython")


def show_versions() -> None:
    """Print the versions and settings to include in a bug report.

    Examples
    --------
    >>> import dualflow as df
    >>> df.show_versions()  # doctest: +ELLIPSIS
    dualflow:  ...
    python:    ...
    """
    rows = [("dualflow", VERSION), ("python", platform.python_version()),
            ("system", platform.platform()),
            ("simd", f"{config.isa()} ({platform.machine()})"),
            ("threads", f"{config.num_threads()} of {config.cpu_cores()} cores")]
    rows += [(name, os.environ[name]) for name in sorted(os.environ)
             if name.startswith(("DUALFLOW_", "OMP_NUM_"))]
    for name in PACKAGES:
        try:
            rows.append((name, version_of(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    width = max(len(name) for name, _ in rows) + 1
    print(*[f"{name + ':':{width}} {value}" for name, value in rows], sep="\n")


def __dir__() -> list[str]:
    return __all__
