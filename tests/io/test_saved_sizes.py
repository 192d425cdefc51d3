"""Saved functions whose signatures leave sizes open: one trace is valid for all sizes."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

SHAPE = df.TensorSpec([None, None], name="x")
WEIGHTS = df.Variable(np.random.default_rng(1).normal(size=[30, 3]).astype("float32"), name="w")
MEANS = df.constant(np.arange(30, dtype="float32"))
WIDE = df.constant(np.random.default_rng(2).normal(size=[1, 7]).astype("float32"))


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


def normal(*shape, seed=0):
    return df.constant(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def bits(x):
    return [(y.shape, y.numpy().tobytes()) if hasattr(y, "numpy") else y
            for y in df.nest.flatten(x)]


def loaded_and_own(fn, folder, signature=(SHAPE,), **options):
    module = df.Module()
    module.w = WEIGHTS
    module.f = df.function(fn, input_signature=list(signature), **options)
    df.save(module, folder)
    loaded = df.load(folder)
    return loaded, df.function(fn)


def dense(x):
    return df.nn.relu((x - MEANS) / 2.) @ WEIGHTS


def dense_of_more(x):                   # the known size is that of a computed value
    x = df.concat([x, df.ones([df.shape(x)[0], 2]), x[:, :1]], axis=1)
    return df.squeeze((x - MEANS) @ WEIGHTS[:, :1], axis=1)


def rows_of_784(x):
    y = df.reshape(x, [-1, 784])
    return y * 2., df.shape(y)[0] + 1, df.reshape(y, [df.shape(y)[0], 28, 28])


def sizes_in_arithmetic(x):
    n = df.shape(x)[0]
    total = df.reduce_sum(x - MEANS, axis=0) / df.cast(n, df.float32)
    return total, n * 2, x.shape[0] * 3, df.range(n), df.fill([n, 2], 1.5), total * x.shape[0]


def joins(x):
    y = df.concat([x, x * 2., df.zeros([1, 30])], 0)
    wide = df.concat([y, y[:, ::-1]], 1)
    return wide @ df.concat([WEIGHTS, WEIGHTS], 0), df.stack([x, x - MEANS])


def branches(x):
    x = x - MEANS
    if x.shape[0] == 1:
        return x * 10.
    y = x * 2.
    if df.shape(x)[0] > 3:
        y = y + 1.
    return y


def loops(x):
    x = x - MEANS
    total = df.zeros([30])
    for k in range(x.shape[0]):
        total = total + x[k] * df.cast(k, df.float32)
    k = 0
    while k * k < x.shape[0]:
        total, k = total * 0.5, k + 1
    return total


def splits(x):
    n = df.shape(x)[1] // 2
    return x[:, :n] - MEANS[:15], x[:, n:], df.split(x, [15, -1], axis=1), x[:, 29]


def gradients(x):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_mean(dense(x) ** 2)
    return y, *tape.gradient(y, [x, WEIGHTS])


WIDTHS = {dense_of_more: 27, rows_of_784: 784}
PROGRAMS = [dense, dense_of_more, rows_of_784, sizes_in_arithmetic, joins, branches, loops, splits,
            gradients]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_each_size_gives_the_bits_of_the_function(folder, fn):
    loaded, own = loaded_and_own(fn, folder)
    for n in (5, 1, 3, 30, 4, 0):
        x = normal(n, WIDTHS.get(fn, 30), seed=n)
        assert bits(loaded.f(x)) == bits(own(x)), n
        assert df.nest.flatten(df.nest.map_structure(type, loaded.f(x))) == df.nest.flatten(
            df.nest.map_structure(type, own(x)))


def test_broadcast_against_known_sizes(folder):
    def fn(x):
        return x[:, :1] * MEANS, x - df.reduce_mean(x, 0, keepdims=True), x * WIDE

    loaded, own = loaded_and_own(fn, folder)
    for shape in ([5, 7], [1, 7], [4, 1], [1, 1], [0, 7]):
        x = normal(*shape)
        assert bits(loaded.f(x)) == bits(own(x)), shape


@pytest.mark.parametrize("fn", [dense, dense_of_more, joins, branches, loops],
                         ids=lambda fn: fn.__name__)
def test_gradients_of_loaded_functions(folder, fn):
    loaded, own = loaded_and_own(fn, folder)

    def gradient(f, x, w, compiled):
        def step(x):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = sum([df.reduce_sum(y ** 2) for y in df.nest.flatten(f(x))])
            return tape.gradient(y, [x, w], unconnected_gradients="zero")
        return (df.function(step) if compiled else step)(x)

    for n in (5, 1, 3):
        for compiled in (False, True):
            x = normal(n, WIDTHS.get(fn, 30), seed=n)
            assert bits(gradient(loaded.f, x, loaded.w, compiled)) == bits(
                gradient(own, x, WEIGHTS, compiled)), (n, compiled)


@pytest.mark.parametrize("width", [29, 31, 1, 0])
def test_sizes_that_do_not_fit_raise_with_the_name_of_the_argument(folder, width):
    module = df.Module()
    module.f = df.function(lambda x, by: df.matmul(x, WEIGHTS) * by, input_signature=[
        df.TensorSpec([None, None], name="x"), df.TensorSpec([], name="by")])
    df.save(module, folder, signatures=module.f)
    loaded = df.load(folder)
    for call in (loaded.f, loaded.signatures["serving_default"]):
        with pytest.raises(errors.ShapeError, match=rf"x: float32 \(2, {width}\).*matmul.*30"):
            call(df.ones([2, width]), df.constant(2.))
    with pytest.raises(errors.InvalidArgumentError, match=r"x: float32 \(2,\).*it was saved for"):
        loaded.f(df.ones([2]), df.constant(2.))


def test_a_function_that_was_called_is_saved_for_all_sizes(folder):
    module = df.Module()
    module.f = df.function(branches, input_signature=[SHAPE])
    module.f(normal(1, 30))
    df.save(module, folder)
    own = df.function(branches)
    for n in (1, 2, 7):
        x = normal(n, 30, seed=n)
        assert bits(df.load(folder).f(x)) == bits(own(x)) == bits(module.f(x))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_concrete_functions_are_for_all_sizes(folder, fn):
    function = df.function(fn, input_signature=[SHAPE])
    concrete = function.get_concrete_function()
    assert concrete is function.get_concrete_function(SHAPE)
    own = df.function(fn)
    for n in (5, 1, 3):
        x = normal(n, WIDTHS.get(fn, 30), seed=n)
        assert bits(concrete(x)) == bits(own(x)) == bits(function(x))
    if fn in (sizes_in_arithmetic, splits):         # signatures return tensors only
        return
    module = df.Module()
    module.w = WEIGHTS
    df.save(module, folder, signatures=concrete)
    x = normal(6, WIDTHS.get(fn, 30))
    expected = own(x)
    made = df.load(folder).signatures["serving_default"](x)
    assert bits([*made.values()]) == bits(expected)


def test_saved_again_with_the_bits_of_the_first(folder):
    loaded, own = loaded_and_own(joins, folder)
    df.save(loaded, folder + "2")
    again = df.load(folder + "2")
    for n in (5, 1):
        assert bits(again.f(normal(n, 30))) == bits(own(normal(n, 30)))


def test_unknown_rank(folder):
    def fn(x):
        return df.reduce_sum(df.reshape(x, [-1, 30]) - MEANS, 0)

    loaded, own = loaded_and_own(fn, folder, [df.TensorSpec(None)])
    for shape in ([30], [2, 30], [3, 2, 15], [60], [5, 2, 3, 1]):
        assert bits(loaded.f(normal(*shape))) == bits(own(normal(*shape)))


def test_a_size_that_python_requires_raises(folder):
    def fn(x):
        return df.reshape(x, [-1, 784]) * float("".join([str(k) for k in [*range(x.shape[1])]][:2]))

    with pytest.raises(errors.DualflowError, match="a `for` statement"):
        loaded_and_own(fn, folder)


def test_other_sizes_raise_if_python_required_a_number(folder):
    def fn(x):
        return x + df.constant(np.ones(x.shape[0], "float32"))[:, df.newaxis]

    module = df.Module()
    module.f = df.function(fn, input_signature=[SHAPE])
    module.f(normal(5, 3))
    df.save(module, folder)
    loaded = df.load(folder)
    assert bits(loaded.f(normal(5, 3))) == bits(fn(normal(5, 3)))
    with pytest.raises(errors.InvalidArgumentError, match=r"decided by sizes at .*; trace the"):
        loaded.f(normal(6, 3))


def test_a_test_of_the_type_of_a_size_is_not_assumed(folder):
    def fn(x):
        return x * 2. if type(x.shape[0]) is int else x

    with pytest.raises(errors.UnimplementedError, match="decides by sizes"):
        loaded_and_own(fn, folder)
