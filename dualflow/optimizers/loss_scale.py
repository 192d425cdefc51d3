"""Dynamic loss scaling, so that float16 gradients do not underflow."""

from __future__ import annotations

from functools import partial

import dualflow as df
from dualflow._core import current_graph, unwrapped
from dualflow._util.arguments import Limits, number, shown
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.modules import Module
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.options import widened, with_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

__all__ = ["LossScaleOptimizer"]

SCALE = Limits("a finite number > 0", lambda x: 0 < x < float("inf"))


class LossScaleOptimizer(Module):
    """Multiplies the loss by a scale that follows the range of the gradients.

    The scale multiplies the loss and divides the gradients before the update. If a gradient is
    infinite or NaN, the update is skipped and the scale is halved. After `dynamic_growth_steps`
    updates in a row the scale is doubled.

    Parameters
    ----------
    inner_optimizer : Optimizer
        Performs the updates; its `loss_scale_factor` becomes None.
    initial_scale : float, default 2**15
    dynamic_growth_steps : int, default 2000
    name : str, optional

    Attributes
    ----------
    dynamic_scale : Variable, float32, shape ()
        The current scale.
    step_counter : Variable, int64, shape ()
        Number of updates since the scale changed or an update was skipped.

    Raises
    ------
    DTypeError, InvalidArgumentError
        If an argument is invalid.

    Notes
    -----
    `inner_optimizer` may be a `distribute.DistributedOptimizer`: gradients are reduced before they
    are tested, so that all ranks skip the same updates.

    The rules of Keras 3, except that the scale is not doubled to infinity. Source: Micikevicius et
    al., "Mixed precision training", ICLR 2018. Dtypes with the range of float32 need no scale. A
    step may be traced: the update is a branch of the program.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.], dtype=df.float16)
    >>> opt = df.optimizers.LossScaleOptimizer(df.optimizers.SGD(0.5), initial_scale=4.)
    >>> with df.GradientTape() as tape:
    ...     loss = opt.scale_loss(df.reduce_sum(v * v))
    >>> opt.apply_gradients([(tape.gradient(loss, v), v)])
    >>> v.numpy().tolist()
    [0.0]
    >>> opt.apply_gradients([(df.constant([float("inf")], df.float16), v)])
    >>> v.numpy().tolist(), opt.dynamic_scale.item()
    ([0.0], 2.0)
    """

    def __init__(self, inner_optimizer: Optimizer, initial_scale: float = 2.0 ** 15,
                 dynamic_growth_steps: int = 2000, name: str | None = None) -> None:
        super().__init__(name)
        if not isinstance(inner_optimizer, Optimizer):
            raise DTypeError(f"LossScaleOptimizer: inner_optimizer is {shown(inner_optimizer)}, "
                             "expected a dualflow.optimizers.Optimizer")
        if not isinstance(dynamic_growth_steps, int) or dynamic_growth_steps < 1:
            raise InvalidArgumentError("LossScaleOptimizer: dynamic_growth_steps is "
                                       f"{shown(dynamic_growth_steps)}, expected an integer of at "
                                       "least 1")
        number(initial_scale, "LossScaleOptimizer: initial_scale", SCALE)
        self.inner_optimizer = inner_optimizer
        self._initial_scale, self._growth_steps = float(initial_scale), dynamic_growth_steps
        self.dynamic_scale = df.Variable(initial_scale, trainable=False, name="dynamic_scale",
                                         dtype=df.float32)
        self.step_counter = df.Variable(0, trainable=False, name="step_counter", dtype=df.int64)
        inner_optimizer.loss_scale_factor = None

    @property
    def initial_scale(self) -> float:
        """The scale at the start."""
        return self._initial_scale

    @property
    def dynamic_growth_steps(self) -> int:
        """The number of updates after which the scale is doubled."""
        return self._growth_steps

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the inner optimizer."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        self.inner_optimizer.learning_rate = rate

    @property
    def iterations(self) -> df.Variable:
        """The number of updates that were not skipped."""
        return self.inner_optimizer.iterations

    @property
    def variables(self) -> Sequence[df.Variable]:
        """All variables that updates change: counter, scale, and those of the inner optimizer."""
        return (self.step_counter, self.dynamic_scale, *self.inner_optimizer.variables)

    def build(self, var_list: Iterable[df.Variable]) -> None:
        """Create the slots of variables that have none; the first update calls this."""
        self.inner_optimizer.build(var_list)

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss times the scale, which updates divide out. A 16-bit loss becomes float32.

        Examples
        --------
        >>> import dualflow as df
        >>> opt = df.optimizers.LossScaleOptimizer(df.optimizers.SGD(0.1), initial_scale=8.)
        >>> opt.scale_loss(df.constant(2., df.float16)).item()
        16.0
        """
        return loss * self.dynamic_scale

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, df.Variable]]) -> None:
        """Apply one update by the gradients of a scaled loss, or skip it.

        Parameters
        ----------
        grads_and_vars : pairs of gradient and Variable
            As for `Optimizer.apply_gradients`.
        """
        distributed = getattr(self.inner_optimizer, "apply_reduced", None)
        if distributed is None:
            self._apply(grads_and_vars)
        else:       # all ranks test the same gradients
            distributed(grads_and_vars, self._apply)

    def _apply(self, grads_and_vars: Iterable[tuple[Any, df.Variable]]) -> None:
        pairs = [(g, unwrapped(v)) for g, v in grads_and_vars]
        given = [(g, v) for g, v in pairs if g is not None]
        if not given:
            self.inner_optimizer.apply_gradients(pairs)         # raises
        self.inner_optimizer.prepare([v for _, v in given])     # not in a branch
        finite = df.stack([df.reduce_all(df.math.is_finite(
            g.values if isinstance(g, df.IndexedSlices) else g)) for g, _ in given])
        df.cond(df.reduce_all(finite), partial(self._update, pairs), self._skip)

    def _update(self, pairs: list[tuple[Any, df.Variable]]) -> None:
        graph = current_graph()
        made = []
        for g, v in pairs:
            unscaled = None if g is None else with_values(
                widened(g), lambda x: x / df.cast(self.dynamic_scale, x.dtype))
            if graph is not None and g in graph.flowed:
                graph.flowed[unscaled] = graph.flowed[g]
            made.append((unscaled, v))
        inner = self.inner_optimizer
        getattr(inner, "apply_alone", inner.apply_gradients)(made)
        steps, twice = self.step_counter + 1, self.dynamic_scale * 2.0
        grows = df.equal(steps, self._growth_steps) & df.math.is_finite(twice)
        self.dynamic_scale.assign(df.where(grows, twice, self.dynamic_scale))
        self.step_counter.assign(df.where(df.equal(steps, self._growth_steps), 0, steps))

    def _skip(self) -> None:
        self.step_counter.assign(df.zeros_like(self.step_counter))
        self.dynamic_scale.assign(self.dynamic_scale * 0.5)

    def finalize_variable_values(self, var_list: Iterable[Any]) -> None:
        """Call the method of the inner optimizer."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def minimize(self, loss: Any, var_list: Sequence[df.Variable],
                 tape: df.GradientTape | None = None) -> Any:
        """Differentiate a loss and apply one update, as `Optimizer.minimize` does."""
        return Optimizer.minimize(self, loss, var_list, tape)       # type: ignore[arg-type]
