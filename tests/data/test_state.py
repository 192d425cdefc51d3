"""Iterator states: saved, restored, also in another process, and rejected by other pipelines."""

import copy
import json
import pickle
import subprocess
import sys

import pytest

import dualflow as df
from dualflow import errors
from dualflow.data import json_state

D = df.data.Dataset


def pipeline(n=20, batch=3, seed=1):
    return D.range(n).shuffle(n, seed=seed).map(lambda x: x * 2).batch(batch).repeat(2).prefetch(2)


def values(dataset):
    return [x.tolist() for x in dataset]


def test_states_are_json_and_pickle():
    it = iter(pipeline())
    next(it)
    state = it.state()
    assert json.loads(json.dumps(state)) == state == pickle.loads(pickle.dumps(state))
    assert state["epoch"] == 0 and len(json.dumps(state)) < 600
    saved = copy.deepcopy(state)
    wanted = values(it)
    assert state == saved                # a copy of the position
    for _ in range(2):
        other = iter(pipeline())
        other.restore(state)
        assert values(other) == wanted and state == saved


def test_restore_in_another_process():
    code = """
import json, sys, dualflow as df
D = df.data.Dataset
d = D.range(20).shuffle(20, seed=1).map(lambda x: x * 2).batch(3).repeat(2).prefetch(2)
it = iter(d)
it.restore(json.load(sys.stdin))
print(json.dumps([[x.tolist() for x in it], [x.tolist() for x in d]]))
"""
    dataset = pipeline()
    values(dataset)
    it = iter(dataset)
    next(it)
    state = json.dumps(it.state())
    found = subprocess.run([sys.executable, "-c", code], input=state, text=True,
                           capture_output=True, check=True).stdout
    assert json.loads(found) == [values(it), values(dataset)]


def test_state_contains_the_random_seed():
    def dataset():
        return D.range(30).shuffle(30).batch(4)

    one = dataset()
    it = iter(one)
    first = next(it).tolist()
    state, rest, after = it.state(), values(it), values(one)
    two = dataset()
    assert values(two) != [first, *rest]
    other = iter(two)
    other.restore(state)
    assert values(other) == rest and values(two) == after


def test_epoch_continues_after_restore():
    """Training that stops in the third pass and resumes gets the elements of uninterrupted
    training."""
    dataset = D.range(10).shuffle(10, seed=3).batch(4)
    wanted = [values(dataset) for _ in range(6)]
    resumed = D.range(10).shuffle(10, seed=3).batch(4)
    values(resumed), values(resumed)
    it = iter(resumed)
    next(it)
    state = it.state()
    assert state["epoch"] == 2
    fresh = D.range(10).shuffle(10, seed=3).batch(4)
    other = iter(fresh)
    other.restore(state)
    assert [values(other), values(fresh), values(fresh)] == [wanted[2][1:], *wanted[3:5]]
    # also at the end of a pass
    for _ in it:
        pass
    fresh = D.range(10).shuffle(10, seed=3).batch(4)
    other = iter(fresh)
    other.restore(it.state())
    assert list(other) == [] and values(fresh) == wanted[3]


def test_restore_seeks_without_iterating():
    calls = []
    dataset = D.range(10**9).map(lambda x: calls.append(0) or x).batch(4)
    it = iter(D.range(10**9).map(lambda x: x).batch(4))
    it.restore({**iter(dataset).state(), "place": {"inner": 10**8, "given": []}})
    assert next(it).tolist() == [10**8 + k for k in range(4)]

    it = iter(dataset)
    for _ in range(5):
        next(it)
    state, n = it.state(), len(calls)
    other = iter(dataset)
    other.restore(state)
    next(other)
    assert len(calls) == n + 4

    windows = D.range(1000).map(lambda x: calls.append(0) or x).shuffle(10, seed=1)
    it = iter(windows)
    for _ in range(505):
        next(it)
    del calls[:]
    other = iter(windows)
    other.restore(it.state())
    assert next(other).item() == next(it).item() and len(calls) == 10


@pytest.mark.parametrize("other, words", [
    (lambda: pipeline(n=21), "Range(start=0, stop=20"),
    (lambda: pipeline(batch=4), "Batch(batch_size=3, drop_remainder=False) where this one has "
                                "Batch(batch_size=4"),
    (lambda: pipeline(seed=2), "seed=1"),
    (lambda: pipeline().take(3), "nothing where this one has Selection"),
    (lambda: D.range(20), "Shuffle"),
    (lambda: D.from_tensor_slices(df.ones([20])), "Range"),
])
def test_states_of_other_pipelines_raise(other, words):
    it = iter(pipeline())
    next(it)
    wrong = iter(other())
    first = other()
    with pytest.raises(errors.InvalidArgumentError, match="of another pipeline") as caught:
        wrong.restore(it.state())
    assert words in str(caught.value)
    assert values(wrong) == values(first)       # the position is unchanged


