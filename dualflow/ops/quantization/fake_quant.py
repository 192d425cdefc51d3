"""Fake quantisation with TensorFlow's names: values are rounded to the grid of an integer dtype and
stay floats, with straight-through gradients for training.

Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference (2018). The range is nudged so that 0 is on the grid.
"""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import number
from dualflow._util.named_tuple import NamedTuple
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import same_shape, stop_gradient
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.limits import clip_by_value
from dualflow.ops.elementwise.rounding import floor
from dualflow.ops.quantization.operands import (
    bits_within,
    check_range,
    floating,
    one_per_slice,
    wide_dtype,
)
from dualflow.ops.quantization.straight_through import (
    round_half_away,
    round_half_up,
    straight_through,
)
from dualflow.ops.reduction.reduce import reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]


class FakeQuantGradient(NamedTuple):
    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor


class Grid:
    """The nudged range and the step of a fake quantisation."""

    def __init__(self, low: Any, high: Any, num_bits: Any, narrow_range: bool, op: str) -> None:
        bits = bits_within(num_bits, 2, 16, op)
        least, largest = float(bool(narrow_range)), float(2 ** bits - 1)
        low, high = stop_gradient(low), stop_gradient(high)
        self.empty = (low == 0) & (high == 0)       # then the result is 0
        span = where(self.empty, 1.0, high - low)
        self.scale, self.inverse = span / (largest - least), (largest - least) / span
        zero_point = clip_by_value(round_half_away(least - low / self.scale), least, largest)
        self.low = (least - zero_point) * self.scale
        self.high = where(self.empty, 0.0, (largest - zero_point) * self.scale)
        self.zero = floor(-self.low * self.inverse + 0.5)

    def rounded(self, x: Any, divide: bool) -> Any:
        """Return the values of the grid nearest to x. TensorFlow's kernel for a range of variables
        divides by the step, the others multiply by its inverse; ties may differ."""
        shifted = clip_by_value(x, self.low, self.high) - self.low
        steps = shifted / self.scale if divide else shifted * self.inverse
        return round_half_up(steps - self.zero) * self.scale

    def inside(self, x: Any) -> Any:
        """Return True where x is within the nudged range."""
        return self.empty | (x >= self.low) & (x <= self.high)


def _fake_quant(operands: tuple[Any, Any, Any], num_bits: Any, narrow_range: bool, op: str,
                divide: bool = False) -> Any:
    """Return the rounded values. The surrogate of the gradient is x clipped to limits whose
    gradients go to `low` and `high`; NaN passes no gradient."""
    x, *_ = operands
    wide = wide_dtype(x)
    v, low, high = [cast(operand, wide) for operand in operands]
    grid = Grid(low, high, num_bits, narrow_range, op)
    most = float(wide.max)          # an empty range passes the gradient of each element
    surrogate = clip_by_value(
        where(v == v, v, 0), straight_through(where(grid.empty, -most, grid.low), low),
        straight_through(where(grid.empty, most, grid.high), high))
    return cast(straight_through(grid.rounded(stop_gradient(v), divide), surrogate), x.dtype)


def _operands(inputs: TensorLike, minimum: TensorLike, maximum: TensorLike, channels: bool,
              op: str) -> tuple[Any, Any, Any]:
    """Return validated tensors: the inputs, the minimum and the maximum."""
    x, low, high = [floating(v, f"{op}: {name}")
                    for v, name in ((inputs, "inputs"), (minimum, "min"), (maximum, "max"))]
    if channels and x.ndim == 0:
        raise ShapeError(f"{op}: inputs has shape (), expected channels in its last dimension")
    for v, name in ((low, "min"), (high, "max")):
        if channels:
            one_per_slice(v, x, x.ndim - 1, f"{op}: {name}")
        elif v.ndim:
            raise ShapeError(f"{op}: {name} has shape {tuple(v.shape)}, expected ()")
    check_range(low, high, op, ("min", "max"))
    return x, low, high


