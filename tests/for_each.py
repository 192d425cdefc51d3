"""One test for many files or ops: thousands of parameters take pytest longer than the checks."""

from collections.abc import Callable, Iterable
from typing import Any


def for_each(values: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[..., Any]:
    """Return a decorator: the test calls the decorated function for each value, and reports all
    values for which an assertion fails."""
    def decorate(check: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            failed = []
            for value in values:
                try:
                    check(value)
                except AssertionError as error:
                    failed.append(f"{name(value)}: {error}")
            assert not failed, "\n".join(failed)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate
