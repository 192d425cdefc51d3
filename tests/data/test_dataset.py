"""Sources and transformations, in addition to the random pipelines."""

import collections
import dataclasses

import numpy as np
import pytest

import dualflow as df

D = df.data.Dataset
X, Y = np.arange(12, dtype=np.float32).reshape(6, 2), np.arange(6, dtype=np.int32)
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Example:
    image: object
    label: object


def values(dataset):
    return [plain(x) for x in dataset]


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    return x.tolist() if isinstance(x, df.Tensor) else x


# --- elements ------------------------------------------------------------------------------------

@pytest.mark.parametrize("structure", [
    X, (X, Y), {"x": X, "y": Y}, ({"x": X}, (Y, Y)), Pair(X, {"y": Y}), Example(X, Y), (X,)])
def test_structures_are_preserved(structure):
    dataset = D.from_tensor_slices(structure).batch(4)
    first, second = dataset
    df.nest.assert_same_structure(first, df.nest.map_structure(df.constant, structure))
    df.nest.assert_same_structure(first, dataset.element_spec)
    leaves = [x.numpy() for x in df.nest.flatten(first)]
    for got, x in zip(leaves, df.nest.flatten(structure), strict=True):
        assert (got == x[:4]).all() and got.dtype == x.dtype
    assert df.nest.flatten(second)[0].shape[0] == 2


def test_elements_share_no_memory_with_the_array():
    x = X.copy()
    dataset = D.from_tensor_slices(x)
    x[:] = -1
    assert all(type(e) is df.Tensor for e in dataset) and values(dataset) == X.tolist()


