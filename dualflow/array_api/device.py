"""The only device."""

from typing import Any

from dualflow._core import constant
from dualflow.errors import InvalidArgumentError

DEVICE = constant(0).device


def check_device(device: Any, caller: str) -> None:
    """Raise unless `device` is None or a name of the only device."""
    if device not in (None, DEVICE, "cpu"):
        raise InvalidArgumentError(f"{caller}: device is {device!r}, expected {DEVICE!r} or 'cpu'")
