"""The parameters of a traced function, read from its code where that suffices: importing `inspect`
takes a tenth of the time of the first traced call of a process.

`arguments.py` binds calls by them. `Signature` must not keep the instance of a bound method alive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType

from dualflow._core import Operand, TensorSpec
from dualflow._util.cached import cached_property
from dualflow._util.late_binding import late
from dualflow.dtypes import int64
from dualflow.nest import Composite, is_composite, rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from typing import Any

ARGS, KWARGS = 0x04, 0x08           # flags of code: *args, **kwargs
GENERATOR, COROUTINE = 0x20, 0x80   # flags of code


class Signature:
    """The parameters of a callable.

    Attributes
    ----------
    names : list of str
    simple : bool
        True if positional arguments can set every parameter, and no parameter is variadic.
    only_args : bool
        True if ``*args`` is the only parameter.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.only_args: bool = False
        names = _names_in_code(function)
        if names is None:
            parameters = self.full.parameters.values()
            self.names: list[str] = [p.name for p in parameters]
            self.simple: bool = all([p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
                                     for p in parameters])
        else:
            self.only_args = names[:1] == ["*"]
            self.names, self.simple = names[self.only_args:], not self.only_args
        if isinstance(function, MethodType):
            self._function = MethodType(function.__func__, 0)       # another instance

    def values(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the value of each parameter in a call with positional arguments only, or None if
        `full` is needed."""
        if self.only_args:
            return (args,)
        return args if self.simple and len(args) == len(self.names) else None

    @staticmethod
    def sized(value: Any) -> Any:
        """Return an argument in whose sparse tensors the shape is a tuple of sizes, as in their
        specs. In a trace, it may be a tensor."""
        def has_sizes(x: Any) -> bool:
            return isinstance(x, Composite) and hasattr(x, "_with_sizes")

        return rebuild(value, lambda x: x._with_sizes() if has_sizes(x) else x, has_sizes)

    @cached_property
    def full(self) -> inspect.Signature:
        """The signature with kinds and defaults."""
        import inspect
        return inspect.signature(self._function)


def _names_in_code(function: Any) -> list[str] | None:
    """Return the names of the parameters of a Python function or of a bound method of one, after
    "*" if ``*args`` is the only parameter. Return None if another parameter is variadic or
    keyword-only, or if the code may not show the parameters."""
    bound = isinstance(function, MethodType)
    if bound:
        function = function.__func__
    if type(function) is not FunctionType or {"__wrapped__", "__signature__"} & vars(
            function).keys():
        return None
    code = function.__code__
    names = list(code.co_varnames[:code.co_argcount])
    if code.co_kwonlyargcount or code.co_flags & KWARGS or (bound and not names):
        return None
    if code.co_flags & ARGS:
        return ["*", code.co_varnames[bound]] if len(names) == bound else None
    return names[bound:]


def required_shape(spec: Any, kind: Any) -> Any:
    """Return the shape that a TensorSpec requires of an argument with the key `kind`: any sizes, if
    its rank is unknown."""
    return (None,) * len(kind.shape) if spec.ndim is None else spec.shape


def is_generator_or_coroutine(function: Any) -> bool:
    """Return True if a call of the function returns a generator or a coroutine.

    Examples
    --------
    >>> from dualflow.graph.calls.signature import is_generator_or_coroutine
    >>> def count():
    ...     yield 1
    >>> is_generator_or_coroutine(count)
    True
    """
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    return (isinstance(function, FunctionType)
            and bool(function.__code__.co_flags & (GENERATOR | COROUTINE)))


def text_parts(item: Any) -> tuple[Any, Any] | None:
    """Return the class and the handles of text outside of a trace, or of the spec of text; None for
    anything else."""
    if isinstance(item, Operand) and not isinstance(item, Composite):
        return item._value_type, item._handles
    if type(item) is TensorSpec and item.dtype == "string":
        return late("string_tensor").StringTensor, TensorSpec(item.shape, int64)
    return None


class Fixed:
    """A part of a composite's spec that is not a tensor, such as a size or a static field."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def with_fixed(signature: Any) -> Any:
    """Return a signature with Fixed in place of each part of a composite that is not a tensor."""
    return rebuild(signature, fixed_parts, is_composite)


def fixed_parts(spec: Any) -> Any:
    def leaf(x: Any) -> Any:
        return x if isinstance(x, TensorSpec) else Fixed(x)

    return rebuild(spec, leaf) if is_composite(spec) else spec
