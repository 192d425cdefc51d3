"""Samples of complex numbers, and the checks that tests of functions of them share."""

import numpy as np

import dualflow as df

DTYPES = ["complex64", "complex128"]


def drawn(seed, *shape, dtype="complex128"):
    """Return normally distributed numbers; real ones for a real dtype."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def leaves(value):
    return [x for v in value for x in leaves(v)] if isinstance(value, list | tuple) else [value]


def loss_of(results):
    """Return a real number that depends on both parts of every result, not only linearly."""
    total = 0.0
    for k, y in enumerate(leaves(results)):
        weights = drawn(k, *y.shape, dtype=y.dtype.name)
        total += df.reduce_sum(df.math.real(weights * y)) + 0.5 * df.reduce_sum(df.abs(y) ** 2)
    return total


def slopes(loss, arrays, k, eps=1e-6):
    """Return dL/dx + i dL/dy of argument k by central differences; dL/dx if it is real."""
    g = np.zeros_like(arrays[k])
    for at in np.ndindex(g.shape):
        for unit in (1, 1j) if np.iscomplexobj(g) else (1,):
            values = []
            for step in (eps, -eps):
                moved = [x.copy() for x in arrays]
                moved[k][at] += step * unit
                values.append(loss(*map(df.constant, moved)).item())
            g[at] += unit * (values[0] - values[1]) / (2 * eps)
    return g


def check_gradients(f, *arrays, rtol=1e-6):
    """Compare the gradients of f with finite differences in both parts, and eager mode with traced
    functions, with and without passes, bit for bit."""
    def loss(*tensors):
        return loss_of(f(*tensors))

    def both(tensors):
        with df.GradientTape() as tape:
            tape.watch(tensors)
            y = loss(*tensors)
        return y, *tape.gradient(y, tensors)

    tensors = [df.constant(x) for x in arrays]
    eager = both(tensors)
    for k, g in enumerate(eager[1:]):
        want = slopes(loss, arrays, k)
        assert g.dtype == want.dtype.name
        np.testing.assert_allclose(g.numpy(), want, rtol=rtol,
                                   atol=10 * rtol * max(np.abs(want).max(initial=0), 1))
    for options in ({}, {"passes": False}):
        traced = df.function(both, **options)
        for _ in range(2):
            for a, b in zip(traced(tensors), eager, strict=True):
                assert a.numpy().tobytes() == b.numpy().tobytes(), (options, a, b)


def near(got, want, ulp=4.0):
    """Compare with a reference of higher accuracy, relative to its largest magnitude."""
    got = got.numpy()
    assert got.shape == want.shape
    unit = np.finfo(got.dtype).eps * np.abs(want).max(initial=0)
    assert np.abs(got - want).max(initial=0) <= ulp * unit
