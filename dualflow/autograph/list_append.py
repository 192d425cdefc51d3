"""Lists that a loop node appends to: each appended value becomes a row of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

from dualflow import nest
from dualflow._core import Tensor, as_tensor, unwrapped
from dualflow.autograph.errors import not_stacked
from dualflow.autograph.values import is_number, is_tensor, shape_of
from dualflow.errors import TracedValueError
from dualflow.ops.array.join import concat, stack, unstack
from dualflow.ops.array.shape import reshape


class Rows:
    """A list of tensors whose length is known only when the graph runs, stored as the rows of one
    tensor. Ops accept it as that tensor.

    Attributes
    ----------
    tensor : Tensor
    """

    def __init__(self, tensor: Any) -> None:
        self.tensor: Tensor = tensor

    __df_rows__ = True          # a traced function that returns Rows returns a list

    def __df_tensor__(self) -> Any:
        return self.tensor

    def append(self, item: Any) -> None:
        """Append a row."""
        self.tensor = concat([self.tensor, stack([item])], 0)

    def __getitem__(self, place: Any) -> Any:
        return self.tensor[place]

    def __iter__(self) -> Any:
        return iter(self.tensor)

    def __len__(self) -> int:
        raise TracedValueError("the length of a list that a loop of the graph appends to is known "
                               "only when the graph runs: use dualflow.shape(x)[0]")


class Stacks:
    """The lists that a loop appends to.

    Parameters
    ----------
    words : sequence of str
        The names of the lists.
    """

    def __init__(self, frame: FrameType, words: Sequence[str], what: str) -> None:
        self.words = words
        self.what = what
        self.held: list[Any | None] = [frame.f_locals.get(x) for x in words]
        self.before: list[Any] = []

    def begin(self) -> None:
        """Store the lengths at the start of an iteration."""
        self.before = [len(x) if type(x) is list else getattr(x, "tensor", None)
                       for x in self.held]

    def forget(self) -> None:
        """Remove the items that an iteration has appended."""
        for x, before in zip(self.held, self.before, strict=True):
            if type(x) is list:
                del x[before:]
            elif isinstance(x, Rows):
                x.tensor = before

    def end(self) -> list[Any]:
        """Return the appended tensors of an iteration; store for each list how they form its items.
        """
        made: list[Any] = []
        self.shapes: list[Any] = []
        for word, x, before in zip(self.words, self.held, self.before, strict=True):
            new = self._new(x, before)
            if not new:
                self.shapes.append(None)
                continue
            parts = [nest.flatten(item) for item in new]
            for column in zip(*parts, strict=True):
                made += self._rows(word, column)
            self.shapes.append((new[0], len(new), len(parts[0])))
            if any([len(p) != len(parts[0]) for p in parts]):
                not_stacked(word, new, self.what)
        self.forget()
        return made

    def _new(self, x: Any, before: Any) -> list[Any]:
        if type(x) is list:
            return x[before:]
        if isinstance(x, Rows) and x.tensor is not before:
            return [x.tensor[-1]]
        return []

    def _rows(self, word: str, column: Sequence[Any]) -> list[Any]:
        """Return a tensor for each appended item. They are separate outputs, so that a gradient can
        identify them with carried values of the next iteration."""
        if not all([is_tensor(x) or is_number(x) for x in column]):
            not_stacked(word, list(column), self.what)
        tensors = [as_tensor(unwrapped(x)) for x in column]
        first = tensors[0]
        if any([x.dtype is not first.dtype or shape_of(x) != shape_of(first) for x in tensors]):
            not_stacked(word, list(column), self.what)
        return tensors

    def lists(self, rows: Sequence[Any], times: Any, size: Any) -> list[Any]:
        """Return the lists after the loop. `times`: the trip count if it is known; `size`: the trip
        count if it is a size, for which a trace may be specialised."""
        left = iter(rows)
        found: list[Any] = []
        for word, x, like in zip(self.words, self.held, self.shapes, strict=True):
            if like is None:
                found.append(x)
                continue
            item, per_round, n_parts = like
            parts = [_in_turn([next(left) for _ in range(per_round)]) for _ in range(n_parts)]
            if n_parts > 1 and times is None and size is not None:
                times = int(size)
            if type(x) is list and times is not None:
                columns = [unstack(y) if shape_of(y)[0] is not None
                           else [y[k] for k in range(times * per_round)] for y in parts]
                x += [nest.pack_sequence_as(item, row) for row in zip(*columns, strict=True)]
                found.append(x)
            elif nest.is_nested(item):
                not_stacked(word, [item], self.what)
            else:
                found.append(_joined(x, parts[0]))
        return found


def _in_turn(rows: Sequence[Any]) -> Any:
    """Interleave the rows of tensors: all rows of one iteration precede those of the next."""
    if len(rows) == 1:
        return rows[0]
    return reshape(stack(rows, 1), [-1, *shape_of(rows[0])[1:]])


def _joined(before: Any, rows: Any) -> Rows:
    """Return a list extended by rows."""
    if isinstance(before, Rows):
        return Rows(concat([before.tensor, rows], 0))
    return Rows(concat([stack(before), rows], 0) if before else rows)

