"""Datasets and iterators inside traced functions: values, variables and errors of eager mode."""

import gc

import numpy as np
import pytest

import dualflow as df
from dualflow.data import traced

TABLE = np.arange(30, dtype="f4").reshape(10, 3)
NUMBERS = df.data.Dataset.range(10)
ROWS = df.data.Dataset.from_tensor_slices(TABLE)


def total(data):
    s = df.constant(0, df.int64)
    for x in data:
        s += df.reduce_sum(x)
    return s


def until_five(data):
    s = df.constant(0, df.int64)
    for x in data:
        if x > 5:
            break
        if x == 2:
            continue
        s += x
    return s


def listed(data):
    found = []
    for x in data.take(3):
        found.append(x * 2)
    return df.stack(found)


def numbered(data):
    s = df.constant(0, df.int64)
    for k, x in enumerate(data, 3):
        s += x * k
    return s


def nested(data):
    s = df.constant(0, df.int64)
    for x in data:
        for y in data.take(3):
            if y > x:
                break
            s += x * y
    return s


def early_return(data):
    for x in data:
        if x > 3:
            return x
    return df.constant(-1, df.int64)


FUNCTIONS = [total, until_five, listed, numbered, nested, early_return]
DATASETS = {
    "range": NUMBERS, "skip": NUMBERS.skip(3), "filter": NUMBERS.filter(lambda x: x % 2 == 0),
    "shuffle": NUMBERS.shuffle(10, seed=1, reshuffle_each_iteration=False),
    "prefetch": NUMBERS.map(lambda x: x + 1, num_parallel_calls=2).prefetch(2),
    "generator": df.data.Dataset.from_generator(lambda: iter([2, 3, 9]),
                                                output_signature=df.TensorSpec([], df.int64)),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", DATASETS)
def test_loops_over_datasets(function, name):
    data = DATASETS[name]
    expected = function(data)
    traced = df.function(function)
    for _ in range(2):
        got = traced(data)
        assert got.dtype is expected.dtype and got.tolist() == expected.tolist()
    assert df.function(lambda: function(data))().tolist() == expected.tolist()


def test_batches_of_different_sizes_and_an_empty_dataset():
    traced = df.function(total)
    assert traced(NUMBERS.batch(4)).item() == 45 and traced(NUMBERS.take(0)).item() == 0


def test_pairs_and_dicts():
    def summed(data):
        s = df.constant(0.0)
        for x, parts in data:
            s += df.reduce_sum(x * parts["y"])
        return s

    data = df.data.Dataset.from_tensor_slices((TABLE, {"y": TABLE + 1})).batch(3)
    assert df.function(summed)(data).numpy().tobytes() == summed(data).numpy().tobytes()


def test_a_training_loop_is_bit_identical():
    def train(v, data):
        losses = df.constant(0.0)
        for x in data:
            with df.GradientTape() as tape:
                loss = df.reduce_mean(df.square(x @ v - 1.0))
            v.assign_sub(0.001 * tape.gradient(loss, v))
            losses += loss
        return losses

    data, results = ROWS.batch(4), []
    for function in (train, df.function(train)):
        v = df.Variable(np.ones((3, 1), "f4"))
        values = [function(v, data).numpy().tobytes() for _ in range(2)]
        results.append([*values, v.numpy().tobytes()])
    assert results[0] == results[1]


def test_gradients_through_a_loop():
    def f(v, data):
        s = df.constant(0.0)
        for x in data:
            s += df.reduce_sum(x * v * v) + s * v[0]
        return s

    data, v = ROWS.batch(4), df.constant([0.1, 0.2, 0.3])
    traced = df.grad(df.function(f))(v, data)
    assert traced.numpy().tobytes() == df.grad(f)(v, data).numpy().tobytes()


def test_next_of_an_iterator_continues():
    @df.function
    def f(it):
        return next(it) * 10 + it.get_next()

    it = iter(NUMBERS.take(5))
    assert [f(it).item(), f(it).item()] == [1, 23] and next(it).item() == 4
    with pytest.raises(df.errors.OutOfRangeError, match="no more elements"):
        f(it)


def test_next_keeps_the_order_of_calls():
    it = iter(NUMBERS)

    @df.function
    def f(n):
        first = next(it)
        for _ in df.range(n):
            next(it)
        return first, next(it)

    assert [x.item() for x in f(df.constant(3))] == [0, 4]
    assert [x.item() for x in f(df.constant(0))] == [5, 6]


def test_errors_of_the_dataset_pass_through():
    def values():
        yield 1
        raise RuntimeError("the source is gone")

    data = df.data.Dataset.from_generator(values, output_signature=df.TensorSpec([], df.int64))
    with pytest.raises(RuntimeError, match="the source is gone"):
        df.function(total)(data)


def test_a_finished_loop_keeps_no_pass():
    traced = df.function(until_five)
    traced(NUMBERS)
    gc.collect()
    before = sum(type(x).__name__ == "Iterator" and type(x).__module__.startswith("dualflow.data")
                 for x in gc.get_objects())
    for _ in range(5):
        traced(NUMBERS)
    gc.collect()
    assert sum(type(x).__name__ == "Iterator" and type(x).__module__.startswith("dualflow.data")
               for x in gc.get_objects()) == before


@pytest.mark.parametrize("use", [list, lambda data: [x for x in data], iter])
def test_other_uses_raise(use):
    with pytest.raises(df.errors.UnimplementedError, match="iterated while a function is traced"):
        df.function(lambda: use(NUMBERS))()


def test_text_cannot_be_iterated():
    data = df.data.Dataset.from_tensor_slices(["a", "b"])

    @df.function
    def f():
        n = 0
        for _ in data:
            n += 1
        return n

    with pytest.raises(df.errors.UnimplementedError, match="expected tensors of known rank"):
        f()


def source(n, fails=False):
    """Return a dataset of 0., 1., ..., n - 1., after which it may raise."""
    def elements():
        yield from map(np.float32, range(n))
        if fails:
            raise ValueError("no more")

    return df.data.Dataset.from_generator(elements, output_signature=df.TensorSpec([]))


def failing_loop(x, data):
    for y in data:
        df.debugging.assert_less(y * x, 4.)
        x = x + y
    return x


def failing_nested_loop(x):
    for y in source(3):
        for z in source(3):
            df.debugging.assert_less(y + z, 3.)
            x = x + z
    return x


def failing_inner_run(x):
    inner = df.function(failing_nested_loop)

    def call(v):
        with pytest.raises(df.errors.InvalidArgumentError):
            inner(v)
        return v

    for y in source(3):
        x = x + df.py_function(call, [y], df.float32)
    df.debugging.assert_less(x, 0.)
    return x


@pytest.mark.parametrize("function", [
    lambda x: failing_loop(x, source(9)), lambda x: failing_loop(x, source(3, True)),
    failing_nested_loop, failing_inner_run])
def test_failed_runs_release_their_passes(function):
    f, opened = df.function(function), []
    with pytest.MonkeyPatch.context() as patched:
        old = traced.Elements.__init__

        def init(self, *args):
            old(self, *args)
            opened.append(self)

        patched.setattr(traced.Elements, "__init__", init)
        for _ in range(3):
            with pytest.raises((df.errors.InvalidArgumentError, ValueError)):
                f(df.constant(1.))
    assert opened
    assert not any([x.passes or x.ahead for x in opened])
    assert not traced._local.open_passes


def test_failed_inner_run_keeps_the_outer_pass():
    @df.function
    def inner(x):
        for y in df.data.Dataset.range(3):
            df.debugging.assert_less(df.cast(y, df.float32), x)
        return x

    def call(x):
        try:
            return inner(x)
        except df.errors.InvalidArgumentError:
            return -x

    @df.function
    def outer():
        total = df.constant(0.)
        for y in df.data.Dataset.from_tensor_slices([1., 2., 5., 7.]):
            total = total * 10. + df.py_function(call, [y], df.float32)
        return total

    for _ in range(2):
        assert outer().item() == -1. * 1000. - 200. + 50. + 7.


def test_datasets_created_in_a_function(tmp_path):
    """Seeds are drawn when the function is traced; each call is a new pass."""
    (tmp_path / "a.txt").write_text("1\n2\n")

    @df.function
    def order():
        total, mixed = df.constant(0, df.int64), df.constant(0, df.int64)
        for x in df.data.Dataset.range(40).shuffle(40):
            total += x
            mixed = (mixed * 31 + x) % 1_000_003        # depends on the order
        return total, mixed

    @df.function
    def total():
        s = df.constant(0.)
        files = df.data.Dataset.list_files(str(tmp_path / "*.txt"))
        for x in files.interleave(df.data.TextLineDataset).map(df.strings.to_number).batch(2):
            s += df.reduce_sum(x)
        return s

    df.random.set_seed(1)
    (one, first), (other, second) = order(), order()
    assert one == other == sum(range(40)) and first != second
    assert total() == total() == 3.
