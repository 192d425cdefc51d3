"""Objects that setup.py has compiled, for programs that tests link."""

import contextlib
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def setup_names():
    """Return the constants and functions of setup.py, without running a build."""
    names = {}
    exec((ROOT / "setup.py").read_text().partition("\nclass BuildPy")[0], names)
    return names


def objects(level, sources):
    """Return the objects of sources of csrc for a level, or "common", in the build folder of the
    checkout; None if one is missing or older than its sources."""
    try:
        stale = setup_names()["stale"]
    except ImportError:                 # no setuptools
        return None
    root = Path("build/objects", sysconfig.get_platform(), "plain", level)
    with contextlib.chdir(ROOT):        # the objects' lists of sources are relative to it
        found = [(root / path.relative_to(ROOT)).with_suffix(".o") for path in sources]
        return None if any(map(stale, found)) else [ROOT / path for path in found]