def _constant_range(x: TensorLike, low: Any, high: Any, op: str) -> tuple[Any, Any, Any]:
    """Return the inputs, and the range of `fake_quant_with_min_max_args` as tensors."""
    low, high = float(number(low, f"{op}: min")), float(number(high, f"{op}: max"))
    if not low < high:
        raise InvalidArgumentError(f"{op}: min is {low} and max is {high}, expected min < max")
    return _operands(x, as_tensor(low), as_tensor(high), False, op)


def _gradient(gradients: TensorLike, operands: Any, num_bits: Any, narrow_range: bool,
              op: str) -> FakeQuantGradient:
    """Return the gradients of inputs, minimum and maximum, given the gradient of the result."""
    x, low, high = operands
    g = floating(gradients, f"{op}: gradients")
    if not same_shape(g.shape, x.shape):
        raise ShapeError(f"{op}: gradients has shape {tuple(g.shape)}, expected the shape of "
                         f"inputs, {tuple(x.shape)}")
    grid = Grid(low, high, num_bits, narrow_range, op)
    inside, axes = grid.inside(x), list(range(x.ndim - low.ndim))
    return FakeQuantGradient(
        where(inside, g, 0), reduce_sum(where((x < grid.low) & ~grid.empty, g, 0), axes),
        reduce_sum(where((x > grid.high) & ~grid.empty, g, 0), axes))


# --- a constant range --------------------------------------------------------------------------


def fake_quant_with_min_max_args(inputs: TensorLike, min: float = -6, max: float = 6,
                                 num_bits: int = 8, narrow_range: bool = False,
                                 name: str | None = None) -> Tensor:
    """Round values to the ``2 ** num_bits`` values of a grid from `min` to `max`.

    Parameters
    ----------
    inputs : Tensor, floating
    min, max : float
        The range, ``min < max``. It is nudged so that 0 is on the grid; a range without 0 is moved
        to begin or end there.
    num_bits : int
        2 to 16.
    narrow_range : bool
        If True, the grid has one value less.

    Returns
    -------
    Tensor, like `inputs`

    Raises
    ------
    InvalidArgumentError
        If ``min >= max``, if a limit is NaN or infinite, or for other numbers of bits.

    Notes
    -----
    Values beyond the range saturate; NaN stays NaN. Ties round up, as in TensorFlow. The gradient
    of `inputs` passes where the values are within the nudged range, inclusive, and is 0 elsewhere,
    also for NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.fake_quant_with_min_max_args([-9., 0.3, 1.6], -1., 2., num_bits=2).tolist()
    [-1.0, 0.0, 2.0]
    """
    op = "fake_quant_with_min_max_args"
    return _fake_quant(_constant_range(inputs, min, max, op), num_bits, narrow_range, op)


