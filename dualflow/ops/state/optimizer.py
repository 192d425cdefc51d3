"""Fused in-place updates of variables by their gradients, the ops of `dualflow.optimizers`. The
formulas are those of Keras 3.

A gradient may be `IndexedSlices`: the result is bit-identical to the update by the dense gradient,
which is not created. Slots of rows without an index decay, as in Keras; if a zero gradient changes
nothing (`sgd_update`, `adagrad_update`), these rows are skipped.

Each op has variants: `<op>_rows` for `IndexedSlices`; `<op>_mixed` and `<op>_mixed_rows` for a
16-bit variable, whose float32 master is the second input. The formula updates the master, whose
rounding is the new variable, in the same pass. An element of the variable that differs from the
rounded master was assigned after the last update and replaces the master's."""

from __future__ import annotations

from dualflow._core import Variable, apply
from dualflow.errors import ShapeError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.shape import same_shape
from dualflow.ops.indexing.indexed_slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["adagrad_update", "adam_update", "amsgrad_update", "centered_rmsprop_update",
           "momentum_update", "rmsprop_update", "sgd_update"]


def variants_of(op: str) -> tuple[str, ...]:
    """Return the names of an update op and of its variants."""
    return op, f"{op}_rows", f"{op}_mixed", f"{op}_mixed_rows"


def apply_update(op: str, variables: tuple[Variable, ...], grad: Any,
                 rest: tuple[TensorLike, ...], name: str | None = None, **attrs: Any) -> None:
    """Apply the op, or its counterpart for a gradient that is `IndexedSlices`."""
    if type(grad) is not IndexedSlices:
        apply(op, *variables, grad, *rest, name=name, **attrs)
        return
    shape = grad.dense_shape
    if shape is not None and not same_shape(shape, variables[0].shape):
        raise ShapeError(f"{op}: the gradient is IndexedSlices of shape {shape}, the variable has "
                         f"shape {variables[0].shape}, expected the same")
    apply(op + "_rows", *variables, grad.values, grad.indices, *rest, name=name, **attrs)


def sgd_update(var: Variable, grad: TensorLike, learning_rate: TensorLike,
               name: str | None = None) -> None:
    """Apply gradient descent: var = var - learning_rate * grad.

    Parameters
    ----------
    var : Variable, floating, shape (...)
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()

    Raises
    ------
    DTypeError, ShapeError
        If `grad` does not have the dtype and shape of `var`.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import sgd_update
    >>> v = df.Variable([1., 2.])
    >>> sgd_update(v, df.constant([1., 2.]), 0.5)
    >>> v.numpy().tolist()
    [0.5, 1.0]
    """
    apply_update("sgd_update", (var,), grad, (learning_rate,), name)


for op in variants_of("sgd_update"):
    no_gradient(op, why="it writes a variable")


def momentum_update(var: Variable, accum: Variable, grad: TensorLike, learning_rate: TensorLike,
                    momentum: float = 0.9, nesterov: bool = False,
                    name: str | None = None) -> None:
    """Apply momentum: accum = momentum * accum - learning_rate * grad; var = var + accum.

    Parameters
    ----------
    var, accum : Variable, floating, shape (...)
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()
    momentum : float
    nesterov : bool
        Whether to update var = var + momentum * accum - learning_rate * grad, with the new accum.

    Raises
    ------
    DTypeError, ShapeError
        If `accum` or `grad` does not have the dtype and shape of `var`.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import momentum_update
    >>> v, a = df.Variable([1.]), df.Variable([1.])
    >>> momentum_update(v, a, df.constant([1.]), 0.25, momentum=0.5)
    >>> v.numpy().tolist(), a.numpy().tolist()
    ([1.25], [0.25])
    """
    apply_update("momentum_update", (var, accum), grad, (learning_rate,), name, momentum=momentum,
                 nesterov=nesterov)


for op in variants_of("momentum_update"):
    no_gradient(op, why="it writes a variable")


def adam_update(var: Variable, m: Variable, v: Variable, grad: TensorLike,
                learning_rate: TensorLike, step: TensorLike, beta_1: float = 0.9,
                beta_2: float = 0.999, epsilon: float = 1e-7, weight_decay: float = 0.0,
                name: str | None = None) -> None:
    """Apply Adam: var = var - rate * m / (sqrt(v) + epsilon), with m, v means of grad, grad**2.

    Parameters
    ----------
    var, m, v : Variable, floating, shape (...)
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()
    step : Tensor, int64, shape ()
        Number t of previous updates.
    beta_1, beta_2, epsilon : float
    weight_decay : float
        Decoupled: `var` is first multiplied by 1 - learning_rate * weight_decay.

    Raises
    ------
    DTypeError, ShapeError
        If `m`, `v` or `grad` does not have the dtype and shape of `var`.

    Notes
    -----
    rate = learning_rate * sqrt(1 - beta_2**(t + 1)) / (1 - beta_1**(t + 1)). Kingma and Ba, "Adam:
    a method for stochastic optimization", ICLR 2015; weight decay after Loshchilov and Hutter,
    "Decoupled weight decay regularization", ICLR 2019.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import adam_update
    >>> w, m, v = df.Variable([1.]), df.Variable([0.]), df.Variable([0.])
    >>> adam_update(w, m, v, df.constant([2.]), 0.5, df.constant(0, df.int64))
    >>> w.numpy().round(4).tolist()
    [0.5]
    """
    apply_update("adam_update", (var, m, v), grad, (learning_rate, step), name, beta_1=beta_1,
                 beta_2=beta_2, epsilon=epsilon, weight_decay=weight_decay)


