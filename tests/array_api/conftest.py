"""Number of examples per test: a few, or hundreds with ``pytest --exhaustive``."""

from hypothesis import settings


def pytest_configure(config):
    many = config.getoption("exhaustive")
    settings.register_profile("array_api", max_examples=300 if many else 8)
