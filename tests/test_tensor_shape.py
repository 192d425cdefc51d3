"""Shapes of tensors as TensorFlow's: equality with lists, `isinstance`, set_shape, specs."""

import pickle

import pytest

import dualflow as df


@pytest.mark.parametrize("x", [df.ones([2, 3]), df.Variable(df.ones([2, 3]))])
def test_shapes_equal_lists_and_tuples(x):
    shape = x.shape
    for same in ([2, 3], (2, 3), df.TensorShape([2, 3]), x.get_shape(), df.zeros([2, 3]).shape):
        assert shape == same and same == shape
        assert (shape != same, same != shape) == (False, False)
    for other in ([2, 4], [2], [2, 3, 1], [], [2, None], (3, 2), df.TensorShape(None), "23", None,
                  ["2", "3"]):
        assert shape != other and other != shape
        assert (shape == other, other == shape) == (False, False)
    assert hash(shape) == hash((2, 3)) and {(2, 3): 1}[shape] == 1
    assert df.constant(1).shape == [] and df.constant(1).shape == ()
    assert shape < (2, 4)
    with pytest.raises(TypeError):
        shape < [2, 4]  # noqa: B015  as with any tuple


def test_shapes_of_traced_tensors_equal_lists():
    seen = []

    @df.function(input_signature=[df.TensorSpec([None, 3])])
    def f(x):
        seen.append((x[0].shape == [3], isinstance(x.shape, df.TensorShape)))
        return x

    f(df.ones([2, 3]))
    assert set(seen) == {(True, True)}


def test_shapes_are_tensor_shapes():
    x = df.ones([2, 3])
    for shape in (x.shape, x.shape[1:], df.Variable(x).shape, df.TensorSpec([None]).shape,
                  x.get_shape(), df.TensorShape(None)):
        assert isinstance(shape, df.TensorShape) and isinstance(shape, tuple)
    for other in ((2, 3), [2, 3], None):
        assert not isinstance(other, df.TensorShape)

    class Mine(df.TensorShape):
        pass

    assert not isinstance(x.shape, Mine) and isinstance(Mine([2]), df.TensorShape)


def test_unknown_rank_has_no_sizes():
    unknown = df.TensorShape(None)
    for access in (len, list, lambda s: s.as_list()):
        with pytest.raises(ValueError, match="unknown"):
            access(unknown)
    assert unknown.rank is None and unknown[:2] == unknown and unknown[0] is None
    assert df.TensorShape(unknown) == unknown and pickle.loads(pickle.dumps(unknown)) == unknown
    assert unknown.is_compatible_with([2, 3]) and unknown != [] and unknown != df.TensorShape([])
    assert unknown.merge_with([2, None]).as_list() == [2, None]
    assert unknown.concatenate([2]).rank is None


def test_set_shape_checks():
    x = df.ones([2, 3])
    for x in (df.ones([2, 3]), df.Variable(df.ones([2, 3]))):
        for shape in ([2, 3], (None, 3), None, df.TensorShape([2, None]), x.shape):
            assert x.set_shape(shape) is None
        for shape in ([2, 4], [2], [None, None, None]):
            with pytest.raises(ValueError, match=r"shape \(2, 3\) is not compatible with supplied"):
                x.set_shape(shape)

    @df.function(input_signature=[df.TensorSpec([None, 3])])
    def f(x, shape=(5, 3)):
        x.set_shape(shape)
        return x * 2

    assert f(df.ones([4, 3])).shape == [4, 3]
    g = df.function(lambda x: x.set_shape([None, 4]), input_signature=[df.TensorSpec([None, 3])])
    with pytest.raises(ValueError, match="not compatible"):
        g(df.ones([2, 3]))


def test_specs_of_unknown_rank():
    spec = df.TensorSpec(None, df.int32)
    assert spec.shape == df.TensorShape(None) and spec.ndim is None
    assert spec == df.TensorSpec(None, "int32") and spec != df.TensorSpec([], df.int32)
    assert spec == df.TensorSpec(df.TensorShape(None), df.int32)
    assert repr(spec) == "TensorSpec(shape=None, dtype=int32)"
    assert pickle.loads(pickle.dumps(spec)) == spec and hash(spec) == hash(
        df.TensorSpec(None, df.int32))


def test_a_signature_of_unknown_rank_traces_once_per_rank():
    ranks = []

    @df.function(input_signature=[df.TensorSpec(None), df.TensorSpec([None])])
    def f(x, y):
        ranks.append(x.shape.rank)
        return x * df.reduce_sum(y)

    for shape in ([], [2], [3], [2, 2], [4, 5], [], [0]):
        for size in (1, 3):
            got = f(df.ones(shape), df.ones([size]))
            assert got.shape == shape
            assert got.numpy().tobytes() == (df.ones(shape) * size).numpy().tobytes()
    assert sorted(set(ranks)) == [0, 1, 2] and len(ranks) <= 6
    with pytest.raises(df.errors.DTypeError, match="int32"):
        f(df.ones([2], df.int32), df.ones([1]))
    whole = f.get_concrete_function()
    assert [whole(df.ones(shape), df.ones([3])).shape for shape in ([], [2, 2])] == [[], [2, 2]]


def test_a_dataset_of_unknown_rank():
    def values():
        yield 1.0
        yield [2.0, 3.0]

    data = df.data.Dataset.from_generator(values, output_signature=df.TensorSpec(None))
    assert data.element_spec == df.TensorSpec(None)
    assert [x.tolist() for x in data] == [1.0, [2.0, 3.0]]
    assert data.batch(1).element_spec == df.TensorSpec(None)
    assert [x.shape for x in data.batch(1)] == [[1], [1, 2]]
    assert [x.tolist() for x in data.map(lambda x: x + 1)] == [2.0, [3.0, 4.0]]
    assert [x.tolist() for x in data.skip(1).unbatch()] == [2.0, 3.0]


def test_specs_compare_with_tensors_and_specs():
    spec = df.TensorSpec([None, 3])
    assert spec.is_compatible_with(df.ones([2, 3])) and spec.is_compatible_with(
        df.Variable(df.ones([2, 3])))
    assert not spec.is_compatible_with(df.ones([2, 4]))
    assert not spec.is_compatible_with(df.ones([2, 3], df.int32))
    assert not spec.is_compatible_with([1.0, 2.0])
    assert spec.is_compatible_with(df.TensorSpec([2, None])) and spec.is_compatible_with(
        df.TensorSpec(None)) and df.TensorSpec(None).is_compatible_with(spec)
    assert spec.is_subtype_of(df.TensorSpec(None)) and spec.is_subtype_of(spec)
    assert not df.TensorSpec(None).is_subtype_of(spec)
    assert df.TensorSpec([2, 3]).is_subtype_of(spec) and not spec.is_subtype_of(
        df.TensorSpec([2, 3]))
    merged = df.TensorSpec([2, 3]).most_specific_compatible_type(df.TensorSpec([4, 3]))
    assert merged == spec
    assert spec.most_specific_compatible_type(df.TensorSpec([3])) == df.TensorSpec(None)
    with pytest.raises(ValueError, match="No TensorSpec"):
        spec.most_specific_compatible_type(df.TensorSpec([2, 3], df.int32))
    assert df.TensorSpec.from_tensor(df.ones([2, 3]), "x") == df.TensorSpec([2, 3])
    assert df.TensorSpec.from_spec(spec, "y").name == "y" and df.TensorSpec.from_spec(spec) == spec