for op in variants_of("adam_update"):
    no_gradient(op, why="it writes a variable")


def amsgrad_update(var: Variable, m: Variable, v: Variable, v_hat: Variable, grad: TensorLike,
                   learning_rate: TensorLike, step: TensorLike, beta_1: float = 0.9,
                   beta_2: float = 0.999, epsilon: float = 1e-7, weight_decay: float = 0.0,
                   name: str | None = None) -> None:
    """Apply AMSGrad: Adam with the running maximum of v in place of v.

    Parameters
    ----------
    v_hat : Variable, like `var`
        The running maximum of v.

    See Also
    --------
    adam_update : describes the other parameters.

    Notes
    -----
    Reddi et al., "On the convergence of Adam and beyond", ICLR 2018.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import amsgrad_update
    >>> w, m, v, top = [df.Variable([x]) for x in (1., 0., 0., 0.)]
    >>> amsgrad_update(w, m, v, top, df.constant([2.]), 0.5, df.constant(0, df.int64))
    >>> w.numpy().round(4).tolist()
    [0.5]
    """
    apply_update("amsgrad_update", (var, m, v, v_hat), grad, (learning_rate, step), name,
                 beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, weight_decay=weight_decay)


for op in variants_of("amsgrad_update"):
    no_gradient(op, why="it writes a variable")


def rmsprop_update(var: Variable, rms: Variable, mom: Variable, grad: TensorLike,
                   learning_rate: TensorLike, rho: float = 0.9, momentum: float = 0.0,
                   epsilon: float = 1e-7, name: str | None = None) -> None:
    """Apply RMSprop: var = var - learning_rate * grad / sqrt(rms + epsilon).

    rms is the running mean of grad**2.

    Parameters
    ----------
    var, rms : Variable, floating, shape (...)
    mom : Variable, like `var`, or empty if `momentum` is 0
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()
    rho, momentum, epsilon : float

    Raises
    ------
    DTypeError, ShapeError
        If `rms`, `mom` or `grad` does not have the dtype and shape of `var`.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import rmsprop_update
    >>> v, rms, none = df.Variable([1.]), df.Variable([0.]), df.Variable(df.zeros([0]))
    >>> rmsprop_update(v, rms, none, df.constant([2.]), 0.25, rho=0.75)
    >>> v.numpy().round(4).tolist(), rms.numpy().tolist()
    ([0.5], [1.0])
    """
    apply_update("rmsprop_update", (var, rms, mom), grad, (learning_rate,), name,
                 rho=rho, momentum=momentum, epsilon=epsilon)


for op in variants_of("rmsprop_update"):
    no_gradient(op, why="it writes a variable")


def centered_rmsprop_update(var: Variable, rms: Variable, mean: Variable, mom: Variable,
                            grad: TensorLike, learning_rate: TensorLike, rho: float = 0.9,
                            momentum: float = 0.0, epsilon: float = 1e-7,
                            name: str | None = None) -> None:
    """Apply RMSprop with the variance rms - mean**2 in place of the mean square.

    Parameters
    ----------
    var, rms, mean : Variable, floating, shape (...)
    mom : Variable, like `var`, or empty if `momentum` is 0
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()
    rho, momentum, epsilon : float

    Raises
    ------
    DTypeError, ShapeError
        If `rms`, `mean`, `mom` or `grad` does not have the dtype and shape of `var`.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import centered_rmsprop_update
    >>> v, rms, mean = df.Variable([1.]), df.Variable([0.]), df.Variable([0.])
    >>> none = df.Variable(df.zeros([0]))
    >>> centered_rmsprop_update(v, rms, mean, none, df.constant([2.]), 0.25, rho=0.5)
    >>> v.numpy().round(4).tolist(), mean.numpy().tolist()
    ([0.5], [1.0])
    """
    apply_update("centered_rmsprop_update", (var, rms, mean, mom), grad, (learning_rate,), name,
                 rho=rho, momentum=momentum, epsilon=epsilon)


for op in variants_of("centered_rmsprop_update"):
    no_gradient(op, why="it writes a variable")


def adagrad_update(var: Variable, accum: Variable, grad: TensorLike, learning_rate: TensorLike,
                   epsilon: float = 1e-7, name: str | None = None) -> None:
    """Apply Adagrad: accum += grad**2; var = var - learning_rate * grad / sqrt(accum + epsilon).

    Parameters
    ----------
    var, accum : Variable, floating, shape (...)
    grad : Tensor or IndexedSlices, like `var`
    learning_rate : Tensor, floating, shape ()
    epsilon : float

    Raises
    ------
    DTypeError, ShapeError
        If `accum` or `grad` does not have the dtype and shape of `var`.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.state.optimizer import adagrad_update
    >>> v, a = df.Variable([1.]), df.Variable([0.])
    >>> adagrad_update(v, a, df.constant([2.]), 0.25)
    >>> v.numpy().tolist(), a.numpy().tolist()
    ([0.75], [4.0])
    """
    apply_update("adagrad_update", (var, accum), grad, (learning_rate,), name, epsilon=epsilon)


for op in variants_of("adagrad_update"):
    no_gradient(op, why="it writes a variable")
