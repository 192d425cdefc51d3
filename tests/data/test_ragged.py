"""Batches of elements of different shapes: complete ones raise, incomplete ones may be dropped."""

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import dualflow as df

D = df.data.Dataset


def ragged(lengths):
    """Return rows of the given lengths; row k is filled with k."""
    return D.from_generator(lambda: (df.fill([n], k) for k, n in enumerate(lengths)),
                            output_signature=df.TensorSpec([None], "int32"))


# Each entry has a function for datasets and one for lists of rows.
STEPS = {
    "take": (lambda d, n: d.take(n), lambda rows, n: rows[:n]),
    "skip": (lambda d, n: d.skip(n), lambda rows, n: rows[n:]),
    "shard": (lambda d, n: d.shard(n + 1, n), lambda rows, n: rows[n::n + 1]),
    "repeat": (lambda d, n: d.repeat(n), lambda rows, n: rows * n),
    "concatenate": (lambda d, n: d.concatenate(d.take(n)), lambda rows, n: rows + rows[:n]),
    "prefetch": (lambda d, n: d.prefetch(n + 1), lambda rows, n: rows),
    "cache": (lambda d, n: d.cache(), lambda rows, n: rows),
    "map": (lambda d, n: d.map(lambda x: x + n),
            lambda rows, n: [[k + n for k in x] for x in rows]),
    "window": (lambda d, n: d.window(n + 1).flat_map(lambda w: w), lambda rows, n: rows),
    "unbatch": (lambda d, n: d.batch(1).unbatch(), lambda rows, n: rows),
    "zip": (lambda d, n: D.zip((d, d.skip(n))).map(lambda a, b: a),
            lambda rows, n: rows[:max(len(rows) - n, 0)]),
}


def batches(dataset):
    """Return the batches up to the end or an error, and the error."""
    found = []
    try:
        for x in dataset:
            found.append(x.numpy().tolist())
    except df.errors.DualflowError as error:
        return found, error
    return found, None


def check(lengths, steps, n, drop):
    dataset, rows = ragged(lengths), [[k] * size for k, size in enumerate(lengths)]
    for name, k in steps:
        change, on_lists = STEPS[name]
        dataset, rows = change(dataset, k), on_lists(rows, k)
    wanted, differs = [], False
    for begin in range(0, len(rows), n):
        batch = rows[begin:begin + n]
        if drop and len(batch) < n:
            break
        differs = len({len(x) for x in batch}) > 1
        if differs:
            break
        wanted.append(batch)
    found, error = batches(dataset.batch(n, drop_remainder=drop))
    assert found == wanted
    assert (error is not None) == differs, error


@settings(max_examples=150, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(1, 3), max_size=7),
       st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 3)), max_size=3),
       st.integers(1, 5), st.booleans())
def test_random_pipelines(lengths, steps, n, drop):
    check(lengths, steps, n, drop)


@pytest.mark.parametrize("name", STEPS)
def test_dropped_batches_are_not_stacked(name):
    check([1, 1, 2, 2, 1], [(name, 1)], 4, True)
    check([2, 1, 3], [(name, 0)], 4, True)
    check([2, 1, 3], [(name, 2)], 9, True)


@pytest.mark.parametrize("change", [
    lambda w: w, lambda w: w.skip(0), lambda w: w.repeat(1), lambda w: D.zip((w, w)).map(
        lambda a, b: b), lambda w: w.shuffle(5, seed=1)],
    ids=["alone", "skip", "repeat", "zip", "shuffle"])
def test_batches_of_a_window(change):
    dataset = ragged([2, 2, 1, 3]).window(4).flat_map(lambda w: change(w).batch(5, True))
    assert batches(dataset) == ([], None)
    dataset = ragged([2, 2, 1, 3]).window(2).flat_map(lambda w: change(w).batch(2, True))
    found, error = batches(dataset)
    assert len(found) == 1 and isinstance(error, df.errors.ShapeError)


def test_zip_ends_before_elements_that_differ():
    for n in (1, 2):
        zipped = D.zip((D.range(n), ragged([2, 2, 1])))
        assert [b.shape for _, b in zipped.batch(3)] == [(n, 2)]
        assert [b.shape for _, b in zipped.repeat(2).batch(2 * n, True)] == [(2 * n, 2)]
        assert [b.shape for _, b in D.zip((D.range(n), D.range(9))).repeat(3).batch(2, True)] == [
            (2,)] * (3 * n // 2)
