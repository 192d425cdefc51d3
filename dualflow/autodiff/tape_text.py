"""The reprs of tapes: methods of `GradientTape`, loaded at the first use."""

from __future__ import annotations

from dualflow._util.notebook import card, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.autodiff.tape import GradientTape

__all__ = ["__repr__", "_repr_html_"]


def __repr__(self: GradientTape) -> str:
    parts = [f"{counted(len(self._tape), 'op')} recorded",
             f"{counted(len(self._tape.watched), 'tensor')} watched"]
    parts += ["persistent"] if self._persistent else []
    parts += ["recording"] if self._tape.active else []
    return f"<dualflow.GradientTape: {', '.join(parts)}>"


def _repr_html_(self: GradientTape) -> str:
    tape = self._tape
    return card("GradientTape", [("ops recorded", len(tape)),
                                 ("tensors watched", len(tape.watched)),
                                 ("persistent", self._persistent),
                                 ("recording", tape.active)])