def fake_quant_with_min_max_args_gradient(
        gradients: TensorLike, inputs: TensorLike, min: float = -6, max: float = 6,
        num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Return the gradient of the inputs of `fake_quant_with_min_max_args`, given the gradient of
    its result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.fake_quant_with_min_max_args_gradient([1., 1.], [0.3, 7.]).tolist()
    [1.0, 0.0]
    """
    op = "fake_quant_with_min_max_args_gradient"
    operands = _constant_range(inputs, min, max, op)
    return _gradient(gradients, operands, num_bits, narrow_range, op).backprops_wrt_input


# --- a trained range ---------------------------------------------------------------------------


def fake_quant_with_min_max_vars(inputs: TensorLike, min: TensorLike, max: TensorLike,
                                 num_bits: int = 8, narrow_range: bool = False,
                                 name: str | None = None) -> Tensor:
    """Round values to a grid whose limits are tensors or variables, and may be trained.

    Parameters
    ----------
    inputs : Tensor, floating
    min, max : Tensor, floating, shape ()
        The range, nudged so that 0 is on the grid. If both are 0, the result is 0.
    num_bits : int
        2 to 16.
    narrow_range : bool
        If True, the grid has one value less.

    Returns
    -------
    Tensor, like `inputs`

    Raises
    ------
    InvalidArgumentError
        If a known `min` is above `max`, if a known limit is NaN or infinite, or for other numbers
        of bits. In a traced function the values of arguments and variables are unknown and not
        checked: an empty or NaN range gives unspecified values, mostly NaN.
    ShapeError
        If `min` or `max` is not a scalar.

    Notes
    -----
    Values beyond the range saturate; NaN stays NaN. Ties round up, as in TensorFlow. The gradient
    of an element goes to `inputs` if the element is within the nudged range, inclusive, to `min` if
    it is below, and to `max` if it is above; NaN has the gradient 0. Source: Jacob et al.,
    Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference
    (2018).

    Examples
    --------
    >>> import dualflow as df
    >>> low, high = df.Variable(-1.), df.Variable(2.)
    >>> with df.GradientTape() as tape:
    ...     y = df.quantization.fake_quant_with_min_max_vars([-9., 0.3, 5., 7.], low, high, 2)
    >>> y.tolist(), [g.item() for g in tape.gradient(y, [low, high])]
    ([-1.0, 0.0, 2.0, 2.0], [1.0, 2.0])
    """
    op = "fake_quant_with_min_max_vars"
    return _fake_quant(_operands(inputs, min, max, False, op), num_bits, narrow_range, op, True)


def fake_quant_with_min_max_vars_gradient(
        gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike,
        num_bits: int = 8, narrow_range: bool = False,
        name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the inputs, the minimum and the maximum of
    `fake_quant_with_min_max_vars`, given the gradient of its result.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.quantization.fake_quant_with_min_max_vars_gradient([1., 2.], [0.3, 7.], -1., 2.)
    >>> [x.tolist() for x in g]
    [[1.0, 0.0], 0.0, 2.0]
    """
    op = "fake_quant_with_min_max_vars_gradient"
    operands = _operands(inputs, min, max, False, op)
    return _gradient(gradients, operands, num_bits, narrow_range, op)


def fake_quant_with_min_max_vars_per_channel(
        inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8,
        narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Round values to grids with a range per channel, the last dimension.

    Parameters
    ----------
    inputs : Tensor, floating, shape (..., d)
    min, max : Tensor, floating, shape (d,)

    Returns
    -------
    Tensor, like `inputs`

    Raises
    ------
    InvalidArgumentError
        As `fake_quant_with_min_max_vars`, for each channel.
    ShapeError
        If `min` or `max` is not one number per channel.

    Notes
    -----
    See `fake_quant_with_min_max_vars`, also for the other arguments and the gradients.

    Examples
    --------
    >>> import dualflow as df
    >>> df.quantization.fake_quant_with_min_max_vars_per_channel(
    ...     [[0.3, 0.3], [9., 9.]], [-1., 0.], [2., 3.], num_bits=2).tolist()
    [[0.0, 0.0], [2.0, 3.0]]
    """
    op = "fake_quant_with_min_max_vars_per_channel"
    return _fake_quant(_operands(inputs, min, max, True, op), num_bits, narrow_range, op)


def fake_quant_with_min_max_vars_per_channel_gradient(
        gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike,
        num_bits: int = 8, narrow_range: bool = False,
        name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the inputs, the minima and the maxima of
    `fake_quant_with_min_max_vars_per_channel`, given the gradient of its result.

    Examples
    --------
    >>> import dualflow as df
    >>> g = df.quantization.fake_quant_with_min_max_vars_per_channel_gradient(
    ...     [[1., 2.]], [[0.3, 7.]], [-1., -1.], [2., 2.])
    >>> [x.tolist() for x in g]
    [[[1.0, 0.0]], [0.0, 0.0], [0.0, 2.0]]
    """
    op = "fake_quant_with_min_max_vars_per_channel_gradient"
    operands = _operands(inputs, min, max, True, op)
    return _gradient(gradients, operands, num_bits, narrow_range, op)
