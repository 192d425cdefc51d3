"""Random programs match plain Python when traced; `pytest -m soak` runs more of them."""

import pytest

from tests import sampling
from tests.programs import (
    composites,
    control,
    derivatives,
    names,
    signatures,
    sizes,
    state,
    written,
)
from tests.programs.program import check


@pytest.mark.parametrize("seed", sampling.part(range(80), 4))
def test_programs(seed):
    check(seed)


@pytest.mark.parametrize("seed", sampling.part(range(30), 2))
def test_branches_and_loops(seed):
    control.check(seed)


@pytest.mark.parametrize("seed", sampling.part(range(20), 10))
def test_composites(seed):
    composites.check(seed)


def test_rows_of_a_loop_whose_size_becomes_known():
    """The sizes of the rows are unknown in the trace, and 0 in a call."""
    composites.check(1013)


@pytest.mark.parametrize("seed", sampling.part(range(20), 10))
def test_signatures_of_composites(seed):
    signatures.check(seed)


def test_differences_of_composites():
    """Some programs have kinks; nearly all agree."""
    seeds = sampling.part(range(40), 4)
    assert sum(map(signatures.matches_differences, seeds)) > .9 * len(seeds)


@pytest.mark.parametrize("seed", sampling.part(range(25), 2))
def test_python_control_flow(seed):
    written.check(seed)


@pytest.mark.parametrize("seed", sampling.part(range(15), 2))
def test_names_introduced_by_statements(seed):
    names.check(seed)


@pytest.mark.parametrize("seed", sampling.part(range(50), 4))
def test_tensors_as_sizes(seed):
    sizes.check(seed)


@pytest.mark.parametrize("seeds", sampling.part(range(0, 200, 50), 4))
def test_changing_python_state(seeds):
    for seed in range(seeds, seeds + 50):
        state.check(seed)


@pytest.mark.parametrize("seed", sampling.part(range(40), 14))
def test_derivatives(seed):
    derivatives.check(seed)


@pytest.mark.filterwarnings("ignore")
def test_eager_derivatives():
    """Check the eager reference against differences, which nearly all programs allow."""
    programs = [derivatives.Program(seed) for seed in sampling.part(range(1000, 1100), 2)]
    compared = [derivatives.against_differences(program) for program in programs]
    assert sum(compared) > .9 * sum([len(p.trips) for p in programs if p.question.ways])


def test_many_programs(request):
    if not request.config.getoption("exhaustive"):
        pytest.skip("slow: run with --exhaustive")
    for seed in range(100_000, 110_000):
        check(seed)
        control.check(seed)
        derivatives.check(seed)
        sizes.check(seed)
