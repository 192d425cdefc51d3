"""Optimizers written as formulas of ops; a sparse gradient updates only its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dualflow as df
from dualflow._core import as_tensor
from dualflow.compat.v1.assign import write
from dualflow.compat.v1.groups import group
from dualflow.compat.v1.scatter import scatter_update
from dualflow.compat.v1.train.optimizer import Optimizer, sizes_of, value_of
from dualflow.compat.v1.variables import Variable
from dualflow.math import rsqrt, unsorted_segment_sum
from dualflow.ops.array.creation import constant, fill
from dualflow.ops.indexing.indexed_slices import IndexedSlices

__all__ = ["AdadeltaOptimizer", "FtrlOptimizer", "ProximalAdagradOptimizer",
           "ProximalGradientDescentOptimizer"]


class ByFormula(Optimizer):
    """Base class: a subclass returns the new values of a variable and its slots."""

    slots: Sequence[str] = ()

    def _next(self, grad: Any, var: Any, *slots: Any) -> Sequence[Any]:
        """Return the values after an update."""
        raise NotImplementedError

    def _with_slots(self, var: Variable) -> list[Any]:
        return [var, *[self.get_slot(var, name) for name in self.slots]]

    def _prepare(self) -> None:
        self._rate = value_of(self._learning_rate)      # type: ignore[attr-defined]

    def _apply_dense(self, grad: Any, var: Variable) -> Any:
        variables = self._with_slots(var)
        values = self._next(grad, *map(as_tensor, variables))
        return group(*[write("assign", v, x, None, "Assign")
                       for v, x in zip(variables, values, strict=True)])

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        variables = self._with_slots(var)
        rows, places = df.unique(grad.indices)
        total = unsorted_segment_sum(grad.values, places, rows.shape[0])
        values = self._next(total, *[df.gather(as_tensor(v), rows) for v in variables])
        return group(*[scatter_update(v, rows, x) for v, x in zip(variables, values, strict=True)])

    def _filled(self, var: Variable, name: str, op_name: str, value: float) -> None:
        """Create a slot filled with one value."""
        self._slot(var, name, op_name, fill(sizes_of(var), constant(value, var.dtype)))


class AdadeltaOptimizer(ByFormula):
    """accum = rho * accum + (1 - rho) * gradient**2; update = gradient * sqrt(accum_update +
    epsilon) / sqrt(accum + epsilon); accum_update = rho * accum_update + (1 - rho) * update**2;
    var = var - learning_rate * update.

    Parameters
    ----------
    learning_rate : float or Tensor, default 0.001
    rho : float, default 0.95
    epsilon : float, default 1e-8
    use_locking : ignored
    name : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.AdadeltaOptimizer(1., epsilon=1e-4).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w).round(4))
    2.9553
    """

    slots: tuple[str, ...] = ("accum", "accum_update")

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "Adadelta") -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            for name in self.slots:
                self._slot(v, name, self._name)

    def _next(self, grad: Any, var: Any, *slots: Any) -> Sequence[Any]:
        accum, past = slots
        rho, epsilon = self._rho, self._epsilon
        accum = accum * rho + df.square(grad) * (1 - rho)
        update = df.sqrt(past + epsilon) * rsqrt(accum + epsilon) * grad
        return (var - update * self._rate, accum,
                past * rho + df.square(update) * (1 - rho))


class FtrlOptimizer(ByFormula):
    """FTRL-Proximal: weights are exactly 0 where `l1` outweighs the gradients.

    Parameters
    ----------
    learning_rate : float or Tensor
    learning_rate_power : float, default -0.5
        At most 0.
    initial_accumulator_value : float, default 0.1
    l1_regularization_strength, l2_regularization_strength : float, default 0.0
    use_locking : ignored
    name : str
    accum_name, linear_name : str, optional
        Names of the slots.
    l2_shrinkage_regularization_strength : float, default 0.0
        L2 penalty whose gradient is not added to `accum`.
    beta : float, optional

    Notes
    -----
    H. B. McMahan et al., Ad Click Prediction: a View from the Trenches, 2013, algorithm 1.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([3., 0.1])
    ...     step = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=1.).minimize(w[1] ** 2)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w)[1])
    0.0
    """

    slots: tuple[str, ...] = ("accum", "linear")

    def __init__(self, learning_rate: Any, learning_rate_power: float = -0.5,
                 initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
                 l2_regularization_strength: float = 0.0, use_locking: bool = False,
                 name: str = "Ftrl", accum_name: str | None = None, linear_name: str | None = None,
                 l2_shrinkage_regularization_strength: float = 0.0,
                 beta: float | None = None) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value {initial_accumulator_value} needs to be "
                             "positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or "
                             "zero")
        for what, value in (("l1_regularization_strength", l1_regularization_strength),
                            ("l2_regularization_strength", l2_regularization_strength),
                            ("l2_shrinkage_regularization_strength",
                             l2_shrinkage_regularization_strength)):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        self._learning_rate, self._power = learning_rate, learning_rate_power
        self._initial, self._beta = initial_accumulator_value, beta or 0.0
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength
        self._names = accum_name or name, linear_name or name

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            self._filled(v, "accum", self._names[0], self._initial)
            self._slot(v, "linear", self._names[1])

    def _next(self, grad: Any, var: Any, *slots: Any) -> Sequence[Any]:
        accum, linear = slots
        rate, now = self._rate, accum + df.square(grad)
        before, after = [df.sqrt(a) if self._power == -0.5 else df.pow(a, -self._power)
                         for a in (accum, now)]
        pull = grad + 2 * self._shrinkage * var if self._shrinkage else grad
        linear = linear + pull - (after - before) / rate * var
        weight = after / rate + (2 * self._l2 + self._beta / rate)
        value = (self._l1 * df.sign(linear) - linear) / weight
        return (df.where(df.abs(linear) > self._l1, value, df.zeros_like(value)), now, linear)


def shrunk(x: Any, rate: Any, l1: float, l2: float) -> Any:
    """Apply the proximal operator of the l1 and l2 penalties with this rate."""
    if l1 > 0:
        x = df.sign(x) * df.maximum(df.abs(x) - rate * l1, 0.0)
    return x / (1.0 + rate * l2) if l2 else x


class ProximalGradientDescentOptimizer(ByFormula):
    """Gradient descent followed by a proximal step towards 0.

    Parameters
    ----------
    learning_rate : float or Tensor
    l1_regularization_strength, l2_regularization_strength : float, default 0.0
    use_locking : ignored
    name : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.ProximalGradientDescentOptimizer(0.25, 1.).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w))
    1.25
    """

    def __init__(self, learning_rate: Any, l1_regularization_strength: float = 0.0,
                 l2_regularization_strength: float = 0.0, use_locking: bool = False,
                 name: str = "ProximalGradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _next(self, grad: Any, var: Any, *slots: Any) -> Sequence[Any]:
        return [shrunk(var - self._rate * grad, self._rate, self._l1, self._l2)]


class ProximalAdagradOptimizer(ByFormula):
    """Adagrad followed by a proximal step towards 0.

    Parameters
    ----------
    learning_rate : float or Tensor
    initial_accumulator_value : float, default 0.1
    l1_regularization_strength, l2_regularization_strength : float, default 0.0
    use_locking : ignored
    name : str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(3.)
    ...     step = tf.train.ProximalAdagradOptimizer(0.5, 1e-6).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(sess.run(w).round(4))
    2.5
    """

    slots: tuple[str, ...] = ("accumulator",)

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
                 use_locking: bool = False, name: str = "ProximalAdagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError("initial_accumulator_value must be positive: "
                             f"{initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list: list[Variable]) -> None:
        for v in var_list:
            self._filled(v, "accumulator", self._name, self._initial)

    def _next(self, grad: Any, var: Any, *slots: Any) -> Sequence[Any]:
        accum = slots[0] + df.square(grad)
        rate = self._rate * rsqrt(accum)
        return shrunk(var - rate * grad, rate, self._l1, self._l2), accum
