"""Optimizer: gradients of a loss, slots, and the update operation, shared by all optimizers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, unwrapped
from dualflow.autodiff import GradientTape
from dualflow.compat.v1.assign import assign_add, slot_of
from dualflow.compat.v1.default_graph import recorded, recording, runs_at_once
from dualflow.compat.v1.gradients import gradients
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import control_dependencies, group, name_scope
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.scopes import get_variable_scope
from dualflow.compat.v1.variable_lists import trainable_variables
from dualflow.compat.v1.variables import Variable
from dualflow.ops.array.creation import zeros
from dualflow.ops.indexing.indexed_slices import IndexedSlices

__all__ = ["Optimizer"]


class Optimizer:
    """Base class of optimizers.

    Parameters
    ----------
    use_locking : ignored
    name : str

    Notes
    -----
    A subclass implements `_apply_dense(grad, var)`, which returns the operation that updates a
    variable, and optionally `_apply_sparse(grad, var)` for `IndexedSlices` (by default they are
    densified). `_create_slots(var_list)` and `_prepare()` run before, `_finish(update_ops,
    name_scope)` after the updates.

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

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._others: dict[tuple[str, Any], Variable] = {}

    def get_name(self) -> str:
        """Return the name of the optimizer's operations."""
        return self._name

    # --- gradients ---

    def minimize(self, loss: Any, global_step: Any = None,
                 var_list: Sequence[Variable] | None = None, gate_gradients: int = GATE_OP,
                 aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                 name: str | None = None, grad_loss: Any = None) -> Any:
        """Return an operation that updates variables to decrease a loss.

        Parameters
        ----------
        loss : Tensor, or callable that returns one
            In eager mode a callable.
        global_step : Variable, optional
            Incremented by each update.
        var_list : list of Variable, optional
            By default all trainable variables, or those that a callable reads.
        name : str, optional
        grad_loss : Tensor, optional
            Cotangent of the loss.
        gate_gradients, aggregation_method, colocate_gradients_with_ops : ignored
        """
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if not any([g is not None for g, _ in pairs]):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                f"{loss!r}.")
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(self, loss: Any, var_list: Sequence[Variable] | None = None,
                          gate_gradients: int = GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False,
                          grad_loss: Any = None) -> list[tuple[Any, Variable]]:
        """Return (gradient, variable) pairs; the gradient of an unconnected variable is None."""
        if runs_at_once():
            return self._watched(loss, var_list, grad_loss)
        loss = value_of(loss)
        variables = trainable_variables() if var_list is None else list(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        for v in variables:
            if slot_of(v) is None:
                raise TypeError(f"Argument is not a tf.Variable: {v!r}")
        found = gradients(loss, variables, grad_loss)
        return list(zip(found, variables, strict=True))

    def _watched(self, loss: Any, var_list: Sequence[Variable] | None,
                 grad_loss: Any) -> list[tuple[Any, Variable]]:
        """Return the pairs in eager mode and inside a `df.function`, from a tape."""
        if not is_function(loss):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function "
                               "when eager execution is enabled.")
        with GradientTape() as tape:
            y = loss()
        variables: list[Any] = list(tape.watched_variables() if var_list is None else var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(tape.gradient(y, variables, grad_loss), variables, strict=True))

    # --- updates ---

    @recorded
    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Variable]],
                        global_step: Any = None, name: str | None = None) -> Any:
        """Return an operation that applies gradients to variables.

        Parameters
        ----------
        grads_and_vars : pairs of gradient and Variable
            Variables whose gradient is None are not changed.
        global_step : Variable, optional
            Incremented by each update.
        name : str, optional
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        flowing = [(g, v) for g, v in pairs if g is not None]
        if not flowing:
            raise ValueError("No gradients provided for any variable: "
                             f"{[str(v) for _, v in pairs]}.")
        with control_dependencies(None):
            self._create_slots([v for _, v in flowing])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [self._update(g, v) for g, v in flowing]
            if global_step is None:
                made = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]):
                    made = op_of(assign_add(global_step, 1, name=scope))
        graph = recording()
        if graph is not None and made not in graph.get_collection(GraphKeys.TRAIN_OP):
            graph.add_to_collection(GraphKeys.TRAIN_OP, made)
        return made

    def _update(self, grad: Any, var: Variable) -> Any:
        with name_scope(f"update_{name_of(var)}"):
            if isinstance(grad, IndexedSlices):
                return self._apply_sparse(grad, var)
            return self._apply_dense(convert(grad, var.dtype), var)

    def _prepare(self) -> None:
        """Prepare the hyperparameters; called before the updates."""

    def _create_slots(self, var_list: list[Variable]) -> None:
        """Create the slots of variables."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """Return the operation that updates a variable."""
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Return the operation that updates a variable by IndexedSlices."""
        return self._apply_dense(convert(grad, var.dtype), var)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """Return the operation that runs all updates."""
        return group(*update_ops, name=name_scope)

    # --- slots ---

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the slot of a variable under a name, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots."""
        return sorted(self._slots)

    @recorded
    def variables(self) -> list[Variable]:
        """Return the variables of the optimizer in the default graph, sorted by name."""
        slots = [v for own in self._slots.values() for v in own.values()]
        graph = home()
        return sorted([v for v in [*self._others.values(), *slots]
                       if getattr(v, "graph", None) is graph], key=name_of)

    def _slot(self, var: Variable, name: str, op_name: str, value: Any = None) -> Variable:
        """Return the slot of a variable; create it with `value`, or zeros, if it does not exist."""
        own = self._slots.setdefault(name, {})
        if var not in own:
            initial = zeros(sizes_of(var), var.dtype) if value is None else value
            scope = "" if runs_at_once() else get_variable_scope().name
            with name_scope(None):
                own[var] = Variable(initial, False, dtype=var.dtype, name="/".join(
                    [*[scope] * bool(scope), name_of(var), op_name]))
        return own[var]

    _zeros_slot = _slot

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str,
                          op_name: str) -> Variable:
        """Return the slot of a variable; create it with `val` if it does not exist."""
        return self._slot(var, slot_name, op_name, val)

    @recorded
    def _create_non_slot_variable(self, initial_value: Any, name: str,
                                  colocate_with: Any = None) -> Variable:
        """Return a variable of the optimizer that is not a slot; create it if needed."""
        key = name, home()
        if key not in self._others:
            self._others[key] = Variable(initial_value, False, name=name)
        return self._others[key]

    @recorded
    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        """Return a variable of the optimizer that is not a slot, or None."""
        return self._others.get((name, graph or home()))


def is_function(x: Any) -> bool:
    """Return True if `x` is a callable and not a tensor."""
    return callable(x) and not isinstance(unwrapped(x), TensorBase)


def value_of(x: Any) -> Any:
    """Return a hyperparameter; a callable is called."""
    return x() if is_function(x) else x


def home() -> Graph | None:
    """Return the graph that owns variables created now, or None."""
    graph = recording()
    return None if graph is None else graph.base


def name_of(var: Any) -> str:
    """Return the name of a variable without the output index."""
    name: str = var.name
    return name.partition(":")[0]


def sizes_of(var: Any) -> tuple[int, ...]:
    """Return the shape of a variable."""
    return tuple(var.slot.shape if isinstance(var, Variable) else var.shape)


def op_of(x: Any) -> Any:
    """Return the operation of a tensor, or None if no graph records."""
    return None if recording() is None else x.op
