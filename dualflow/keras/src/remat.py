"""Rematerialization: the backward pass recomputes a function instead of storing its residuals."""

from collections.abc import Callable
from typing import Any

from keras.src import tree
from keras.src.backend.common.stateless_scope import StatelessScope, in_stateless_scope

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, is_tensor


class RecordingScope(StatelessScope):
    """A stateless scope that records which variables were assigned."""

    def __enter__(self) -> "RecordingScope":
        self.assigned: list[Any] = []
        super().__enter__()
        return self

    def add_update(self, update: Any) -> None:
        self.assigned.append(update[0])
        super().add_update(update)


def remat(f: Any) -> Any:
    """Return `f` with rematerialization; the recomputation reads the variables' first values."""
    def call(*args: Any, **kwargs: Any) -> Any:
        if in_stateless_scope():
            return f(*args, **kwargs)
        leaves = tree.flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if is_tensor(x)]

        def again(tensors: Any) -> Any:
            given = list(leaves)
            for k, x in zip(places, tensors, strict=True):
                given[k] = x
            args_, kwargs_ = tree.pack_sequence_as((args, kwargs), given)
            return f(*args_, **kwargs_)

        return _kept_by_inputs(again)(*[convert_to_tensor(leaves[k]) for k in places])

    return call


def _kept_by_inputs(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(*tensors: Any) -> Any:
        with RecordingScope() as scope:
            y = f(tensors)
        assigned = list(dict((id(v), v) for v in scope.assigned).values())
        before = [(v, v._value.value()) for v in assigned]
        for v in assigned:
            v.assign(scope.get_current_value(v))

        def back(*upstream: Any, variables: Any = None) -> Any:
            floats = [x for x in tensors if x.dtype.is_inexact]
            with df.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([*floats, *(variables or ())])
                with StatelessScope(state_mapping=before):
                    made = tree.flatten(f(tensors))
            found = tape.gradient(made, [*floats, *(variables or ())], list(upstream))
            to_inputs = iter(found)
            grads = [next(to_inputs) if x.dtype.is_inexact else None for x in tensors]
            return (grads, list(to_inputs)) if variables else grads

        return y, back

    return df.custom_gradient(run)
