"""Quantisation: fake quantisation, ranges, scales and zero points, matrices of integers."""

from __future__ import annotations

from dualflow._util.late_binding import submodule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    return submodule(__name__, name)
