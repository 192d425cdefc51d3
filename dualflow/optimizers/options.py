"""The options of all optimizers besides the formula: weight decay, clipping, gradient accumulation,
averages of variables, loss scaling. The formulas are those of Keras 3."""

from __future__ import annotations

from functools import partial

import dualflow as df
from dualflow._core import unwrapped
from dualflow._util.arguments import NOT_NEGATIVE, POSITIVE, SHARE, Limits, shown
from dualflow.errors import InvalidArgumentError
from dualflow.optimizers.rate import Rated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, ClassVar, TypedDict

    class Rest(TypedDict, total=False):
        """The keyword arguments common to all optimizers, except the weight decay."""

        clipnorm: float | None
        clipvalue: float | None
        global_clipnorm: float | None
        use_ema: bool
        ema_momentum: float
        ema_overwrite_frequency: int | None
        loss_scale_factor: float | None
        gradient_accumulation_steps: int | None
        name: str | None

    class Common(Rest, total=False):
        """The keyword arguments common to all optimizers."""

        weight_decay: float | None

__all__ = ["Options", "Signature"]


class Signature:
    """A descriptor for the signature of an optimizer, with `**common` expanded."""

    def __init__(self, constructor: Callable[..., None]) -> None:
        self.constructor = constructor

    def __get__(self, optimizer: Any, owner: type) -> Any:
        import inspect  # its import takes longer than importing dualflow

        own = inspect.signature(owner.__dict__.get("__init__", self.constructor)).parameters
        given = list(own.values())[1:]
        if given[-1].kind is not inspect.Parameter.VAR_KEYWORD:
            return inspect.Signature(given)
        common = inspect.signature(self.constructor).parameters.values()
        return inspect.Signature([*given[:-1], *[
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in common
            if p.name not in own and p.kind is not inspect.Parameter.VAR_KEYWORD]])


