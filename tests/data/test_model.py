"""Random pipelines against plain Python, and resumed at every element of a pass."""

import json

from hypothesis import HealthCheck, given, settings

import dualflow as df
from dualflow.data.order import mixed, signed
from tests.data import model

CHECKS = settings(max_examples=120, derandomize=True,
                  suppress_health_check=list(HealthCheck))


def order(seed, epoch, window, n):
    """Return the documented order (docs/data.md): a permutation by seed, epoch and window,
    mixed."""
    key = [seed, signed(mixed(mixed(epoch) + window))]
    return df.random.stateless_permutation(n, key).tolist()


def values(elements):
    return [x.tolist() for x in elements]


@CHECKS
@given(model.pipelines())
def test_passes(steps):
    dataset = model.build(steps, df.data)
    for epoch in range(2):
        wanted = model.run(steps, epoch if shuffles(steps) else 0, order)
        assert values(dataset) == wanted
    n = dataset.cardinality().item()
    # If it is unknown whether there are elements, an infinite repeat counts as infinite, as in
    # tf.data.
    empty = any(name == "endless" for name, *_ in steps)
    assert n in (df.data.UNKNOWN_CARDINALITY, len(wanted)) or (empty and n > len(wanted))


def shuffles(steps):
    """Return True if the pipeline shuffles; otherwise all passes are equal."""
    return any(name == "shuffle" for name, *_ in steps)


@CHECKS
@given(model.pipelines())
def test_resumed(steps):
    """Resume at every position in a newly built pipeline; later passes must match as well."""
    model.run(steps, 0, order)
    dataset = model.build(steps, df.data)
    values(dataset)
    iterator = iter(dataset)
    states, wanted = [iterator.state()], []
    for x in iterator:
        wanted.append(x.tolist())
        states.append(iterator.state())
    after = values(dataset)
    for k, state in enumerate(states[:25]):
        anew = model.build(steps, df.data)
        other = iter(anew)
        other.restore(json.loads(json.dumps(state)))
        assert values(other) == wanted[k:], k
        if k == len(wanted) // 2:
            assert values(anew) == after


@CHECKS
@given(model.pipelines())
def test_specs(steps):
    """Every element matches `element_spec`."""
    dataset = model.build(steps, df.data)
    model.run(steps, 0, order)
    elements = list(dataset)
    if elements:
        spec = dataset.element_spec
        for x in elements:
            assert x.dtype is spec.dtype and x.ndim == spec.ndim
            assert all(want in (None, d) for d, want in zip(x.shape, spec.shape, strict=True))
