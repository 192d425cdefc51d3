"""`NamedTuple` of `typing`, without `typing`. Type checkers see the original.

Importing `typing` takes longer than the rest of an eager program, and `typing.NamedTuple` compiles
the source of a constructor for each class; here constructors are closures.

A module that defines a class with this base needs ``from __future__ import annotations``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter

    def _constructor(name, fields, defaults):
        """Return the `__new__` of a class."""
        n, last, tuple_new = len(fields), tuple(defaults.values()), tuple.__new__

        def complete(args, kwargs):
            if not kwargs and n - len(last) <= len(args) < n:
                return args + last[len(args) - n:]
            values = {**defaults, **dict(zip(fields, args, strict=False)), **kwargs}
            if len(args) > n or values.keys() != {*fields} or (
                    not kwargs.keys().isdisjoint(fields[:len(args)])):
                raise TypeError(f"{name}: got {len(args)} values and the keywords {[*kwargs]}, "
                                f"expected {', '.join(fields)}")
            return [values[field] for field in fields]

        def __new__(cls, /, *args, **kwargs):
            if kwargs or len(args) != n:
                args = complete(args, kwargs)
            return tuple_new(cls, args)

        return __new__

    class _Base(tuple):
        """A tuple whose items are attributes too."""

        __slots__ = ()

        @classmethod
        def _make(cls, iterable):
            return cls(*iterable)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **changes):
            return type(self)(**{**self._asdict(), **changes})

        def __getnewargs__(self):       # for copies and pickles
            return tuple(self)

        def __repr__(self):
            parts = [f"{name}={value!r}" for name, value in self._asdict().items()]
            return f"{type(self).__name__}({', '.join(parts)})"

    class _Fields(type):
        """Makes a class whose fields are the annotated names."""

        def __new__(meta, name, bases, namespace):
            if not bases:
                return type.__new__(meta, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace[field] for field in fields if field in namespace}
            for k, field in enumerate(fields):
                namespace[field] = _tuplegetter(k, None)
            namespace["__new__"] = _constructor(name, fields, defaults)
            namespace["_fields"] = namespace["__match_args__"] = fields
            namespace["_field_defaults"], namespace["__slots__"] = defaults, ()
            namespace.setdefault("__doc__", f"{name}({', '.join(fields)})")
            return type(name, (_Base, *bases[1:]), namespace)

    class NamedTuple(metaclass=_Fields):
        """The base in the definition of a class of named tuples."""
