"""`TensorArray`: tensors of one shape by their number, written and read one by one in loops."""

from __future__ import annotations

from dualflow._core import Symbol, Tensor, TensorBase, as_tensor, current_graph
from dualflow.arguments import integer
from dualflow.dtypes import DType, as_dtype, int32
from dualflow.errors import DTypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from dualflow.nest import Composite
from dualflow.ops.anew import anew
from dualflow.ops.array import expand_dims, ints, is_open, reshape, shape
from dualflow.ops.cast import cast
from dualflow.ops.creation import range as range_of, zeros
from dualflow.ops.gather import gather, tensor_scatter_nd_update
from dualflow.ops.join import concat, split, stack, unstack
from dualflow.ops.limits import maximum
from dualflow.ops.state import described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["TensorArray"]


class TensorArray(Composite):
    """Tensors of one dtype and shape by their number.

    Parameters
    ----------
    dtype : dtype
    size : int or integer Tensor of shape (), default 0
        How many there are; while a graph records, of sizes alone, as ``df.shape(x)[0]`` is.
    dynamic_size : bool, default False
        Whether writing beyond the end makes it longer. In a loop of a traced function each write
        then copies it: give a size where one is known.
    clear_after_read, tensor_array_name, handle, flow, infer_shape, colocate_with_first_write_call
        Accepted as TensorFlow has them, and ignored.
    element_shape : sequence of int, optional
        Of each tensor; that of the first one written if not given.
    name : str, optional
        For messages.

    Notes
    -----
    It never changes: `write`, `unstack`, `scatter` and `split` return another one. What was never
    written is zero. As a loop variable it counts as one tensor, which a traced loop writes in place
    unless the round needs the array from before.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def squares(n):
    ...     made = df.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * i)),
    ...                          (0, df.TensorArray(df.int32, 5)))[1]
    ...     return made.stack()
    >>> squares(df.constant(4)).tolist()
    [0, 1, 4, 9, 0]
    """

    def __init__(self, dtype: DTypeLike, size: TensorLike | None = None,
                 dynamic_size: bool | None = False, clear_after_read: bool | None = None,
                 tensor_array_name: str | None = None, handle: Any = None, flow: Any = None,
                 infer_shape: bool = True, element_shape: Sequence[int | None] | None = None,
                 colocate_with_first_write_call: bool = True, name: str | None = None) -> None:
        self._count = size              # as a tensor, where it is another in each run
        if type(size) is Symbol:        # of sizes alone, as in ``shape(x)[0]``
            size = ints(size, "TensorArray: size")[0]
        n: Any = size
        if not is_open(size):
            n = integer(0 if size is None else size, "TensorArray: size")
        if not is_open(n) and n < 0:
            raise InvalidArgumentError(f"TensorArray: size is {n}, want 0 or more")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._name = name or "TensorArray"
        # The shape of the elements, in a list that all arrays made of this one share: what the
        # first of them learns, all know.
        self._learned: list[tuple[int, ...]] = []
        known = [n for n in element_shape or () if n is not None]
        if element_shape is not None and len(known) == len(element_shape):
            self._learned.append(tuple(known))
        # Or, in a loop, and where their number is another in each run, all in one:
        self._rows: list[Tensor | None] | None = None if is_open(n) else [None] * n
        self._values: Tensor | None = None
        self._size = n

    @property
    def _fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """What loops carry of it: nothing in eager mode, whose loops are Python's."""
        return ("_dense",) if current_graph() is not None else ()

    def _remade(self, values: Sequence[Any]) -> TensorArray:
        return self._with(None, values[0]) if values and values[0] is not None else self

    def _with(self, rows: list[Tensor | None] | None, values: Tensor | None) -> TensorArray:
        made = TensorArray.__new__(TensorArray)
        made._dtype, made._dynamic, made._name = self._dtype, self._dynamic, self._name
        made._learned, made._rows, made._values = self._learned, rows, values
        made._count = self._count
        made._size = self._size if rows is None else len(rows)
        return made

    # --- what it is ---

    @property
    def dtype(self) -> DType:
        """Of its tensors."""
        return self._dtype

    @property
    def element_shape(self) -> tuple[int, ...] | None:
        """Of its tensors; None: not known yet."""
        return self._learned[0] if self._learned else None

    @property
    def dynamic_size(self) -> bool:
        """Whether writing beyond the end makes it longer."""
        return self._dynamic

    def size(self) -> Tensor:
        """How many tensors there are, int32."""
        if self._values is not None and (self._dynamic or is_open(self._size)):
            return shape(self._values)[0]
        return as_tensor(self._count if is_open(self._size) else self._size, int32)

    def __repr__(self) -> str:
        return (f"<dualflow.TensorArray {self._name!r} size={self._size} dtype={self._dtype} "
                f"element_shape={self.element_shape}>")

    @property
    def _dense(self) -> Tensor | None:
        """All in one tensor; None while the shape of the elements is not known."""
        if self._values is not None or not self._learned:
            return self._values
        if self._rows is None:
            return zeros([self._size, *self._learned[0]], self._dtype)
        blank = zeros(self._learned[0], self._dtype)
        rows = [blank if x is None else x for x in self._rows]
        return stack(rows) if rows else zeros([0, *self._learned[0]], self._dtype)

    def _all(self, who: str) -> Tensor:
        dense = self._dense
        if dense is None:
            raise InvalidArgumentError(f"{self._name}.{who}: nothing has been written, so the "
                                       "shape of the tensors is not known; give element_shape")
        return dense

    # --- one by one ---

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with `value` as number `index`."""
        x = anew(self._element(value, "write"))
        k = self._place(index, "write")
        if isinstance(k, int) and self._rows is not None:
            rows = [*self._rows, *[None] * (k + 1 - len(self._rows))] if self._dynamic else [
                *self._rows]
            if not 0 <= k < len(rows):
                raise OutOfRangeError(f"{self._name}.write: index is {k}, want 0 <= index < "
                                      f"{len(rows)}; or make it with dynamic_size=True")
            rows[k] = x
            return self._of_rows(rows)
        values = self._all("write")
        if self._dynamic:
            values = _longer(values, as_tensor(k, int32) + 1)
        at = reshape(as_tensor(k), [1, 1])
        return self._with(None, tensor_scatter_nd_update(values, at, expand_dims(x, 0)))

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """The tensor of number `index`."""
        k = self._place(index, "read")
        if isinstance(k, int) and self._rows is not None:
            if not 0 <= k < len(self._rows):
                raise OutOfRangeError(f"{self._name}.read: index is {k}, want 0 <= index < "
                                      f"{len(self._rows)}")
            found = self._rows[k]
            if found is not None:
                return anew(found)
        return gather(self._all("read"), k)

    def _place(self, index: TensorLike, who: str) -> Any:
        """An index as an int, or, while it is not known, as a tensor."""
        if not isinstance(index, TensorBase):
            return integer(index, f"{self._name}.{who}: index")
        k = as_tensor(index)
        if k.shape != () or not k.dtype.is_integer:
            raise InvalidArgumentError(f"{self._name}.{who}: index is {described(k)}, want an "
                                       "integer of shape ()")
        return cast(k, int32) if type(k) is Symbol else int(k)

    def _element(self, value: TensorLike, who: str) -> Tensor:
        """A value, if it may be an element."""
        x = as_tensor(value, None if isinstance(value, TensorBase) else self._dtype)
        if x.dtype is not self._dtype:
            raise DTypeError(f"{self._name}.{who}: value is {described(x)}, want {self._dtype}")
        if not self._learned:
            self._learned.append(tuple(x.shape))
        if tuple(x.shape) != self._learned[0]:
            raise ShapeError(f"{self._name}.{who}: value is {described(x)}, want the shape "
                             f"{self._learned[0]} of the others")
        return x

    # --- all at once ---

    def stack(self, name: str | None = None) -> Tensor:
        """All, along a new first dimension."""
        return self._all("stack")

    def concat(self, name: str | None = None) -> Tensor:
        """All, along their first dimension."""
        dense = self._all("concat")
        if is_open(self._size):
            return reshape(dense, [-1, *dense.shape[2:]])
        return concat(unstack(dense), 0)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Those of the given numbers, along a new first dimension."""
        return gather(self._all("gather"), indices)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array of the rows of `value`."""
        x = as_tensor(value)
        if self._rows is None:
            return self._of_all(x)
        return self._of(list(unstack(x)), "unstack")

    def split(self, value: TensorLike, lengths: Sequence[int],
              name: str | None = None) -> TensorArray:
        """The array of parts of `value` along its first dimension, of the given lengths."""
        return self._of(list(split(value, list(lengths), 0)), "split")

    def scatter(self, indices: TensorLike, value: TensorLike,
                name: str | None = None) -> TensorArray:
        """The array with the rows of `value` at the given numbers."""
        found: TensorArray = self
        for k, x in zip(unstack(as_tensor(indices)), unstack(as_tensor(value)), strict=True):
            found = found.write(k, x)
        return found

    def _of_all(self, x: Tensor) -> TensorArray:
        """The array of the rows of a tensor, as many as it has in each run."""
        if not self._learned:
            self._learned.append(tuple(x.shape[1:]))
        if tuple(x.shape[1:]) != self._learned[0]:
            raise ShapeError(f"{self._name}.unstack: value is {described(x)}, want the shape "
                             f"{(self._size, *self._learned[0])}")
        made = self._with(None, x)
        made._size = x.shape[0]
        return made

    def _of(self, rows: list[Tensor], who: str) -> TensorArray:
        if len(rows) != self._size and not self._dynamic:
            raise ShapeError(f"{self._name}.{who}: got {len(rows)} tensors, want {self._size}; or "
                             "make it with dynamic_size=True")
        return self._of_rows([self._element(x, who) for x in rows])

    def _of_rows(self, rows: list[Tensor | None]) -> TensorArray:
        """The array of these. What a branch or a round makes is put together there, since its
        tensors mean nothing around it."""
        made = self._with(rows, None)
        graph = current_graph()
        if graph is not None and graph.bodies:
            made._values, made._rows = made._dense, None
        return made

    @property
    def _loop_shape(self) -> tuple[int | None, ...]:
        """The shape of all in one, from round to round."""
        return (None if self._dynamic else self._size, *self._learned[0])

    def identity(self) -> TensorArray:
        """The array itself."""
        return self


def _longer(values: Tensor, n: Tensor) -> Tensor:
    """The rows of `values` and as many of zeros that there are `n` at least."""
    more = range_of(maximum(n - shape(values)[0], 0))
    return concat([values, zeros([more.shape[0], *values.shape[1:]], values.dtype)], 0)
