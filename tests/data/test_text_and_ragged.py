"""Elements that are text, and rows of ragged tensors."""

import pickle

import pytest

import dualflow as df
from dualflow import errors

D = df.data.Dataset


def test_elements_that_are_text_have_the_attributes_of_tensors():
    words = D.from_tensor_slices(["a", "é", "ccc"])
    assert list(words) == ["a", "é", "ccc"] and words.element_spec is str
    for x, want in zip(words, ["a", "é", "ccc"], strict=True):
        assert x.numpy() == want.encode() and x.shape.as_list() == [] and x.dtype == df.string
        assert hash(x) == hash(want) and pickle.loads(pickle.dumps(x)).numpy() == want.encode()
        assert df.constant(x).numpy() == x.numpy() and df.strings.upper(x).ndim == 0
        assert df.equal(x, want).item() and df.stack([x, x]).tolist() == [want.encode()] * 2
    batch = next(iter(words.batch(2)))
    assert batch == ["a", "é"] and batch.shape == (2,) and batch.numpy().dtype == object
    assert batch.tolist() == [b"a", "é".encode()] and batch[1].numpy() == "é".encode()
    assert [x.numpy() for x in batch] == batch.numpy().tolist() == batch[0:2].tolist()
    assert df.gather(batch, [1, 0]).tolist() == batch.tolist()[::-1]
    pairs = next(iter(words.batch(1).batch(2)))
    assert pairs == [["a"], ["é"]] and pairs.shape == (2, 1) and pairs[0].shape == (1,)
    assert [x.numpy() for x in words.batch(2).unbatch()] == [x.numpy() for x in words]
    assert next(iter(words.shuffle(3, seed=1).batch(3))).shape == (3,)
    assert words.map(df.strings.upper).batch(3).get_single_element().numpy()[0] == b"A"
    it = iter(words)
    state, first = it.state(), next(it)
    it = iter(words)
    it.restore(state)
    assert next(it).numpy() == first.numpy()
    parts = [x.to_list() for x in words.batch(2).map(df.strings.bytes_split)]
    assert parts == [[[b"a"], [b"\xc3", b"\xa9"]], [[b"c"] * 3]]


def test_dimensions_are_added_to_text():
    for words in (["abc", "é"], [b"abc", b"\xff"]):
        x = next(iter(D.from_tensor_slices(words)))
        assert x[df.newaxis].numpy().tolist() == [b"abc"] and x[None, ..., None].shape == (1, 1)
        assert x[0] == words[0][0] and x[1:] == words[0][1:] and x[-1] == words[0][-1]
        assert [*x] == [*words[0]] and x[df.newaxis][0].numpy() == b"abc"


def test_python_functions_of_text():
    """Results of `py_function` are a list of tensors of different dtypes: a tuple of elements."""
    def read(name, k):
        return df.strings.join([name, "!"]), df.strings.length(name) + k

    pairs = D.from_tensor_slices((["a", "bcd"], [1, 2]))
    made = pairs.map(lambda *x: df.py_function(read, x, [df.string, df.int32]))
    assert [(x.numpy(), k.item()) for x, k in made] == [(b"a!", 2), (b"bcd!", 5)]
    batch = next(iter(made.batch(2)))
    assert batch[0].tolist() == [b"a!", b"bcd!"] and batch[1].tolist() == [2, 5]


def test_traces_do_not_depend_on_text():
    @df.function
    def upper(x):
        return df.strings.upper(x)

    words = D.from_tensor_slices(["a", "b", "c", "d"])
    assert list(words.map(upper)) == [b"A", b"B", b"C", b"D"]
    assert upper.experimental_get_tracing_count() == 1
    assert [x.tolist() for x in map(upper, words.batch(2))] == [[b"A", b"B"], [b"C", b"D"]]
    assert upper.experimental_get_tracing_count() == 2


