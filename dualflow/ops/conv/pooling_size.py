"""Adaptive pooling, to a given number of windows, and global pooling over the whole image."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow.ops.conv.pooling import pooled
from dualflow.ops.conv.windows import (
    SPREAD,
    Attrs,
    Images,
    channels_first,
    images,
    per_dimension,
    window_attrs,
)
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.reduction.reduce_moments import reduce_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["adaptive_avg_pool", "adaptive_max_pool", "global_avg_pool", "global_max_pool"]


def _spread(at: Images, op: str, output_size: TensorLike) -> Attrs:
    sizes = per_dimension(output_size, at, f"{op}: output_size")
    return window_attrs(sizes, (1,) * at.n, (1,) * at.n, (0,) * (2 * at.n), SPREAD)


def adaptive_max_pool(input: TensorLike, output_size: TensorLike, data_format: str | None = None,
                      name: str | None = None) -> Tensor:
    """Return the maxima of `output_size` windows spread over the image.

    Parameters
    ----------
    input : Tensor, any number dtype, shape (batch, space..., channels)
    output_size : int or ints
        Number of windows, for all spatial dimensions or for each.
    data_format : str, optional

    Returns
    -------
    Tensor, dtype of `input`, shape (batch, output_size..., channels)

    Notes
    -----
    With n windows over a dimension of m pixels, window i spans floor(i m / n) to
    ceil((i + 1) m / n); windows overlap unless n divides m.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(5.), [1, 5, 1])
    >>> df.nn.adaptive_max_pool(x, 2).numpy().ravel().tolist()
    [2.0, 4.0]
    """
    at = images(input, data_format, "adaptive_max_pool")
    return pooled(at, "max_pool", _spread(at, "adaptive_max_pool", output_size), name)


def adaptive_avg_pool(input: TensorLike, output_size: TensorLike, data_format: str | None = None,
                      name: str | None = None) -> Tensor:
    """Return the means of `output_size` windows spread over the image.

    `input` (floating), `output_size` and `data_format` are as in `adaptive_max_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape(df.range(5.), [1, 5, 1])
    >>> df.nn.adaptive_avg_pool(x, 2).numpy().ravel().tolist()
    [1.0, 3.0]
    """
    at = images(input, data_format, "adaptive_avg_pool")
    return pooled(at, "avg_pool", _spread(at, "adaptive_avg_pool", output_size), name)


def global_max_pool(input: TensorLike, data_format: str | None = None, keepdims: bool = False,
                    name: str | None = None) -> Tensor:
    """Return the maximum of each channel of an image.

    Parameters
    ----------
    input : Tensor, any number dtype, shape (batch, space..., channels)
    data_format : str, optional
    keepdims : bool
        Whether to keep the spatial dimensions with size 1.

    Returns
    -------
    Tensor, shape (batch, channels)

    Notes
    -----
    A `reduce_max`; its gradient is divided equally among equal maxima.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.global_max_pool([[[1., 7.], [3., 5.]]]).tolist()
    [[3.0, 7.0]]
    """
    return reduce_max(*_whole(input, data_format, "global_max_pool"), keepdims, name)


def global_avg_pool(input: TensorLike, data_format: str | None = None, keepdims: bool = False,
                    name: str | None = None) -> Tensor:
    """Return the mean of each channel of an image.

    `input`, `data_format` and `keepdims` are as in `global_max_pool`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.global_avg_pool([[[1., 7.], [3., 5.]]]).tolist()
    [[2.0, 6.0]]
    """
    return reduce_mean(*_whole(input, data_format, "global_avg_pool"), keepdims, name)


def _whole(input: TensorLike, data_format: str | None, op: str) -> tuple[TensorBase, list[int]]:
    """Return a batch of images and its spatial dimensions."""
    x = input if isinstance(input, TensorBase) else as_tensor(input, None, op)
    first = channels_first(x, data_format, op)
    return x, list(range(2, x.ndim) if first else range(1, x.ndim - 1))
