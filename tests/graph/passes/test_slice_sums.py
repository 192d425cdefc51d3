"""Sums of gradients of slices are added into one tensor, with the bits of eager mode."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import dualflow as df
from dualflow import _core
from dualflow.ops.array.slicing import BLOCK, INDEX, MISSING, NEW, SLICE, strided_slice_grad
from tests.graph.build import assert_same
from tests.ops.harness import threads

SPECIAL = np.array([0., -0., 1., -1., np.inf, np.nan, 1e-45, 3e38])


def drawn(rng, shape, dtype):
    """Return values with many zeros of both signs."""
    x = rng.choice(SPECIAL, shape) if rng.random() < .7 else rng.normal(size=shape)
    with np.errstate(over="ignore"):
        return df.constant(x.astype(dtype))


def draw_key(rng, n):
    """Return begin, end, stride and kind of a dimension of size n, and the number of elements that
    are taken, or None if the dimension is dropped."""
    kind = rng.choice([SLICE, SLICE, INDEX, BLOCK])
    if kind == INDEX:
        return (int(rng.integers(-n, n)), 0, 1, INDEX), None
    if kind == BLOCK:
        first, size = int(rng.integers(0, n + 1)), int(rng.integers(-1, n + 1))
        size = min(size, n - first)
        return (first, size, 1, BLOCK), n - first if size == -1 else size
    begin, end = (MISSING if rng.random() < .3 else int(rng.integers(-n - 1, n + 2))
                  for _ in range(2))
    stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
    taken = range(n)[slice(*[None if x == MISSING else x for x in (begin, end)], stride)]
    return (begin, end, stride, SLICE), len(taken)


def draw_part(rng, shape):
    """Return the keys of a random slice of a tensor, and the shape of the slice."""
    keys, sizes = [], []
    for n in shape[:rng.integers(0, len(shape) + 1)]:
        if rng.random() < .1:
            keys.append((0, 0, 1, NEW))
            sizes.append(1)
        key, size = draw_key(rng, n)
        keys.append(key)
        sizes += [] if size is None else [size]
    n_keyed = sum([key[3] != NEW for key in keys])
    return [list(column) for column in zip(*keys, strict=True)] or [[]] * 4, \
        [*sizes, *shape[n_keyed:]]


def program(rng, shape, dtype):
    """Return a function that adds random parts and whole tensors, and its arguments."""
    args, makers = [], []
    for _ in range(rng.integers(2, 7)):
        if rng.random() < .2:
            args.append(drawn(rng, shape, dtype))
            makers.append(lambda x: x)
            continue
        keys, size = draw_part(rng, shape)
        args.append(drawn(rng, size, dtype))
        makers.append(lambda g, keys=keys: strided_slice_grad(g, list(shape), *keys))
    at_once, twice_read = rng.random() < .5, rng.random() < .2

    def f(*args):
        terms = [make(x) for make, x in zip(makers, args, strict=True)]
        y = df.add_n(terms) if at_once else sum(terms[1:], start=terms[0])
        return [y, df.reduce_sum(terms[-1])] if twice_read else [y]

    return f, args


def n_sums(f, args):
    return [node.type for node in df.function(f).graph_for(*args).nodes].count("sum_of_slices")


def check(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, [[6, 8, 9], [300, 70, 5]][seed % 2])[:rng.integers(1, 4)].tolist()
    f, args = program(rng, shape, rng.choice(["float32", "float64", "float16"]))
    traced, want = df.function(f), f(*args)
    for n in (1, 2):
        with threads(n):
            for got, y in zip(traced(*args), want, strict=True):
                assert_same(got, y)
    return n_sums(f, args)


def test_random_sums():
    assert sum([check(seed) for seed in range(300)]) > 60


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_more_random_sums(seed):
    check(seed)


def steps_of(x, w):
    """A recurrent layer as people write it."""
    z, h = df.matmul(x, w), df.zeros([x.shape[0], 4])
    for t in range(x.shape[1]):
        i, g = df.split(z[:, t], 2, axis=-1)
        h = df.sigmoid(i) * h + df.tanh(g) * h[:, ::-1] + i[:, :1]
    return df.reduce_sum(h * h) + df.reduce_mean(z)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_of_a_layer_by_slices(dtype):
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            y = steps_of(x, w)
        return tape.gradient(y, [x, w])

    x, w = (df.cast(df.random.normal(shape, seed=1), dtype) for shape in ([3, 7, 5], [5, 8]))
    graph = df.function(f).graph_for(x, w)
    of_z = [node.type for node in graph.nodes if node.outputs[0].known_shape == (3, 7, 8)]
    assert "sum_of_slices" in of_z and "strided_slice_grad" not in of_z
    for got, want in zip(df.function(f)(x, w), f(x, w), strict=True):
        assert_same(got, want)


def columns(*taken):
    """Return a sum of gradients of columns of a matrix of 3 x 4, as a function of one tensor."""
    return lambda g: df.add_n([strided_slice_grad(g[:, :end - begin], [3, 4], [MISSING, begin],
                                                  [MISSING, end], [1, 1], [SLICE] * 2)
                               for begin, end in taken])


def test_parts_with_a_common_element_stay():
    g = df.ones([3, 4])
    assert n_sums(columns((0, 2), (1, 3)), [g]) == 0
    assert n_sums(columns((0, 2), (1, 3), (2, 4)), [g]) == 1


def test_halves_stay():
    assert n_sums(columns((0, 1), (1, 2)), [df.ones([3, 4], df.float16)]) == 0


def test_negative_zeros():
    minus = df.constant([[-0.] * 4] * 3)
    got = df.function(columns((0, 1), (1, 2)))(minus)
    assert not np.signbit(got.numpy()).any()
    assert_same(got, columns((0, 1), (1, 2))(minus))


def call(inputs, shape=(4, 5), counts=(1, 1), begin=(0, 1), end=(1, 3), strides=(1, 1),
         kind=(SLICE, SLICE)):
    return _core.apply("sum_of_slices", *inputs, shape=shape, counts=counts, begin=begin, end=end,
                       strides=strides, kind=kind)


ROWS = [np.ones([1, 5], "float32"), np.ones([2, 5], "float32")]


def test_values():
    want = np.zeros([4, 5])
    want[:3] = 1
    np.testing.assert_array_equal(call(ROWS), want)
    assert call([np.ones([0, 5], "float32")] * 2, (0, 5)).shape == (0, 5)


@pytest.mark.parametrize("kwargs", [
    {"counts": (1,)}, {"counts": (1, 2)}, {"counts": (3, 0)}, {"counts": (-1, 2)},
    {"counts": (2**62, 2**62)}, {"shape": ()}, {"shape": (4,)}, {"shape": (4, 6)},
    {"shape": (-1, 5)}, {"shape": (2**40, 2**40)}, {"begin": (0,)}, {"end": (2, 3)},
    {"strides": (0, 1)}, {"strides": (1, -1)}, {"kind": (SLICE, INDEX)}, {"kind": (SLICE, BLOCK)},
    {"kind": (NEW, NEW)}, {"inputs": [ROWS[0], ROWS[1].astype("float64")]},
    {"inputs": [x > 0 for x in ROWS]}, {"inputs": ROWS[:1]}])
def test_invalid_attributes_raise(kwargs):
    with pytest.raises(df.errors.DualflowError):
        call(**{"inputs": ROWS, **kwargs})
