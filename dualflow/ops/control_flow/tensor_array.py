"""`TensorArray`: an array of tensors of one shape, written and read by index in loops."""

from __future__ import annotations

from dualflow._core import Symbol, Tensor, TensorBase, as_tensor, current_graph
from dualflow._util.arguments import integer
from dualflow.dtypes import DType, as_dtype, int32
from dualflow.errors import DTypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from dualflow.nest import Composite
from dualflow.ops.array.creation import range as range_of, zeros
from dualflow.ops.array.join import concat, split, stack, unstack
from dualflow.ops.array.shape import expand_dims, ints, is_open, reshape, shape
from dualflow.ops.control_flow.fresh_identity import fresh_identities
from dualflow.ops.control_flow.state import described
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.indexing.gather import gather, tensor_scatter_nd_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["TensorArray"]


class TensorArray(Composite):
    """An immutable array of tensors of one dtype and shape.

    Parameters
    ----------
    dtype : dtype
    size : int or integer Tensor of shape (), default 0
        Number of tensors; in a graph, computed only from sizes, such as ``df.shape(x)[0]``.
    dynamic_size : bool, default False
        Whether writing past the end grows the array. In a loop of a traced function each such
        write copies the array: give a size if it is known.
    clear_after_read, tensor_array_name, handle, flow, infer_shape, colocate_with_first_write_call
        Ignored; accepted for compatibility with TensorFlow.
    element_shape : sequence of int, optional
        Shape of each tensor, by default the shape of the first one written.
    name : str, optional
        The name in messages.

    Notes
    -----
    `write`, `unstack`, `scatter` and `split` return a new array. Elements that were not written are
    zero. As a loop variable it counts as one tensor, which a traced loop writes in place unless the
    iteration also reads the previous array.

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
        self._count = size              # a tensor, if the size differs between runs
        if type(size) is Symbol:        # computed from sizes, as in ``shape(x)[0]``
            size = ints(size, "TensorArray: size")[0]
        n: Any = size
        if not is_open(size):
            n = integer(0 if size is None else size, "TensorArray: size")
        if not is_open(n) and not 0 <= n <= int32.max:
            raise InvalidArgumentError(f"TensorArray: size is {n}, expected 0 to {int32.max}")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._name = name or "TensorArray"
        # The shape of the elements, in a list shared by all arrays derived from this one: the first
        # write to any of them sets the shape for all.
        self._learned: list[tuple[int, ...]] = []
        known = [n for n in element_shape or () if n is not None]
        if element_shape is not None and len(known) == len(element_shape):
            self._learned.append(tuple(known))
        # In a loop, and if the size differs between runs, all elements are in `_values`:
        self._rows: list[Tensor | None] | None = None if is_open(n) else [None] * n
        self._values: Tensor | None = None
        self._size = n

    @property
    def _fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """The parts that loops carry: none in eager mode, whose loops are Python loops."""
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

    # --- attributes ---

    @property
    def dtype(self) -> DType:
        """The dtype of the tensors."""
        return self._dtype

    @property
    def element_shape(self) -> tuple[int, ...] | None:
        """The shape of the tensors, or None if it is not known yet."""
        return self._learned[0] if self._learned else None

    @property
    def dynamic_size(self) -> bool:
        """Whether writing past the end grows the array."""
        return self._dynamic

    def size(self) -> Tensor:
        """Return the number of tensors, int32."""
        if self._values is not None and (self._dynamic or is_open(self._size)):
            return shape(self._values)[0]
        return as_tensor(self._count if is_open(self._size) else self._size, int32)

    def __repr__(self) -> str:
        return (f"<dualflow.TensorArray {self._name!r} size={self._size} dtype={self._dtype} "
                f"element_shape={self.element_shape}>")

    @property
    def _dense(self) -> Tensor | None:
        """All elements in one tensor, or None while their shape is unknown."""
        if self._values is not None or not self._learned:
            return self._values
        if self._rows is None:
            return zeros([self._size, *self._learned[0]], self._dtype)
        blank = zeros(self._learned[0], self._dtype)
        rows = [blank if x is None else x for x in self._rows]
        return stack(rows) if rows else zeros([0, *self._learned[0]], self._dtype)

    def _all(self, caller: str) -> Tensor:
        dense = self._dense
        if dense is None:
            raise InvalidArgumentError(f"{self._name}.{caller}: nothing has been written, so the "
                                       "shape of the tensors is unknown; give element_shape")
        return dense

    # --- single elements ---

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array with `value` at `index`."""
        x = fresh_identities(self._element(value, "write"))
        k = self._place(index, "write")
        if isinstance(k, int) and self._rows is not None:
            rows = [*self._rows, *[None] * (k + 1 - len(self._rows))] if self._dynamic else [
                *self._rows]
            if not 0 <= k < len(rows):
                raise OutOfRangeError(f"{self._name}.write: index is {k}, expected 0 <= index < "
                                      f"{len(rows)}; or create it with dynamic_size=True")
            rows[k] = x
            return self._of_rows(rows)
        values = self._all("write")
        if self._dynamic:
            values = _longer(values, as_tensor(k, int32) + 1)
        at = reshape(as_tensor(k), [1, 1])
        return self._with(None, tensor_scatter_nd_update(values, at, expand_dims(x, 0)))

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return the tensor at `index`."""
        k = self._place(index, "read")
        if isinstance(k, int) and self._rows is not None:
            if not 0 <= k < len(self._rows):
                raise OutOfRangeError(f"{self._name}.read: index is {k}, expected 0 <= index < "
                                      f"{len(self._rows)}")
            found = self._rows[k]
            if found is not None:
                return fresh_identities(found)
        return gather(self._all("read"), k)

    def _place(self, index: TensorLike, caller: str) -> Any:
        """Return an index as an int, or as a tensor if its value is unknown."""
        if not isinstance(index, TensorBase):
            return integer(index, f"{self._name}.{caller}: index")
        k = as_tensor(index)
        if k.shape != () or not k.dtype.is_integer:
            raise InvalidArgumentError(f"{self._name}.{caller}: index is {described(k)}, expected "
                                       "an "
                                       "integer of shape ()")
        return cast(k, int32) if type(k) is Symbol else int(k)

    def _element(self, value: TensorLike, caller: str) -> Tensor:
        """Convert a value to a tensor and check that it may be an element."""
        x = as_tensor(value, None if isinstance(value, TensorBase) else self._dtype)
        if x.dtype is not self._dtype:
            raise DTypeError(f"{self._name}.{caller}: value is {described(x)}, expected "
                             f"{self._dtype}")
        if not self._learned:
            self._learned.append(tuple(x.shape))
        if tuple(x.shape) != self._learned[0]:
            raise ShapeError(f"{self._name}.{caller}: value is {described(x)}, expected the shape "
                             f"{self._learned[0]} of the other tensors")
        return x

    # --- all elements ---

    def stack(self, name: str | None = None) -> Tensor:
        """Stack all tensors along a new first dimension."""
        return self._all("stack")

    def concat(self, name: str | None = None) -> Tensor:
        """Concatenate all tensors along their first dimension."""
        dense = self._all("concat")
        if is_open(self._size):
            return reshape(dense, [-1, *dense.shape[2:]])
        return concat(unstack(dense), 0)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Stack the tensors at the given indices along a new first dimension."""
        return gather(self._all("gather"), indices)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array of the rows of `value`."""
        x = as_tensor(value)
        if self._rows is None:
            return self._of_all(x)
        return self._of(list(unstack(x)), "unstack")

    def split(self, value: TensorLike, lengths: Sequence[int],
              name: str | None = None) -> TensorArray:
        """Return the array of parts of `value` with the given lengths of the first dimension."""
        return self._of(list(split(value, list(lengths), 0)), "split")

    def scatter(self, indices: TensorLike, value: TensorLike,
                name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` at the given indices."""
        found: TensorArray = self
        for k, x in zip(unstack(as_tensor(indices)), unstack(as_tensor(value)), strict=True):
            found = found.write(k, x)
        return found

    def _of_all(self, x: Tensor) -> TensorArray:
        """Return the array of the rows of a tensor, whose number may differ between runs."""
        if not self._learned:
            self._learned.append(tuple(x.shape[1:]))
        if tuple(x.shape[1:]) != self._learned[0]:
            raise ShapeError(f"{self._name}.unstack: value is {described(x)}, expected the shape "
                             f"{(self._size, *self._learned[0])}")
        made = self._with(None, x)
        made._size = x.shape[0]
        return made

    def _of(self, rows: list[Tensor], caller: str) -> TensorArray:
        if len(rows) != self._size and not self._dynamic:
            raise ShapeError(f"{self._name}.{caller}: got {len(rows)} tensors, expected "
                             f"{self._size}; "
                             "or create it with dynamic_size=True")
        return self._of_rows([self._element(x, caller) for x in rows])

    def _of_rows(self, rows: list[Tensor | None]) -> TensorArray:
        """Return the array of `rows`. In a branch or an iteration they are stacked at once, because
        their tensors are not valid outside."""
        made = self._with(rows, None)
        graph = current_graph()
        if graph is not None and graph.bodies:
            made._values, made._rows = made._dense, None
        return made

    @property
    def _loop_shape(self) -> tuple[int | None, ...]:
        """The loop-invariant shape of the dense tensor."""
        return (None if self._dynamic else self._size, *self._learned[0])

    def identity(self) -> TensorArray:
        """Return the array itself."""
        return self


def _longer(values: Tensor, n: Tensor) -> Tensor:
    """Pad `values` with rows of zeros to at least `n` rows."""
    more = range_of(maximum(n - shape(values)[0], 0))
    return concat([values, zeros([more.shape[0], *values.shape[1:]], values.dtype)], 0)
