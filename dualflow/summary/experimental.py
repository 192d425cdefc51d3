"""The step that summaries are of if they name none."""

from typing import Any

from dualflow._core import current_graph
from dualflow.summary.writer import DEFAULTS, Default

__all__ = ["get_step", "set_step"]


def set_step(step: Any) -> None:
    """From now on, summaries of this thread that name no step are of this one.

    Parameters
    ----------
    step : int, Variable or None
        A Variable is read when a summary is written.

    Notes
    -----
    A traced function looks the step up each time it runs, if it was set outside it.

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
    """The step set last in this thread, or None.

    Examples
    --------
    >>> import dualflow as df
    >>> df.summary.experimental.get_step() is None
    True
    """
    return DEFAULTS.now("step")


def __dir__() -> list[str]:
    return __all__
