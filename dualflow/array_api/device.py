"""The one device there is."""

from typing import Any

from dualflow.errors import InvalidArgumentError

DEVICE = "cpu"


def check_device(device: Any, who: str) -> None:
    """An error unless `device` is None or the one there is."""
    if device is not None and device != DEVICE:
        raise InvalidArgumentError(f"{who}: device is {device!r}, want {DEVICE!r}")
