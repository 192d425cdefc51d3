"""Recurrent layers over whole sequences, and their gradients.

An op runs one layer in one direction; the functions compose directions and layers. Second-order
gradients are in `autodiff.recurrent`."""

from __future__ import annotations

from functools import partial

from dualflow._core import Tensor, apply, as_tensor
from dualflow._util.arguments import not_floating, shown
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import fill, zeros
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import same_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["gru", "lstm", "simple_rnn"]

# One tensor, or a list with one tensor per layer and direction.
Weights: TypeAlias = "TensorLike | Sequence[TensorLike]"


def simple_rnn(x: TensorLike, kernel: Weights, recurrent_kernel: Weights,
               bias: Weights | None = None, initial_state: TensorLike | None = None,
               lengths: TensorLike | None = None, activation: str = "tanh",
               bidirectional: bool = False, go_backwards: bool = False, time_major: bool = False,
               name: str | None = None) -> tuple[Tensor, Tensor]:
    """Run simple recurrent layers: ``h' = activation(x kernel + bias + h recurrent_kernel)``.

    Parameters
    ----------
    x : Tensor, floating, shape (batch, time, features)
        Or (time, batch, features), if `time_major`.
    kernel : Tensor, shape (features, units), or a list of them
    recurrent_kernel : Tensor, shape (units, units), or a list of them
    bias : Tensor, shape (units,), or a list of them, optional
    initial_state : Tensor, shape (batch, units), optional
        (number of weights, batch, units) if the weights are lists. By default zeros.
    lengths : Tensor, int32 or int64, shape (batch,), optional
        The number of steps of each sequence, 0 to time; see `lstm`.
    activation : {"tanh", "relu"}
    bidirectional, go_backwards, time_major : bool
        As in `lstm`, like lists of weights.

    Returns
    -------
    outputs : Tensor, shape (batch, time, units), with the layout of `x`; see `lstm`
    last_state : Tensor, shape of `initial_state`

    Raises
    ------
    ShapeError
        If shapes are incompatible.
    InvalidArgumentError
        If a length is not in 0 to time, or the activation is unknown.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[[1.], [2.], [3.]]])
    >>> y, last = df.nn.simple_rnn(x, [[1.]], [[1.]], activation="relu")
    >>> y.numpy().ravel().tolist(), last.numpy().tolist()
    ([1.0, 3.0, 6.0], [[6.0]])
    """
    if activation not in ("tanh", "relu"):
        raise InvalidArgumentError(
            f"simple_rnn: activation is {shown(activation)}, expected 'tanh' or 'relu'")

    def run(*inputs: Any, **order: Any) -> Any:
        return apply("simple_rnn", *inputs, name=name, **order, relu=activation == "relu")

    outputs, last = _layers("simple_rnn", 1, 1, run, _bias, x, (kernel, recurrent_kernel, bias),
                            initial_state, lengths, (bidirectional, go_backwards, time_major))
    return outputs, last[0]


@gradient("simple_rnn", saves="both")
def _(g, y, x, kernel, recurrent, bias, h0, lengths, reverse, time_major, relu):
    def back(wants_x):
        return apply("simple_rnn_grad", *g, x, kernel, recurrent, bias, h0, lengths, y[0],
                     reverse=reverse, time_major=time_major, relu=relu, wants_x=wants_x)

    return *_parts(back, 5), None


def lstm(x: TensorLike, kernel: Weights, recurrent_kernel: Weights, bias: Weights | None = None,
         initial_state: tuple[TensorLike, TensorLike] | None = None,
         lengths: TensorLike | None = None, bidirectional: bool = False,
         go_backwards: bool = False, time_major: bool = False,
         name: str | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Run long short-term memory layers over whole sequences.

    Parameters
    ----------
    x : Tensor, floating, shape (batch, time, features)
        Or (time, batch, features), if `time_major`.
    kernel : Tensor, shape (features, 4 * units), or a list of them
        Columns of the gates i, f, c, o, as in Keras.
    recurrent_kernel : Tensor, shape (units, 4 * units), or a list of them
    bias : Tensor, shape (4 * units,), or a list of them, optional
    initial_state : (h, c), Tensors of shape (batch, units), optional
        (number of weights, batch, units) if the weights are lists. By default zeros.
    lengths : Tensor, int32 or int64, shape (batch,), optional
        The number of steps of each sequence, 0 to time. After the last step of a sequence its state
        is constant, outputs are zeros, and `x` is ignored; backwards, it starts at the last step.
    bidirectional : bool
        Whether to run each layer in both directions and concatenate the outputs. The weights are
        lists: first layer forward, first layer backward, second layer forward, ...
    go_backwards : bool
        Whether to run from the last step to the first; outputs stay at the steps of their inputs.
    time_major : bool
        Whether time is the first dimension of `x` and `outputs`, which avoids transposing them.

    Returns
    -------
    outputs : Tensor, shape (batch, time, units) or (time, batch, units)
        The states h of all steps of the last layer; twice the units if bidirectional.
    last_state : (h, c), shapes of `initial_state`

    Raises
    ------
    ShapeError
        If shapes are incompatible.
    InvalidArgumentError
        If a length is not in 0 to time.

    Notes
    -----
    With z = x kernel + bias + h recurrent_kernel split into four parts, and s the sigmoid::

        c' = s(z_f) c + s(z_i) tanh(z_c)        h' = s(z_o) tanh(c')

    One matrix product handles the inputs of all steps. There are gradients of any order; orders
    above the first run step by step and are much slower.

    Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.ones([2, 5, 3])
    >>> w, u, b = df.zeros([3, 16]), df.zeros([4, 16]), df.zeros([16])
    >>> y, (h, c) = df.nn.lstm(x, w, u, b, lengths=[5, 2])
    >>> y.shape, h.shape
    ((2, 5, 4), (2, 4))
    """
    def run(*inputs: Any, **order: Any) -> Any:
        return apply("lstm", *inputs, name=name, **order)

    outputs, last = _layers("lstm", 4, 2, run, _bias, x, (kernel, recurrent_kernel, bias),
                            initial_state, lengths, (bidirectional, go_backwards, time_major))
    return outputs, (last[0], last[1])


@gradient("lstm", saves="both")
def _(g, y, x, kernel, recurrent, bias, h0, c0, lengths, reverse, time_major):
    def back(wants_x):
        return apply("lstm_grad", *g[:3], x, kernel, recurrent, bias, h0, c0, lengths, y[0], y[3],
                     reverse=reverse, time_major=time_major, wants_x=wants_x)

    return *_parts(back, 6), None


def gru(x: TensorLike, kernel: Weights, recurrent_kernel: Weights, bias: Weights | None = None,
        initial_state: TensorLike | None = None, lengths: TensorLike | None = None,
        reset_after: bool = True, bidirectional: bool = False, go_backwards: bool = False,
        time_major: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Run gated recurrent units over whole sequences.

    Parameters
    ----------
    x : Tensor, floating, shape (batch, time, features)
        Or (time, batch, features), if `time_major`.
    kernel : Tensor, shape (features, 3 * units), or a list of them
        Columns of z, r, h, as in Keras.
    recurrent_kernel : Tensor, shape (units, 3 * units), or a list of them
    bias : Tensor, shape (2, 3 * units), or (3 * units,) without `reset_after`; or a list; optional
        The two rows are added to the products of x and of h, respectively.
    initial_state : Tensor, shape (batch, units), optional
        (number of weights, batch, units) if the weights are lists. By default zeros.
    lengths : Tensor, int32 or int64, shape (batch,), optional
        The number of steps of each sequence, 0 to time; see `lstm`.
    reset_after : bool
        Whether the gate r multiplies the product of the state, as in cuDNN, Keras and PyTorch, or
        the state before the product, as in the original paper.
    bidirectional, go_backwards, time_major : bool
        As in `lstm`, like lists of weights.

    Returns
    -------
    outputs : Tensor, shape (batch, time, units), with the layout of `x`; see `lstm`
    last_state : Tensor, shape of `initial_state`

    Raises
    ------
    ShapeError
        If shapes are incompatible.
    InvalidArgumentError
        If a length is not in 0 to time.

    Notes
    -----
    With a = x kernel + bias[0] and b = h recurrent_kernel + bias[1], and s the sigmoid::

        z = s(a_z + b_z)    r = s(a_r + b_r)    y = tanh(a_h + r b_h)    h' = z h + (1 - z) y

    There are gradients of any order; orders above the first are slow, as in `lstm`.

    Cho et al. (2014).

    Examples
    --------
    >>> import dualflow as df
    >>> y, last = df.nn.gru(df.ones([2, 5, 3]), df.zeros([3, 12]), df.zeros([4, 12]))
    >>> y.shape, last.shape
    ((2, 5, 4), (2, 4))
    """
    def biases(op: str, gates: int, value: Tensor | None, units: Any, dtype: Any) -> list[Any]:
        if not reset_after or value is None:
            return [*_bias(op, 3, value, units, dtype), zeros([units], dtype)]
        if (value.ndim != 2 or not same_size(value.shape[0], 2)
                or not same_size(value.shape[1], 3 * units)):
            raise ShapeError(f"{op}: the bias has shape {value.shape}, expected (2, {3 * units}): "
                             "one for the inputs and one for the states")
        if not value.dtype.is_floating:
            raise not_floating(f"{op}: the bias", value.dtype)
        ours, theirs = value[0], value[1]
        two = 2 * units
        return [concat([ours[:two] + theirs[:two], ours[two:]], 0), theirs[two:]]

    def run(*inputs: Any, **order: Any) -> Any:
        return apply("gru", *inputs, name=name, **order, reset_after=bool(reset_after))

    outputs, last = _layers("gru", 3, 1, run, biases, x, (kernel, recurrent_kernel, bias),
                            initial_state, lengths, (bidirectional, go_backwards, time_major))
    return outputs, last[0]


@gradient("gru", saves="both")
def _(g, y, x, kernel, recurrent, bias, inner_bias, h0, lengths, reverse, time_major, reset_after):
    def back(wants_x):
        return apply("gru_grad", *g[:2], x, kernel, recurrent, bias, inner_bias, h0, lengths, y[0],
                     y[2], reverse=reverse, time_major=time_major, reset_after=reset_after,
                     wants_x=wants_x)

    return *_parts(back, 6), None


def _parts(back: Callable[[bool], tuple[Tensor, ...]], n: int) -> list[Callable[[], Tensor]]:
    """Return functions for the gradients of the first n inputs. The first call computes all; the
    gradient of x, a separate product, is only included if it is requested first."""
    made: list[Tensor] = []

    def part(k: int) -> Tensor:
        if not made:
            made.extend(back(k == 0))
        return made[k]

    return [partial(part, k) for k in range(n)]


# --- layers and directions ------------------------------------------------------------------------

def _layers(op: str, gates: int, n_states: int, run: Callable[..., Any], biases: Callable[..., Any],
            x: TensorLike, weights: tuple[Any, Any, Any], initial: Any, lengths: Any,
            options: tuple[bool, bool, bool]) -> tuple[Tensor, list[Tensor]]:
    """Return the outputs and last states of the layers that `weights` define."""
    bidirectional, backwards, time_major = map(bool, options)
    x = as_tensor(x)
    if x.ndim != 3:
        raise ShapeError(f"{op}: x has shape {x.shape}, expected three dimensions: "
                         + ("time, batch" if time_major else "batch, time") + ", features")
    several = isinstance(weights[0], list | tuple) and not _is_matrix(weights[0])
    directions = 2 if bidirectional else 1
    each = _each(op, weights, several, directions)
    states = _states(op, initial, n_states, len(each), several)
    steps, batch = x.shape[:2] if time_major else x.shape[1::-1]
    lengths = fill([batch], as_tensor(steps, int64)) if lengths is None else as_tensor(lengths)
    last = []
    for first in range(0, len(each), directions):
        outputs = []
        for i in range(first, first + directions):
            kernel, recurrent, bias = each[i]
            units = recurrent.shape[0] if recurrent.ndim else 0
            y = run(x, kernel, recurrent, *biases(op, gates, bias, units, x.dtype),
                    *(states[i] or [zeros([batch, units], x.dtype)] * n_states), lengths,
                    reverse=backwards != (i > first), time_major=time_major)
            outputs.append(y[0])
            last.append(y[1:1 + n_states])
        x = concat(outputs, 2) if bidirectional else outputs[0]
    return x, [stack(parts) if several else parts[0] for parts in zip(*last, strict=True)]


def _is_matrix(value: Any) -> bool:
    """Return True if nested lists are one matrix of numbers, not a list of matrices."""
    return bool(value) and all(
        isinstance(row, list | tuple)
        and not any(isinstance(n, list | tuple) or hasattr(n, "shape") for n in row)
        for row in value)


def _each(op: str, weights: tuple[Any, Any, Any], several: bool, directions: int) -> list[Any]:
    """Return (kernel, recurrent kernel, bias or None) of each layer and direction."""
    kernels, recurrent, biases = weights if several else [[w] for w in weights]
    biases = [None] * len(kernels) if biases is None else biases
    n = len(kernels)
    if n == 0 or n % directions or len(recurrent) != n or len(biases) != n:
        raise InvalidArgumentError(
            f"{op}: there are {n} kernels, {len(recurrent)} recurrent kernels and {len(biases)} "
            f"biases, expected equal numbers"
            + (", two for each layer of two directions" if directions == 2 else ""))
    return [tuple(w if w is None else as_tensor(w) for w in each)
            for each in zip(kernels, recurrent, biases, strict=True)]


def _states(op: str, initial: Any, n_states: int, n: int, several: bool) -> list[Any]:
    """Return the initial states of each layer and direction, or None."""
    if initial is None:
        return [None] * n
    parts = initial if n_states > 1 else [initial]
    if not isinstance(parts, list | tuple) or len(parts) != n_states:
        raise InvalidArgumentError(f"{op}: initial_state is {shown(initial)}, expected (h, c)")
    tensors = [as_tensor(p) for p in parts]
    if not several:
        return [tensors]
    for s in tensors:
        if s.ndim != 3 or not same_size(s.shape[0], n):
            raise ShapeError(f"{op}: an initial state has shape {s.shape}, expected ({n}, batch, "
                             f"units) for {n} kernels")
    return [[s[i] for s in tensors] for i in range(n)]


def _bias(op: str, gates: int, value: Tensor | None, units: Any, dtype: Any) -> list[Any]:
    return [zeros([gates * units], dtype) if value is None else value]