@pytest.mark.parametrize("state", [None, {}, {"format": "x"}, [1], "state", 3])
def test_invalid_states_raise(state):
    it = iter(pipeline())
    with pytest.raises(errors.InvalidArgumentError, match="restore: got"):
        it.restore(state)
    assert len(values(it)) == 14


def test_state_ignores_threads_and_prefetch():
    one = D.range(20).shuffle(20, seed=1).map(lambda x: x * 2, 3).batch(3).repeat(2)
    it = iter(pipeline())
    next(it)
    other = iter(one)
    other.restore(it.state())
    assert values(other) == values(it)


@pytest.mark.parametrize("build", [
    lambda: D.from_generator(lambda: iter(range(9)), output_signature=df.TensorSpec([], df.int64)),
    lambda: D.from_iterable(list(range(9))),
    lambda: D.range(9).map(lambda n: df.ones([n.item() % 3 + 1])).padded_batch(2),
    lambda: D.range(9).map(lambda n: df.ones([n.item() % 3 + 1])).bucket_by_sequence_length(
        len, [2, 3], [2, 2, 2]),
    lambda: D.from_tensor_slices((list("abcdefghi"), df.range(9))).map(
        lambda name, k: (name, df.ones([k.item() % 2 + 1]))).bucket_by_sequence_length(
        lambda name, x: len(x), [2], [3, 3]),
    lambda: D.range(9).window(4, shift=2, stride=2).flat_map(lambda w: w.batch(4)),
    lambda: D.range(9).window(2, shift=5).flat_map(lambda w: w),
    lambda: D.range(9).shuffle(9, seed=1).cache().shuffle(4, seed=2),
    lambda: D.zip(D.range(9).shuffle(9, seed=1), D.range(20).filter(lambda x: x % 2 == 0)),
    lambda: D.range(9).take_while(lambda x: x < 6).assert_cardinality(6),
    lambda: D.range(3).interleave(lambda x: D.range(4).shuffle(4, seed=7), cycle_length=2),
])
def test_resumed_from_every_element(build):
    def plain(x):
        return df.nest.map_structure(lambda t: t.tolist() if isinstance(t, df.Tensor) else t, x)

    it = iter(build())
    states, wanted = [it.state()], []
    for x in it:
        wanted.append(plain(x))
        states.append(it.state())
    assert wanted
    end = json.loads(json.dumps(it.state()))
    for k, state in enumerate(states):
        other = iter(build())
        other.restore(json.loads(json.dumps(state)))
        assert [plain(x) for x in other] == wanted[k:], k
        assert json.loads(json.dumps(other.state())) == end


def test_unsupported_states_raise():
    windows = D.range(9).window(2).window(3, shift=1)
    it = iter(windows)
    next(it)
    with pytest.raises(errors.UnimplementedError, match="an iterator's state cannot hold"):
        it.state()


def test_buffered_elements_are_serialised_on_demand(monkeypatch):
    """Threads record a state per element; it refers to buffered elements without serialising
    them."""
    encoded = []
    monkeypatch.setattr(json_state, "encode_leaf", lambda x: encoded.append(x) or x.tolist())
    rows = D.range(1, 40).map(lambda n: df.ones([n.item() % 7]))
    it = iter(rows.bucket_by_sequence_length(len, [3, 5], [4, 4, 4]).prefetch(2))
    for _ in range(5):
        next(it)
    assert not encoded
    it.state()
    assert encoded


@pytest.mark.parametrize("ahead", [lambda d: d.prefetch(2), lambda d: d.map(lambda w: w, 2)])
def test_threads_work_without_a_serialisable_state(ahead):
    windows = ahead(D.range(9).window(2).window(3, shift=1))
    it = iter(windows)
    next(it)
    with pytest.raises(errors.UnimplementedError, match="an iterator's state cannot hold"):
        it.state()
    assert len(list(it)) == 4


def test_bytes_and_lists_in_a_state():
    def dataset():
        names = D.from_tensor_slices([b"a", b"bb", b"c", b"dd", b"e"])
        return D.zip(names, names.batch(1).repeat()).window(3, shift=1, drop_remainder=True
                                                            ).map(lambda a, b: next(iter(a)) + b"!")

    it = iter(dataset())
    assert next(it) == b"a!"
    other = iter(dataset())
    other.restore(json.loads(json.dumps(it.state())))
    assert list(other) == list(it) == [b"bb!", b"c!"]


def test_skipped_elements_are_not_computed():
    calls = []
    source = D.range(1000).map(lambda x: calls.append(0) or x)
    picked = D.range(10**12).shuffle(10, seed=1).take(10**11).skip(10**10).batch(2).skip(10**9)
    assert len(next(iter(picked))) == 2
    assert next(iter(source.skip(990))).item() == 990 and len(calls) == 991
