"""Nested structures (lists, tuples, named tuples, dicts, dataclasses and composite tensors).

Any other object is a leaf, including `None` and tensors. The parts of a dict are in the order of
its sorted keys or, if keys do not compare, of insertion; the parts of a dataclass in the order of
its constructor's fields. The names follow TensorFlow's `tf.nest`.
"""

from __future__ import annotations

import sys

from dualflow._core import Operand, Symbol, TensorBase, TensorSpec, as_tensor, unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.tracebacks import hide_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

__all__ = ["assert_same_structure", "flatten", "flatten_with_path", "is_nested", "map_structure",
           "pack_sequence_as", "type_spec_from_value"]

MAX_DEPTH = 254        # more than the highest rank


class Composite:
    """Base class of composite tensors. `_fields` names the parts; the constructor takes the
    parts.

    The spec of a composite is a composite with the same fields, whose tensors are `TensorSpec`. If
    it has a class of its own, `_value_type` of that class is the class of the values.
    """

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _is_dense: bool = False     # whether this is a spec of tensors that `_batched` stacks
    _has_static_fields = False      # whether parts that are not tensors stay constant in loops

    def _remade(self, values: Sequence[Any]) -> Any:
        """Return a new instance with these parts."""
        return type(self)(*values)

    def _spec(self) -> Any:
        """Return the spec of this value."""
        return self._remade([spec_of(x) for x in parts(self)])

    def _batched(self, *args: Any) -> Any:
        """Overridden by composites that `df.data` batches and slices."""
        raise UnimplementedError(f"batches of {type(self).__name__} are not supported")

    _join = _as_rows = _map_specs = _batched


# Tuples for isinstance: building a union of types takes longer than the test.
SEQUENCES = list, tuple
NESTS = list, tuple, dict, Composite
NAMED = tuple, Composite
PLAIN = list, dict


def is_composite(x: Any) -> bool:
    return isinstance(x, Composite)


def spec_of(structure: Any) -> Any:
    """Return the structure with the specs of its tensors and composites; other leaves unchanged."""
    def leaf(x: Any) -> Any:
        if isinstance(x, Composite):
            return x._spec()
        if not issubclass(type(x), (TensorBase, Operand)):
            return x
        return TensorSpec(x.known_shape if isinstance(x, Symbol) else x.shape, x.dtype)

    return rebuild(structure, leaf, lambda x: isinstance(x, (Composite, Operand)))


def type_spec_from_value(value: Any) -> Any:
    """Return the spec of a tensor, variable or composite tensor, or of a number, list or array as
    a tensor.

    Raises
    ------
    TypeError
        If the value is not a tensor.

    Examples
    --------
    >>> import dualflow as df
    >>> df.type_spec_from_value(df.constant([1, 2]))
    TensorSpec(shape=(2,), dtype=int32)
    """
    if isinstance(value, TensorSpec):
        return value
    try:
        return spec_of(value if isinstance(value, Composite) else as_tensor(value))
    except DTypeError as error:
        raise TypeError(f"type_spec_from_value: {value!r} is not a tensor") from error


# --- one level -----------------------------------------------------------------------------------

def is_nested(seq: Any) -> bool:
    """Return True if `seq` is a list, tuple, dict or dataclass, not a leaf.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.is_nested([1]), df.nest.is_nested(df.constant([1]))
    (True, False)
    """
    return isinstance(seq, NESTS) or hasattr(type(seq), "__dataclass_fields__")


def fields(item: Any) -> tuple[str, ...]:
    """Return the field names of a named tuple, composite or dataclass; () for anything else."""
    if isinstance(item, NAMED):
        return getattr(item, "_fields", ())
    if isinstance(item, PLAIN):
        return ()
    # A dataclass exists only if the module is loaded; importing it here would slow every start.
    return tuple([f.name for f in sys.modules["dataclasses"].fields(item) if f.init])


def sorted_keys(item: dict[Any, Any]) -> list[Any]:
    """Return the keys in sorted order, or in insertion order if they do not compare."""
    try:
        return sorted(item)
    except TypeError:
        return list(item)


