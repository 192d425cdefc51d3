"""ExtensionType: classes of composite tensors with typed fields."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from dualflow import nest
from dualflow._core import Operand, Shape, Tensor, TensorBase
from dualflow._util.arguments import shown
from dualflow._util.late_binding import late_method
from dualflow.errors import DTypeError
from dualflow.nest import Composite
from dualflow.ops.array.creation import convert_to_tensor
from dualflow.ops.elementwise.compare import equal
from dualflow.ops.reduction.reduce import reduce_all
from dualflow.ops.tensor_shape import TensorShape

__all__ = ["BatchableExtensionType", "ExtensionType"]

STATIC = (int, float, str, bytes, bool, type(None))
FROZEN = "_is_frozen"


class _Meta(type):
    """Converts, checks and freezes each instance after its constructor."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        if FROZEN not in vars(made):
            made._finish()
        return made


class ExtensionType(Composite, metaclass=_Meta):
    """Base class of classes with typed fields that pass through `df.nest`, traced functions,
    control flow and tapes like a tuple of their fields.

    A subclass annotates its fields. The constructor takes them as arguments, in this order, with
    defaults from the class. A subclass may define another constructor that sets all fields. Values
    are converted to the annotated types: `df.Tensor` from anything that `df.convert_to_tensor`
    takes, text included, tuples from lists. Instances cannot be changed afterwards.
    `__validate__`, if defined, runs at the end of the constructor.

    Notes
    -----
    Types of fields: `Tensor`, `TensorShape`, Python numbers, strings, bool and None, other
    ExtensionTypes and composite tensors, `tuple[T, ...]`, `tuple[T, U]`, `Mapping[str, T]`,
    `Optional` and `Union`. `Spec` is a class with the same fields, whose tensors are `TensorSpec`;
    an instance describes a value, also in the `input_signature` of a traced function, whose calls
    must have equal static fields. A class `Spec` in the body of a subclass adds methods, or a
    constructor that sets all fields. There is no dispatch: functions of this library do not accept
    a subclass instead of a tensor.

    Raises
    ------
    TypeError
        If a field has another type, or if the annotations are missing.
    AttributeError
        If a field is assigned after the constructor.

    Examples
    --------
    >>> import dualflow as df
    >>> class Masked(df.experimental.ExtensionType):
    ...     values: df.Tensor
    ...     mask: df.Tensor
    ...
    ...     def total(self):
    ...         return df.reduce_sum(df.where(self.mask, self.values, 0.))
    >>> x = Masked([1., 2., 3.], [True, False, True])
    >>> df.function(lambda x: Masked(x.values * 2., x.mask))(x).total().item()
    8.0
    """

    _has_static_fields = True
    _types: ClassVar[dict[str, Any]] = {}
    _names: ClassVar[Any]   # where annotations are evaluated; afterwards, the types by name
    _value_type: ClassVar[type]
    Spec: ClassVar[Any]

    def __init_subclass__(cls, is_spec: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = [name for name in inspect.get_annotations(cls) if not name.startswith("_")]
        for name in own:
            if name in ("Spec", "spec"):
                raise TypeError(f"{cls.__name__}: the field name {name!r} is reserved")
        cls._fields = (*[f for f in cls._fields if f not in own], *own)
        cls._types = {}             # resolved at the first instance: types may be defined later
        frame = sys._getframe(1)
        own_types = inspect.get_annotations(cls).values()
        local = dict(frame.f_locals) if any([isinstance(t, str) for t in own_types]) else {}
        cls._names = frame.f_globals, local
        if "__init__" not in cls.__dict__ and not is_spec:
            setattr(cls, "__init__", _constructor(cls))     # noqa: B010  checkers object to =
        cls._value_type = cls
        cls.Spec = None if is_spec else _spec_class(cls)

    @classmethod
    def _made(cls, *parts: Any) -> Any:
        """Return an instance with these parts, which are not converted or checked."""
        made = object.__new__(cls)
        vars(made).update(zip(cls._fields, parts, strict=True), **{FROZEN: True})
        return made

    def _remade(self, values: Sequence[Any]) -> Any:
        return type(self)._made(*values)

    _batched = late_method("dualflow.ops.composite_rows")
    _join = late_method("dualflow.ops.composite_rows")
    _as_rows = late_method("dualflow.ops.composite_rows")
    _map_specs = late_method("dualflow.ops.composite_rows")

    def _spec(self) -> Any:
        return self.Spec.from_value(self)

    def _finish(self) -> None:
        """Convert and check the fields, and freeze the instance."""
        cls, values = type(self), vars(self)
        if not cls._types:
            hints: dict[str, Any] = {}
            for base in reversed(cls.__mro__):
                hints |= _hints(base)
            cls._types = {name: hints[name] for name in cls._fields}
        for name, kind in cls._types.items():
            if name not in values:
                raise AttributeError(f"{cls.__name__}: the constructor has not set {name!r}")
            values[name] = converted(values[name], kind, f"{cls.__name__}: field {name!r}")
        check: Callable[[], Any] | None = getattr(self, "__validate__", None)
        if check is not None:
            check()
        values[FROZEN] = True

    def __setattr__(self, name: str, value: Any) -> None:
        if FROZEN in vars(self):
            raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor "
                                 f"of {type(self).__name__}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of "
                             f"{type(self).__name__}")

    def __eq__(self, other: object) -> Any:
        """Return whether the fields are equal: a bool, or a scalar tensor while it is unknown."""
        if type(self) is not type(other):
            return False
        found: Any = True
        for name in self._fields:
            a, b = getattr(self, name), getattr(other, name)
            if not issubclass(type(a), TensorBase | Operand):
                same: Any = a == b
            elif a.ndim != b.ndim or tuple(a.shape) != tuple(b.shape):
                return False
            else:
                same = reduce_all(equal(a, b))
            found = same if found is True else found & same
        return bool(found) if type(found) is Tensor else found

    __hash__ = None                 # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join([f"{name}={getattr(self, name)!r}" for name in self._fields])
        return f"{type(self).__qualname__}({inside})"


