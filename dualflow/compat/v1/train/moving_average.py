"""Exponential moving averages of variables and tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dualflow as df
from dualflow._core import Variable as own_variable, as_tensor
from dualflow.compat.v1.assign import assign_add, assign_sub, write
from dualflow.compat.v1.default_graph import default_graph, recorded, recording
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import control_dependencies, group, name_scope
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.train.optimizer import name_of, op_of
from dualflow.compat.v1.variable_lists import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import float32

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Maintains average = decay * average + (1 - decay) * value for variables and other tensors.

    Parameters
    ----------
    decay : float
    num_updates : int, Tensor or Variable, optional
        Reduces the decay at the start: min(decay, (1 + n) / (10 + n)).
    zero_debias : bool, default False
        Whether to correct averages of tensors, which start at 0, for that bias.
    name : str
        Suffix of the names of the averages.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(1., name="w")
    ...     ema = tf.train.ExponentialMovingAverage(0.75)
    ...     with tf.control_dependencies([w.assign(5.)]):
    ...         step = ema.apply([w])
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(step)
    ...     print(ema.average(w).name, sess.run(ema.average(w)))
    w/ExponentialMovingAverage:0 2.0
    """

    def __init__(self, decay: Any, num_updates: Any = None, zero_debias: bool = False,
                 name: str = "ExponentialMovingAverage") -> None:
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages: dict[Any, Any] = {}
        self._begun: dict[Any, tuple[Any, Any]] = {}    # biased average, number of updates

    @property
    def name(self) -> str:
        """The suffix of the names of averages."""
        return self._name

    @recorded
    def apply(self, var_list: Iterable[Any] | None = None) -> Any:
        """Return an operation that updates the averages; the first call creates them.

        Parameters
        ----------
        var_list : list of Variable or Tensor, optional
            By default the trainable variables.
        """
        given = trainable_variables() if var_list is None else list(var_list)
        for x in given:
            if not convert(x).dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {x.name}")
            if x not in self._averages:
                self._make(x)
            elif recording() is not None:
                raise ValueError(f"Moving average already computed for: {x.name}")
        with name_scope(self._name) as scope:
            decay = convert(self._decay, float32)
            if self._num_updates is not None:
                n = df.cast(convert(self._num_updates), float32)
                decay = df.minimum(decay, (1.0 + n) / (10.0 + n))
            return group(*[op_of(self._update(x, decay)) for x in given], name=scope)

    def _make(self, x: Any) -> None:
        """Create the average of a variable or tensor."""
        is_variable = isinstance(x, Variable | own_variable)
        with control_dependencies(None), name_scope(None):
            if not is_variable:
                value: Any = df.zeros_like(x)
            else:
                value = x.initialized_value() if isinstance(x, Variable) else as_tensor(x)
            name = f"{name_of(x)}/{self._name}"
            self._averages[x] = average = Variable(value, False, name=name)
            if self._zero_debias and not is_variable:
                self._begun[x] = (Variable(value, False, name=f"{name}/biased"),
                                  Variable(0.0, False, name=f"{name}/local_step",
                                           dtype=average.dtype))
        if isinstance(x, Variable):
            default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, x)

    def _update(self, x: Any, decay: Any) -> Any:
        average, value = self._averages[x], as_tensor(convert(x))
        left = df.cast(decay, average.dtype)
        if x not in self._begun:
            return assign_sub(average, (as_tensor(average) - value) * (1.0 - left))
        biased, steps = self._begun[x]
        total = assign_sub(biased, (as_tensor(biased) - value) * (1.0 - left))
        n = assign_add(steps, 1.0)
        return write("assign", average, as_tensor(total) / (1.0 - df.pow(left, as_tensor(n))),
                     None, "AssignMovingAvg")

    def average(self, var: Any) -> Any:
        """Return the variable that holds the average, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """Return the name under which the average is saved."""
        found = self._averages.get(var)
        return f"{name_of(var)}/{self._name}" if found is None else name_of(found)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> Any:
        """Return the argument of a `Saver` that restores averages into their variables: a dict from
        the names of the averages, and of the other variables, to variables."""
        averaged = list(dict.fromkeys(
            [*trainable_variables(), *moving_average_variables()]
            if moving_avg_variables is None else moving_avg_variables))
        found = {self.average_name(v): v for v in averaged}
        averages = {v.name for v in self._averages.values()}
        found.update({name_of(v): v for v in global_variables()
                      if v not in averaged and v.name not in averages})
        return found
