"""Elastic training: a restarted job continues from its last commit, with any number of ranks.

The loss of a rank ends an MPI job. Therefore the state is committed to a file, and the launcher
runs in a loop: ``until mpiexec -n 4 python program.py; do sleep 1; done``.
"""

from __future__ import annotations

import functools
import os
import tempfile

from dualflow.distribute.objects import broadcast_object
from dualflow.distribute.world import rank
from dualflow.io.checkpoint import Checkpoint
from dualflow.io.files import SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["State", "run"]


class State:
    """The state of a training run, identical on all ranks; see `commit` and `restore`.

    Parameters
    ----------
    path : str
        Path of the file that rank 0 writes, without its suffix; other ranks need no access.
    **objects
        Objects that `df.train.Checkpoint` accepts: modules, optimizers, variables, numbers. They
        become attributes; numbers are changed by assigning the attribute.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> v = df.Variable([1., 2.])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = df.distribute.elastic.State(os.path.join(folder, "state"), v=v, epoch=0)
    ...     state.epoch += 1
    ...     state.commit()
    ...     state.epoch, _ = 7, v.assign([0., 0.])
    ...     state.restore()
    >>> state.epoch, v.tolist()
    (1, [1.0, 2.0])
    """

    _checkpoint: Checkpoint
    _path: str

    def __init__(self, path: Any, **objects: Any) -> None:
        self.__dict__.update(_checkpoint=Checkpoint(**objects), _path=os.fspath(path))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_checkpoint"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._checkpoint, name, value)

    def commit(self) -> None:
        """Save the state. When it returns, the file is on the disk of rank 0."""
        if rank() == 0:
            self._checkpoint.write(self._path)
        broadcast_object(None)

    def restore(self) -> None:
        """Restore the last commit on all ranks; without a commit, copy the state of rank 0."""
        with tempfile.TemporaryDirectory() as folder:
            data, path = b"", self._path
            if rank() == 0:
                if not os.path.exists(path + SUFFIX):
                    path = self._checkpoint.write(os.path.join(folder, "state"))
                with open(path + SUFFIX, "rb") as file:
                    data = file.read()
            data = broadcast_object(data)
            path = os.path.join(folder, "received")
            with open(path + SUFFIX, "wb") as file:
                file.write(data)
            self._checkpoint.restore(path)


def run(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of a state so that it first restores the last commit.

    Parameters
    ----------
    function : callable (state, ...)

    Returns
    -------
    callable

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> @df.distribute.elastic.run
    ... def train(state, epochs):
    ...     while state.epoch < epochs:
    ...         state.epoch += 1
    ...         state.commit()
    ...     return state.epoch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train(df.distribute.elastic.State(os.path.join(folder, "state"), epoch=0), 3)
    3
    """
    @functools.wraps(function)
    def restored(state: State, *args: Any, **kwargs: Any) -> Any:
        state.restore()
        return function(state, *args, **kwargs)

    return restored


def __dir__() -> list[str]:
    return __all__
