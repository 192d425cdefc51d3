"""Random compositions of transforms against finite differences, and traced against eager."""

import importlib.util
import itertools
import time
import warnings

import numpy as np
import pytest

import dualflow as df
from tests import sampling
from tests.transforms import compositions as c

STEP = 1e-4
NAMES = c.dualflow_names()
LARGEST = 9                             # maximum pieces of a composition by default
# Some rules of loop gradients cannot be read outside; `vmap` has no gradient of loops whose trip
# counts differ between batched values.
REFUSED = (df.errors.TracedValueError, df.errors.UnimplementedError)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def close(got, want, tolerance, what):
    scale = max(1., float(np.abs(want).max()))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale, err_msg=what)


def check(composition, place, along):
    """Compare the gradient along a direction with differences of fourth order. They are unreliable
    if differences of second order change with the step: near a kink, or for large values."""
    f = c.function(NAMES, composition)
    weights, step = df.constant(along), STEP * along[::-1]

    def number(x):
        return df.reduce_sum(f(x) * weights)

    def difference(n):
        return number(df.constant(place + n * step)) - number(df.constant(place - n * step))

    got = np.sum(df.grad(number)(df.constant(place)).numpy() * along[::-1])
    near, far = difference(1).item() / (2 * STEP), difference(2).item() / (4 * STEP)
    if abs(near - far) < 1e-4 * max(1., abs(near)):
        close(got, np.float64((4 * near - far) / 3), 1e-5, c.text(composition))


def drawn(seeds, largest=LARGEST):
    """Yield compositions of the seeds that are small enough and have a finite gradient."""
    for seed in seeds:
        composition, place, along = c.draw(seed)
        if c.size(composition) <= largest and not c.told_apart_by_lane(composition):
            yield seed, composition, place, along


@pytest.mark.parametrize("begin", [0, 1000, 2000])
def test_derivatives_match_differences(begin):
    refused = 0
    for _, *one in itertools.islice(drawn(itertools.count(begin)), 20 if sampling.every else 3):
        try:
            check(*one)
        except REFUSED:
            refused += 1
    assert refused < 3


def soak(request, capsys, one):
    """Call `one` with compositions for the requested time."""
    minutes, seed = request.config.getoption("minutes"), request.config.getoption("seed")
    seed = int(np.random.SeedSequence().entropy % 10**9) if seed is None else seed
    end, refused = time.monotonic() + 60 * minutes, 0
    for n, (at, *given) in enumerate(drawn(itertools.count(seed), 14), 1):
        try:
            one(*given)
        except REFUSED:
            refused += 1
        except BaseException as error:
            error.add_note(f"compositions: fails at seed {at}: {c.text(given[0])}")
            raise
        if time.monotonic() > end:
            with capsys.disabled():
                print(f"\ncompositions: {n} from seed {seed}, {refused} refused")
            return


@pytest.mark.soak
def test_many_derivatives(request, capsys):
    soak(request, capsys, check)


@pytest.mark.soak
def test_many_traced(request, capsys):
    def one(composition, place, along):
        f = c.function(NAMES, composition)
        want = f(df.constant(place))
        close(df.function(f)(df.constant(place)), want.numpy(), 1e-9, c.text(composition))

    soak(request, capsys, one)


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_many_match_jax(request, capsys):
    jax = c.jax_names()

    def one(composition, place, along):
        try:
            want = np.asarray(c.function(jax, composition)(jax.constant(place)))
        except (TypeError, NotImplementedError):
            return                      # no forward mode through custom rules
        if not np.isfinite(want).all():
            return                      # zero times infinity, as in `steep`
        got = c.function(NAMES, composition)(df.constant(place))
        close(got, want, 1e-9, c.text(composition))

    soak(request, capsys, one)
