"""Tapes and optimizers whose gradients are reduced over all ranks."""

from __future__ import annotations

import sys
from importlib import import_module

from dualflow._core import Tensor, as_tensor, current_graph, unwrapped
from dualflow._util.arguments import integer
from dualflow.autodiff.tape import GradientTape
from dualflow.distribute import collective_impl
from dualflow.distribute.overlap import Distributed, GradientAccumulator, ReductionConfig, reduced
from dualflow.distribute.reductions import wire_of
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.dtypes import bool_, float32
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.nest import flatten_up_to, pack_sequence_as
from dualflow.ops.control_flow.cond import cond
from dualflow.ops.control_flow.registered import call_python
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.optimizers import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dualflow.ops.types import DTypeLike

__all__ = ["DistributedGradientTape", "DistributedOptimizer"]

BUCKET = 4 << 20        # bytes


def how_of(caller: str, op: str, compression: DTypeLike | None, bucket_bytes: int, passes: int,
           process_set: ProcessSet) -> ReductionConfig:
    check_set(caller, process_set)
    collective_impl.check_reduction(caller, op, float32)
    if not isinstance(passes, int) or passes < 1:
        raise InvalidArgumentError(f"{caller}: backward_passes_per_step is {passes!r}, expected an "
                                   "int of at least 1")
    return ReductionConfig(process_set, op, wire_of(compression), bucket_bytes, passes)


