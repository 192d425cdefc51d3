"""The default step of summaries."""

from typing import Any

from dualflow._core import current_graph
from dualflow.summary.writer import DEFAULTS, Default

__all__ = ["get_step", "set_step"]


def set_step(step: Any) -> None:
    """Set the default step of summaries in this thread.

    Parameters
    ----------
    step : int, Variable or None
        A Variable is read when a summary is written.

    Notes
    -----
    A traced function reads the step in each run, if it was set outside the function.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.experimental.set_step(5)
    >>> df.summary.experimental.get_step()
    5
    >>> df.summary.experimental.set_step(None)
    """
    DEFAULTS.step = None if step is None else Default(step, current_graph())


def get_step() -> Any:
    """Return the default step of this thread, or None.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.experimental.get_step() is None
    True
    """
    return DEFAULTS.now("step")


def __dir__() -> list[str]:
    return __all__