def _hints(cls: Any) -> dict[str, Any]:
    """Return the types of the fields that a class itself annotates."""
    found: Any = vars(cls).get("_names")
    if type(found) is tuple:
        own = types.SimpleNamespace(__annotations__=inspect.get_annotations(cls))
        found = cls._names = typing.get_type_hints(own, *found)     # releases the local names
    return found or {}


def _constructor(cls: Any) -> Callable[..., None]:
    """Return a constructor that takes the fields."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=getattr(cls, name))
                  if hasattr(cls, name) and not isinstance(getattr(cls, name), property)
                  else inspect.Parameter(name, kind) for name in cls._fields]
    try:
        signature = inspect.Signature(parameters)
    except ValueError as error:         # a field without a default follows one with a default
        raise TypeError(f"{cls.__name__}: {error}") from None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}; the fields are {signature}") from None
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    whole = [inspect.Parameter("self", kind), *parameters]
    __init__.__signature__ = signature.replace(parameters=whole)    # type: ignore[attr-defined]
    return __init__


def _spec_class(cls: Any) -> Any:
    """Return the class that describes the values of a class."""
    own = vars(cls).get("Spec")
    body = {} if own is None else {name: value for name, value in vars(own).items()
                                   if name not in ("__dict__", "__weakref__")}
    made = types.new_class("Spec", (_Spec,), {"is_spec": True}, lambda names: names.update(body))
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.Spec", cls.__module__
    found: Any = made
    found._fields, found._value_type = cls._fields, cls
    if "__init__" in body:
        return found

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(cls._fields, args, strict=False), **kwargs)
        if given.keys() != set(cls._fields):
            raise TypeError(f"{found.__qualname__}: got {sorted(given)}, expected the fields "
                            f"{cls._fields}")
        vars(self).update({name: given[name] for name in cls._fields}, **{FROZEN: True})

    found.__init__ = __init__
    return found


def converted(value: Any, kind: Any, what: str) -> Any:
    """Return a value as a type of a field, or raise TypeError."""
    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, TensorBase):
        try:
            return value if isinstance(value, TensorBase) else convert_to_tensor(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what}: {error}") from error
    if kind is TensorShape and (value is None or isinstance(value, Shape | list | tuple)):
        return value if type(value) is TensorShape else TensorShape(value)
    if origin in (typing.Union, types.UnionType):
        return _of_union(value, typing.get_args(kind), what)
    if origin is tuple:
        return _tuple(value, typing.get_args(kind), what)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{what} is {shown(value)}, expected a mapping")
        key, inner = typing.get_args(kind)
        return {converted(k, key, what): converted(v, inner, f"{what}[{k!r}]")
                for k, v in value.items()}
    expected = type(None) if kind is None else kind
    if not isinstance(expected, type):
        raise TypeError(f"{what}: fields of type {kind} are not supported")
    if expected is float and type(value) is int:
        return float(value)
    exact = expected in STATIC and expected is not type(None)
    if not isinstance(value, expected) or (exact and expected is int and type(value) is bool):
        raise TypeError(f"{what} is {shown(value)}, expected {expected.__name__}")
    return value


def _of_union(value: Any, kinds: Sequence[Any], what: str) -> Any:
    """Return a value as the first of several types that it has, then as one to which it can be
    converted."""
    for kind in kinds:
        if isinstance(kind, type) and isinstance(value, kind):
            return converted(value, kind, what)
    for kind in kinds:
        try:
            return converted(value, kind, what)
        except (TypeError, DTypeError):
            pass
    raise TypeError(f"{what} is {shown(value)}, expected one of {', '.join(map(str, kinds))}")


def _tuple(value: Any, kinds: Sequence[Any], what: str) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise TypeError(f"{what} is {shown(value)}, expected a tuple")
    if len(kinds) == 2 and kinds[1] is ...:
        kinds = [kinds[0]] * len(value)
    if len(kinds) != len(value):
        raise TypeError(f"{what} has {len(value)} elements, expected {len(kinds)}")
    parts: Iterator[Any] = iter(kinds)
    return tuple([converted(x, next(parts), f"{what}[{k}]") for k, x in enumerate(value)])


class _Spec(ExtensionType, is_spec=True):
    """Base class of the specs of ExtensionTypes, whose fields are not converted."""

    def _finish(self) -> None:
        for name in self._fields:
            if name not in vars(self):
                raise AttributeError(f"{type(self).__qualname__}: the constructor has not set "
                                     f"{name!r}")
        vars(self)[FROZEN] = True

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the spec of a value."""
        return cls._made(*[nest.spec_of(getattr(value, name)) for name in cls._fields])


class BatchableExtensionType(ExtensionType):
    """Base class of classes with typed fields that `df.data` batches and `df.map_fn` slices.

    An `ExtensionType` is batched as well, field by field. Fields of type `TensorShape`, the sizes
    of the batch, follow.

    Examples
    --------
    >>> import dualflow as df
    >>> class Span(df.experimental.BatchableExtensionType):
    ...     shape: df.TensorShape
    ...     start: df.Tensor
    >>> batch = Span([2], [3, 4])
    >>> [(span.shape, span.start.item()) for span in df.data.Dataset.from_tensor_slices(batch)]
    [(TensorShape([]), 3), (TensorShape([]), 4)]
    """
