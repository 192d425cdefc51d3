"""Optimizers with the formulas and defaults of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from dualflow._core import as_tensor
from dualflow.compat.v1.assign import write
from dualflow.compat.v1.default_graph import last_op
from dualflow.compat.v1.groups import control_dependencies
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.train.optimizer import Optimizer, op_of, sizes_of, value_of
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import float32, int64
from dualflow.ops.array.creation import constant, fill, ones
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.state import optimizer as updates

__all__ = ["AdagradOptimizer", "AdamOptimizer", "GradientDescentOptimizer", "MomentumOptimizer",
           "RMSPropOptimizer"]

POWERS = "beta1_power", "beta2_power"
MANY = 2**40                        # updates, after which the kernel's bias correction is 1


class GradientDescentOptimizer(Optimizer):
    """var = var - learning_rate * gradient.

    Parameters
    ----------
    learning_rate : float or Tensor
    use_locking : ignored
    name : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.GradientDescentOptimizer(0.25).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w))
    1.5
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False,
                 name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = value_of(self._learning_rate)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        updates.sgd_update(var, grad, self._rate,  # type: ignore[arg-type]
                           "ApplyGradientDescent")
        return last_op()

    _apply_sparse = _apply_dense


class MomentumOptimizer(Optimizer):
    """accumulation = momentum * accumulation + gradient; var = var - learning_rate * accumulation.

    Parameters
    ----------
    learning_rate, momentum : float or Tensor
    use_locking : ignored
    name : str
    use_nesterov : bool, default False
        var = var - learning_rate * (gradient + momentum * accumulation).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.MomentumOptimizer(0.25, 0.5).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step), sess.run(step)
    ...     print(sess.run(w))
    (None, None)
    0.0
    """

    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False,
                 name: str = "Momentum", use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            self._slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate, self._share = value_of(self._learning_rate), value_of(self._momentum)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        accumulation: Any = self.get_slot(var, "momentum")
        now = write("assign", accumulation, accumulation * self._share + grad, None, "Accumulate")
        step = grad + now * self._share if self._use_nesterov else now
        return op_of(write("assign_sub", var, step * self._rate, None, "ApplyMomentum"))


class AdamOptimizer(Optimizer):
    """var = var - rate * m / (sqrt(v) + epsilon); m and v are running means of the gradient and of
    its square.

    Parameters
    ----------
    learning_rate : float or Tensor, default 0.001
    beta1, beta2 : float, default 0.9, 0.999
    epsilon : float, default 1e-8
    use_locking : ignored
    name : str

    Notes
    -----
    rate = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t) in update t = 1, 2, ... Rows that a
    sparse gradient does not contain are updated as if their gradient were 0.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.AdamOptimizer(0.5).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w).round(4))
    2.5
    """

    def __init__(self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8, use_locking: bool = False, name: str = "Adam") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def _create_slots(self, var_list: list[Variable]) -> None:
        for name, beta in zip(POWERS, self._betas(), strict=True):
            self._create_non_slot_variable(convert(beta, float32), name, var_list[0])
        for v in var_list:
            self._slot(v, "m", self._name)
            self._slot(v, "v", self._name)

    def _betas(self) -> list[Any]:
        return [value_of(self._beta1), value_of(self._beta2)]

    def _get_beta_accumulators(self) -> list[Variable]:
        return [self._get_non_slot_variable(name) for name in POWERS]

    def _prepare(self) -> None:
        power1, power2 = map(as_tensor, self._get_beta_accumulators())
        rate = cast(convert(value_of(self._learning_rate), float32), float32)
        self._rate = rate * sqrt(1.0 - power2) / (1.0 - power1)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        beta1, beta2 = self._betas()
        updates.adam_update(
            var, self.get_slot(var, "m"), self.get_slot(var, "v"),  # type: ignore[arg-type]
            grad, self._rate, constant(MANY, int64), beta1, beta2, value_of(self._epsilon),
            name="ApplyAdam")
        return last_op()

    _apply_sparse = _apply_dense

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with control_dependencies(update_ops):
            powers = [write("assign", power, as_tensor(power) * beta, None, "Assign")
                      for power, beta in zip(self._get_beta_accumulators(), self._betas(),
                                             strict=True)]
        return super()._finish([*update_ops, *powers], name_scope)


class AdagradOptimizer(Optimizer):
    """accumulator = accumulator + gradient**2; var = var - learning_rate * gradient /
    sqrt(accumulator).

    Parameters
    ----------
    learning_rate : float or Tensor
    initial_accumulator_value : float, default 0.1
    use_locking : ignored
    name : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.AdagradOptimizer(0.5, 1e-6).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w))
    2.5
    """

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1,
                 use_locking: bool = False, name: str = "Adagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError("initial_accumulator_value must be positive: "
                             f"{initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            self._slot(v, "accumulator", self._name,
                       fill(sizes_of(v), constant(self._initial, v.dtype)))

    def _prepare(self) -> None:
        self._rate = value_of(self._learning_rate)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        updates.adagrad_update(
            var, self.get_slot(var, "accumulator"),  # type: ignore[arg-type]
            grad, self._rate, 0.0, "ApplyAdagrad")
        return last_op()

    _apply_sparse = _apply_dense


class RMSPropOptimizer(Optimizer):
    """rms = decay * rms + (1 - decay) * gradient**2; mom = momentum * mom + learning_rate *
    gradient / sqrt(rms + epsilon); var = var - mom.

    Parameters
    ----------
    learning_rate : float or Tensor
    decay : float, default 0.9
    momentum : float, default 0.0
    epsilon : float, default 1e-10
    use_locking : ignored
    centered : bool, default False
        Whether the square of the mean gradient is subtracted from rms.
    name : str

    Notes
    -----
    rms is initialized with 1.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(0.5)
    ...     step = tf.train.RMSPropOptimizer(0.25).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w))
    0.25
    """

    def __init__(self, learning_rate: Any, decay: float = 0.9, momentum: float = 0.0,
                 epsilon: float = 1e-10, use_locking: bool = False, centered: bool = False,
                 name: str = "RMSProp") -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay = learning_rate, decay
        self._momentum, self._epsilon, self._centered = momentum, epsilon, centered

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            self._slot(v, "rms", self._name, ones(sizes_of(v), v.dtype))
            if self._centered:
                self._slot(v, "mg", self._name)
            self._slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate = value_of(self._learning_rate)

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        rms, mean, mom = [self.get_slot(var, k) for k in ("rms", "mg", "momentum")]
        rest = self._rate, self._decay, self._momentum, self._epsilon, "ApplyRMSProp"
        if self._centered:
            updates.centered_rmsprop_update(var, rms, mean, mom, grad, *rest)  # type: ignore
        else:
            updates.rmsprop_update(var, rms, mom, grad, *rest)  # type: ignore[arg-type]
        return last_op()

    _apply_sparse = _apply_dense
