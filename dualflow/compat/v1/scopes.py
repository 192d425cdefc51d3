"""Variable scopes: prefixes of names, defaults of `get_variable`, and reuse."""

from __future__ import annotations

from typing import Any

from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.graph import Graph
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.variables import Variable
from dualflow.dtypes import float32

__all__ = ["AUTO_REUSE", "VariableScope", "get_variable_scope", "variable_op_scope",
           "variable_scope"]


class _AutoReuse:
    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


class VariableStore:
    """The variables that `get_variable` created in a graph, and the current scope."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.scope: VariableScope = VariableScope(False)
        self.opened: set[str] = set()

    def unique_scope(self, prefix: str) -> str:
        """Return a scope name that has not been opened in the current scope."""
        full = f"{self.scope.name}/{prefix}" if self.scope.name else prefix
        if full not in self.opened:
            return prefix
        k = 1
        while f"{full}_{k}" in self.opened:
            k += 1
        return f"{prefix}_{k}"

    def close(self, name: str) -> None:
        """Forget the scopes opened inside a closed scope. If the scope is entered again by name,
        default names repeat, so that variables are shared."""
        self.opened = {x for x in self.opened if not x.startswith(f"{name}/")}


def store_of(graph: Graph) -> VariableStore:
    """Return the variable store of a graph."""
    if graph.variable_store is None:
        graph.variable_store = VariableStore()
    found: VariableStore = graph.variable_store
    return found


class VariableScope:
    """A prefix of variable names with the defaults of `get_variable`.

    Attributes
    ----------
    name : str
    reuse : bool or AUTO_REUSE
    initializer, regularizer, dtype, constraint, custom_getter, original_name_scope

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer") as scope:
    ...     scope.name, scope.reuse
    ('layer', False)
    """

    name: str
    reuse: Any
    initializer: Any
    regularizer: Any
    custom_getter: Any
    dtype: Any
    original_name_scope: str
    constraint: Any
    caching_device: Any
    partitioner: Any
    use_resource: Any

    def __init__(self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None,
                 caching_device: Any = None, partitioner: Any = None, custom_getter: Any = None,
                 name_scope: str = "", dtype: Any = float32, use_resource: Any = None,
                 constraint: Any = None) -> None:
        self.name, self.reuse, self.initializer = name, reuse, initializer
        self.regularizer, self.custom_getter, self.dtype = regularizer, custom_getter, dtype
        self.original_name_scope, self.constraint = name_scope, constraint
        self.caching_device, self.partitioner, self.use_resource = None, None, None

    def reuse_variables(self) -> None:
        """Return existing variables from `get_variable` from now on."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype."""
        self.dtype = as_dtype(dtype)

    def get_collection(self, name: Any) -> list[Any]:
        """Return the items of a collection that belong to this scope."""
        return default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        """Return the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Return the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def within(self, name: str, parent: VariableScope, reuse: Any,
               options: dict[str, Any]) -> VariableScope:
        """Return a scope of this name; options that are None are inherited from this scope."""
        def option(key: str) -> Any:
            found = options.get(key)
            return getattr(self, key) if found is None else found

        return VariableScope(reuse or self.reuse or parent.reuse, name, option("initializer"),
                             option("regularizer"), custom_getter=option("custom_getter"),
                             dtype=option("dtype"), constraint=option("constraint"))


class variable_scope:
    """A context in which the names of variables from `get_variable` begin with `name_or_scope/`.

    Parameters
    ----------
    name_or_scope : str, VariableScope or None
    default_name : str, optional
        Used if `name_or_scope` is None, with a unique suffix.
    values : ignored
    initializer, regularizer, dtype, constraint, custom_getter : optional
        Defaults of `get_variable` in the scope.
    reuse : bool or AUTO_REUSE, optional
        True: variables must exist. AUTO_REUSE: missing variables are created. Inner scopes inherit
        the value.
    auxiliary_name_scope : bool, default True
        Whether to open a name scope as well.
    caching_device, partitioner, use_resource : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer"):
    ...         w = tf.get_variable("w", [2])
    ...     with tf.variable_scope("layer", reuse=True):
    ...         tf.get_variable("w", [2]) is w
    True
    """

    def __init__(self, name_or_scope: Any, default_name: str | None = None, values: Any = None,
                 initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
                 partitioner: Any = None, custom_getter: Any = None, reuse: Any = None,
                 dtype: Any = None, use_resource: Any = None, constraint: Any = None,
                 auxiliary_name_scope: bool = True) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, False, True) and reuse is not AUTO_REUSE:
            raise ValueError(f"The reuse parameter must be True or False or None. Got: {reuse!r}")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self.name_or_scope: Any = name_or_scope
        self.default_name: str | None = default_name
        self.reuse: Any = reuse
        self.auxiliary = auxiliary_name_scope
        self.options: dict[str, Any] = {"initializer": initializer, "regularizer": regularizer,
                                        "custom_getter": custom_getter, "constraint": constraint,
                                        "dtype": None if dtype is None else as_dtype(dtype)}

    def __enter__(self) -> VariableScope:
        self._store = store = store_of(default_graph())
        self._before = before = store.scope
        if isinstance(self.name_or_scope, VariableScope):
            base, full = self.name_or_scope, self.name_or_scope.name
            last = full.rpartition("/")[2]
        else:
            last = self.name_or_scope
            if last is None:
                last = store.unique_scope(str(self.default_name))
            base, full = before, f"{before.name}/{last}" if before.name and last else (
                last or before.name)
        self._names: Any = name_scope(last) if self.auxiliary and last else None
        entered = "" if self._names is None else self._names.__enter__()
        store.scope = base.within(full, before, self.reuse, self.options)
        store.scope.original_name_scope = (
            base.original_name_scope if isinstance(self.name_or_scope, VariableScope) else entered)
        store.opened.add(full)
        self._opened = set(store.opened) if isinstance(self.name_or_scope, VariableScope) else None
        return store.scope

    def __exit__(self, *raised: Any) -> None:
        if self._opened is None:
            self._store.close(self._store.scope.name)
        else:
            self._store.opened = self._opened
        self._store.scope = self._before
        if self._names is not None:
            self._names.__exit__(*raised)


def variable_op_scope(values: Any, name_or_scope: Any, default_name: str | None = None,
                      **options: Any) -> variable_scope:
    """Return ``variable_scope(name_or_scope, default_name, values)``: an older order of arguments.

    Parameters
    ----------
    values : Tensor
    name_or_scope : as for `variable_scope`
    default_name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_op_scope([], "layer") as scope:
    ...     scope.name
    'layer'
    """
    return variable_scope(name_or_scope, default_name, values, **options)


def get_variable_scope() -> VariableScope:
    """Return the current variable scope.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable_scope().name
    'layer'
    """
    return store_of(default_graph()).scope
