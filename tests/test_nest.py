"""Nested structures: flattening and packing, and their use in tapes, functions and printing."""

import collections
import dataclasses
import typing

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import nest
from dualflow.errors import InvalidArgumentError


class Pair(typing.NamedTuple):
    left: typing.Any
    right: typing.Any


@dataclasses.dataclass
class Layer:
    w: typing.Any
    b: typing.Any
    used: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass(frozen=True)
class Checked:
    x: typing.Any

    def __post_init__(self):
        assert isinstance(self.x, df.TensorBase | int)


keys = st.one_of(st.text(max_size=2), st.integers(-3, 3))
structures = st.recursive(
    st.integers() | st.none(), lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, inner, max_size=3).map(
            lambda d: collections.defaultdict(list, d)),
        st.builds(Pair, inner, inner), st.builds(Layer, inner, inner)), max_leaves=12)


@settings(derandomize=True)
@given(structures)
def test_flatten_and_pack_round_trip(structure):
    leaves = nest.flatten(structure)
    again = nest.pack_sequence_as(structure, leaves)
    assert again == structure and type(again) is type(structure)
    nest.assert_same_structure(structure, again)
    numbered = nest.pack_sequence_as(structure, range(len(leaves)))
    assert nest.flatten(numbered) == list(range(len(leaves)))
    doubled = nest.map_structure(lambda a, b: (a, b), numbered, numbered)
    assert nest.flatten_up_to(structure, doubled) == [(k, k) for k in range(len(leaves))]
    if isinstance(structure, dict):
        assert list(again) == list(structure)           # insertion order


@settings(derandomize=True)
@given(structures)
def test_paths_lead_to_their_leaves(structure):
    found = nest.flatten_with_path(structure)
    assert [leaf for _, leaf in found] == nest.flatten(structure)
    for path, leaf in found:
        assert eval(f"whole{path}", {"whole": structure}) is leaf


@settings(derandomize=True)
@given(structures)
def test_functions_take_and_return_nested_structures(structure):
    """Leaves keep the order of flatten, containers keep their types."""
    numbers = iter(range(1000))
    built = nest.map_structure(lambda _: df.constant(float(next(numbers))), structure)
    doubled = df.function(lambda s: nest.map_structure(lambda x: x * 2., s))(built)
    nest.assert_same_structure(built, doubled)
    assert [x.item() for x in nest.flatten(doubled)] == [
        2 * x.item() for x in nest.flatten(built)]


def test_is_nested():
    for item in ([], (), {}, Pair(1, 2), Layer(1, 2)):
        assert nest.is_nested(item)
    for item in (None, "text", b"", {1}, np.ones(2), df.ones([2]), Layer, 1):
        assert not nest.is_nested(item)
        assert nest.flatten(item)[0] is item


def test_order_of_keys():
    assert nest.flatten({"b": 1, "a": 2}) == [2, 1]
    assert nest.flatten({3: 1, 1: 2}) == [2, 1]
    assert nest.flatten({"b": 1, 0: 2}) == [1, 2]    # mixed types cannot be sorted
    assert df.function(lambda d: nest.flatten(d))({3: 1., 1: 2.}) == [2., 1.]


def test_dataclasses_on_tapes():
    """Dataclasses are structures for tapes as well as for functions."""
    layer = Layer(df.Variable([2.]), df.Variable([1.]))
    layer.used = 7
    with df.GradientTape() as tape:
        y = layer.w * 3. + layer.b
    g = tape.gradient(y, layer)
    assert type(g) is Layer and (g.w.item(), g.b.item(), g.used) == (3., 1., 7)
    x = Checked(df.constant([4.]))
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x.x * x.x
    assert tape.gradient(y, [x])[0].x.item() == 8.
    assert df.grad(lambda p: p.w * p.b)(Layer(2., 5.)).w.item() == 5.


@pytest.mark.parametrize("traced", [False, True])
def test_dataclasses_are_printed_with_their_values(traced, capsys):
    def show(x):
        df.print(Layer(x, 2), Checked(x))

    (df.function(show) if traced else show)(df.constant([1., 2.]))
    assert capsys.readouterr().out == (
        "Layer(w=[1. 2.], b=2, used=0) Checked(x=[1. 2.])\n")


@pytest.mark.parametrize("a, b, message", [
    ([1], 1, "a list of 1, a int"),
    ({"x": [1, 2]}, {"x": [1]}, r"at \['x'\]: a list of 2, a list of 1"),
    ({"x": 1}, {"y": 1}, "a dict of 1, a dict of 1"),
    (Layer([1], 2), Layer((1,), 2), r"at \.w: a list of 1, a tuple of 1")])
def test_different_structures_raise(a, b, message):
    with pytest.raises(InvalidArgumentError, match=message):
        nest.assert_same_structure(a, b)
    with pytest.raises(InvalidArgumentError, match="differ"):
        nest.map_structure(lambda x, y: x, a, b)


def test_check_types_false_ignores_container_types():
    nest.assert_same_structure([1, (2,)], (1, [2]), check_types=False)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_pack_with_a_wrong_number_of_values_raises(n):
    with pytest.raises(InvalidArgumentError, match=f"got {n} values .* of 2 leaves"):
        nest.pack_sequence_as([1, [2]], range(n))


def test_map_structure_without_a_structure_raises():
    with pytest.raises(InvalidArgumentError, match="no structure"):
        nest.map_structure(len)


@pytest.mark.parametrize("use", [nest.flatten, nest.flatten_with_path,
                                 lambda x: nest.map_structure(abs, x)])
def test_cyclic_structure_raises(use):
    loop = [1]
    loop.append({"again": loop})
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        use(loop)


def test_type_spec_from_value():
    spec = df.TensorSpec([2], df.float32)
    for value in (spec, [1., 2.], df.ones([2]), df.Variable([1., 2.]), np.ones(2, "float32")):
        assert df.type_spec_from_value(value) == spec
    assert df.type_spec_from_value(3) == df.TensorSpec([], df.int32)
    ragged = df.type_spec_from_value(df.ragged.constant([[1], [2, 3]]))
    assert df.nest.flatten(ragged)
    for bad in (object(), None, "dir", {"a": 1.}):
        with pytest.raises(TypeError, match="type_spec_from_value"):
            df.type_spec_from_value(bad)
