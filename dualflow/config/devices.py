"""Device functions under TensorFlow's names; the only device is the CPU."""

from __future__ import annotations

from typing import NamedTuple

from dualflow.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LogicalDevice", "LogicalDeviceConfiguration", "PhysicalDevice",
           "get_logical_device_configuration", "get_soft_device_placement", "get_visible_devices",
           "list_logical_devices", "list_physical_devices", "set_logical_device_configuration",
           "set_soft_device_placement", "set_visible_devices"]


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """A partition of a device. The CPU cannot be partitioned, so it has no effect."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


class _Placement:
    soft = True


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of a `device_type`, or all devices: the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> [d.device_type for d in df.config.list_physical_devices()]
    ['CPU']
    >>> df.config.list_physical_devices("GPU")
    []
    """
    return [CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the device names of a `device_type`, or all: the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.list_logical_devices()[0].name
    '/device:CPU:0'
    """
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the visible devices of a `device_type`, the result of `list_physical_devices`.

    Examples
    --------
    >>> import dualflow as df
    >>> len(df.config.get_visible_devices())
    1
    """
    return list_physical_devices(device_type)


def set_visible_devices(devices: PhysicalDevice | Sequence[PhysicalDevice],
                        device_type: str | None = None) -> None:
    """Accept `devices` of a `device_type` unless the CPU is missing.

    Raises
    ------
    InvalidArgumentError
        If a device does not exist, or the CPU is missing.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.set_visible_devices([], "GPU")
    """
    given = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    if any(d != CPU for d in given) or (not given and device_type in (None, "CPU")):
        raise InvalidArgumentError(f"set_visible_devices: got {given}, expected {[CPU]}, the "
                                   "only device")


def set_logical_device_configuration(
        device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]) -> None:
    """Accept one item in `logical_devices` for a `device`: the CPU cannot be partitioned.

    Raises
    ------
    InvalidArgumentError
        If there are several configurations, or the device does not exist.

    Examples
    --------
    >>> import dualflow as df
    >>> cpu, = df.config.list_physical_devices()
    >>> df.config.set_logical_device_configuration(cpu, [df.config.LogicalDeviceConfiguration()])
    """
    if device != CPU or len(logical_devices) != 1:
        raise InvalidArgumentError(f"set_logical_device_configuration: got {len(logical_devices)} "
                                   f"devices of {device}, expected 1 of {CPU}, which "
                                   "cannot be partitioned")


def get_logical_device_configuration(
        device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Return None for every `device`: the CPU is not partitioned.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.get_logical_device_configuration(df.config.list_physical_devices()[0])
    """
    return None


def set_soft_device_placement(enabled: bool) -> None:
    """Accept `enabled`; everything runs on the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.set_soft_device_placement(True)
    >>> df.config.get_soft_device_placement()
    True
    """
    _Placement.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Return the last value set, initially True.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.get_soft_device_placement()
    True
    """
    return _Placement.soft