class Options(Rated):
    """Base of `Optimizer`: the attributes named like the common arguments, and their effects."""

    weight_decay: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    limits: ClassVar[Mapping[str, Limits]] = {
        "clipnorm": POSITIVE.or_none(), "clipvalue": POSITIVE.or_none(),
        "global_clipnorm": POSITIVE.or_none(), "weight_decay": NOT_NEGATIVE.or_none(),
        "ema_momentum": SHARE, "loss_scale_factor": POSITIVE.or_none()}
    decays_itself = False          # True if the formula includes the weight decay

    def validate(self) -> None:
        """Raise if an attribute has an invalid value."""
        for key, low in (("ema_overwrite_frequency", 1), ("gradient_accumulation_steps", 2)):
            value = getattr(self, key)
            if value is not None and not (isinstance(value, int) and value >= low):
                raise InvalidArgumentError(f"{self.name}: {key} is {shown(value)}, expected an "
                                           f"integer of at least {low}")
        clips = [key for key in ("clipnorm", "clipvalue", "global_clipnorm")
                 if getattr(self, key) is not None]
        if len(clips) > 1:
            raise InvalidArgumentError(f"{self.name}: got {' and '.join(clips)}, expected one of "
                                       "them")

    def extra_slots(self) -> tuple[str, ...]:
        """Return the names of slots that the options need, which follow those of the formula."""
        sums = ("accumulated",) if self.gradient_accumulation_steps else ()
        return (*sums, "average") if self.use_ema else sums

    # --- losses ---

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss to differentiate: times `loss_scale_factor`, which updates divide out.

        Examples
        --------
        >>> import dualflow as df
        >>> df.optimizers.SGD(loss_scale_factor=8.).scale_loss(df.constant(2.)).item()
        16.0
        """
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def unscaled(self, grads: list[Any]) -> list[Any]:
        """Return the gradients of the unscaled loss."""
        if self.loss_scale_factor is None:
            return grads
        return [df.ops.state.clip.scaled(widened(g), 1.0 / self.loss_scale_factor) for g in grads]

    def clipped(self, grads: list[Any]) -> list[Any]:
        """Return the gradients, clipped according to the options; clipped 16-bit gradients become
        float32."""
        clips = self.clipnorm, self.global_clipnorm, self.clipvalue
        grads = grads if clips == (None, None, None) else list(map(widened, grads))
        if self.clipnorm is not None:
            return [df.clip_by_norm(g, self.clipnorm) for g in grads]
        if self.global_clipnorm is not None:
            return df.clip_by_global_norm(grads, self.global_clipnorm)[0]
        if self.clipvalue is not None:
            by_value = df.ops.state.clip.clip_gradient_by_value
            return [by_value(g, self.clipvalue) for g in grads]
        return grads

    # --- gradient accumulation ---

    def accumulate(self, grads: Sequence[Any], flags: Sequence[Any], sums: Sequence[df.Variable],
                   steps: df.Variable, step: Callable[[list[Any]], None]) -> None:
        """Add gradients to `sums`, and update by their mean every `gradient_accumulation_steps`.

        A flag that is not None is true at run time if the gradient exists.
        """
        n = self.gradient_accumulation_steps
        for g, flag, total in zip(grads, flags, sums, strict=True):
            if flag is None:
                _added(total, g)
            else:
                df.cond(flag, partial(_added, total, g), lambda: None)
        steps.assign_add(1)

        def update() -> None:
            step([total / n for total in sums])
            for total in sums:
                total.assign(df.zeros_like(total))

        df.cond(df.equal(steps % n, 0), update, lambda: None)

    # --- variables ---

    def decay(self, var: df.Variable, rate: Any) -> None:
        """Multiply a variable by ``1 - rate * weight_decay``, unless the formula does."""
        if self.weight_decay and not self.decays_itself:
            var.assign_sub(var * df.cast(rate * self.weight_decay, var.dtype))

    def average(self, pairs: Iterable[tuple[df.Variable, df.Variable]]) -> None:
        """Update averages of variables; at the given frequency, assign them to the variables."""
        decay = df.where(self.iterations > 0, df.constant(self.ema_momentum, df.float64), 0.0)
        for var, average in pairs:
            share = df.cast(decay, var.dtype)
            average.assign(average * share + var * (1 - share))
            if self.ema_overwrite_frequency is not None:
                due = df.equal((self.iterations + 1) % self.ema_overwrite_frequency, 0)
                df.cond(due, partial(_assigned, var, average), lambda: None)

    def finalize_variable_values(self, var_list: Iterable[Any]) -> None:
        """Assign their averages to variables, if `use_ema`; call it at the end of training.

        Examples
        --------
        >>> import dualflow as df
        >>> v, opt = df.Variable(0.), df.optimizers.SGD(1., use_ema=True, ema_momentum=0.5)
        >>> for _ in range(2):
        ...     opt.apply_gradients([(df.constant(-4.), v)])
        >>> opt.finalize_variable_values([v])
        >>> v.numpy().item()
        6.0
        """
        if self.use_ema:
            for var in map(unwrapped, var_list):
                slots = self.slots[var]
                if "master" in slots:
                    slots["master"].assign(slots["average"])
                var.assign(df.cast(slots["average"], var.dtype))

    @property
    def slots(self) -> dict[df.Variable, dict[str, df.Variable]]:
        """The existing slots, by variable and name."""
        raise NotImplementedError


def with_values(grad: Any, f: Callable[[Any], Any]) -> Any:
    """Return a gradient with `f` applied to its elements."""
    if isinstance(grad, df.IndexedSlices):
        return df.IndexedSlices(f(grad.values), grad.indices, grad.dense_shape)
    return f(grad)


def widened(grad: Any) -> Any:
    """Return a 16-bit gradient as float32, others unchanged."""
    values = grad.values if isinstance(grad, df.IndexedSlices) else grad
    if not isinstance(values, df.TensorBase) or not values.dtype.is_reduced_float:
        return grad
    return with_values(grad, lambda x: df.cast(x, df.float32))


def _added(total: df.Variable, grad: Any) -> None:
    total.assign_add(widened(df.convert_to_tensor(grad)))


def _assigned(var: df.Variable, value: df.Variable) -> None:
    var.assign(value)
