"""Reshaping, reordering, joining and splitting."""

import builtins
from typing import Any

from keras.src.backend.common.backend_utils import canonicalize_axis

import dualflow as df
from dualflow import array_api
from dualflow.keras.src.ops.convert import convert_to_tensor, tensors


def ndim(x: Any) -> Any:
    return convert_to_tensor(x).ndim


def size(x: Any) -> Any:
    return convert_to_tensor(x).size


def reshape(x: Any, newshape: Any) -> Any:
    if isinstance(newshape, int):
        newshape = (newshape,)
    return df.reshape(convert_to_tensor(x), newshape)


def ravel(x: Any) -> Any:
    return df.reshape(convert_to_tensor(x), (-1,))


def expand_dims(x: Any, axis: Any) -> Any:
    x = convert_to_tensor(x)
    axes = [axis] if isinstance(axis, int) else axis
    n = x.ndim + len(axes)
    for a in sorted(canonicalize_axis(a, n) for a in axes):
        x = df.expand_dims(x, a)
    return x


def squeeze(x: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is not None and not isinstance(axis, int) and len(axis) == 0:
        return x
    return df.squeeze(x, axis)


def transpose(x: Any, axes: Any = None) -> Any:
    x = convert_to_tensor(x)
    return df.transpose(x, axes if axes is None else [canonicalize_axis(a, x.ndim) for a in axes])


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    return array_api.moveaxis(convert_to_tensor(x), source, destination)


def swapaxes(x: Any, axis1: Any, axis2: Any) -> Any:
    x = convert_to_tensor(x)
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return df.transpose(x, order)


def broadcast_to(x: Any, shape: Any) -> Any:
    return df.broadcast_to(convert_to_tensor(x), shape)


def flip(x: Any, axis: Any = None) -> Any:
    return array_api.flip(convert_to_tensor(x), axis=axis)


def fliplr(x: Any) -> Any:
    return flip(x, 1)


def flipud(x: Any) -> Any:
    return flip(x, 0)


def rot90(array: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    array = convert_to_tensor(array)
    if array.ndim < 2:
        raise ValueError("Input array must have at least 2 dimensions. "
                         f"Received: array.ndim={array.ndim}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = axes
    k %= 4
    if k == 2:
        return flip(array, axes)
    if k == 1:
        return swapaxes(flip(array, second), first, second)
    return flip(swapaxes(array, first, second), second) if k == 3 else array


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        return df.reshape(df.roll(df.reshape(x, (-1,)), shift, 0), x.shape)
    return df.roll(x, shift, axis)


def tile(x: Any, repeats: Any) -> Any:
    x = convert_to_tensor(x)
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    repeats = [1] * (x.ndim - len(repeats)) + repeats
    return df.tile(df.reshape(x, (1,) * (len(repeats) - x.ndim) + tuple(x.shape)), repeats)


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = df.reshape(x, (-1,)), 0
    if isinstance(repeats, list | tuple) and len(repeats) == 1:
        repeats = repeats[0]
    return df.repeat(x, repeats, axis)


def pad(x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = None) -> Any:
    x = convert_to_tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when "
                         f"`mode == 'constant'`. Received: mode={mode}")
    pad_width = [[pad_width] * 2] * x.ndim if isinstance(pad_width, int) else [
        [p, p] if isinstance(p, int) else list(p) for p in pad_width]
    if len(pad_width) == 1 and x.ndim > 1:
        pad_width = pad_width * x.ndim
    value = 0 if constant_values is None else constant_values
    if mode == "edge":
        return _edges(x, pad_width)
    if x.dtype.is_bool:
        return df.cast(pad(df.cast(x, df.uint8), pad_width, mode, constant_values), df.bool_)
    return df.pad(x, pad_width, mode.upper(), constant_values=convert_to_tensor(value, x.dtype))


def _edges(x: df.Tensor, pad_width: list[list[int]]) -> df.Tensor:
    for axis, (before, after) in enumerate(pad_width):
        n = x.shape[axis]
        if before or after:
            x = df.gather(x, df.clip_by_value(df.range(-before, n + after), 0, n - 1), axis=axis)
    return x


# --- joining ---

def concatenate(xs: Any, axis: Any = 0) -> Any:
    xs = tensors(*xs)
    if axis is None:
        return df.concat([df.reshape(x, (-1,)) for x in xs], 0)
    return df.concat(xs, axis)


def stack(x: Any, axis: Any = 0) -> Any:
    return df.stack(tensors(*x), axis)


def append(x1: Any, x2: Any, axis: Any = None) -> Any:
    return concatenate([x1, x2], axis)


def _at_least(x: Any, n: int) -> df.Tensor:
    x = convert_to_tensor(x)
    if n >= 1 and x.ndim == 0:
        x = df.reshape(x, (1,))
    if n >= 2 and x.ndim == 1:
        x = df.expand_dims(x, 0)
    return df.expand_dims(x, -1) if n >= 3 and x.ndim == 2 else x


def hstack(xs: Any) -> Any:
    xs = [_at_least(x, 1) for x in xs]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(xs: Any) -> Any:
    return concatenate([_at_least(x, 2) for x in xs], 0)


def dstack(xs: Any) -> Any:
    return concatenate([_at_least(x, 3) for x in xs], 2)


# --- splitting ---

def split(x: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = convert_to_tensor(x)
    n = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if n % indices_or_sections:
            raise ValueError(f"split: {indices_or_sections} parts of an axis of {n} are not equal")
        return list(df.split(x, indices_or_sections, axis))
    if hasattr(indices_or_sections, "tolist"):
        indices_or_sections = indices_or_sections.tolist()
    return _parts(x, [0, *indices_or_sections, n], axis)


def _parts(x: df.Tensor, borders: list[Any], axis: int) -> list[df.Tensor]:
    before = (builtins.slice(None),) * (axis % x.ndim)
    return [x[(*before, builtins.slice(a, b))]
            for a, b in zip(borders, borders[1:], strict=False)]


def array_split(x: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    x = convert_to_tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    each, more = divmod(x.shape[axis], indices_or_sections)
    borders = [0]
    for k in range(indices_or_sections):
        borders.append(borders[-1] + each + (k < more))
    return _parts(x, borders, axis)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    x = convert_to_tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    return split(x, indices_or_sections, 2)
