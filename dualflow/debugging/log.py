"""The setting for logging device placement, which has no effect."""

__all__ = ["get_log_device_placement", "set_log_device_placement"]


class _Setting:
    log_device_placement = False


def set_log_device_placement(enabled: bool) -> None:
    """Accept `enabled`. Everything runs on the CPU, so nothing is logged.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.set_log_device_placement(False)
    >>> df.debugging.get_log_device_placement()
    False
    """
    _Setting.log_device_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """Return the last value set, initially False.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.get_log_device_placement()
    False
    """
    return _Setting.log_device_placement