def level(item: Any) -> tuple[Sequence[Any], list[Any]]:
    """Return the names and the values of the parts of a list, tuple, dict or dataclass, in the
    order of its leaves."""
    if isinstance(item, dict):
        names = sorted_keys(item)
        return names, [item[name] for name in names]
    if isinstance(item, SEQUENCES):
        return fields(item) or range(len(item)), list(item)
    return fields(item), [getattr(item, name) for name in fields(item)]


def parts(item: Any) -> list[Any]:
    """Return the parts of a list, tuple, dict or dataclass, in the order of its leaves."""
    return list(item) if isinstance(item, SEQUENCES) else level(item)[1]


def steps(item: Any, names: Sequence[Any]) -> list[str]:
    """Return the Python expressions that access the parts: `[0]`, `['key']`, `.field`."""
    return [f".{name}" for name in names] if fields(item) else [f"[{name!r}]" for name in names]


def remade(item: Any, values: list[Any]) -> Any:
    """Return a list, tuple, dict or dataclass like `item` with other parts."""
    kind: Any = type(item)
    if isinstance(item, dict):
        new = dict(zip(sorted_keys(item), values, strict=True))
        first = (item.default_factory,) if hasattr(item, "default_factory") else ()
        return kind(*first, {key: new[key] for key in item})
    if isinstance(item, Composite):
        return item._remade(values)
    if isinstance(item, SEQUENCES):
        return kind(*values) if fields(item) else kind(values)
    import copy  # only for a dataclass

    made = copy.copy(item)              # the constructor may reject placeholders for tensors
    for name, value in zip(fields(item), values, strict=True):
        object.__setattr__(made, name, value)
    return made


