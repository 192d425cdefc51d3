"""Geometric transforms of images by interpolated sampling, blur, and Sobel edges."""

import itertools
from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import standardize_data_format
from keras.src.random.seed_generator import draw_seed

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, to_dtype
from dualflow.keras.src.ops.linalg import solve

FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")
ORDERS = {"nearest": 0, "bilinear": 1}


def _mirrored(at: df.Tensor, n: Any) -> df.Tensor:
    around = 2 * (n - 1)
    return df.abs(df.math.floormod(at + (n - 1), max(around, 1)) - (n - 1))


def _inside(at: df.Tensor, n: Any, fill_mode: str) -> df.Tensor:
    """Map positions beyond the border into the image according to the fill mode."""
    if fill_mode == "wrap":
        return df.math.floormod(at, n)
    if fill_mode == "mirror":
        return _mirrored(at, n)
    if fill_mode == "reflect":
        return df.math.floordiv(_mirrored(2 * at + 1, 2 * n + 1), 2)
    return df.clip_by_value(at, 0, n - 1)


def _sampled(rows: df.Tensor, sizes: Any, places: list[df.Tensor], order: int, fill_mode: str,
             fill_value: Any) -> df.Tensor:
    """Return elements of `rows` (batch, pixels, channels) at `places`, each (batch, many)."""
    fill = convert_to_tensor(fill_value, rows.dtype)
    choices = []
    for place in places:
        low = df.floor(place) if order else df.floor(place + 0.5)
        if order:
            share = place - low
            choices.append([(low, 1 - share), (low + 1, share)])
        else:
            choices.append([(low, df.ones_like(low))])
    total: Any = 0
    for corner in itertools.product(*choices):
        index: Any = 0
        weight: Any = 1
        valid: Any = None
        for n, (at, share) in zip(sizes, corner, strict=True):
            at = df.cast(at, df.int32)
            there = df.logical_and(at >= 0, at < n)
            valid = there if valid is None else df.logical_and(valid, there)
            index = index * n + _inside(at, n, fill_mode)
            weight = weight * share
        values = df.gather(rows, index, axis=1, batch_dims=1)
        if fill_mode == "constant":
            values = df.where(df.expand_dims(valid, -1), values, fill)
        total = total + values * df.expand_dims(df.cast(weight, rows.dtype), -1)
    return total


def _rounded(x: df.Tensor, dtype: df.DType) -> df.Tensor:
    return df.cast(x if dtype.is_floating else df.round(x), dtype)


def map_coordinates(inputs: Any, coordinates: Any, order: Any, fill_mode: Any = "constant",
                    fill_value: Any = 0.0) -> Any:
    x, places = convert_to_tensor(inputs), convert_to_tensor(coordinates)
    if places.shape[0] != x.ndim:
        raise ValueError("First dim of `coordinates` must be the same as the rank of `inputs`. "
                         f"Received inputs with shape: {x.shape} and coordinate leading dim of "
                         f"{places.shape[0]}")
    if places.ndim < 2:
        raise ValueError("Invalid coordinates rank: expected at least rank 2. Received input with "
                         f"shape: {places.shape}")
    _check_fill(fill_mode)
    if order not in (0, 1):
        raise ValueError("Invalid value for argument `order`. Expected one of [0, 1]. Received: "
                         f"order={order}")
    wide = df.cast(x, df.float64 if x.dtype is df.float64 else df.float32)
    flat = df.cast(df.reshape(places, (x.ndim, 1, -1)), wide.dtype)
    found = _sampled(df.reshape(wide, (1, -1, 1)), x.shape, list(df.unstack(flat)), order,
                     fill_mode, fill_value)
    return _rounded(df.reshape(found, places.shape[1:]), x.dtype)


def _check_fill(fill_mode: str) -> None:
    if fill_mode not in FILL_MODES:
        raise ValueError("Invalid value for argument `fill_mode`. Expected one of "
                         f"{set(FILL_MODES)}. Received: fill_mode={fill_mode}")


