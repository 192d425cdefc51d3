"""The reprs of tapes."""

from __future__ import annotations

from dualflow._util.notebook import card, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TapeText"]


class TapeText:
    """Base class of `GradientTape`: its reprs."""

    _tape: Any
    _how: Any
    _persistent: bool

    def __repr__(self) -> str:
        parts = [f"{counted(len(self._tape), 'op')} recorded",
                 f"{counted(len(self._tape.watched), 'tensor')} watched"]
        parts += ["persistent"] if self._persistent else []
        parts += ["recording"] if self._tape.active else []
        return f"<dualflow.GradientTape: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        tape = self._tape
        return card("GradientTape", [("ops recorded", len(tape)),
                                     ("tensors watched", len(tape.watched)),
                                     ("persistent", self._persistent),
                                     ("recording", tape.active)])