def test_lists_become_tensors_and_tuples_are_structure():
    assert values(D.from_tensor_slices([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert values(D.from_tensor_slices(([1, 2], [3, 4]))) == [(1, 3), (2, 4)]
    assert D.from_tensors([1., 2.]).element_spec == df.TensorSpec([2], df.float32)


def test_a_list_that_a_function_returns_is_a_tuple():
    """As in tf.data: the parts may have different dtypes. A list inside a structure is a tensor."""
    dataset = D.range(2).map(lambda x: [x, df.cast(x, df.float32)])
    assert dataset.element_spec == (df.TensorSpec([], df.int64), df.TensorSpec([], df.float32))
    assert values(dataset) == [(0, 0.), (1, 1.)]
    assert values(dataset.batch(2)) == [([0, 1], [0., 1.])]
    assert values(D.range(1).map(lambda x: ([x, x + 1], 5))) == [([0, 1], 5)]
    lines = D.from_tensor_slices(["1,a", "2,b"]).map(lambda s: df.io.decode_csv(s, [0, ""]))
    assert [(x.item(), s.numpy()) for x, s in lines] == [(1, b"a"), (2, b"b")]
    assert values(D.range(2).map(lambda x: [x, x + 1], num_parallel_calls=2)) == [(0, 1), (1, 2)]


def test_other_leaves_are_passed_through():
    dataset = D.from_tensor_slices(({"name": ["a", "b", "c"]}, [1, 2, 3]))
    assert dataset.element_spec == ({"name": str}, df.TensorSpec([], df.int32))
    assert values(dataset.shuffle(3, seed=1).batch(2, drop_remainder=True))[0][0]["name"]
    batch = next(iter(dataset.batch(2)))
    assert plain(batch) == ({"name": ["a", "b"]}, [1, 2])
    assert dataset.batch(2).element_spec == ({"name": list[str]}, df.TensorSpec([None], df.int32))
    assert values(dataset.batch(2).unbatch()) == values(dataset)
    assert values(dataset.map(lambda d, y: (d["name"] + "!", None))) == [
        ("a!", None), ("b!", None), ("c!", None)]
    assert values(D.from_tensor_slices(np.array(["a", "b"]))) == ["a", "b"]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "bfloat16", "float64"])
def test_dtypes_are_preserved(dtype):
    x = df.cast(df.range(5), dtype)
    for dataset in (D.from_tensor_slices(x), D.from_tensor_slices(x).shuffle(5).batch(2),
                    D.from_tensor_slices(x).map(lambda x: x).batch(2).unbatch()):
        assert dataset.element_spec.dtype is x.dtype and next(iter(dataset)).dtype is x.dtype


def test_rows_in_order_share_memory():
    x = df.constant(X)
    batches = list(D.from_tensor_slices(x).batch(2))
    assert [b.numpy().ctypes.data for b in batches] == [
        x.numpy().ctypes.data + 16 * k for k in range(3)]


# --- sources -------------------------------------------------------------------------------------

def test_range():
    sizes = {(5,): 5, (5, 0): 0, (0, 5, 2): 3, (5, 0, -2): 3, (0, 6, 3): 2}
    assert [D.range(*args).cardinality().item() for args in sizes] == [*sizes.values()]
    assert values(D.range(3)) == [0, 1, 2] and values(D.range(5, 1, -2)) == [5, 3]
    assert D.range(3, output_type=df.float32).element_spec.dtype is df.float32
    assert values(D.range(2, 4, output_type=df.int32).batch(2)) == [[2, 3]]
    assert len(D.range(10**15).batch(7)) == -(-10**15 // 7)


def test_generator():
    def count(n):
        for k in range(n.item() if isinstance(n, df.Tensor) else n):
            yield {"k": k, "row": [k, k + .5]}

    spec = {"k": df.TensorSpec([], df.int64), "row": df.TensorSpec([None], df.float32)}
    dataset = D.from_generator(count, args=[2], output_signature=spec)
    for _ in range(2):
        assert values(dataset) == [{"k": 0, "row": [0., .5]}, {"k": 1, "row": [1., 1.5]}]
    assert next(iter(dataset))["k"].dtype is df.int64 and dataset.element_spec == spec
    old = D.from_generator(lambda: iter([(1, [2.])]), (df.int64, df.float32), ([], [None]))
    assert old.element_spec == (df.TensorSpec([], df.int64), df.TensorSpec([None], df.float32))
    assert values(old) == [(1, [2.])]
    assert values(D.from_generator(lambda: "ab", output_signature=str)) == ["a", "b"]
    assert values(D.from_generator(lambda: [1, 2.5])) == [1, 2.5]


def test_generator_of_elements_of_any_shape():
    rows = [([1, 2], {"n": 3}), ([4], {"n": 5})]
    dataset = D.from_generator(lambda: iter(rows), (df.float32, {"n": df.int64}))
    assert values(dataset) == [([1., 2.], {"n": 3}), ([4.], {"n": 5})]
    assert dataset.element_spec == (df.TensorSpec([None], df.float32),
                                    {"n": df.TensorSpec([], df.int64)})
    assert values(D.from_generator(lambda: [[[1]], [[2]]], df.float32).batch(2)) == [[[[1.]],
                                                                                      [[2.]]]]
    with pytest.raises(df.errors.InvalidArgumentError):
        values(D.from_generator(lambda: [1, 2], (df.float32, df.int64)))


def test_zip():
    a, b = D.range(3), D.range(10, 15).batch(2)
    assert values(D.zip(a, b)) == [(0, [10, 11]), (1, [12, 13]), (2, [14])]
    assert values(D.zip({"a": a, "b": (b, a)}))[2] == {"a": 2, "b": ([14], 2)}
    assert values(D.zip(datasets=(a, a))) == [(0, 0), (1, 1), (2, 2)]
    assert values(D.zip(a, ["p", "q"])) == [(0, "p"), (1, "q")]
    assert len(D.zip(a, b.repeat())) == 3


# --- transformations -----------------------------------------------------------------------------

def test_map_unpacks_only_tuples():
    assert values(D.from_tensor_slices((Y, Y)).map(lambda a, b: a + b).take(2)) == [0, 2]
    assert values(D.from_tensor_slices({"y": Y}).map(lambda d: d["y"] * 2).take(2)) == [0, 2]
    assert values(D.from_tensor_slices(Pair(Y, Y)).map(lambda p: p.a + p.b).take(2)) == [0, 2]
    arrays = D.range(2).map(lambda x: (np.full(2, x.item()), 1, 2., True))
    assert values(arrays) == [([0, 0], 1, 2., True), ([1, 1], 1, 2., True)]
    assert arrays.element_spec[3].dtype == "bool"


def test_map_runs_a_traced_function_as_a_program():
    @df.function
    def double(x, y):
        return x * 2, y

    dataset = D.from_tensor_slices((X, Y)).batch(2).map(double)
    got = values(dataset)
    assert values(dataset) == got and "1 trace" in double.trace_report()
    assert got[0] == ([[0., 2.], [4., 6.]], [0, 1])
    assert dataset.element_spec == (df.TensorSpec([None, 2], df.float32),
                                    df.TensorSpec([None], df.int32))


def test_element_specs_of_map():
    batches = D.from_tensor_slices((X, Y)).batch(4)
    assert batches.map(lambda x, y: (x / 2, df.one_hot(y, 3))).element_spec == (
        df.TensorSpec([None, 2], df.float32), df.TensorSpec([None, 3], df.float32))
    # A spec from a Python call has the sizes of the first result; later ones may differ.
    by_python = D.range(1, 4).map(lambda n: np.zeros((n.item(), 5), np.float32))
    assert by_python.element_spec == df.TensorSpec([None, None], df.float32)
    assert D.range(3).filter(lambda x: x > 1).element_spec == df.TensorSpec([], df.int64)


def test_reduce_and_apply():
    total = D.from_tensor_slices((X, Y)).reduce(
        (0., 0), lambda state, xy: (state[0] + df.reduce_sum(xy[0]), state[1] + xy[1]))
    assert (total[0].item(), total[1].item()) == (66., 15)
    assert values(D.range(6).apply(lambda d: d.batch(3).skip(1))) == [[3, 4, 5]]
    assert D.range(3).skip(2).get_single_element().item() == 2


def test_specs_do_not_promise_sizes_of_examples():
    """Functions that use a size as a number are traced for an example, too."""
    batches = D.from_tensor_slices(np.ones((6, 4), np.float32)).batch(4)
    for function, sizes in ((lambda x: df.zeros((x.shape[0], 3)), [None, 3]),
                            (lambda x: x + df.random.uniform((x.shape[0], 1)), [None, 4]),
                            (lambda x: df.ones((2, x.shape[1])), [2, 4])):
        assert batches.map(function).element_spec == df.TensorSpec(sizes, df.float32)


def test_numpy_iterator():
    got = list(D.from_tensor_slices({"x": X, "n": ["a"] * 6}).as_numpy_iterator())
    assert isinstance(got[0]["x"], np.ndarray) and got[0]["n"] == "a"
    number = next(iter(D.range(3).as_numpy_iterator()))
    assert D.range(3).as_numpy_iterator().next() == 0
    assert isinstance(number, np.integer) and number.dtype == np.int64


def test_padded_batch():
    rows = D.range(1, 5).map(lambda n: (df.ones([n.item()]), n))
    assert values(rows.padded_batch(2)) == [([[1., 0.], [1., 1.]], [1, 2]),
                                            ([[1., 1., 1., 0.], [1., 1., 1., 1.]], [3, 4])]
    padded = rows.padded_batch(3, padded_shapes=([5], []), padding_values=(-1., 0),
                               drop_remainder=True)
    assert values(padded)[0][0][0] == [1., -1., -1., -1., -1.] and len(padded) == 1
    assert padded.element_spec == (df.TensorSpec([3, 5], df.float32), df.TensorSpec([3], df.int64))
    square = D.range(1, 3).map(lambda n: df.ones([n.item(), 2], df.int32))
    assert values(square.padded_batch(2, padded_shapes=[None, 3])) == [
        [[[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [1, 1, 0]]]]


def test_bucket_by_sequence_length():
    """Run the example of tf.data's documentation."""
    elements = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20],
                [21, 22]]
    dataset = D.from_generator(lambda: elements, df.int64, [None])
    args = dict(element_length_func=lambda e: e.shape[0], bucket_boundaries=[3, 5],
                bucket_batch_sizes=[2, 2, 2])
    assert values(dataset.bucket_by_sequence_length(**args)) == [
        [[1, 2, 3, 4], [5, 6, 7, 0]],
        [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]],
        [[0, 0], [21, 22]]]
    short = dataset.filter(lambda e: len(e) < 5)
    assert values(short.bucket_by_sequence_length(**args, pad_to_bucket_boundary=True))[1] == [
        [0, 0], [21, 22]]
    assert len(values(dataset.bucket_by_sequence_length(**args, drop_remainder=True))) == 3
    with pytest.raises(ValueError, match="differ"):
        values(dataset.bucket_by_sequence_length(**args, no_padding=True))


