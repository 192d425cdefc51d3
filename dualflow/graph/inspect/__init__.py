"""Inspection of traced functions: printed passes, drawings, memory plans and profiles.

`draw`, `plan_text`, `profile` and `trace_text` are loaded at first use: drawings and profiles need
modules of the standard library that take longer to import than a small program takes to compile.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name not in ("draw", "plan_text", "profile", "trace_text"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
