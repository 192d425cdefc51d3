"""Nested lists, tuples and dicts of tensors as flat lists, and back."""

from collections.abc import Callable, Iterable
from typing import Any

from dualflow._core import unwrapped
from dualflow.errors import InvalidArgumentError

MAX_DEPTH = 254        # no tensor has a higher rank


def inside(item: Any, around: tuple[int, ...]) -> tuple[int, ...]:
    """What is around the parts of a list or dict, by ids, where `around` is around itself.

    Raises InvalidArgumentError where a part contains the whole, so that nobody follows it for ever.
    """
    if id(item) in around:
        raise InvalidArgumentError(f"a {type(item).__name__} contains itself")
    if len(around) == MAX_DEPTH:
        raise InvalidArgumentError(f"nested more than {MAX_DEPTH} deep")
    return (*around, id(item))


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, left to right; dicts in the order of their sorted keys. Of an
    object that holds a tensor (`__df_tensor__`) it is that."""
    if not isinstance(structure, list | tuple | dict):
        return [unwrapped(structure)]
    leaves: list[Any] = []
    pending = [(iter(parts(structure)), inside(structure, ()))]
    while pending:
        rest, around = pending[-1]
        for item in rest:
            if isinstance(item, list | tuple | dict):
                pending.append((iter(parts(item)), inside(item, around)))
                break
            leaves.append(unwrapped(item))
        else:
            pending.pop()
    return leaves


def parts(item: Any) -> Iterable[Any]:
    """What a list, tuple or dict holds."""
    return [item[key] for key in sorted_keys(item)] if isinstance(item, dict) else item


def flatten_like(structure: Any, given: Any) -> list[Any]:
    """What stands in `given` at the places of the leaves of `structure`.

    Raises InvalidArgumentError where it is not built alike.
    """
    leaves: list[Any] = []
    pending = [(structure, given)]
    while pending:
        item, other = pending.pop()
        if isinstance(item, dict):
            if not isinstance(other, dict) or item.keys() != other.keys():
                raise InvalidArgumentError(f"got {describe(other)} where there is {describe(item)}")
            pending.extend((item[key], other[key]) for key in reversed(sorted_keys(item)))
        elif isinstance(item, list | tuple):
            if not isinstance(other, list | tuple) or len(item) != len(other):
                raise InvalidArgumentError(f"got {describe(other)} where there is {describe(item)}")
            pending.extend(reversed(list(zip(item, other, strict=True))))
        else:
            leaves.append(other)
    return leaves


def describe(item: Any) -> str:
    if isinstance(item, list | tuple | dict):
        return f"a {type(item).__name__} of {len(item)}"
    return f"a {type(item).__name__}"


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """The structure with its leaves replaced, in the order `flatten` gives them."""
    rest = iter(leaves)
    return rebuild(structure, lambda _: next(rest))


def rebuild(item: Any, leaf: Callable[[Any], Any],
            is_leaf: Callable[[Any], bool] = lambda _: False,
            around: tuple[int, ...] = ()) -> Any:
    """The structure with `leaf` applied to each leaf, in the order `flatten` gives them."""
    if is_leaf(item):
        return leaf(item)
    if not isinstance(item, list | tuple | dict):
        return leaf(item)
    around = inside(item, around)
    if isinstance(item, dict):
        done = {key: rebuild(item[key], leaf, is_leaf, around) for key in sorted_keys(item)}
        return type(item)((key, done[key]) for key in item)
    made = [rebuild(x, leaf, is_leaf, around) for x in item]
    return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)


def is_numbers(item: Any) -> bool:
    """Whether an item is nested lists of Python numbers alone, which stand for one tensor."""
    return isinstance(item, list | tuple) and bool(item) and all(
        isinstance(x, bool | int | float) for x in flatten(item))


def sorted_keys(item: dict[Any, Any]) -> list[Any]:
    """Keys in sorted order; where they do not compare, as they were put in."""
    try:
        return sorted(item)
    except TypeError:
        return list(item)
