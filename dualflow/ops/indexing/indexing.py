"""``x[key]`` as in NumPy: basic keys are one strided slice, tensors and masks use gather."""

from __future__ import annotations

from dualflow import _core
from dualflow._core import Dim, Tensor, TensorBase, apply, as_index, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import int32, int64
from dualflow.errors import DTypeError, DualflowError, OutOfRangeError, TracedValueError
from dualflow.ops.array.join import stack, unstack
from dualflow.ops.array.shape import (
    broadcast_to,
    expand_dims,
    identity,
    same_shape,
    static_shape,
    transpose,
)
from dualflow.ops.array.slicing import INDEX, MISSING, NEW, SLICE
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.gather import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["getitem"]

_WHOLE = slice(None)
_NUMBER = (int, Dim)
_PLAIN = {int, slice}        # keys that need no conversion
Key = tuple[int, int, int, int]


def getitem(x: TensorBase, key: Any) -> Tensor:
    """Return ``x[key]`` for ints, slices, ``...``, None, integer tensors and boolean masks.

    A list with a slice or ``...`` is a tuple of keys, as in TensorFlow; other lists are integer
    tensors or masks. A mask of shape () selects `x` once or not at all, along a new first
    dimension.

    Raises
    ------
    OutOfRangeError
        If an index is out of range, or there are too many indices.
    DTypeError
        If a key has a type or a dtype that cannot index.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[1, 2, 3], [4, 5, 6]])
    >>> x[0].tolist(), x[:, ::-2].tolist(), x[..., None].shape, x[[1, 0], 2].tolist()
    ([1, 2, 3], [[3, 1], [6, 4]], (2, 3, 1), [6, 3])
    """
    if type(key) is int:
        return apply("strided_slice", x, begin=(key,), end=(0,), strides=(1,), kind=(INDEX,))
    if isinstance(key, TensorBase) and key.dtype.is_bool and key.ndim == 0:
        return _pick(expand_dims(x, 0), [expand_dims(key, 0)], [0])
    several = isinstance(key, tuple) or (
        type(key) is list and any([type(k) is slice or k is ... for k in key]))
    keys = list(key) if several else [key]
    if len(keys) <= x.ndim and _PLAIN.issuperset(map(type, keys)):
        return _basic(x, keys)
    keys = _expand_ellipsis(x, [_plain(k) for k in keys])
    if any(isinstance(k, TensorBase) for k in keys):
        return _advanced(x, keys)
    return _basic(x, keys)


def _basic(x: TensorBase, keys: list[Any]) -> Tensor:
    """Index by ints, slices and None with one strided slice."""
    if not keys:
        return identity(x)
    begin, end, strides, kind = zip(*[_basic_key(k) for k in keys], strict=True)
    return apply("strided_slice", x, begin=begin, end=end, strides=strides, kind=kind)


def _plain(key: Any) -> Any:
    """Convert a key to an int, slice, None, Ellipsis, or a tensor of int32, int64 or bool."""
    if key is None or key is Ellipsis or type(key) in (int, slice, Dim):
        return key
    if hasattr(key, "__index__") and not isinstance(key, bool) and not getattr(key, "ndim", 0):
        try:
            return key.__index__()
        except TypeError:
            pass                     # a scalar of another dtype: rejected below
    try:
        index = key if isinstance(key, TensorBase) else as_tensor(key)
    except DualflowError as error:
        raise DTypeError(
            f"indexing: {shown(key)} of type {type(key).__name__}, expected integers, slices, ..., "
            f"None, integer tensors or boolean masks ({error})") from None
    if index.dtype.is_bool and index.ndim:
        return index
    if isinstance(key, (list, tuple)) and index.shape == (0,):
        return apply("cast", index, dtype="int32")
    if not index.dtype.is_integer:
        raise DTypeError(f"indexing: an index of {index.dtype} {index.shape}, expected integers, "
                         "or bool with 1 dimension or more")
    if index.dtype in (int32, int64):
        return index
    return apply("cast", index, dtype="int32" if index.dtype.itemsize < 4 else "int64")


def _n_dims(key: Any) -> int:
    """Return the number of dimensions of the tensor that a key indexes."""
    if key is None:
        return 0
    return key.ndim if isinstance(key, TensorBase) and key.dtype.is_bool else 1


