"""What all optimizers share: gradients of a loss, slots, and the operation that makes an update."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, unwrapped
from dualflow.autodiff import GradientTape
from dualflow.compat.v1.assign import assign_add, slot_of
from dualflow.compat.v1.gradients import gradients
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import control_dependencies, group, name_scope
from dualflow.compat.v1.in_force import recorded, recording, runs_at_once
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.variable_lists import trainable_variables
from dualflow.compat.v1.variables import Variable
from dualflow.ops.creation import zeros
from dualflow.ops.indexed_slices import IndexedSlices

__all__ = ["Optimizer"]


class Optimizer:
    """Base of optimizers.

    Parameters
    ----------
    use_locking : ignored
    name : str

    Notes
    -----
    A subclass says in `_apply_dense(grad, var)` which operation updates a variable; in
    `_apply_sparse(grad, var)` for gradients that are `IndexedSlices`, which by default are made
    dense; `_create_slots(var_list)` and `_prepare()` come before, `_finish(update_ops, name_scope)`
    after.

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
        """The name of its operations."""
        return self._name

    # --- gradients ---

    def minimize(self, loss: Any, global_step: Any = None,
                 var_list: Sequence[Variable] | None = None, gate_gradients: int = GATE_OP,
                 aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                 name: str | None = None, grad_loss: Any = None) -> Any:
        """An operation that makes an update against the gradient of a loss.

        Parameters
        ----------
        loss : Tensor, or callable that gives one
            In eager mode a callable.
        global_step : Variable, optional
            Counts the updates.
        var_list : list of Variable, optional
            By default all trainable ones; of a callable, those that it reads.
        name : str, optional
        grad_loss : Tensor, optional
            What flows into the loss.
        gate_gradients, aggregation_method, colocate_gradients_with_ops : ignored
        """
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if not any([g is not None for g, _ in pairs]):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                f"{loss!r}.")
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(self, loss: Any, var_list: Sequence[Variable] | None = None,
                          gate_gradients: int = GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False,
                          grad_loss: Any = None) -> list[tuple[Any, Variable]]:
        """Pairs of gradient and variable; a gradient is None where none flows."""
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
        """The same where ops run at once, and inside a `df.function`."""
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
        """An operation that makes an update with these gradients.

        Parameters
        ----------
        grads_and_vars : pairs of gradient and Variable
            Variables whose gradient is None stay as they are.
        global_step : Variable, optional
            Counts the updates.
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
        """Called before updates."""

    def _create_slots(self, var_list: list[Variable]) -> None:
        """Makes the slots of variables."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """The operation that updates a variable."""
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """The same for a gradient of rows."""
        return self._apply_dense(convert(grad, var.dtype), var)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """The operation that makes all updates."""
        return group(*update_ops, name=name_scope)

    # --- slots ---

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable that it keeps under a name for a variable, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The names of what it keeps for each variable."""
        return sorted(self._slots)

    @recorded
    def variables(self) -> list[Variable]:
        """All that it keeps in the graph in force."""
        slots = [v for own in self._slots.values() for v in own.values()]
        graph = home()
        return [v for v in [*self._others.values(), *slots] if getattr(v, "graph", None) is graph]

    def _slot(self, var: Variable, name: str, op_name: str, value: Any = None) -> Variable:
        """The slot of a variable; made, of 0 if no value is given, if there is none."""
        own = self._slots.setdefault(name, {})
        if var not in own:
            initial = zeros(sizes_of(var), var.dtype) if value is None else value
            with name_scope(None):
                own[var] = Variable(initial, False, name=f"{name_of(var)}/{op_name}",
                                    dtype=var.dtype)
        return own[var]

    _zeros_slot = _slot

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str,
                          op_name: str) -> Variable:
        """The slot of a variable, made with a value if there is none."""
        return self._slot(var, slot_name, op_name, val)

    @recorded
    def _create_non_slot_variable(self, initial_value: Any, name: str,
                                  colocate_with: Any = None) -> Variable:
        """A variable that it keeps besides slots; made if there is none."""
        key = name, home()
        if key not in self._others:
            with name_scope(None):
                self._others[key] = Variable(initial_value, False, name=name)
        return self._others[key]

    @recorded
    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        """A variable that it keeps besides slots, or None."""
        return self._others.get((name, graph or home()))


def is_function(x: Any) -> bool:
    """Whether something is called for its value: it is callable, and no tensor."""
    return callable(x) and not isinstance(unwrapped(x), TensorBase)


def value_of(x: Any) -> Any:
    """A learning rate, say: a number, a tensor, or what a callable gives."""
    return x() if is_function(x) else x


def home() -> Graph | None:
    """The graph that the variables made now are of, if there is one."""
    graph = recording()
    return None if graph is None else graph.base


def name_of(var: Any) -> str:
    """The name of a variable without the number of an output."""
    name: str = var.name
    return name.partition(":")[0]


def sizes_of(var: Any) -> tuple[int, ...]:
    """The shape of a variable."""
    return tuple(var.slot.shape if isinstance(var, Variable) else var.shape)


def op_of(x: Any) -> Any:
    """The operation that makes a tensor, if a graph records."""
    return None if recording() is None else x.op
