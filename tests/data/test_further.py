"""Datasets chosen from several, transformations with a state, saved datasets, options, and the
functions of df.data.experimental."""

import collections
import json
import os
import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

D = df.data.Dataset
E = df.data.experimental
Pair = collections.namedtuple("Pair", "a b")


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    return x.tolist() if isinstance(x, df.Tensor) else x


def values(dataset):
    return [plain(x) for x in dataset]


def zero():
    return df.constant(0, df.int64)


# --- iterator states -----------------------------------------------------------------------------

PIPELINES = {
    "scan": lambda: D.range(7).scan(zero(), lambda s, x: (s + x, s * 10 + x)),
    "scan_pairs": lambda: D.range(5).scan((zero(), {"n": zero()}), lambda s, x: (
        (s[0] + x, {"n": s[1]["n"] + 1}), s[1]["n"])),
    "unique": lambda: D.from_tensor_slices([3, 1, 3, 2, 1, 4, 3]).unique(),
    "unique_words": lambda: D.from_tensor_slices(["b", "a", "b", "c"]).unique(),
    "ignore_errors": lambda: D.range(6).map(lambda x: 12 // (x.item() % 3)).ignore_errors(),
    "ignore_parallel": lambda: D.range(6).map(lambda x: 12 // (x.item() % 3), 2).ignore_errors(),
    "ignore_prefetch": lambda: D.range(6).map(
        lambda x: 12 // (x.item() % 3)).prefetch(2).ignore_errors(),
    "group": lambda: D.range(11).group_by_window(lambda x: x % 3, lambda k, g: g.batch(2), 3),
    "group_of_pairs": lambda: D.range(9).map(lambda x: (x, {"y": x % 2})).group_by_window(
        lambda x, y: y["y"], lambda k, g: g.batch(10), window_size_func=lambda k: k + 2),
    "rebatch": lambda: D.range(11).batch(4).rebatch(3),
    "rebatch_in_turn": lambda: D.range(11).batch(4).rebatch([1, 2, 3]),
    "random": lambda: D.random(3).take(6),
    "random_in_batches": lambda: D.random(3).batch(4).take(3),
    "random_anew": lambda: D.random(3, True).take(3).repeat(2),
    "counter": lambda: D.counter(5, -3).take(5),
    "choose": lambda: D.choose_from_datasets(
        [D.range(3), D.range(10, 14)], D.from_tensor_slices([0, 1, 1, 0, 0, 1, 0, 1])),
    "choose_all": lambda: D.choose_from_datasets(
        [D.range(2), D.range(10, 14)], D.range(2).repeat(5), False),
    "sample": lambda: D.sample_from_datasets([D.range(9), D.range(10, 19)], [.3, .7], seed=2),
    "sample_seedless": lambda: D.sample_from_datasets([D.range(9), D.range(10, 19)]),
    "sample_weighted": lambda: D.sample_from_datasets(
        [D.range(5), D.range(10, 15)], D.from_tensor_slices([[0., 1.], [1., 0.]]).repeat(), 1),
    "resample": lambda: D.range(40).rejection_resample(lambda x: x % 2, [.8, .2], seed=7),
    "resample_known": lambda: D.range(40).rejection_resample(
        lambda x: x % 2, [.8, .2], [.5, .5], seed=7),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_state_at_each_position(name):
    make = PIPELINES[name]
    first = make()
    it = iter(first)
    states, wanted = [it.state()], []
    for x in it:
        wanted.append(plain(x))
        states.append(it.state())
    assert wanted
    for k, state in enumerate(states):
        other = iter(make())
        other.restore(json.loads(json.dumps(state)))
        assert values(other) == wanted[k:], k


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_fit_the_spec(name):
    dataset = PIPELINES[name]()
    spec = dataset.element_spec
    for x in dataset:
        df.nest.assert_same_structure(x, spec)
        for leaf, s in zip(df.nest.flatten(x), df.nest.flatten(spec), strict=True):
            if isinstance(s, df.TensorSpec):
                assert leaf.dtype is s.dtype and len(leaf.shape) == len(s.shape)
                assert all(d in (None, n) for d, n in zip(s.shape, leaf.shape, strict=True))


@pytest.mark.parametrize("name", PIPELINES)
def test_size(name):
    dataset = PIPELINES[name]()
    n = dataset.cardinality().item()
    assert n in (df.data.UNKNOWN_CARDINALITY, len(list(dataset)))


# --- transformations -----------------------------------------------------------------------------

def test_scan_passes_the_element_as_one_argument():
    pairs = D.range(3).map(lambda x: (x, x + 1))
    assert values(pairs.scan(zero(), lambda s, pair: (s + pair[0], (s, pair[1])))) == [
        (0, 1), (0, 2), (1, 3)]
    assert values(D.range(0).scan(zero(), lambda s, x: (s, x))) == []


def test_scan_rejects_other_states():
    with pytest.raises(errors.DTypeError, match="scan_func returned the state"):
        list(D.range(3).scan(0, lambda s, x: (s + x, x)))       # int32, then int64
    with pytest.raises(errors.DTypeError, match="initial_state"):
        list(D.range(3).scan(zero(), lambda s, x: ((s, s), x)))
    with pytest.raises(errors.InvalidArgumentError, match="expected a pair"):
        list(D.range(3).scan(zero(), lambda s, x: s))


def test_unique_compares_dtype_shape_and_value():
    rows = [(1, "a"), (1, "b"), (1, "a"), (1., "a"), ([1], "a")]
    found = D.from_iterable(rows).unique()
    assert values(found) == [(1, "a"), (1, "b"), (1., "a"), ([1], "a")]
    assert values(D.from_tensor_slices([float("nan")] * 2).unique().map(df.math.is_nan)) == [True]


def test_ignore_errors():
    def f(x):
        if x.item() == 2:
            raise ValueError("two")
        return x

    dataset = D.range(4).map(f)
    assert values(dataset.ignore_errors()) == [0, 1, 3] == values(dataset.apply(E.ignore_errors()))
    with pytest.warns(UserWarning, match="ValueError: two"):
        list(dataset.ignore_errors(log_warning=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(dataset.ignore_errors())


def test_ignore_errors_ends():
    assert values(D.range(3).assert_cardinality(5).ignore_errors()) == [0, 1, 2]
    with pytest.raises(OSError, match="absent"):        # the same error for ever
        list(df.data.TextLineDataset("absent").ignore_errors())


def test_group_by_window_flushes_in_the_order_of_keys():
    dataset = D.from_tensor_slices([5, -1, 3, 5, 3])
    keys = []

    def reduce(key, group):
        keys.append((key.item(), key.dtype))
        return group.batch(9)

    assert values(dataset.group_by_window(lambda x: x, reduce, 2)) == [[5, 5], [3, 3], [-1]]
    assert keys == [(5, df.int64), (3, df.int64), (-1, df.int64)]


def test_group_by_window_needs_one_size():
    for sizes in [{}, {"window_size": 2, "window_size_func": lambda key: 2}]:
        with pytest.raises(errors.InvalidArgumentError, match="expected one of them"):
            D.range(3).group_by_window(lambda x: x, lambda k, g: g, **sizes)
    with pytest.raises(errors.InvalidArgumentError, match="window size of key 0 is 0"):
        list(D.range(3).group_by_window(lambda x: x, lambda k, g: g,
                                        window_size_func=lambda key: 0))


def test_rebatch():
    batches = D.range(10).batch(3)
    assert values(batches.rebatch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert values(batches.rebatch(4, True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert values(batches.rebatch(df.constant([4, 3]), drop_remainder=True)) == [
        [0, 1, 2, 3], [4, 5, 6]]
    assert values(batches.rebatch(np.array([4, 7]))) == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]
    with pytest.raises(errors.InvalidArgumentError, match="batch_size is empty"):
        batches.rebatch([])


def test_ragged_batch():
    rows = D.range(5).map(df.range)
    assert [x.to_list() for x in rows.ragged_batch(2)] == [
        [[], [0]], [[0, 1], [0, 1, 2]], [[0, 1, 2, 3]]]
    assert len(list(rows.ragged_batch(2, drop_remainder=True))) == 2 == len(
        rows.ragged_batch(2, True))
    change = df.data.experimental.dense_to_ragged_batch(5)
    assert [x.to_list()[4] for x in rows.apply(change)] == [[0, 1, 2, 3]]
    pairs = D.zip((D.range(3), rows)).ragged_batch(3)
    assert [(n.tolist(), x.to_list()) for n, x in pairs] == [([0, 1, 2], [[], [0], [0, 1]])]
    with pytest.raises(errors.InvalidArgumentError, match="batch_size"):
        rows.ragged_batch(0)


# --- numbers and choices -------------------------------------------------------------------------

def test_random():
    found = values(D.random(seed=1).take(1000))
    assert all(0 <= x < 2**32 for x in found) and len(set(found)) > 990
    assert 0.45 < np.mean(found) / 2**32 < 0.55
    assert values(D.random(seed=2).take(5)) != found[:5]
    assert D.random(1).element_spec == df.TensorSpec([], df.int64)
    assert D.random().cardinality().item() == df.data.INFINITE_CARDINALITY
    fixed, anew = D.random(5).take(4), D.random(5, rerandomize_each_iteration=True).take(4)
    assert values(fixed) == values(fixed) and values(anew) != values(anew)


def test_seedless_choices_follow_the_global_seed():
    found = []
    for _ in range(2):
        df.random.set_seed(3)
        found.append(values(D.random().take(3)))
    assert found[0] == found[1] != values(D.random().take(3))


def test_counter():
    assert values(D.counter(1, 2, df.float32).take(3)) == [1., 3., 5.]
    assert D.counter().cardinality().item() == df.data.INFINITE_CARDINALITY
    with pytest.raises(errors.InvalidArgumentError, match="step is 0"):
        D.counter(0, 0)


def test_sample_from_datasets_follows_the_weights():
    a, b, c = [D.from_tensors(k).repeat() for k in range(3)]
    counts = np.bincount(values(D.sample_from_datasets([a, b, c], [.2, .8, 0.], 1).take(2000)))
    assert len(counts) == 2 and 0.17 < counts[0] / 2000 < 0.23
    dataset = D.sample_from_datasets([a, b], seed=4)
    assert dataset.cardinality().item() == df.data.INFINITE_CARDINALITY
    assert values(dataset.take(50)) == values(dataset.take(50))
    anew = D.sample_from_datasets([a, b], seed=4, rerandomize_each_iteration=True).take(50)
    assert values(anew) != values(anew)


def test_sample_from_datasets_ends():
    parts = [D.range(2), D.range(100)]
    assert len(values(D.sample_from_datasets(parts, seed=1))) == 102
    assert len(values(D.sample_from_datasets(parts, seed=1, stop_on_empty_dataset=True))) < 40
    assert values(D.sample_from_datasets([D.range(3)])) == [0, 1, 2]


@pytest.mark.parametrize("weights", [[1.], [0., 0.], [-1., 2.], [float("nan"), 1.]])
def test_weights_are_checked(weights):
    with pytest.raises(errors.InvalidArgumentError, match="sample_from_datasets: weights are"):
        D.sample_from_datasets([D.range(3)] * 2, weights)


def test_choose_from_datasets():
    words = [D.from_tensors(w).repeat(2) for w in "abc"]
    order = D.from_tensor_slices([0, 2, 2, 2, 1])
    assert values(D.choose_from_datasets(words, order)) == ["a", "c", "c"]
    assert values(D.choose_from_datasets(words, order, False)) == ["a", "c", "c", "b"]
    with pytest.raises(errors.InvalidArgumentError, match="choice_dataset is 3, expected 0 to 2"):
        list(D.choose_from_datasets(words, D.range(3, 4)))
    with pytest.raises(errors.InvalidArgumentError, match="no datasets"):
        D.choose_from_datasets([], order)
    with pytest.raises(errors.DTypeError, match="matching elements"):
        _ = D.choose_from_datasets([D.range(3), D.from_tensors("a")], order).element_spec


@pytest.mark.parametrize("initial", [None, [.5, .5]])
def test_rejection_resample(initial):
    dataset = D.range(4000).map(lambda x: {"x": x}).rejection_resample(
        lambda e: e["x"] % 2, [.9, .1], initial, seed=1)
    found = values(dataset)
    assert all(label == e["x"] % 2 for label, e in found)
    ones = sum(label for label, _ in found)
    assert 1900 < len(found) - ones <= 2000 and 0.07 < ones / len(found) < 0.13
    with pytest.raises(errors.InvalidArgumentError, match="the sum 1"):
        D.range(3).rejection_resample(lambda x: x, [.5, .2])
    with pytest.raises(errors.InvalidArgumentError, match="class of an element is 2"):
        list(D.range(3).rejection_resample(lambda x: x, [.5, .5], seed=1))


# --- files ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [
    lambda: D.range(5), lambda: D.from_tensor_slices({"x": np.eye(3), "n": (["a", "b", "c"],)}),
    lambda: D.range(4).map(lambda n: (df.ones([n.item(), 2]), b"bytes")),
    lambda: D.from_tensor_slices(["a", "b", "c"]).batch(2), lambda: D.range(0),
    lambda: D.from_tensors((df.constant(True), df.constant([1.5], df.bfloat16)))])
def test_save_and_load(make, tmp_path, monkeypatch):
    saved = make()
    saved.save(tmp_path / "d")
    loaded = D.load(tmp_path / "d")
    assert values(loaded) == values(saved) == values(loaded.prefetch(2))
    assert len(loaded) == len(list(saved))
    for x, y in zip(df.nest.flatten(loaded.element_spec), df.nest.flatten(saved.element_spec),
                    strict=True):
        assert x == y or (x.dtype, x.ndim) == (y.dtype, y.ndim)
    monkeypatch.setattr("dualflow.data.saved.PART_SIZE", 150)
    saved.save(tmp_path / "d")                      # replaces the files
    loaded = D.load(tmp_path / "d")
    assert values(loaded) == values(saved) and values(loaded.skip(1)) == values(saved)[1:]
    it = iter(loaded)
    for k in range(len(loaded) + 1):
        other = iter(D.load(tmp_path / "d"))
        other.restore(it.state())
        assert values(other) == values(saved)[k:]
        next(it, None)


def test_save_replaces_all_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("dualflow.data.saved.PART_SIZE", 1)
    D.range(4).save(tmp_path)
    assert len(os.listdir(tmp_path)) == 5
    D.range(2).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["00000.part", "00001.part", "dataset.json"]
    assert values(D.load(tmp_path)) == [0, 1]


def test_load_of_named_tuples_needs_the_spec(tmp_path):
    saved = D.from_tensor_slices(Pair([1, 2], [3., 4.]))
    saved.save(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="Pair; pass element_spec"):
        D.load(tmp_path)
    assert list(D.load(tmp_path, saved.element_spec)) == list(saved)
    assert type(next(iter(D.load(tmp_path, saved.element_spec)))) is Pair
    with pytest.raises(errors.InvalidArgumentError, match="expected element_spec"):
        D.load(tmp_path, Pair(df.TensorSpec([], "int32"), df.TensorSpec([2], "float32")))
    with pytest.raises(errors.InvalidArgumentError, match="2 leaves"):
        D.load(tmp_path, df.TensorSpec([], "int32"))


def test_load_rejects_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        D.load(tmp_path)
    D.range(3).save(tmp_path)
    part = tmp_path / "00000.part"
    data = part.read_bytes()
    part.write_bytes(data[:-1])
    with pytest.raises(errors.InvalidArgumentError, match="truncated"):
        list(D.load(tmp_path))
    part.write_bytes(data[1:])
    with pytest.raises(errors.InvalidArgumentError, match=r"00000\.part"):
        list(D.load(tmp_path))
    for text in ["", "[]", "{}", '{"format": "other"}', '{"format": "dualflow.data.dataset/1"}']:
        (tmp_path / "dataset.json").write_text(text)
        with pytest.raises(errors.InvalidArgumentError, match="not the index"):
            D.load(tmp_path)


def test_load_passes_the_dataset_to_reader_func(tmp_path):
    D.range(3).save(tmp_path)
    found = D.load(tmp_path, reader_func=lambda shards: shards.flat_map(lambda d: d.take(2)))
    assert values(found) == [0, 1]


def test_unsupported_arguments_of_files(tmp_path):
    for call in [lambda: D.range(1).save(tmp_path, "GZIP"), lambda: D.load(tmp_path, None, "GZIP"),
                 lambda: D.range(1).save(tmp_path, shard_func=lambda x: 0),
                 lambda: D.range(1).snapshot(tmp_path, "GZIP"),
                 lambda: D.range(1).window(1).save(tmp_path)]:
        with pytest.raises(errors.UnimplementedError):
            call()


def test_snapshot(tmp_path):
    calls = []

    def make():
        return D.range(4).map(lambda x: calls.append(0) or x).snapshot(str(tmp_path / "s"))

    assert values(make()) == [0, 1, 2, 3] == values(make()) and len(calls) == 4


# --- options -------------------------------------------------------------------------------------

def test_options_are_kept_and_merged():
    first, second = df.data.Options(), df.data.Options()
    first.deterministic, first.autotune.enabled = True, False
    second.deterministic, second.autotune.cpu_budget = False, 2
    second.experimental_distribute.auto_shard_policy = E.AutoShardPolicy.OFF
    dataset = D.range(9).with_options(first).shuffle(9, seed=1).with_options(second).batch(2)
    found = dataset.options()
    assert found.deterministic is False and found.experimental_slack is None
    assert (found.autotune.enabled, found.autotune.cpu_budget) == (False, 2)
    assert found.experimental_distribute.auto_shard_policy is E.AutoShardPolicy.OFF
    assert D.range(3).options() == df.data.Options() != found
    assert "cpu_budget=2" in repr(found)
    second.deterministic = True                 # later changes have no effect
    assert dataset.options().deterministic is False


def test_options_change_no_element_and_no_state():
    options = df.data.Options()
    plainly = D.range(9).shuffle(9, seed=1).batch(2)
    dataset = D.range(9).with_options(options).shuffle(9, seed=1).with_options(options).batch(2)
    it = iter(dataset)
    next(it)
    other = iter(plainly)
    other.restore(it.state())
    assert values(other) == values(it) and len(dataset) == len(plainly)
    assert repr(dataset) == repr(plainly)


def test_unknown_options_raise():
    options = df.data.Options()
    with pytest.raises(AttributeError, match="determinstic; it has autotune"):
        options.determinstic = True
    with pytest.raises(AttributeError, match="no option x"):
        _ = options.x
    with pytest.raises(errors.DTypeError, match="expected ThreadingOptions"):
        options.threading = 4
    with pytest.raises(errors.DTypeError, match=r"df\.data\.Options"):
        D.range(3).with_options({"deterministic": True})
    options.threading = df.data.ThreadingOptions()


# --- df.data.experimental ------------------------------------------------------------------------

def test_experimental_transformations(tmp_path):
    numbers, twice = D.range(6), D.from_tensor_slices([1, 1, 2])
    assert values(twice.apply(E.unique())) == [1, 2]
    assert values(numbers.apply(E.take_while(lambda x: x < 2))) == [0, 1]
    assert values(numbers.apply(E.scan(zero(), lambda s, x: (x, s)))) == [0, 0, 1, 2, 3, 4]
    assert len(numbers.filter(lambda x: x < 4).apply(E.assert_cardinality(4))) == 4
    assert values(twice.apply(E.enumerate_dataset(2))) == [(2, 1), (3, 1), (4, 2)]
    assert values(numbers.batch(4).apply(E.unbatch())) == list(range(6))
    assert values(numbers.apply(E.snapshot(str(tmp_path / "s")))) == list(range(6))
    grouped = E.group_by_window(lambda x: x % 2, lambda k, g: g.batch(3), 3)
    assert values(numbers.apply(grouped)) == [[0, 2, 4], [1, 3, 5]]
    buckets = E.bucket_by_sequence_length(lambda x: x, [3], [3, 3], no_padding=True)
    assert values(numbers.apply(buckets)) == [[0, 1, 2], [3, 4, 5]]
    resampled = E.rejection_resample(lambda x: x % 2, [1., 0.], [.5, .5], seed=1)
    assert values(numbers.apply(resampled)) == [(0, 0), (0, 2), (0, 4)]
    assert values(numbers.apply(E.map_and_batch(lambda x: -x, 4, drop_remainder=True))) == [
        [0, -1, -2, -3]]
    assert sorted(values(numbers.apply(E.shuffle_and_repeat(6, 2, 1)))) == sorted([*range(6)] * 2)
    assert values(D.range(2).apply(E.parallel_interleave(lambda x: D.from_tensors(x).repeat(2),
                                                         2))) == [0, 1, 0, 1]
    for device in [E.prefetch_to_device("/gpu:0"), E.prefetch_to_device("/gpu:0", 2),
                   E.copy_to_device("/gpu:0")]:
        assert values(numbers.apply(device)) == list(range(6))


def test_experimental_functions(tmp_path):
    assert E.cardinality(E.Counter(1)).item() == E.INFINITE_CARDINALITY
    assert E.cardinality(D.range(3).filter(bool)).item() == E.UNKNOWN_CARDINALITY
    assert values(E.Counter(3, 2).take(2)) == [3, 5]
    assert values(E.RandomDataset(1).take(3)) == values(D.random(1).take(3))
    assert E.get_single_element(D.range(4, 5)).item() == 4 == E.at(D.range(9), 4).item()
    with pytest.raises(errors.InvalidArgumentError):
        E.at(D.range(3), 3)
    assert E.get_structure(D.range(3)) == df.TensorSpec([], df.int64)
    E.save(D.range(3), tmp_path)
    assert values(E.load(tmp_path)) == values(E.from_list([0, 1, 2])) == [0, 1, 2]
    assert values(E.choose_from_datasets([D.range(2)], D.range(1).repeat(2))) == [0, 1]
    assert values(E.sample_from_datasets([D.range(2)])) == [0, 1]
    assert E.AUTOTUNE == df.data.AUTOTUNE and E.OptimizationOptions().map_fusion is None
    assert all(hasattr(E, name) for name in E.__all__) and dir(E) == sorted(E.__all__)
