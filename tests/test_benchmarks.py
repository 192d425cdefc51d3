"""Every benchmark of asv_bench sets up and runs once; timing is left to asv."""

import importlib
import inspect
import itertools
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "asv_bench/benchmarks"
TIMED = ("time_", "peakmem_", "track_")


def cases_of(owner):
    """Return the parameter combinations of a benchmark, in asv's order."""
    params = getattr(owner, "params", [])
    if params and not isinstance(params[0], list | tuple):
        params = [params]
    return list(itertools.product(*params))


def benchmarks():
    for path in sorted(FOLDER.glob("[!_]*.py")):
        module = importlib.import_module(f"asv_bench.benchmarks.{path.stem}")
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                for case in cases_of(value):
                    label = ",".join(map(str, case))
                    yield pytest.param(value, case, id=f"{path.stem}.{name}({label})")
            elif inspect.isfunction(value) and name.startswith(TIMED):
                yield pytest.param(value, (), id=f"{path.stem}.{name}")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("benchmark, case", list(benchmarks()))
def test_benchmark_runs(benchmark, case):
    if inspect.isfunction(benchmark):
        benchmark()
        return
    instance = benchmark()
    if hasattr(instance, "setup"):
        instance.setup(*case)
    methods = [m for m in dir(instance) if m.startswith(TIMED)]
    assert methods, benchmark
    for method in methods:
        getattr(instance, method)(*case)
