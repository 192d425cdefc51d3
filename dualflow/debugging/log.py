"""Whether programs tell where their ops run."""

__all__ = ["get_log_device_placement", "set_log_device_placement"]


class _Setting:
    log_device_placement = False


def set_log_device_placement(enabled: bool) -> None:
    """Accepts `enabled`: everything runs on the CPU, so there is nothing to tell.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.set_log_device_placement(False)
    >>> df.debugging.get_log_device_placement()
    False
    """
    _Setting.log_device_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """What was set last; at first False.

    Examples
    --------
    >>> import dualflow as df
    >>> df.debugging.get_log_device_placement()
    False
    """
    return _Setting.log_device_placement
