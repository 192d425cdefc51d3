"""`tf.logging`: Python's logging under the name "tensorflow"."""

from __future__ import annotations

import logging as own
from typing import Any

__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity",
           "info", "log", "set_verbosity", "warn", "warning"]

DEBUG, INFO, WARN, ERROR, FATAL = (own.DEBUG, own.INFO, own.WARNING, own.ERROR, own.CRITICAL)

_LOGGER = own.getLogger("tensorflow")


def set_verbosity(v: int) -> None:
    """Drop messages below a level.

    Parameters
    ----------
    v : int
        DEBUG, INFO, WARN, ERROR or FATAL.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.ERROR)
    >>> tf.logging.get_verbosity() == tf.logging.ERROR
    True
    """
    _LOGGER.setLevel(v)
    if not _LOGGER.handlers and not own.getLogger().handlers:
        handler = own.StreamHandler()
        handler.addFilter(lambda record: not own.getLogger().handlers)      # they show it as well
        handler.setFormatter(own.Formatter("%(levelname)s:%(name)s:%(message)s"))
        _LOGGER.addHandler(handler)


def get_verbosity() -> int:
    """Return the level below which messages are dropped.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.WARN)
    >>> tf.logging.get_verbosity() == tf.logging.WARN
    True
    """
    return _LOGGER.getEffectiveLevel()


def log(level: int, msg: str, *args: Any) -> None:
    """Log a message at a level.

    Parameters
    ----------
    level : int
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.log(tf.logging.DEBUG, "step %d", 3)
    """
    _LOGGER.log(level, msg, *args)


def debug(msg: str, *args: Any) -> None:
    """Log a message at level DEBUG.

    Parameters
    ----------
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.debug("step %d", 3)
    """
    _LOGGER.debug(msg, *args)


def info(msg: str, *args: Any) -> None:
    """Log a message at level INFO.

    Parameters
    ----------
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.info("step %d", 3)
    """
    _LOGGER.info(msg, *args)


def warning(msg: str, *args: Any) -> None:
    """Log a message at level WARN.

    Parameters
    ----------
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.FATAL + 1)
    >>> tf.logging.warning("step %d", 3)
    """
    _LOGGER.warning(msg, *args)


def error(msg: str, *args: Any) -> None:
    """Log a message at level ERROR.

    Parameters
    ----------
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.FATAL + 1)
    >>> tf.logging.error("step %d", 3)
    """
    _LOGGER.error(msg, *args)


def fatal(msg: str, *args: Any) -> None:
    """Log a message at level FATAL.

    Parameters
    ----------
    msg : str
        ``%`` format string for the arguments.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.logging.set_verbosity(tf.logging.FATAL + 1)
    >>> tf.logging.fatal("step %d", 3)
    """
    _LOGGER.critical(msg, *args)


warn = warning


def __dir__() -> list[str]:
    return __all__
