"""`NamedTuple` of `dualflow._util.named_tuple` behaves as that of `typing`."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from dualflow._util.named_tuple import NamedTuple
from dualflow.nest import flatten, map_structure


class Ours(NamedTuple):
    """The class under test."""

    a: int
    b: str
    c: float = 1.5
    count: int = 0                  # type: ignore[assignment]  # hides the method of tuples

    def total(self) -> float:
        return self.a + self.c


class Theirs(typing.NamedTuple):
    """The class it is compared with."""

    a: int
    b: str
    c: float = 1.5
    count: int = 0                  # type: ignore[assignment]

    def total(self) -> float:
        return self.a + self.c


class Pair(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(("args", "kwargs"), [
    ((1, "x", 2., 3), {}), ((1, "x"), {}), ((1, "x", 2.), {}), ((1,), {"b": "x"}),
    ((), {"b": "x", "a": 1}), ((1, "x"), {"count": 4}),
    ((), {"count": 4, "c": 2., "b": "", "a": 5})])
def test_construction(args, kwargs):
    ours, theirs = Ours(*args, **kwargs), Theirs(*args, **kwargs)
    assert tuple(ours) == theirs and hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert (ours.a, ours.b, ours.c, ours.count) == tuple(ours) and ours.total() == theirs.total()
    assert ours._asdict() == theirs._asdict()
    assert type(ours._replace(b="z")) is Ours and ours._replace(b="z") == theirs._replace(b="z")


@pytest.mark.parametrize(("args", "kwargs"), [
    ((), {}), ((1,), {}), ((1,), {"c": 2.}), ((1, "x", 2., 3, 4), {}), ((1, "x"), {"a": 1}),
    ((1, "x"), {"d": 1}), ((1, "x", 2., 3), {"count": 3}), ((1, "x", 2., 3, 4), {"count": 3})])
def test_wrong_arguments(args, kwargs):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*args, **kwargs)


def test_message_of_wrong_arguments():
    with pytest.raises(TypeError, match=r"^Pair: got 1 values and the keywords \['z'\], "
                                        "expected x, y$"):
        Pair(1, z=2)


def test_class():
    assert Ours._fields == Ours.__match_args__ == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == "The class under test."
    assert Ours._make([1, "x", 2., 3]) == Ours(1, "x", 2., 3)
    value = Ours(1, "x")
    assert not hasattr(value, "__dict__")
    with pytest.raises(AttributeError):
        value.a = 2
    match value:
        case Ours(a, b):
            assert (a, b) == (1, "x")


def test_derived_classes_are_named_tuples():
    class Derived(Pair):
        def total(self):
            return self.x + self.y

    assert Derived(1, y=2).total() == 3 and repr(Derived(1, 2)) == "Derived(x=1, y=2)"


def test_copies_and_pickles():
    value = Ours(1, "x")
    for same in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(same) is Ours and same == value


def test_named_tuples_are_nested_structures():
    assert flatten(Pair(1, 2)) == [1, 2]
    made = map_structure(lambda k: k + 1, Pair(1, 2))
    assert type(made) is Pair and made == (2, 3)