def test_windows_are_datasets_for_each_leaf():
    window = next(iter(D.from_tensor_slices({"x": X, "y": Y}).window(2)))
    assert isinstance(window["x"], D) and values(window["x"]) == X[:2].tolist()
    assert values(window["y"].batch(2)) == [[0, 1]]
    spec = D.from_tensor_slices(X).window(2).element_spec
    assert spec == df.data.DatasetSpec(df.TensorSpec([2], df.float32))


def test_iterator_next_and_get_next():
    dataset = D.range(5)
    it = iter(dataset)
    assert next(it).item() == 0 and it.get_next().item() == 1
    assert it.next().item() == 2 and [x.item() for x in it] == [3, 4]
    assert list(it) == [] and it.element_spec == dataset.element_spec
    with pytest.raises(IndexError, match="no more elements"):
        it.get_next()


# --- order ---------------------------------------------------------------------------------------

def test_shuffle_is_a_function_of_seed_and_epoch():
    def orders(seed, epochs, **options):
        d = D.range(50).shuffle(50, seed=seed, **options)
        return [tuple(values(d)) for _ in range(epochs)]

    assert orders(1, 3) == orders(1, 3) and len({*orders(1, 3), *orders(2, 3)}) == 6
    assert len({*orders(1, 3, reshuffle_each_iteration=False)}) == 1
    assert orders(1, 1) == orders(1, 1, reshuffle_each_iteration=False)
    d = D.range(50).shuffle(50, seed=1)
    assert values(d.repeat(3)) == [x for order in orders(1, 3) for x in order]
    # Later steps do not restart the shuffle.
    d = D.range(50).shuffle(50, seed=1)
    assert [tuple(values(d.batch(50).unbatch())) for _ in range(3)] == orders(1, 3)


