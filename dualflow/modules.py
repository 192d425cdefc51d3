"""Module: the base class of objects that hold variables and other modules."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dualflow._core import Tensor, Variable, current_graph, unwrapped
from dualflow._util.arguments import shown
from dualflow._util.notebook import card, counted
from dualflow.errors import InvalidArgumentError

__all__ = ["Module"]

F = TypeVar("F", bound=Callable[..., Any])

# Weak references to functions to be called when an object is attached to another: restorations of
# checkpoints that have values for objects which do not exist yet.
waiting: list[Callable[[], Callable[[], None] | None]] = []


def attached(x: Any) -> None:
    """Call the functions in `waiting` after `x` was attached to an object, if `x` may contain
    variables."""
    if x is None or isinstance(x, str | int | float | bytes | Tensor):
        return
    for ref in tuple(waiting):
        update = ref()
        if update is None:
            with suppress(ValueError):          # another thread has removed it
                waiting.remove(ref)
        else:
            update()


class Module:
    """Base class of objects that hold variables and other modules, in attributes or in lists,
    tuples and dicts in attributes.

    Parameters
    ----------
    name : str, optional
        A Python identifier; by default the name of the class in snake case.

    Notes
    -----
    Variables and submodules are collected at each access: the attributes of a module sorted
    by name, then the attributes of its submodules. A subclass that needs no name need
    not call ``__init__``.

    Methods may be traced by `dualflow.function`; each instance has its own traces. `Checkpoint`
    saves modules; `dualflow.save` also saves their functions, so that no code is needed.

    Examples
    --------
    >>> import dualflow as df
    >>> class Dense(df.Module):
    ...     def __init__(self, n_in, n_out):
    ...         super().__init__()
    ...         self.w = df.Variable(df.zeros([n_in, n_out]), name="w")
    ...         self.b = df.Variable(df.zeros([n_out]), name="b")
    ...     def __call__(self, x):
    ...         return x @ self.w + self.b
    >>> class Classifier(df.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layers = [Dense(4, 3), Dense(3, 2)]
    >>> model = Classifier()
    >>> [v.name for v in model.variables], [m.name for m in model.submodules]
    (['b', 'w', 'b', 'w'], ['dense', 'dense'])
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            raise InvalidArgumentError(f"{type(self).__name__}: name is {shown(name)}, expected a "
                                       "Python identifier")
        self._name = name

    @property
    def name(self) -> str:
        """The name of the module."""
        return self.__dict__.get("_name") or snake_case(type(self).__name__)

    @property
    def name_scope(self) -> AbstractContextManager[str]:
        """A context in which the names of the ops of a graph begin with the module's name."""
        graph = current_graph()
        return nullcontext(f"{self.name}/") if graph is None else graph.names.scope(self.name)

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """Wrap a method so that it runs in the module's name scope.

        Examples
        --------
        >>> import dualflow as df
        >>> class Double(df.Module):
        ...     @df.Module.with_name_scope
        ...     def __call__(self, x):
        ...         return x + x
        >>> f = df.function(Double(name="twice"))
        >>> f.get_concrete_function(df.constant(1.)).graph.outputs[0].name
        'twice/add:0'
        """
        @functools.wraps(method)
        def inside(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside                   # type: ignore[return-value]

    if not TYPE_CHECKING:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if waiting:
                attached(value)

    def __repr__(self) -> str:
        name = f" {self._name!r}" if self.__dict__.get("_name") else ""
        held = self.variables
        return (f"<{type(self).__name__}{name}: {counted(len(held), 'variable')}, "
                f"{counted(sum([v.size for v in held]), 'element')}>")

    def _repr_html_(self) -> str:
        rows = [(path, v.dtype, v.shape, "" if v.trainable else "not trainable")
                for path, v in paths_of(self)]
        return card(repr(self).strip("<>"), rows, ("variable", "dtype", "shape", ""))

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables of this module and of its submodules, without duplicates."""
        found = [unwrapped(x) for _, _, x in self._flatten(is_variable)]
        return tuple(dict.fromkeys(found))

    @property
    def trainable_variables(self) -> Sequence[Variable]:
        """The trainable variables, which tapes watch automatically."""
        return tuple([v for v in self.variables if v.trainable])

    @property
    def non_trainable_variables(self) -> Sequence[Variable]:
        """The variables that are not trainable."""
        return tuple([v for v in self.variables if not v.trainable])

    @property
    def submodules(self) -> Sequence[Module]:
        """All submodules, at any depth."""
        return tuple([x for _, _, x in self._flatten(is_module) if x is not self])

    def _flatten(self, wanted: Callable[[Any], bool]) -> Iterator[tuple[Module, str, Any]]:
        """Yield the objects in this module and its submodules that satisfy `wanted`, without
        duplicates, with their module and their path in it."""
        seen: set[int] = {id(self)}
        modules = deque([self])
        while modules:
            module = modules.popleft()
            for path, x in held(attributes(module)):
                if id(x) not in seen and (wanted(x) or is_module(x)):
                    seen.add(id(x))
                    if is_module(x):
                        modules.append(x)
                    if wanted(x):
                        yield module, path, x


def paths_of(module: Module) -> list[tuple[str, Variable]]:
    """Return the variables of a module and its submodules with their paths, without duplicates."""
    at = {id(module): ""}
    found: dict[int, tuple[str, Variable]] = {}
    for owner, path, x in module._flatten(lambda x: is_variable(x) or is_module(x)):
        whole = f"{at[id(owner)]}{path}"
        if is_module(x):
            at[id(x)] = f"{whole}/"
        else:
            found.setdefault(id(unwrapped(x)), (whole, unwrapped(x)))
    return list(found.values())


def snake_case(name: str) -> str:
    """Convert `DenseLayer` to `dense_layer`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def is_variable(x: Any) -> bool:
    """Return True if an object is, or wraps, a Variable."""
    return isinstance(unwrapped(x), Variable)


def is_module(x: Any) -> bool:
    """Return True if an object is a Module."""
    return isinstance(x, Module)


def attributes(module: Module) -> list[tuple[str, Any]]:
    """Return the attributes of a module, sorted by name."""
    return sorted(vars(module).items(), key=lambda item: item[0])


def inner(x: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of a list, tuple or dict by path component, or None for anything else."""
    if isinstance(x, dict):
        return [(step(key), value) for key, value in x.items()]
    if isinstance(x, list | tuple):
        return [(str(k), value) for k, value in enumerate(x)]
    return None


def step(key: Any) -> str:
    """Return a dict key as a path component."""
    return str(key).replace("%", "%25").replace("/", "%2F")


def held(parts: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of lists, tuples and dicts with paths; each container is visited once."""
    pending = parts[::-1]
    seen: set[int] = set()
    while pending:
        path, x = pending.pop()
        found = inner(x)
        if found is None:
            yield path, x
        elif id(x) not in seen:
            seen.add(id(x))
            pending += [(f"{path}/{name}", value) for name, value in reversed(found)]
