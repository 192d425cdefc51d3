"""Layer: the base class of layers, with their names, scopes and variables."""

from __future__ import annotations

import math
import re
from typing import Any

from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.get_variable import get_variable
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.init_ops import ones_initializer, zeros_initializer
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.scopes import VariableScope, variable_scope
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.variables import Variable

__all__ = ["Layer"]

ZEROS, ONES = zeros_initializer(), ones_initializer()


class Layer:
    """A function of tensors with variables, which its first call creates.

    Parameters
    ----------
    trainable : bool, default True
        Whether to add its variables to the collection ``TRAINABLE_VARIABLES``.
    name : str, optional
        By default derived from the class, with a unique suffix: ``dense``, ``dense_1``.
    dtype : dtype, optional
        Dtype of the variables, by default the dtype of the first input.

    Attributes
    ----------
    name : str
    variables, trainable_variables, losses, updates : list
    built : bool
        Whether it has been called, so that its variables exist.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> class Scale(tf.layers.Layer):
    ...     def build(self, shape):
    ...         self.factor = self.add_weight("factor", shape[-1:], tf.ones_initializer())
    ...     def call(self, x):
    ...         return x * self.factor
    >>> with tf.Graph().as_default():
    ...     y = Scale()(tf.ones([4, 3]))
    ...     print([v.name for v in tf.trainable_variables()])
    ['scale/factor:0']
    """

    trainable: bool
    built: bool

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None,
                 _scope: Any = None, _reuse: Any = None, **ignored: Any) -> None:
        self.trainable, self.built, self._reuse = trainable, False, _reuse
        self.dtype = None if dtype is None else as_dtype(dtype)
        self._base = name or snake(type(self).__name__)
        self._scope: VariableScope | None = None
        self._weights: list[Variable] = []
        self.losses: list[Any] = []
        self.updates: list[Any] = []
        if _scope is not None:
            with variable_scope(_scope) as self._scope:
                pass

    # --- for subclasses ---

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs of a shape; called before the first `call`."""

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        raise NotImplementedError

    def add_weight(self, name: str, shape: Any, initializer: Any = None, regularizer: Any = None,
                   constraint: Any = None, trainable: bool = True, dtype: Any = None) -> Variable:
        """Create a variable of the layer; the arguments are as for `get_variable`."""
        made = get_variable(
            name, shape, dtype or self.dtype, initializer, regularizer,
            trainable and self.trainable, constraint=constraint)
        self._weights.append(made)
        return made

    add_variable = add_weight

    def add_loss(self, losses: Any) -> None:
        """Add one or several losses to the lists of the layer and of the graph."""
        self._note(losses, self.losses, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any) -> None:
        """Add one or several operations that a training step must run."""
        self._note(updates, self.updates, GraphKeys.UPDATE_OPS)

    def _note(self, made: Any, own: list[Any], collection: str) -> None:
        for x in made if isinstance(made, list | tuple) else [made]:
            own.append(x)
            default_graph().add_to_collection(collection, x)

    # --- calls ---

    @recorded
    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._open(kwargs.pop("scope", None))
        given = of_the_graph(convert(inputs, self.dtype))
        if self.dtype is None:
            self.dtype = given.dtype
        with variable_scope(self._scope, reuse=True if self.built else self._reuse,
                            auxiliary_name_scope=False) as scope, name_scope(
                                scope.original_name_scope or None):
            if not self.built:
                self.build(shape_of(given))
                self.built = True
            return self.call(given, *args, **kwargs)

    apply = __call__

    def _open(self, scope: Any) -> None:
        """Select the scope of the variables in the first call."""
        if self._scope is not None:
            return
        wanted = self._base if scope is None and self._reuse else scope
        with variable_scope(wanted, self._base) as self._scope:
            pass

    # --- properties ---

    @property
    def name(self) -> str:
        """The name; unique after the first call."""
        return self._base if self._scope is None else self._scope.name

    @property
    def scope_name(self) -> str:
        """The name of the variable scope; raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the layer "{self._base}" '
                             "has not been used yet. The scope name is determined the first time "
                             "the layer instance is called.")
        return self._scope.name

    @property
    def variables(self) -> list[Variable]:
        """The variables."""
        return list(self._weights)

    weights = variables

    @property
    def trainable_variables(self) -> list[Variable]:
        """The trainable variables."""
        return [v for v in self._weights if v.trainable]

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The variables that are not trainable."""
        return [v for v in self._weights if not v.trainable]

    non_trainable_weights = non_trainable_variables

    def count_params(self) -> int:
        """Return the total number of elements of the variables."""
        return sum([math.prod(map(int, v.shape)) for v in self._weights])

    # --- checks ---

    def check_rank(self, found: Any, rank: int) -> None:
        """Raise ValueError if a shape does not have this rank."""
        if found.ndims != rank:
            raise ValueError(
                f"Input 0 of layer {self.name} is incompatible with the layer: expected "
                f"ndim={rank}, found ndim={found.ndims}. Full shape received: "
                f"{found.as_list() if found.known_rank else found}")


def snake(name: str) -> str:
    """Convert ``BasicLSTMCell`` to ``basic_lstm_cell``."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def shape_of(x: Any) -> TensorShape:
    """Return the shape of a graph tensor or an eager tensor as a TensorShape."""
    found = x.shape
    return found if isinstance(found, TensorShape) else TensorShape(found)


def known(shape: Any, axis: int, layer: str) -> int:
    """Return a size on which variables depend; raise ValueError if it is unknown."""
    size = shape.as_list()[axis] if shape.known_rank else None
    if size is None:
        raise ValueError(f"The {'last' if axis == -1 else 'channel'} dimension of the inputs to "
                         f"`{layer}` should be defined. Found `None`.")
    found: int = size
    return found