def n_addressed(x: TensorBase, key: Any) -> int:
    """Return the number of leading dimensions that ``x[key]`` indexes."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(k is Ellipsis for k in keys):
        return x.ndim
    return sum([_n_dims(_plain(k)) for k in keys])


def _expand_ellipsis(x: TensorBase, keys: list[Any]) -> list[Any]:
    """Replace the ellipsis by full slices."""
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(places) > 1:
        raise OutOfRangeError("indexing: more than one ellipsis (...)")
    named = sum(_n_dims(k) for k in keys if k is not Ellipsis)
    if named > x.ndim:
        raise OutOfRangeError(f"indexing: {named} indices of a tensor with {x.ndim} dimensions, "
                              f"{x.dtype} {x.shape}")
    if places:
        keys[places[0]:places[0] + 1] = [slice(None)] * (x.ndim - named)
    return keys


def _basic_key(key: Any) -> Key:
    if type(key) in _NUMBER:
        return (key, 0, 1, INDEX)
    if key is None:
        return (0, 0, 1, NEW)
    begin, end, step = key.start, key.stop, key.step
    try:
        return (MISSING if begin is None else _clamp(begin),
                MISSING if end is None else _clamp(end),
                1 if step is None else _clamp(step), SLICE)
    except TracedValueError:
        raise
    except TypeError:
        raise DTypeError(f"indexing: {key!r}, expected a slice of integers") from None


def _clamp(n: Any) -> Any:
    """Clamp bounds to 63 bits without changing their meaning; the lowest two are reserved."""
    n = as_index(n)
    if isinstance(n, Dim):
        return n
    return n if MISSING + 1 < n < -MISSING else -MISSING - 1 if n > 0 else MISSING + 2


def _advanced(x: TensorBase, keys: list[Any]) -> Tensor:
    """Index by keys that include tensors. As in NumPy, ints then count as tensors: if other keys
    separate them, the indexed dimensions come first."""
    picked = [i for i, k in enumerate(keys) if isinstance(k, (TensorBase, int, Dim))]
    together = picked[-1] - picked[0] == len(picked) - 1
    if not together:
        keys = [as_tensor(k) if isinstance(k, _NUMBER) else k for k in keys]
    basic: list[Any] = []
    indices: list[TensorBase] = []
    places: list[int] = []            # dimensions of the indices, after basic keys
    dim = 0
    for k in keys:
        if isinstance(k, TensorBase):
            places += range(dim, dim + _n_dims(k))
            indices.append(k)
            basic += [_WHOLE] * _n_dims(k)
            dim += _n_dims(k)
        else:
            basic.append(k)
            dim += not isinstance(k, _NUMBER)
    if any(k != _WHOLE for k in basic):
        x = _basic(x, basic)
    if not together:
        rest = [d for d in range(x.ndim) if d not in places]
        x = transpose(x, places + rest)
        places = list(range(len(places)))
    return _pick(x, indices, places)


def _pick(x: TensorBase, indices: list[TensorBase], places: list[int]) -> Tensor:
    """Gather elements of the consecutive dimensions `places` of `x` by one or several indices."""
    if len(indices) == 1:
        if not indices[0].dtype.is_bool:
            return gather(x, indices[0], axis=places[0])
        nested = _true(indices[0], x, places[0])
    else:
        columns: list[TensorBase] = []
        for index in indices:
            if index.dtype.is_bool:
                columns += unstack(_true(index, x, places[len(columns)]), axis=1)
            else:
                columns.append(index)
        nested = stack(_broadcast(columns), axis=-1)
    return apply("gather_nd", x, nested, axis=places[0], batch_dims=0)


def _true(mask: TensorBase, x: TensorBase, at: int) -> Tensor:
    """Return the indices of true elements of a mask over dimensions of `x`. As in NumPy, any
    dimension of the mask may be 0."""
    dims = x.shape[at:at + mask.ndim]
    wanted = [0 if m == 0 else n for m, n in zip(mask.shape, dims, strict=True)]
    if not same_shape(mask.shape, wanted):
        raise OutOfRangeError(f"indexing: a mask of shape {mask.shape} for dimensions of shape "
                              f"{dims}, expected the same")
    return where(mask)


def _broadcast(columns: list[TensorBase]) -> list[Tensor]:
    """Broadcast the indices to one shape."""
    shapes = [static_shape(c) for c in columns]
    if any(isinstance(n, Dim) and n.data_dependent for shape in shapes for n in shape):
        nothing = sum([c * 0 for c in columns])         # its shape is known only at run time
        return [c + nothing for c in columns]
    shape = _broadcast_shape(shapes)
    return [broadcast_to(c, shape) for c in columns]


def _broadcast_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    ndim = max(len(s) for s in shapes)
    result = [1] * ndim
    for s in shapes:
        for d, n in enumerate(s, ndim - len(s)):
            if n != 1 and result[d] not in (1, n):
                raise OutOfRangeError("indexing: indices of shapes "
                                      f"{', '.join(map(str, shapes))} do not broadcast")
            result[d] = result[d] if n == 1 else n
    return tuple(result)


_core.bind(getitem=getitem)