def inside(item: Any, around: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ids of the containers around the parts of an item, given those around the item.

    Raise InvalidArgumentError if an item contains itself, so that traversals terminate.
    """
    if id(item) in around:
        raise InvalidArgumentError(f"a {type(item).__name__} contains itself")
    if len(around) == MAX_DEPTH:
        raise InvalidArgumentError(f"nested more than {MAX_DEPTH} deep")
    return (*around, id(item))


def described(item: Any) -> str:
    """Return a description for messages: `a list of 3`."""
    of = f" of {len(parts(item))}" if is_nested(item) else ""
    return f"a {type(item).__name__}{of}"


# --- whole structures ----------------------------------------------------------------------------

def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure from left to right; a leaf is its own only leaf.

    Parameters
    ----------
    structure : nested lists, tuples, dicts and dataclasses

    Returns
    -------
    list

    Raises
    ------
    InvalidArgumentError
        If the structure contains itself.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.flatten({"b": [3, 4], "a": (1, {"x": 2})})
    [1, 2, 3, 4]
    """
    if not is_nested(structure):
        return [structure]
    leaves: list[Any] = []
    pending = [(iter(parts(structure)), inside(structure, ()))]
    while pending:
        rest, around = pending[-1]
        for item in rest:
            if not isinstance(item, TensorBase) and is_nested(item):  # mostly a tensor
                pending.append((iter(parts(item)), inside(item, around)))
                break
            leaves.append(item)
        else:
            pending.pop()
    return leaves


def flatten_with_path(structure: Any) -> list[tuple[str, Any]]:
    """Return the leaves of a structure with the Python expressions that access them.

    Parameters
    ----------
    structure : nested lists, tuples, dicts and dataclasses

    Returns
    -------
    list of (str, leaf)
        The path is empty if the structure is a leaf.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.flatten_with_path({"w": [1., 2.]})
    [("['w'][0]", 1.0), ("['w'][1]", 2.0)]
    """
    return list(_walk(structure, "", ()))


def _walk(item: Any, path: str, around: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    if not is_nested(item):
        yield path, item
        return
    around = inside(item, around)
    names, held = level(item)
    for step, part in zip(steps(item, names), held, strict=True):
        yield from _walk(part, path + step, around)


def flatten_tensors(structure: Any) -> list[Any]:
    """Return the leaves; an object that wraps a tensor (`__df_tensor__`) is replaced by it."""
    return [unwrapped(x) for x in flatten(structure)]


def flatten_up_to(structure: Any, given: Any) -> list[Any]:
    """Return the parts of `given` at the positions of the leaves of `structure`.

    Raise InvalidArgumentError if the forms differ. Lists and tuples count as equal here.
    """
    leaves: list[Any] = []
    pending = [(structure, given)]
    while pending:
        item, other = pending.pop()
        if not is_nested(item):
            leaves.append(other)
            continue
        if not is_nested(other) or list(level(item)[0]) != list(level(other)[0]):
            raise InvalidArgumentError(f"got {described(other)} where there is {described(item)}")
        pending.extend(reversed(list(zip(parts(item), parts(other), strict=True))))
    return leaves


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """Return the structure with its leaves replaced, in the order of `flatten`.

    Parameters
    ----------
    structure : nested lists, tuples, dicts and dataclasses
    flat_sequence : sequence
        One value per leaf of the structure.

    Raises
    ------
    InvalidArgumentError
        If the number of values differs from the number of leaves.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.pack_sequence_as({"b": [0, 0], "a": 0}, [1, 2, 3])
    {'b': [2, 3], 'a': 1}
    """
    rest = iter(flat_sequence)
    try:
        made = rebuild(structure, lambda _: next(rest))
        if next(rest, rest) is rest:
            return made
    except StopIteration:
        pass
    raise InvalidArgumentError(f"pack_sequence_as: got {len(flat_sequence)} values for a structure "
                               f"of {len(flatten(structure))} leaves")


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """Apply `func` to the leaves of structures of one form; return the form of the first.

    Parameters
    ----------
    func : callable
        Function of one leaf per structure.
    *structure : nested lists, tuples, dicts and dataclasses

    Raises
    ------
    InvalidArgumentError
        If the forms differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.map_structure(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]})
    {'x': [11, 22]}
    """
    if not structure:
        raise InvalidArgumentError("map_structure: got no structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    rest = zip(*map(flatten, structure), strict=True)
    try:
        return rebuild(structure[0], lambda _: func(*next(rest)))
    except BaseException as error:
        hide_frames(error)
        raise


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise unless two structures have the same form.

    Parameters
    ----------
    nest1, nest2 : nested lists, tuples, dicts and dataclasses
    check_types : bool, default True
        Whether a list and a tuple count as different.

    Raises
    ------
    InvalidArgumentError
        Contains the first position at which they differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nest.assert_same_structure([1, (2, 3)], [4, (5, 6)])
    """
    pending = [("", nest1, nest2)]
    while pending:
        path, a, b = pending.pop()
        differ = is_nested(a) != is_nested(b)
        if not differ and is_nested(a):
            differ = (check_types and type(a) is not type(b)) or (
                list(level(a)[0]) != list(level(b)[0]))
        if differ:
            at = f" at {path}" if path else ""
            raise InvalidArgumentError(f"structures differ{at}: {described(a)}, {described(b)}")
        if is_nested(a):
            pending.extend((path + step, x, y) for step, x, y in reversed(
                list(zip(steps(a, level(a)[0]), parts(a), parts(b), strict=True))))


def rebuild(item: Any, leaf: Callable[[Any], Any],
            is_leaf: Callable[[Any], bool] | None = None,
            around: tuple[int, ...] = ()) -> Any:
    """Return the structure with `leaf` applied to each leaf, in the order of `flatten`; parts for
    which `is_leaf` is true are leaves. The recursion is as deep as the nesting."""
    if isinstance(item, TensorBase) or not is_nested(item) or (is_leaf and is_leaf(item)):
        return leaf(item)
    around = inside(item, around)
    return remade(item, [rebuild(x, leaf, is_leaf, around) for x in parts(item)])


def is_numbers(item: Any) -> bool:
    """Return True if an item is nested lists of Python numbers only, which denote one tensor."""
    return isinstance(item, SEQUENCES) and bool(item) and all(
        isinstance(x, bool | int | float) for x in flatten(item))


def __dir__() -> list[str]:
    return __all__