class DistributedGradientTape:
    """A tape whose gradients are reduced over all ranks.

    Parameters
    ----------
    tape : GradientTape
        The wrapped tape, whose other methods are available unchanged.
    op : {"average", "sum", "min", "max", "product"}
    compression : floating dtype, optional
        See `allreduce`.
    bucket_bytes : int
        Gradients are sent in buckets up to this size, starting with the last sources.
    process_set : ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> v = df.Variable(3.)
    >>> with df.GradientTape() as tape:
    ...     loss = v * v
    >>> df.distribute.DistributedGradientTape(tape).gradient(loss, v).item()
    6.0
    """

    def __init__(self, tape: GradientTape, op: str = "average", *,
                 compression: DTypeLike | None = None, bucket_bytes: int = BUCKET,
                 process_set: ProcessSet = global_process_set) -> None:
        self._tape = tape
        self._how = how_of("DistributedGradientTape", op, compression, bucket_bytes, 1,
                           process_set)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_tape"], name)

    def __enter__(self) -> DistributedGradientTape:
        self._tape.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._tape.__exit__(*error)

    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `GradientTape.gradient`, reduced over all ranks."""
        found = self._tape.gradient(target, sources, *args, **kwargs)
        flat = flatten_up_to(sources, found)
        names = [getattr(unwrapped(x), "name", None) or f"gradient {k}"
                 for k, x in enumerate(flatten_up_to(sources, sources))]
        return pack_sequence_as(sources, reduced(self._how, flat, names))


class _Distributed(Distributed, Optimizer):
    """The overridden methods of distributed optimizers."""

    _passes: GradientAccumulator | None

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__getstate__()}
        how = state.pop("_how")
        del state["_passes"]
        return _distributed, (type(self).__bases__[1], how), state

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]]) -> None:
        self.apply_reduced(grads_and_vars, self.apply_alone)

    def apply_alone(self, grads_and_vars: Iterable[tuple[Any, Any]]) -> None:
        """Apply an update by gradients that are already reduced."""
        super().apply_gradients(grads_and_vars)

    def apply_reduced(self, grads_and_vars: Iterable[tuple[Any, Any]],
                      update: Callable[[list[tuple[Any, Any]]], None]) -> None:
        """Reduce gradients and call `update` with them, at the last call of a step."""
        pairs = list(grads_and_vars)
        grads, variables = [g for g, _ in pairs], [v for _, v in pairs]
        names = [getattr(unwrapped(v), "name", f"gradient {k}") for k, v in enumerate(variables)]
        if self._how.passes == 1:
            made = list(zip(reduced(self._how, grads, names), variables, strict=True))
            if current_graph() is not None and self._copied is None and (
                    self.global_clipnorm is None):
                # in bucket order, so that other buckets are sent during each wait
                self.build([v for g, v in made if g is not None])
                made.reverse()
            update(made)
        else:
            self._every(grads, variables, names, update)

    def _every(self, grads: list[Any], variables: list[Any], names: list[str],
               update: Callable[[list[tuple[Any, Any]]], None]) -> None:
        """Update once for several calls. A variable without gradient must have none in all
        calls."""
        there = [k for k, g in enumerate(grads) if g is not None]
        rows = [isinstance(grads[k], IndexedSlices) for k in there]
        if self._passes is None:
            self.__dict__["_passes"] = GradientAccumulator(self._how, [names[k] for k in there],
                                                           rows)
        assert self._passes is not None
        if current_graph() is not None and not any(rows):
            ready, found = self._passes.start([as_tensor(grads[k]) for k in there])
        else:
            ready, found = self._now(self._passes, [grads[k] for k in there])
        self.build([variables[k] for k in there])

        def update_all() -> None:
            made = iter(found())
            update([(None if g is None else next(made), v)
                    for g, v in zip(grads, variables, strict=True)])

        cond(ready, update_all, lambda: None)

    @staticmethod
    def _now(passes: GradientAccumulator, grads: list[Any]) -> tuple[Tensor,
                                                                     Callable[[], list[Any]]]:
        """Add gradients; return a flag, and a function that returns the results if it is true."""
        inputs: list[Any] = []
        types: list[Any] = [(bool_, ())]
        for g in grads:
            parts = [g.values, g.indices] if isinstance(g, IndexedSlices) else [as_tensor(g)]
            inputs += parts
            types += [(x.dtype, (None, *x.shape[1:]) if len(parts) == 2 else tuple(x.shape))
                      for x in parts]
        ready, *found = call_python("gradients_of_passes", passes, inputs, types, None)
        left = iter(found)
        made = [IndexedSlices(next(left), next(left), g.dense_shape)
                if isinstance(g, IndexedSlices) else next(left) for g in grads]
        return ready, lambda: made


def DistributedOptimizer(optimizer: Optimizer, *, op: str = "average",
                         compression: DTypeLike | None = None, backward_passes_per_step: int = 1,
                         shards: int | None = None, bucket_bytes: int = BUCKET,
                         process_set: ProcessSet = global_process_set) -> Any:
    """Return an optimizer whose updates use the gradients of all ranks.

    Parameters
    ----------
    optimizer : Optimizer, or a Keras optimizer
        Shares its state with the result.
    op : {"average", "sum", "min", "max", "product"}
        The reduction of the micro-batches' gradients.
    compression : floating dtype, optional
        See `allreduce`.
    backward_passes_per_step : int
        Number of calls of `apply_gradients` per update and rank, one for each micro-batch; the
        last call updates the variables.
    shards : int, optional
        The number of micro-batches of all ranks: sets `backward_passes_per_step`. Each rank has
        ``shards // size()`` consecutive ones.
    bucket_bytes : int
        Gradients are sent in buckets up to this size, starting with the last variables.
    process_set : ProcessSet

    Returns
    -------
    Optimizer, of a subclass of the class of `optimizer`

    Raises
    ------
    InvalidArgumentError
        If the number of ranks does not divide `shards`.

    Notes
    -----
    Micro-batches are combined along a fixed tree, so that variables are bit-identical for any
    number of ranks that divides `shards`, including one rank that computes all micro-batches.

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> v = df.Variable(3.)
    >>> optimizer = df.distribute.DistributedOptimizer(df.optimizers.SGD(0.25), shards=2)
    >>> for micro_batch in (1., 3.):
    ...     optimizer.apply_gradients([(df.constant(micro_batch), v)])
    >>> v.numpy().item()
    2.5
    """
    ours = isinstance(optimizer, Optimizer)
    if (not ours and not of_keras(optimizer)) or isinstance(optimizer, Distributed):
        raise DTypeError(f"DistributedOptimizer: got a {type(optimizer).__name__}, expected an "
                         "optimizer of df.optimizers or Keras that is not distributed yet")
    check_set("DistributedOptimizer", process_set)
    if shards is not None:
        if integer(shards, "DistributedOptimizer: shards") < 1 or shards % process_set.size():
            raise InvalidArgumentError(f"DistributedOptimizer: {process_set.size()} ranks do not "
                                       f"divide {shards} shards")
        backward_passes_per_step = shards // process_set.size()
    how = how_of("DistributedOptimizer", op, compression, bucket_bytes, backward_passes_per_step,
                 process_set)
    if ours:
        return _distributed(type(optimizer), how, optimizer.__dict__)
    return import_module("dualflow.distribute.keras").distributed(optimizer, how)


def of_keras(optimizer: Any) -> bool:
    """Return True if it is an optimizer of Keras; does not import Keras."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(optimizer, keras.Optimizer)


def _distributed(kind: type[Optimizer], how: ReductionConfig,
                 state: dict[str, Any] | None = None) -> Any:
    """Return an optimizer of a subclass of `kind`, with the given state dict."""
    made: Any = object.__new__(type(f"Distributed{kind.__name__}", (_Distributed, kind), {}))
    made.__dict__ = {} if state is None else state
    made.__dict__.update(_how=how, _passes=None)
    return made
