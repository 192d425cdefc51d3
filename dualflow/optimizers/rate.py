"""Learning rates: numbers, variables, schedules and functions."""

from __future__ import annotations

import dualflow as df
from dualflow._core import Symbol, Tensor, Variable, current_graph, unwrapped
from dualflow._util.arguments import Limits, number
from dualflow.ops.elementwise.complex import check_real
from dualflow.trace_dependency import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from dualflow.optimizers.schedules import LearningRateSchedule

__all__ = ["LearningRate", "Rated"]

LearningRate: TypeAlias = (
    "float | Variable | Tensor | LearningRateSchedule | Callable[[], object]")

RATE = Limits("a number >= 0, a Variable, a schedule or a callable", lambda x: x >= 0)


class Rated(Settings):
    """Base of optimizers: an object with a learning rate."""

    name: str
    iterations: df.Variable
    _rate: Any

    def as_rate(self, rate: LearningRate) -> Any:
        """Return the stored form of a learning rate: a number becomes a variable."""
        rate = unwrapped(rate)
        if isinstance(rate, df.TensorBase):
            return check_real(self.name, rate, "learning_rate")
        if callable(rate):
            return rate
        number(rate, f"{self.name}: learning_rate", RATE)
        # float64, so that updates of float64 variables use the exact rate
        return df.Variable(rate, trainable=False, name="learning_rate", dtype=df.float64)

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the next update; assign a number or a schedule to change it."""
        rate = self._rate
        if not callable(rate):
            return rate
        if isinstance(rate, df.optimizers.schedules.LearningRateSchedule):
            rate.used()
            return rate(self.iterations)
        found = _asked(rate)
        graph = current_graph()
        if graph is None or not isinstance(found, df.Tensor) or type(found) is Symbol:
            return found
        return graph.feed(_asked, (rate,), df.TensorSpec((), found.dtype), "learning_rate")

    @learning_rate.setter
    def learning_rate(self, rate: LearningRate) -> None:
        plain = not callable(rate) and not isinstance(rate, df.TensorBase)
        if plain and isinstance(self._rate, df.Variable):
            self._rate.assign(number(rate, f"{self.name}: learning_rate", RATE))
        else:
            self._rate = self.as_rate(rate)
            self.changed(f"{type(self).__name__}.learning_rate became {rate!r}")


def _asked(rate: Callable[[], Any]) -> Any:
    """Return the learning rate that a callable returns, as a tensor."""
    found = rate()
    return found if isinstance(found, df.TensorBase) else df.constant(found, df.float64)
