"""Random programs do the same traced as in plain Python; `pytest -m soak` runs more of them."""

import pytest

from tests.programs import control
from tests.programs.program import check


@pytest.mark.parametrize("seed", range(80))
def test_programs(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(30))
def test_branches_and_loops(seed):
    control.check(seed)


def test_many_programs(request):
    if not request.config.getoption("exhaustive"):
        pytest.skip("takes long: run with --exhaustive")
    for seed in range(100_000, 110_000):
        check(seed)
        control.check(seed)
