"""The devices of a process under TensorFlow's names: there is one, the CPU."""

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
    """A device that programs name."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """How a device is divided. The CPU is not, so this changes nothing."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


class _Placement:
    soft = True


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of a `device_type`, or all: the CPU.

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
    """The devices of a `device_type` that programs may name, or all: the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.list_logical_devices()[0].name
    '/device:CPU:0'
    """
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of a `device_type` that are used: those of `list_physical_devices`.

    Examples
    --------
    >>> import dualflow as df
    >>> len(df.config.get_visible_devices())
    1
    """
    return list_physical_devices(device_type)


def set_visible_devices(devices: PhysicalDevice | Sequence[PhysicalDevice],
                        device_type: str | None = None) -> None:
    """Accepts `devices` of a `device_type`, unless they leave out the CPU.

    Raises
    ------
    InvalidArgumentError
        If a device does not exist, or the CPU is left out.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.set_visible_devices([], "GPU")
    """
    given = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    if any(d != CPU for d in given) or (not given and device_type in (None, "CPU")):
        raise InvalidArgumentError(f"set_visible_devices: got {given}, want {[CPU]}: there is no "
                                   "other device")


def set_logical_device_configuration(
        device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]) -> None:
    """Accepts one of `logical_devices` for a `device`: the CPU is not divided.

    Raises
    ------
    InvalidArgumentError
        If there are to be several, or the device does not exist.

    Examples
    --------
    >>> import dualflow as df
    >>> cpu, = df.config.list_physical_devices()
    >>> df.config.set_logical_device_configuration(cpu, [df.config.LogicalDeviceConfiguration()])
    """
    if device != CPU or len(logical_devices) != 1:
        raise InvalidArgumentError(f"set_logical_device_configuration: got {len(logical_devices)} "
                                   f"devices of {device}, want 1 of {CPU}: it is not divided")


def get_logical_device_configuration(
        device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """None, for every `device`: the CPU is not divided.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.get_logical_device_configuration(df.config.list_physical_devices()[0])
    """
    return None


def set_soft_device_placement(enabled: bool) -> None:
    """Accepts `enabled`: everything runs on the CPU.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.set_soft_device_placement(True)
    >>> df.config.get_soft_device_placement()
    True
    """
    _Placement.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """What was set last; at first True.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.get_soft_device_placement()
    True
    """
    return _Placement.soft
