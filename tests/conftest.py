"""Options of the suite."""


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true",
                     help="every dtype at every SIMD level, finer sweeps; takes long")
    parser.addoption("--minutes", type=float, default=1., help="how long `-m soak` runs")
    parser.addoption("--seed", type=int, default=None, help="where `-m soak` begins")
