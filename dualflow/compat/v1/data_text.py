"""The elements of a tensor in TensorFlow 1's print format: in brackets, only the first few."""

from __future__ import annotations

from typing import Any

from dualflow._core import Tensor
from dualflow.ops.display import tolist

DIGITS = {"float64": (15, 17), "float32": (6, 9)}    # digits tried first, digits that suffice


def summarized(x: Any, limit: int | None) -> str:
    """Return a text unchanged, or the first `limit` elements of a tensor as text: by default 3, all
    if -1."""
    if isinstance(x, str | bytes):
        return x if isinstance(x, str) else x.decode()
    most = 3 if limit is None else x.size if limit < 0 else limit
    text = _Text(x, most)
    text.dimension(tolist(x), x.ndim)
    return "".join(text.parts) + "..." * (x.size > most)


class _Text:
    """Formats nested lists until `left` elements have been printed."""

    def __init__(self, x: Tensor, limit: int) -> None:
        self.parts: list[str] = []
        self.left, self.dtype, self.ndim = limit, x.dtype, x.ndim

    def dimension(self, values: Any, ndim: int) -> None:
        """Append the rows of one dimension until the limit is reached."""
        if ndim == 0:
            values = [values]
        for k, item in enumerate(values):
            if self.left <= 0:
                self.parts += ["..."] * (ndim == 1 < self.ndim)
                return
            if ndim > 1:
                self.parts.append("[")
                self.dimension(item, ndim - 1)
                self.parts.append("]")
            else:
                self.parts.append(" " * (k > 0) + self.number(item))
                self.left -= 1

    def number(self, value: Any) -> str:
        """Return one element as text."""
        if not self.dtype.is_floating:
            return str(int(value))
        few, enough = DIGITS.get(self.dtype.name, DIGITS["float32"])
        short = f"{value:.{few}g}"
        exact = float(short) == value if few > 6 else abs(float(short) - value) <= abs(
            value) * 2.0 ** -25
        return short if exact or value != value else f"{value:.{enough}g}"
