"""Fake quantisation with TensorFlow's names: values are rounded to the grid of an integer dtype and
stay floats, with straight-through gradients for training.

Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference (2018). The range is nudged so that 0 is on the grid.
"""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor
from dualflow._util.arguments import number
from dualflow._util.named_tuple import NamedTuple
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import same_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.quantization.operands import (
    bits_within,
    check_range,
    floating,
    one_per_slice,
    wide_dtype,
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


def _limits(num_bits: Any, narrow_range: bool, op: str) -> tuple[float, float]:
    """Return the least and the largest integer of a grid."""
    return float(bool(narrow_range)), 2.0 ** bits_within(num_bits, 2, 16, op) - 1


def _fake_quant(operands: tuple[Any, Any, Any], num_bits: Any, narrow_range: bool, op: str,
                divide: bool = False) -> Any:
    """Return the rounded values. TensorFlow's kernel for a range of variables divides by the step,
    the others multiply by its inverse; ties may differ."""
    x = operands[0]
    v, low, high = _wide(x, operands)
    y = fake_quant(v, low, high, *_limits(num_bits, narrow_range, op), divide)
    return cast(y, x.dtype)


def _wide(x: Any, operands: tuple[Any, ...]) -> list[Any]:
    """Return operands in the dtype in which `x` is rounded."""
    dtype = wide_dtype(x)
    return [cast(operand, dtype) for operand in operands]


def fake_quant(x: TensorLike, low: TensorLike, high: TensorLike, least: float, most: float,
               divide: bool) -> Tensor:
    """Return `x` rounded to the grid of the integers `least` to `most` in the nudged range from
    `low` to `high`. If `divide`, values are divided by the step, not multiplied by its inverse.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.quantization.fake_quant import fake_quant
    >>> fake_quant([0.3, 7.], -1., 2., 0., 3., divide=True).tolist()
    [0.0, 2.0]
    """
    return apply("fake_quant", x, low, high, least=least, most=most, divide=divide)


@gradient("fake_quant", saves="inputs")
def _(g, y, x, low, high, least, most, divide):
    return [lambda side=side: fake_quant_grad(g, x, low, high, least, most, side)
            for side in (0, -1, 1)]


def fake_quant_grad(g: TensorLike, x: TensorLike, low: TensorLike, high: TensorLike, least: float,
                    most: float, side: int) -> Tensor:
    """Return `g` where `x` is below (`side` -1), within (0) or above (1) the nudged range of a
    grid, otherwise 0.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.quantization.fake_quant import fake_quant_grad
    >>> fake_quant_grad([1., 2.], [0.3, 7.], -1., 2., 0., 255., side=1).tolist()
    [0.0, 2.0]
    """
    return apply("fake_quant_grad", g, x, low, high, least=least, most=most, side=side)


@gradient("fake_quant_grad", saves=(1, 2, 3))
def _(gg, out, g, x, low, high, least, most, side):
    return fake_quant_grad(gg, x, low, high, least, most, side), None, None, None


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


def _gradients(gradients: TensorLike, operands: Any, num_bits: Any, narrow_range: bool, op: str,
               sides: tuple[int, ...] = (0, -1, 1)) -> list[Tensor]:
    """Return the gradients of inputs, minimum and maximum, given the gradient of the result."""
    x = operands[0]
    g = floating(gradients, f"{op}: gradients")
    if not same_shape(g.shape, x.shape):
        raise ShapeError(f"{op}: gradients has shape {tuple(g.shape)}, expected the shape of "
                         f"inputs, {tuple(x.shape)}")
    limits = _limits(num_bits, narrow_range, op)
    wide, v, low, high = _wide(x, (g, *operands))
    axes = list(range(x.ndim - low.ndim))
    parts = [fake_quant_grad(wide, v, low, high, *limits, side) for side in sides]
    return [cast(reduce_sum(part, axes) if side else part, g.dtype)
            for part, side in zip(parts, sides, strict=True)]


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
    return _gradients(gradients, operands, num_bits, narrow_range, op, (0,))[0]


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
    it is below, and to `max` if it is above; NaN has the gradient 0. If both limits are 0, it goes
    to `inputs`. Source: Jacob et al.,
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
    return FakeQuantGradient(*_gradients(gradients, operands, num_bits, narrow_range, op))


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
    return FakeQuantGradient(*_gradients(gradients, operands, num_bits, narrow_range, op))