def _check_interpolation(interpolation: str) -> None:
    if interpolation not in ORDERS:
        raise ValueError("Invalid value for argument `interpolation`. Expected of one "
                         f"{set(ORDERS)}. Received: interpolation={interpolation}")


def _batch(images: Any, data_format: Any) -> tuple[df.Tensor, df.Tensor]:
    """Return the images as given, and as a float batch with channels last."""
    given = convert_to_tensor(images)
    if given.ndim not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of "
                         f"images). Received input with shape: images.shape={given.shape}")
    x = df.expand_dims(given, 0) if given.ndim == 3 else given
    x = df.cast(x, to_dtype(result_type(given.dtype.name, "float32")))
    if standardize_data_format(data_format) == "channels_first":
        x = df.transpose(x, (0, 2, 3, 1))
    return given, x


def _as_given(x: df.Tensor, given: df.Tensor, data_format: Any) -> df.Tensor:
    if standardize_data_format(data_format) == "channels_first":
        x = df.transpose(x, (0, 3, 1, 2, *range(4, x.ndim)))
    return _rounded(df.squeeze(x, 0) if given.ndim == 3 else x, given.dtype)


def _grid(height: Any, width: Any, dtype: df.DType) -> tuple[df.Tensor, df.Tensor]:
    """Return the y and x coordinates of all pixels, flattened."""
    y, x = df.meshgrid(df.range(height), df.range(width), indexing="ij")
    return (df.reshape(df.cast(y, dtype), (1, -1)), df.reshape(df.cast(x, dtype), (1, -1)))


def _bent(x: df.Tensor, places: list[df.Tensor], interpolation: str, fill_mode: str,
          fill_value: Any) -> df.Tensor:
    n, height, width, channels = x.shape
    places = [df.broadcast_to(p, (n, height * width)) for p in places]
    found = _sampled(df.reshape(x, (n, height * width, channels)), (height, width), places,
                     ORDERS[interpolation], fill_mode, fill_value)
    return df.reshape(found, x.shape)


def affine_transform(images: Any, transform: Any, interpolation: Any = "bilinear",
                     fill_mode: Any = "constant",
                     fill_value: Any = 0, data_format: Any = None) -> Any:
    _check_interpolation(interpolation)
    _check_fill(fill_mode)
    given, x = _batch(images, data_format)
    t = convert_to_tensor(transform, x.dtype)
    if t.ndim not in (1, 2):
        raise ValueError("Invalid transform rank: expected rank 1 (single transform) or rank 2 "
                         f"(batch of transforms). Received input with shape: "
                         f"transform.shape={t.shape}")
    t = df.expand_dims(t, 0) if t.ndim == 1 else t
    a0, a1, a2, b0, b1, b2 = [t[:, k:k + 1] for k in range(6)]
    down, right = _grid(x.shape[1], x.shape[2], x.dtype)
    places = [b0 * right + b1 * down + b2, a0 * right + a1 * down + a2]
    return _as_given(_bent(x, places, interpolation, fill_mode, fill_value), given, data_format)


def perspective_transform(images: Any, start_points: Any, end_points: Any,
                          interpolation: Any = "bilinear",
                          fill_value: Any = 0, data_format: Any = None) -> Any:
    start, end = convert_to_tensor(start_points), convert_to_tensor(end_points)
    _check_interpolation(interpolation)
    given, x = _batch(images, data_format)
    for name, points in (("start_points", start), ("end_points", end)):
        if points.ndim not in (2, 3) or tuple(points.shape[-2:]) != (4, 2):
            raise ValueError(f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) "
                             f"for a batch. Received shape: {points.shape}")
    if tuple(start.shape) != tuple(end.shape):
        raise ValueError("start_points and end_points must have the same shape. Received "
                         f"start_points.shape={start.shape}, end_points.shape={end.shape}")
    if start.ndim == 2:
        start, end = df.expand_dims(start, 0), df.expand_dims(end, 0)
    t = df.cast(compute_homography_matrix(start, end), x.dtype)
    h = [t[:, k:k + 1] for k in range(8)]
    down, right = _grid(x.shape[1], x.shape[2], x.dtype)
    depth = h[6] * right + h[7] * down + 1
    places = [(h[3] * right + h[4] * down + h[5]) / depth,
              (h[0] * right + h[1] * down + h[2]) / depth]
    return _as_given(_bent(x, places, interpolation, "constant", fill_value), given, data_format)


