"""Values of every dtype, and the comparison of optimised graphs with eager mode on them."""

import itertools

import numpy as np

import dualflow as df
from tests.graph.build import assert_same

FEW = 40                # values that are combined in pairs
UINTS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def bits_of(dtype):
    """Return the bit patterns of a dtype: all for 8 and 16 bits, else limits with neighbours,
    powers of two and random ones."""
    x = df.as_dtype(dtype)
    if x.is_complex:                # pairs of values of the parts
        parts = bits_of(x.real_dtype)
        pairs = np.stack([parts, np.random.default_rng(2).permutation(parts)], 1)
        return pairs[:: 1 if x.itemsize == 8 else 2]
    n = 8 * x.itemsize
    if x.is_bool:
        return np.array([0, 1], np.uint8)
    if n <= 16:
        return np.arange(1 << n).astype(UINTS[x.itemsize])
    rng = np.random.default_rng(n)
    some = [int(1 << k) + d for k in range(n) for d in (-1, 0, 1)]
    some += [(1 << n) - 1 - k for k in some] + rng.integers(0, 1 << 63, 1000).tolist()
    if x.is_floating:
        numbers = [0.0, -0.0, 1, -1, 0.1, -1 / 3, 2.5, np.inf, -np.inf, np.nan, 3e38, 1e-40, 7]
        with np.errstate(over="ignore"):
            some += np.array(numbers, dtype).view(UINTS[x.itemsize]).tolist()
    return np.array([k % (1 << n) for k in some], dtype=object).astype(UINTS[x.itemsize])


def tensor(bits, dtype):
    return df.cast(df.constant(bits), df.bool) if dtype == "bool" else df.bitcast(
        df.constant(bits), dtype)


def sample(dtype):
    """Return two columns: all values, each with another one, followed by all pairs of a few."""
    bits = bits_of(dtype)
    rng = np.random.default_rng(1)
    few = np.unique(np.concatenate([bits[:8], bits[-8:], rng.choice(bits, FEW)]), axis=0)
    pairs = np.array(list(itertools.product(few, few)), bits.dtype)
    a = np.concatenate([bits, pairs[:, 0]])
    b = np.concatenate([rng.permutation(bits), pairs[:, 1]])
    return tensor(a, dtype), tensor(b, dtype)


def typed(dtype):
    """Return a function that creates constants of a dtype."""
    return lambda value: df.cast(df.constant(value), dtype)


def results(f, *args):
    """Return the results of a function as a list, or the class of its exception."""
    try:
        found = f(*args)
    except df.errors.DualflowError as error:
        return type(error)
    return list(found) if isinstance(found, list | tuple) else [found]


def check(pattern, dtype, **options):
    a, b = sample(dtype)

    def f(a, b):
        return pattern(a, b, typed(dtype))

    want = results(f, a, b)
    got = results(df.function(f, **options), a, b)
    if not isinstance(want, list):
        assert got is want
        return
    for g, w in zip(got, want, strict=True):
        assert_same(g, w)
