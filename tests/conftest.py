"""Options of the suite."""


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true",
                     help="every dtype at every SIMD level, finer sweeps; takes long")
