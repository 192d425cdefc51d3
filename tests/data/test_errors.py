"""Errors for invalid input name the object and the user's line."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

D = df.data.Dataset


def raised(kind, call, *words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)
    return caught.value


# --- sources -------------------------------------------------------------------------------------

def test_different_lengths_raise():
    x, y = np.zeros((10, 2)), np.zeros(9)
    raised(errors.ShapeError, lambda: D.from_tensor_slices((x, y)),
           "from_tensor_slices: lengths differ: 10 at [0], 9 at [1]")
    raised(errors.ShapeError, lambda: D.from_tensor_slices({"x": x, "n": ["a"]}),
           "1 at ['n'], 10 at ['x']")


@pytest.mark.parametrize("given, words", [
    (3., "scalar"), ((np.zeros(3), 1), "scalar at [1]"), ((), "nothing"),
    (None, "expected tensors or lists"), ("abc", "expected tensors or lists")])
def test_values_without_rows_raise(given, words):
    raised(errors.InvalidArgumentError, lambda: D.from_tensor_slices(given), words)


def test_unsupported_elements_raise():
    raised(errors.DTypeError, lambda: D.from_tensor_slices([object()]), "from_tensor_slices",
           "object")
    raised(errors.DTypeError, lambda: next(iter(D.range(2).map(lambda x: {1, 2}))), "map", "set")
    raised(errors.DTypeError, lambda: D.from_iterable(5), "from_iterable: got 5")
    raised(errors.DTypeError, lambda: D(), "from_tensor_slices")


def test_generators_that_contradict_their_spec_raise():
    spec = {"x": df.TensorSpec([2], df.float32), "n": str}

    def first(value):
        return next(iter(D.from_generator(lambda: [value], output_signature=spec)))

    assert first({"x": [1, 2], "n": "a"})["x"].tolist() == [1., 2.]
    raised(errors.ShapeError, lambda: first({"x": [1, 2, 3], "n": "a"}),
           "from_generator at ['x']: got shape (3,), expected (2,)")
    raised(errors.DTypeError, lambda: first({"x": [1, 2], "n": 3}), "['n']: got 3, expected a str")
    raised(errors.InvalidArgumentError, lambda: first({"x": [1, 2]}), "from_generator: got a dict")
    raised(errors.InvalidArgumentError, lambda: first([1, 2]), "got a list")


def test_wrong_cardinality_raises():
    raised(errors.InvalidArgumentError, lambda: list(D.range(3).assert_cardinality(5)),
           "expected to have 5 elements and has only 3")
    raised(errors.InvalidArgumentError, lambda: list(D.range(9).assert_cardinality(5)),
           "expected to have 5 elements and has at least 6")
    raised(errors.InvalidArgumentError,
           lambda: list(D.range(3).assert_cardinality(df.data.INFINITE_CARDINALITY)), "infinitely")

    class Short:
        def __len__(self):
            return 4

        def __iter__(self):
            return iter([1, 2])

    raised(errors.InvalidArgumentError, lambda: list(D.from_iterable(Short())),
           "ended after 2 elements, expected 4")
    raised(errors.InvalidArgumentError, lambda: D.range(0).get_single_element(), "no element")
    raised(errors.InvalidArgumentError, lambda: D.range(2).get_single_element(), "more than one")


def test_generator_is_consumed_once():
    dataset = D.from_iterable(x for x in range(3))
    assert dataset.element_spec == df.TensorSpec([], df.int32)      # consumes no element
    assert [x.item() for x in dataset] == [0, 1, 2]
    raised(errors.InvalidArgumentError, lambda: list(dataset), "only once", "from_generator")


# --- functions -----------------------------------------------------------------------------------

class Special(Exception):
    pass


def failing(*args):
    raise Special("no good")


@pytest.mark.parametrize("build", [
    lambda: D.range(3).map(failing), lambda: D.range(3).map(failing, 2),
    lambda: D.range(3).filter(failing), lambda: D.range(3).flat_map(failing),
    lambda: D.range(3).interleave(failing), lambda: D.range(3).take_while(failing),
    lambda: D.from_generator(failing), lambda: D.range(3).map(failing).batch(2).prefetch(1),
    lambda: D.range(3).bucket_by_sequence_length(failing, [2], [1, 1]),
    lambda: D.range(3).map(df.function(failing))])
def test_errors_keep_their_type_and_carry_their_line(build):
    error = raised(Special, lambda: list(build()), "no good")
    lines = []
    trace = error.__traceback__
    while trace:
        lines.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert lines[-1] == "failing"
    note, = [n for n in error.__notes__ if n.startswith("in ")]
    assert "failing, which" in note and __file__ in note and "passed to Dataset." in note


def test_generator_that_fails():
    def generator():
        yield 1
        raise Special("half way")

    it = iter(D.from_generator(generator))
    assert next(it).item() == 1
    error = raised(Special, lambda: next(it), "half way")
    assert "generator, which" in error.__notes__[0]


def test_stop_iteration_in_a_function_raises():
    def ending(x):
        raise StopIteration

    error = raised(RuntimeError, lambda: list(D.range(3).map(ending)), "end the dataset early")
    assert isinstance(error.__cause__, StopIteration)


def test_iterator_continues_after_an_error():
    it = iter(D.range(3).map(lambda x: 6 // (x.item() - 1)))
    assert next(it).item() == -6
    raised(ZeroDivisionError, lambda: next(it))
    assert next(it).item() == 6 and list(it) == []


def test_functions_with_invalid_results_raise():
    raised(errors.DTypeError, lambda: list(D.range(2).flat_map(lambda x: x.item())),
           "flat_map: got 0, expected a Dataset")
    raised(errors.DTypeError, lambda: D.range(2).map(3), "map: got 3, expected a function")
    raised(errors.DTypeError, lambda: D.range(2).apply(lambda d: 3), "apply")
    raised(errors.InvalidArgumentError,
           lambda: list(D.from_tensors([1, 2]).filter(lambda x: x > 1)), "bool")


# --- batches -------------------------------------------------------------------------------------

def test_batching_of_different_shapes_raises():
    rows = D.range(1, 4).map(lambda n: {"x": df.ones([n.item()])})
    raised(errors.ShapeError, lambda: list(rows.batch(2)), "elements 0 and 1 of a batch differ "
           "at ['x']: float32 (1,), float32 (2,)", "padded_batch")
    mixed = D.from_generator(lambda: [1, 2.])
    raised(errors.ShapeError, lambda: list(mixed.batch(2)), "int32 (), float32 ()")
    built = D.from_generator(lambda: [(1,), {"a": 1}])
    raised(errors.InvalidArgumentError, lambda: list(built.batch(2)), "0 and 1", "in structure")


def test_invalid_padding_raises():
    rows = D.range(1, 4).map(lambda n: df.ones([n.item()]))
    raised(errors.ShapeError, lambda: list(rows.padded_batch(3, [2])), "padded_batch: got shape "
           "(3,), which exceeds (2,)")
    raised(errors.ShapeError, lambda: list(rows.padded_batch(3, [2, 2])), "expected 2 dimensions")
    raised(errors.InvalidArgumentError, lambda: rows.bucket_by_sequence_length(len, [2, 1], [1, 1]),
           "ascending boundaries")
    raised(errors.ShapeError, lambda: list(D.range(3).unbatch()), "unbatch: got a scalar")


# --- arguments -----------------------------------------------------------------------------------

@pytest.mark.parametrize("call, kind, words", [
    (lambda d: d.batch(0), errors.InvalidArgumentError, "batch_size is 0, expected 1 or more"),
    (lambda d: d.batch(2.5), errors.DTypeError, "batch: batch_size is 2.5, expected an integer"),
    (lambda d: d.shuffle(0), errors.InvalidArgumentError, "shuffle: buffer_size is 0"),
    (lambda d: d.shuffle(3, seed="a"), errors.DTypeError, "shuffle: seed is 'a'"),
    (lambda d: d.take(-2), errors.InvalidArgumentError, "take: count is -2"),
    (lambda d: d.shard(2, 2), errors.InvalidArgumentError, "expected less than num_shards, 2"),
    (lambda d: d.map(abs, 0), errors.InvalidArgumentError, "num_parallel_calls is 0"),
    (lambda d: d.prefetch(-2), errors.InvalidArgumentError, "prefetch: buffer_size is -2"),
    (lambda d: d.window(0), errors.InvalidArgumentError, "window: size is 0"),
    (lambda d: d.interleave(abs, 0), errors.InvalidArgumentError, "cycle_length is 0"),
    (lambda d: D.range(), errors.DTypeError, "Dataset.range: got 0 arguments"),
    (lambda d: D.range(0, 3, 0), errors.InvalidArgumentError, "step is 0"),
    (lambda d: next(iter(d.enumerate(1 << 63))), errors.SizeOverflowError, "does not fit int64"),
    (lambda d: next(iter(D.range(1 << 70, 1 << 71))), errors.SizeOverflowError,
     "does not fit int64"),
    (lambda d: D.zip([d, d]), errors.DTypeError, "Dataset.zip(*datasets)"),
    (lambda d: D.zip(), errors.InvalidArgumentError, "no datasets"),
    (lambda d: D.zip(d, 3), errors.DTypeError, "Dataset.zip: got 3"),
    (lambda d: df.data.TextLineDataset("x", "ZIP"), errors.InvalidArgumentError, "'ZIP'"),
    (lambda d: D.list_files("/nowhere/*.x"), errors.InvalidArgumentError, "/nowhere/*.x"),
    (lambda d: D.text_lines([3]), errors.DTypeError, "TextLineDataset: filenames is [3]"),
    (lambda d: d.concatenate(["a"]).element_spec, errors.DTypeError, "concatenate: elements are"),
    (lambda d: d.concatenate([(1, 2)]).element_spec, errors.DTypeError, "expected matching"),
    (lambda d: df.data.Iterator(d), errors.DTypeError, "iter(dataset) returns"),
    (lambda d: D.list_files(3), errors.DTypeError, "file_pattern is 3"),
])
def test_invalid_arguments_raise(call, kind, words):
    raised(kind, lambda: call(D.range(3)), words)
