"""Nested lists, tuples and dicts of tensors as flat lists, and back."""

from collections.abc import Callable
from typing import Any


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, left to right; dicts in the order of their sorted keys."""
    leaves: list[Any] = []
    pending = [structure]
    while pending:
        item = pending.pop()
        if isinstance(item, list | tuple):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.extend(item[key] for key in reversed(sorted_keys(item)))
        else:
            leaves.append(item)
    return leaves


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """The structure with its leaves replaced, in the order `flatten` gives them."""
    rest = iter(leaves)
    return rebuild(structure, lambda _: next(rest))


def rebuild(item: Any, leaf: Callable[[Any], Any]) -> Any:
    """The structure with `leaf` applied to each leaf, in the order `flatten` gives them."""
    if isinstance(item, dict):
        done = {key: rebuild(item[key], leaf) for key in sorted_keys(item)}
        return type(item)((key, done[key]) for key in item)
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*[rebuild(x, leaf) for x in item])
    if isinstance(item, list | tuple):
        return type(item)([rebuild(x, leaf) for x in item])
    return leaf(item)


def sorted_keys(item: dict[Any, Any]) -> list[Any]:
    """Keys in sorted order; where they do not compare, as they were put in."""
    try:
        return sorted(item)
    except TypeError:
        return list(item)
