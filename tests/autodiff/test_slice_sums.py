"""Gradients of large tensors that are read in slices: the bits of sums of whole tensors."""

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.array import slice_parts

N, M = 64, 160


@pytest.fixture
def counted(monkeypatch):
    """Return a list to which each deferred gradient of a slice is added."""
    made = []

    class Counted(slice_parts.SliceSum):
        def __init__(self, *args):
            made.append(args)
            super().__init__(*args)

    monkeypatch.setattr(slice_parts, "SliceSum", Counted)
    return made


@df.function
def traced(x):
    return df.reduce_sum(x[3] * x[5])


def reads(rng, x, table):
    """Yield numbers, each of which depends on a part of x; some gradients are -0.0, NaN or inf."""
    for _ in range(rng.integers(2, 12)):
        i, k = (int(n) for n in rng.integers(0, N, 2))
        weight = float(rng.choice([1.5, -0.3, -0.3, 1.5, -0., -0., 0., np.inf, np.nan]))
        read = rng.choice(["row", "rows", "column", "steps", "block", "back", "whole", "gather",
                           "same", "function", "element"])
        part = {"row": lambda i=i: x[i], "rows": lambda i=i: x[i:i + 3],
                "column": lambda k=k: x[:, k], "steps": lambda i=i: x[i::17, ::40],
                "block": lambda i=i: df.slice(x, [i, 7], [1, 20]),
                "back": lambda i=i: x[i:None:-9, df.newaxis], "whole": lambda: x * table,
                "gather": lambda i=i: df.gather(x, [i, 0, i]), "same": lambda: x[11],
                "function": lambda: traced(x), "element": lambda i=i: x[i, -2]}[read]()
        yield df.reduce_sum(part * weight)


def gradients(seed, order=1, inner=False):
    """Return the bits of the gradients of a random program; its tensor is a source, or computed
    from one."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["float32", "float64"]))
    source = df.constant(rng.normal(size=(N, M)), dtype)
    table = df.constant(rng.choice([-0., 0., 1.], size=(N, M)), dtype)

    def program():
        x = df.sin(source) if inner else source
        total = sum(reads(rng, x, table), df.constant(0., dtype))
        return total * total if order == 2 else total

    with df.GradientTape() as outer:
        outer.watch(source)
        with df.GradientTape(persistent=True) as tape:
            tape.watch(source)
            y = program()
        if order == 2:
            g = tape.gradient(y, source)
            y = df.reduce_sum(df.convert_to_tensor(g) * table)
    found = [outer.gradient(y, source)] if order == 2 else [
        tape.gradient(y, source), tape.gradient(y, [source, source])[1]]
    return [df.convert_to_tensor(g).numpy().tobytes() for g in found if g is not None]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore")
def test_bits_of_sums_of_whole_tensors(monkeypatch, seed, inner, order):
    got = gradients(seed, order, inner)
    monkeypatch.setattr(slice_parts, "LARGE", 2**60)
    assert got == gradients(seed, order, inner) and got


@pytest.mark.parametrize(("read", "negative"), [
    (lambda x: x[1] + x[2], ()), (lambda x: x[:, 1] + x[:, 2], ()),
    (lambda x: x[1] + x[1], np.s_[1]), (lambda x: x[1, :3] + x[1, 2:5], np.s_[1, 2]),
    (lambda x: x[::30, 0] + x[:3, 0], np.s_[0, 0])])
def test_sums_of_negative_zeros(counted, read, negative):
    """-0.0 + -0.0 is -0.0 in elements that all slices have, 0.0 in others."""
    x, want = df.ones([N, M]), np.zeros((N, M), bool)
    if negative != ():
        want[negative] = True
    with df.GradientTape() as tape:
        tape.watch(x)
        y = read(x)
    got = tape.gradient(y, x, output_gradients=-0. * df.ones_like(y)).numpy()
    assert len(counted) == 2
    assert not got.any() and np.array_equal(np.signbit(got), want)


def test_one_sum_of_many_slices(counted):
    x = df.ones([3000, 10])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.add_n([df.reduce_sum(x[i]) * (i + 1.) for i in range(3000)])
    g = tape.gradient(y, x)
    assert len(counted) == 3000
    assert g.numpy()[:, 3].tolist() == [*range(1, 3001)]


def test_slices_of_small_tensors_and_large_slices_are_tensors(counted):
    for shape, k in ([10, 10], 1), ([100, 100], 50):
        x = df.ones(shape)
        with df.GradientTape() as tape:
            tape.watch(x)
            y = x[:k] * 2.
        assert tape.gradient(y, x).numpy().sum() == 2 * k * shape[1]
    assert not counted


def test_forward_derivatives_of_gradients_of_slices():
    x = df.constant(np.random.default_rng(0).normal(size=(N, M)))
    f = df.grad(lambda x: df.reduce_sum(x[3] ** 3. + x[3] * x[4]))
    _, got = df.jvp(f, [x], [df.ones_like(x)])
    want = np.zeros((N, M))
    want[3], want[4] = 6 * x.numpy()[3] + 1, 1
    np.testing.assert_allclose(got, want, rtol=1e-12)