def test_rows_of_ragged_tensors():
    nested = [[1, 2], [], [3], [4, 5, 6], [7]]
    x = df.ragged.constant(nested)
    dataset = D.from_tensor_slices({"x": x, "n": [0, 1, 2, 3, 4]})
    assert [e["x"].tolist() for e in dataset] == nested and len(dataset) == 5
    assert [e["x"].to_list() for e in dataset.batch(2)] == [nested[:2], nested[2:4], nested[4:]]
    assert [e["x"].tolist() for e in dataset.batch(2).unbatch()] == nested
    for e in dataset.shuffle(5, seed=1).batch(3):
        assert e["x"].to_list() == [nested[k] for k in e["n"].tolist()]
    sums = dataset.batch(2).map(lambda e: df.reduce_sum(e["x"], 1))
    assert [s.tolist() for s in sums] == [[3, 0], [3, 15], [7]]
    assert [s.item() for s in dataset.map(lambda e: df.reduce_sum(e["x"]))] == [3, 0, 3, 15, 7]
    deep = [[[1], [2, 3]], [], [[4]]]
    rows = D.from_tensor_slices(df.ragged.constant(deep)).map(lambda r: r * 2)
    assert [r.to_list() for r in rows.batch(2).prefetch(1)] == [[[[2], [4, 6]], []], [[[8]]]]
    assert [r.to_list() for r in D.from_tensors(x)] == [nested]
    with pytest.raises(errors.ShapeError, match="lengths differ"):
        D.from_tensor_slices((x, [1]))


def test_specs_of_rows_of_ragged_tensors():
    spec, nested = df.RaggedTensorSpec, [[1, 2], [3, 4], [5], [], [6]]
    whole = D.from_tensors(df.ragged.constant(nested))
    assert whole.element_spec == spec([5, None], df.int32)
    rows = D.from_tensor_slices(df.ragged.constant(nested))
    assert rows.element_spec == whole.unbatch().element_spec == spec([None], df.int32, 0)
    assert rows.element_spec.is_compatible_with(df.constant([1, 2]))
    assert rows.batch(2, drop_remainder=True).element_spec == spec([2, None], df.int32, 1)
    assert rows.unbatch().element_spec == df.TensorSpec([], df.int32)
    assert rows.map(lambda x: x + 1).element_spec == df.TensorSpec([None], df.int32)
    assert rows.ragged_batch(2).element_spec == spec([None, None], df.int32)
    # Batches are ragged if all lengths are equal too, and if the source has no indices.
    for same in (rows, rows.filter(lambda x: True), whole.unbatch(), rows.prefetch(1),
                 whole.unbatch().shuffle(1), rows.concatenate(rows).take(5), rows.cache()):
        assert [x.to_list() for x in same.batch(2)] == [nested[:2], nested[2:4], nested[4:]]
    numbered = D.zip((rows.prefetch(1), D.range(5).map(lambda k: k * 2))).batch(2)
    assert [(x.to_list(), k.tolist()) for x, k in numbered] == [
        (nested[:2], [0, 2]), (nested[2:4], [4, 6]), (nested[4:], [8])]
    images = D.from_generator(lambda: (df.ones([n, 2, n]) for n in (1, 3)),
                              output_signature=df.TensorSpec([None, 2, None]))
    batch = next(iter(images.ragged_batch(2)))
    assert batch.ragged_rank == 3 and batch[1].to_list() == df.ones([3, 2, 3]).tolist()
    fixed = D.from_tensors(df.ones([2])).ragged_batch(2)
    assert fixed.element_spec == df.TensorSpec([None, 2])


def test_text_of_arrays_generators_and_file_names(tmp_path):
    np = pytest.importorskip("numpy")
    rows = D.from_tensor_slices(np.array([["a", "b"], ["c", "d"]], object))
    assert [row.numpy().tolist() for row in rows] == [[b"a", b"b"], [b"c", b"d"]]
    assert list(rows.batch(2)) == [[["a", "b"], ["c", "d"]]]
    made = D.from_generator(lambda: iter([("a", 1), ("b", 2)]), output_types=(df.string, df.int32))
    assert [(x.numpy(), n.item()) for x, n in made] == [(b"a", 1), (b"b", 2)]
    (tmp_path / "x.txt").write_text("")
    name = next(iter(D.list_files(f"{tmp_path}/*.txt")))
    assert name.dtype == df.string and name.numpy().endswith(b"x.txt")
