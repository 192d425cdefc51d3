"""Random changes of images. Each `stateless_random_*` function is determined by its key; each
`random_*` function draws the key, from its `seed` or from the global generator."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import expand_dims, ints, is_open, shape, static_shape
from dualflow.ops.array.slicing import slice
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.division import floormod
from dualflow.ops.image.color import adjust_brightness, adjust_contrast
from dualflow.ops.image.color_spaces import adjust_hue, adjust_saturation
from dualflow.ops.image.framing import image_batch
from dualflow.ops.image.resize import flip_left_right, flip_up_down
from dualflow.ops.random.random import stateless_uniform
from dualflow.ops.random.random_generator import draw_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = [
    "random_brightness", "random_contrast", "random_crop", "random_flip_left_right",
    "random_flip_up_down", "random_hue", "random_saturation", "stateless_random_brightness",
    "stateless_random_contrast", "stateless_random_crop", "stateless_random_flip_left_right",
    "stateless_random_flip_up_down", "stateless_random_hue", "stateless_random_saturation"]


# --- crops and flips ---------------------------------------------------------------------------


def stateless_random_crop(value: TensorLike, size: TensorLike, seed: TensorLike,
                          name: str | None = None) -> Tensor:
    """Crop a block of the given size at a uniformly random position, determined by `seed`.

    Parameters
    ----------
    value : Tensor
    size : ints, one per dimension
        -1 keeps a whole dimension.
    seed : Tensor, int64 (2,)

    Returns
    -------
    Tensor, shape `size`, dtype of `value`

    Raises
    ------
    InvalidArgumentError
        If the crop is larger than `value`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_crop(df.zeros([8, 8, 3]), [4, 5, 3], seed=[1, 2]).shape
    (4, 5, 3)
    """
    return _random_crop("stateless_random_crop", value, size, seed, name)


def _random_crop(op: str, value: TensorLike, size: TensorLike, seed: TensorLike,
                 name: str | None) -> Tensor:
    x = as_tensor(value, None, op)
    wanted = list(ints(size, f"{op}: size"))
    if len(wanted) != x.ndim:
        raise ShapeError(f"{op}: size is {shown(size)}, expected one int for each dimension of "
                         f"{tuple(x.shape)}")
    for axis, (part, whole) in enumerate(zip(wanted, static_shape(x), strict=True)):
        if not is_open(part) and part == -1:
            wanted[axis] = whole
        elif not is_open(part) and (part < 0 or (not is_open(whole) and part > whole)):
            raise InvalidArgumentError(f"{op}: size is {shown(size)}, expected -1 or at most the "
                                       f"shape {tuple(x.shape)}")
    drawn = stateless_uniform([x.ndim], seed, maxval=1 << 62, dtype=int64)
    start = floormod(drawn, shape(x, int64) - as_tensor(wanted, int64, op) + 1)
    return slice(x, start, wanted, name)


def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None,
                name: str | None = None) -> Tensor:
    """Crop a block of the given size at a uniformly random position.

    Parameters
    ----------
    value : Tensor
    size : ints, one per dimension
        -1 keeps a whole dimension.
    seed : int, optional
        Makes the position reproducible; by default it depends on `random.set_seed`.

    Returns
    -------
    Tensor, shape `size`, dtype of `value`

    Raises
    ------
    InvalidArgumentError
        If the crop is larger than `value`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_crop(df.zeros([8, 8, 3]), [4, 5, 3]).shape
    (4, 5, 3)
    """
    return _random_crop("random_crop", value, size, draw_key(seed, "random_crop"), name)


def _flipped(op: str, image: TensorLike, seed: TensorLike, flip: Any) -> Tensor:
    """Apply `flip` to each image of a batch with probability 1/2, independently."""
    x = image_batch(op, image)
    chance = stateless_uniform([static_shape(x)[0]] if x.ndim == 4 else [], seed) < 0.5
    for _ in range(3 if x.ndim == 4 else 0):
        chance = expand_dims(chance, -1)
    return where(chance, flip(x), x)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Mirror each image with probability 1/2.

    Parameters
    ----------
    image : Tensor, shape (height, width, channels) or (batch, height, width, channels)
    seed : int, optional
        Makes the choices reproducible; by default they depend on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_flip_left_right(df.zeros([8, 4, 4, 3])).shape
    (8, 4, 4, 3)
    """
    op = "random_flip_left_right"
    return _flipped(op, image, draw_key(seed, op), flip_left_right)


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Turn each image upside down with probability 1/2; `seed` as in
    `random_flip_left_right`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_flip_up_down(df.zeros([8, 4, 4, 3])).shape
    (8, 4, 4, 3)
    """
    op = "random_flip_up_down"
    return _flipped(op, image, draw_key(seed, op), flip_up_down)


def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """Mirror each image with probability 1/2, determined by `seed`, two ints.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_flip_left_right(df.zeros([8, 4, 4, 3]), [1, 2]).shape
    (8, 4, 4, 3)
    """
    return _flipped("stateless_random_flip_left_right", image, seed, flip_left_right)


def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """Turn each image upside down with probability 1/2, determined by `seed`, two ints.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_flip_up_down(df.zeros([8, 4, 4, 3]), [1, 2]).shape
    (8, 4, 4, 3)
    """
    return _flipped("stateless_random_flip_up_down", image, seed, flip_up_down)


# --- colours -----------------------------------------------------------------------------------


def _around_zero(op: str, limit: Any, largest: float, seed: TensorLike) -> Tensor:
    """Draw a number in [-limit, limit)."""
    if not isinstance(limit, TensorBase) and not 0 <= limit <= largest:
        raise InvalidArgumentError(f"{op}: max_delta is {shown(limit)}, expected 0 "
                                   + (f"to {largest}" if largest < 1 else "or more"))
    return stateless_uniform([], seed, -limit, limit)


def _between(op: str, lower: Any, upper: Any, seed: TensorLike) -> Tensor:
    """Draw a number in [lower, upper)."""
    if not any([isinstance(x, TensorBase) for x in (lower, upper)]) and not 0 <= lower < upper:
        raise InvalidArgumentError(f"{op}: lower is {shown(lower)} and upper {shown(upper)}, "
                                   "expected 0 <= lower < upper")
    return stateless_uniform([], seed, lower, upper)


def random_brightness(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Tensor:
    """Apply `adjust_brightness` with a random number in [-max_delta, max_delta).

    Parameters
    ----------
    image : Tensor
    max_delta : number, not negative
    seed : int, optional
        Makes the choice reproducible; by default it depends on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_brightness(df.ones([4, 4, 3]), 0.25).shape
    (4, 4, 3)
    """
    return stateless_random_brightness(image, max_delta, draw_key(seed, "random_brightness"))


def stateless_random_brightness(image: TensorLike, max_delta: TensorLike,
                                seed: TensorLike) -> Tensor:
    """Apply `adjust_brightness` as in `random_brightness`, determined by `seed`.

    Parameters
    ----------
    image : Tensor
    max_delta : number, not negative
    seed : Tensor, int64 (2,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_brightness(df.ones([4, 4, 3]), 0.25, seed=[1, 2]).shape
    (4, 4, 3)
    """
    return adjust_brightness(image, _around_zero("random_brightness", max_delta, float("inf"),
                                                 seed))


def random_contrast(image: TensorLike, lower: TensorLike, upper: TensorLike,
                    seed: int | None = None) -> Tensor:
    """Apply `adjust_contrast` with a random factor in [lower, upper).

    Parameters
    ----------
    image : Tensor, shape (..., height, width, channels)
    lower, upper : number, 0 <= lower < upper
    seed : int, optional
        Makes the choice reproducible; by default it depends on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_contrast(df.ones([4, 4, 3]), 0.5, 1.5).shape
    (4, 4, 3)
    """
    return stateless_random_contrast(image, lower, upper, draw_key(seed, "random_contrast"))


def stateless_random_contrast(image: TensorLike, lower: TensorLike, upper: TensorLike,
                              seed: TensorLike) -> Tensor:
    """Apply `adjust_contrast` as in `random_contrast`, determined by `seed`.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, channels)
    lower, upper : number, 0 <= lower < upper
    seed : Tensor, int64 (2,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_contrast(df.ones([4, 4, 3]), 0.5, 1.5, seed=[1, 2]).shape
    (4, 4, 3)
    """
    return adjust_contrast(image, _between("random_contrast", lower, upper, seed))


def random_saturation(image: TensorLike, lower: TensorLike, upper: TensorLike,
                      seed: int | None = None) -> Tensor:
    """Apply `adjust_saturation` with a random factor in [lower, upper).

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
    lower, upper : number, 0 <= lower < upper
    seed : int, optional
        Makes the choice reproducible; by default it depends on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_saturation(df.ones([4, 4, 3]), 0.5, 1.5).shape
    (4, 4, 3)
    """
    return stateless_random_saturation(image, lower, upper, draw_key(seed, "random_saturation"))


def stateless_random_saturation(image: TensorLike, lower: TensorLike, upper: TensorLike,
                                seed: TensorLike) -> Tensor:
    """Apply `adjust_saturation` as in `random_saturation`, determined by `seed`.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
    lower, upper : number, 0 <= lower < upper
    seed : Tensor, int64 (2,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_saturation(df.ones([4, 4, 3]), 0.5, 1.5, seed=[1, 2]).shape
    (4, 4, 3)
    """
    return adjust_saturation(image, _between("random_saturation", lower, upper, seed))


def random_hue(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Tensor:
    """Apply `adjust_hue` with a random number in [-max_delta, max_delta).

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
    max_delta : number, from 0 to 0.5
    seed : int, optional
        Makes the choice reproducible; by default it depends on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.random_hue(df.ones([4, 4, 3]), 0.25).shape
    (4, 4, 3)
    """
    return stateless_random_hue(image, max_delta, draw_key(seed, "random_hue"))


def stateless_random_hue(image: TensorLike, max_delta: TensorLike, seed: TensorLike) -> Tensor:
    """Apply `adjust_hue` as in `random_hue`, determined by `seed`.

    Parameters
    ----------
    image : Tensor, shape (..., height, width, 3)
    max_delta : number, from 0 to 0.5
    seed : Tensor, int64 (2,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.image.stateless_random_hue(df.ones([4, 4, 3]), 0.25, seed=[1, 2]).shape
    (4, 4, 3)
    """
    return adjust_hue(image, _around_zero("random_hue", max_delta, 0.5, seed))