def test_random_seeds_follow_set_seed():
    def order():
        df.random.set_seed(4)
        return values(D.range(30).shuffle(30)), values(D.range(30).shuffle(30))

    first = order()
    assert order() == first and first[0] != first[1]


def test_shuffle_within_windows():
    d = D.range(20).shuffle(6, seed=3)
    got = values(d)
    assert [sorted(got[k:k + 6]) for k in range(0, 20, 6)] == [
        list(range(k, min(k + 6, 20))) for k in range(0, 20, 6)]
    assert got != sorted(got)
    # the same, whether rows are gathered or elements are buffered
    assert values(D.range(20).map(lambda x: x).shuffle(6, seed=3)) == got
    assert values(D.range(20).shuffle(6, seed=3).batch(8).unbatch().batch(20)) == [got]


def test_orders_are_uniform():
    d = D.range(3).shuffle(3, seed=5)
    counts = collections.Counter(tuple(values(d)) for _ in range(1200))
    assert len(counts) == 6 and all(150 < n < 250 for n in counts.values())


def test_batches_continue_across_epochs():
    d = D.range(5).shuffle(5, seed=2).repeat(2).batch(4)
    got = values(d)
    assert [len(b) for b in got] == [4, 4, 2]
    flat = [x for batch in got for x in batch]
    assert sorted(flat[:5]) == sorted(flat[5:]) == list(range(5))


# --- cardinality ---------------------------------------------------------------------------------

@pytest.mark.parametrize("dataset, n", [
    (D.range(7), 7), (D.range(7).batch(3), 3), (D.range(7).batch(3, True), 2),
    (D.range(7).repeat(), df.data.INFINITE_CARDINALITY), (D.range(7).repeat().take(9), 9),
    (D.range(7).repeat(0), 0), (D.range(7).filter(bool), df.data.UNKNOWN_CARDINALITY),
    (D.from_generator(lambda: [1]), df.data.UNKNOWN_CARDINALITY), (D.range(7).skip(9), 0),
    (D.range(7).shuffle(3).map(abs).prefetch(2).cache().enumerate(), 7),
    (D.range(7).concatenate(D.range(2)), 9), (D.range(7).shard(3, 1), 2),
    (D.range(7).window(3, shift=1, drop_remainder=True), 5), (D.range(7).window(3), 3),
    (D.range(8).batch(4, True).unbatch(), 8), (D.from_tensors(X), 1),
    (D.from_iterable([1, 2]), 2), (D.range(7).filter(bool).assert_cardinality(6), 6)])
def test_cardinality(dataset, n):
    assert dataset.cardinality() == n and dataset.cardinality().dtype is df.int64
    assert dataset
    if n >= 0:
        assert len(dataset) == n == len(values(dataset)) if n else not values(dataset)
    else:
        with pytest.raises(TypeError, match="infinite" if n == -1 else "unknown"):
            len(dataset)


def test_repr():
    dataset = D.range(3).shuffle(3).batch(2).prefetch(1)
    assert repr(dataset) == ("<Dataset Range -> Shuffle -> Batch, element_spec: "
                             "TensorSpec(shape=(None,), dtype=int64)>")


def test_cache_stores_the_first_pass():
    calls = []
    dataset = D.range(6).shuffle(6).map(lambda x: calls.append(0) or x).cache()
    first = values(dataset.take(3))
    assert len(calls) == 3
    whole = values(dataset)
    assert whole[:3] == first and values(dataset) == whole and len(calls) == 6
    assert sorted(values(dataset.shuffle(6))) == sorted(whole) and len(calls) == 6