def compute_homography_matrix(start_points: Any, end_points: Any) -> Any:
    start, end = convert_to_tensor(start_points), convert_to_tensor(end_points)
    dtype = to_dtype(result_type(start.dtype.name, end.dtype.name, float))
    start, end = (df.cast(p, to_dtype(result_type(dtype.name, "float32"))) for p in (start, end))
    rows, wanted = [], []
    for k in range(4):
        (x, y), (u, v) = [[p[:, k, 0], p[:, k, 1]] for p in (end, start)]
        one, zero = df.ones_like(x), df.zeros_like(x)
        rows += [df.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1),
                 df.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1)]
        wanted += [u, v]
    found = solve(df.stack(rows, 1), df.expand_dims(df.stack(wanted, -1), -1))
    return df.cast(df.reshape(found, (-1, 8)), dtype)


def _bell(size: Any, sigma: Any, dtype: df.DType) -> df.Tensor:
    at = df.cast(df.range(size), dtype) - (size - 1) / 2
    bell = df.exp(-0.5 * (at / sigma) ** 2)
    return bell / df.reduce_sum(bell)


def gaussian_blur(images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0),
                  data_format: Any = None) -> Any:
    given, x = _batch(images, data_format)
    sigma = convert_to_tensor(sigma, x.dtype)
    sizes = [int(k) for k in (kernel_size.tolist() if hasattr(kernel_size, "tolist")
                              else kernel_size)]
    along_x, along_y = (_bell(sizes[k], sigma[k], x.dtype) for k in (0, 1))
    kernel = df.reshape(df.expand_dims(along_y, 1) * along_x, (sizes[1], sizes[0], 1, 1))
    kernel = df.tile(kernel, [1, 1, 1, x.shape[-1]])
    made = df.nn.convolution(x, kernel, 1, "SAME")
    return _as_given(made, given, data_format)


def elastic_transform(images: Any, alpha: Any = 20.0, sigma: Any = 5.0,
                      interpolation: Any = "bilinear",
                      fill_mode: Any = "reflect", fill_value: Any = 0.0, seed: Any = None,
                      data_format: Any = None) -> Any:
    _check_interpolation(interpolation)
    _check_fill(fill_mode)
    given, x = _batch(images, data_format)
    alpha, spread = (float(convert_to_tensor(v).item()) for v in (alpha, sigma))
    size = int(6 * spread) | 1
    seed = convert_to_tensor(draw_seed(seed), "int64")
    n, height, width = x.shape[:3]
    noise = df.random.stateless_normal((n, height, width, 2), seed, 0.0, spread, x.dtype)
    noise = alpha * gaussian_blur(noise, (size, size), (spread, spread), "channels_last")
    down, right = _grid(height, width, x.dtype)
    places = [down + df.reshape(noise[..., 1], (n, -1)), right + df.reshape(noise[..., 0], (n, -1))]
    return _as_given(_bent(x, places, interpolation, fill_mode, fill_value), given, data_format)


def sobel_edges(images: Any, data_format: Any = None) -> Any:
    given, x = _batch(images, data_format)
    n, height, width, channels = x.shape
    ends = df.convert_to_tensor([-1.0, 0.0, 1.0])
    sums = df.convert_to_tensor([1.0, 2.0, 1.0])
    kernels = df.stack([df.expand_dims(ends, 1) * sums, df.expand_dims(sums, 1) * ends], -1)
    kernel = df.tile(df.reshape(df.cast(kernels, x.dtype), (3, 3, 1, 2)), [1, 1, 1, channels])
    x = _mirror_edges(x)
    made = df.nn.convolution(x, kernel, 1, "VALID")
    made = df.reshape(made, (n, height, width, channels, 2))
    return _as_given(made, given, data_format)


def _mirror_edges(x: df.Tensor) -> df.Tensor:
    """Pad images by one pixel that repeats the edge."""
    return df.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC")
