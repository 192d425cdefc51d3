"""Training checkpoints: saved durably; `restoration.py` restores them."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from dualflow import dtypes
from dualflow._core import Tensor, Variable, current_graph, snapshot_values
from dualflow._util.notebook import card, counted
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.io.content import FORMAT, checkpoint_at, write_content
from dualflow.io.files import SUFFIX, safetensors
from dualflow.io.index import write_index
from dualflow.io.object_graph import NUMBERS, Tracked, copied_state
from dualflow.io.restoration import Restoration, Status, is_waiting
from dualflow.io.views import DictView, ListView
from dualflow.modules import attached, is_variable, waiting

__all__ = ["Checkpoint", "Saving"]


class Saving:
    """A checkpoint that is being written; created by ``save(..., wait=False)``.

    Attributes
    ----------
    path : str
        The path for `restore`.
    """

    def __init__(self, path: str, work: Callable[[], None], after: Saving | None) -> None:
        self.path = path
        self._error: BaseException | None = None
        self._reported = False
        self._after = after
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"saving {path}")
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            if self._after is not None:
                self._after._thread.join()          # keeps checkpoints in order
                self._after = None
            work()
        except BaseException as error:
            self._error = error
        finally:
            del self, work              # breaks a cycle through the traceback

    def done(self) -> bool:
        """Return True if the checkpoint is on disk or has failed."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> str:
        """Wait until the checkpoint is on disk, and return the path. Raise the error of the write,
        or TimeoutError after `timeout` seconds."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"{self.path} is not saved after {timeout} s")
        if self._error is not None:
            self._reported = True
            raise self._error
        return self.path

    def __del__(self) -> None:
        if getattr(self, "_error", None) is not None and not self._reported:
            warnings.warn(f"{self.path} was not saved: {self._error}", RuntimeWarning,
                          stacklevel=2)

    def __repr__(self) -> str:
        return f"<Saving {self.path!r}{' done' * self.done()}>"


class Checkpoint:
    """The state of a training run, saved as a file.

    Parameters
    ----------
    root : object, optional
        A module or another object whose parts are saved under their own names.
    **objects
        Variables, modules, optimizers, random generators, iterators of datasets (or other objects
        with a JSON-compatible `state()` and `restore(state)`), objects with `variables`, lists and
        dicts of these; arrays; numbers, strings and tensors of text. They become attributes;
        numbers, strings and text are changed by assigning the attribute.

    Attributes
    ----------
    save_counter : Variable, int64, shape ()
        Number of times that it was saved.

    Notes
    -----
    Variables are identified by their paths from this object, not by their names.

    Examples
    --------
    >>> import os, tempfile
    >>> import dualflow as df
    >>> v, optimizer = df.Variable([1., 2.]), df.optimizers.Adam(0.1)
    >>> checkpoint = df.train.Checkpoint(v=v, optimizer=optimizer, epoch=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = checkpoint.save(os.path.join(folder, "ckpt"))
    ...     _ = v.assign([0., 0.])
    ...     checkpoint.epoch = 4
    ...     status = checkpoint.restore(path)
    >>> os.path.basename(path), v.tolist(), checkpoint.epoch
    ('ckpt-1', [1.0, 2.0], 3)
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        self._lock = threading.RLock()
        self._root = root
        self._saving: Saving | None = None
        self.save_counter: Variable = Variable(0, False, "save_counter", dtypes.int64)
        if is_variable(root) or isinstance(root, NUMBERS):
            raise DTypeError(f"Checkpoint: root is {root!r}, expected a Module or another object "
                             "with parts")
        for name, x in objects.items():
            if name.startswith("_") or hasattr(self, name):
                raise InvalidArgumentError(f"Checkpoint: {name} is not a permitted object name")
            setattr(self, name, x)
        Tracked(self)                   # raises for objects that cannot be saved

    def __repr__(self) -> str:
        held = [f"{name}={x!r}" if isinstance(x, int | float | str) else name
                for name, x in objects_of(self)]
        return (f"<dualflow.train.Checkpoint of {', '.join(held) or 'nothing'}: "
                f"{counted(len(Tracked(self).variables) - 1, 'variable')}>")

    def _repr_html_(self) -> str:
        return card("Checkpoint", [(name, repr(x)) for name, x in objects_of(self)],
                    ("object", "content"))

    # --- saving ---

    @overload
    def save(self, file_prefix: Any, wait: Literal[True] = True, options: Any = None) -> str: ...

    @overload
    def save(self, file_prefix: Any, wait: Literal[False], options: Any = None) -> Saving: ...

    def save(self, file_prefix: Any, wait: bool = True, options: Any = None) -> str | Saving:
        """Save the current state of all objects.

        Parameters
        ----------
        file_prefix : str
            A folder, created if it does not exist, and the prefix of checkpoint names.
        wait : bool, default True
            If False, return at once and write in the background. The data to be written shares
            memory with the variables until they are assigned.
        options : CheckpointOptions, optional
            Has no effect.

        Returns
        -------
        str, or Saving if not `wait`
            `file_prefix`, "-" and the incremented value of `save_counter`: the path for `restore`.
            It is also written to the folder's index, for `latest_checkpoint`.

        Raises
        ------
        OSError
            If the file cannot be written; an existing file is unchanged.
        """
        refuse_tracing("save")
        prefix = as_prefix(file_prefix)
        with self._lock:
            self.save_counter.assign_add(1)
            try:
                path = f"{prefix}-{self.save_counter.item()}"
                return self.write_and(path, wait, lambda: write_index(
                    os.path.dirname(path), [(path, os.path.getmtime(path + SUFFIX))]))
            except BaseException:
                self.save_counter.assign_sub(1)
                raise

    def write(self, file_prefix: Any, wait: bool = True, options: Any = None) -> Any:
        """Save under exactly this name, without a counter and without an index."""
        return self.write_and(as_prefix(file_prefix), wait, lambda: None)

    def write_and(self, path: str, wait: bool, then: Callable[[], None],
                  first: Callable[[], None] = lambda: None) -> Any:
        """Call `first`, write a checkpoint, then call `then` once it is on disk."""
        refuse_tracing("save")
        safetensors()
        with self._lock:
            found = Tracked(self)
            tensors, states = snapshot(found)
            same = dict(found.same)
            del found                   # it holds the objects, not only their values

            def work() -> None:
                first()
                write_content(path + SUFFIX, FORMAT, tensors, states, same)
                then()

            before, self._saving = self._saving, None
            if wait:
                if before is not None:
                    before._thread.join()
                work()
                return path
            self._saving = Saving(path, work, None if before is None or before.done() else before)
            return self._saving

    # --- restoring ---

    def restore(self, save_path: Any, partial: bool = True, options: Any = None) -> Status:
        """Restore the objects that the checkpoint contains, or none if an error occurs. Values
        without an object are used when the object is attached: when a module or a layer creates
        its variables, or an optimizer its slots.

        Parameters
        ----------
        save_path : str or None
            The result of `save`, or None from `latest_checkpoint`, which changes nothing.
        partial : bool, default True
            If False, objects without values and values without objects raise. (Slots of an
            optimizer that is not built yet are permitted.)
        options : CheckpointOptions, optional
            Has no effect.

        Returns
        -------
        Status
            Its `assert_consumed` raises unless everything was restored.

        Raises
        ------
        NotFoundError
            If the checkpoint does not exist.
        DataLossError
            If the file is damaged.
        InvalidArgumentError
            If dtypes or shapes differ or, if not `partial`, names; all differences are listed. For
            an object that is attached later, its assignment raises.

        Notes
        -----
        The values that are not used yet are in memory as long as an object of this checkpoint, and
        are released by the next complete `restore`.
        """
        if save_path is None:
            return Status()
        refuse_tracing("restore")
        with checkpoint_at(os.fspath(save_path).removesuffix(SUFFIX)) as content, self._lock:
            restoration = Restoration(self, content)
            restoration.begin(content, partial)
        return Status(restoration)

    read = restore

    if not TYPE_CHECKING:
        def __setattr__(self, name, value):
            if isinstance(value, ListView | DictView):
                value = value._held
            object.__setattr__(self, name, value)
            if waiting and not name.startswith("_"):
                attached(self)

        def __getattribute__(self, name):
            value = object.__getattribute__(self, name)
            if waiting and type(value) in (list, dict) and not name.startswith("_") and (
                    is_waiting(self)):
                return ListView(value) if type(value) is list else DictView(value)
            return value


def snapshot(found: Tracked) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an atomic snapshot of all tensors, and the states; later changes do not affect it."""
    values = snapshot_values(list(found.variables.values()))
    tensors: dict[str, Tensor | Any] = dict(zip(found.variables, values, strict=True))
    tensors.update({name: x.copy() for name, x in found.arrays.items()})
    states = {name: copied_state(name, state.get()) for name, state in found.states.items()}
    return tensors, states


def objects_of(checkpoint: Checkpoint) -> list[tuple[str, Any]]:
    """Return the objects of a checkpoint with their names."""
    return [(name, x) for name, x in vars(checkpoint).items()
            if not name.startswith("_") and name != "save_counter"]


def refuse_tracing(what: str) -> None:
    """Raise an error inside a traced function, whose runs would not write files."""
    if current_graph() is not None:
        raise InvalidArgumentError(f"Checkpoint: a traced function cannot {what}; {what} between "
                                   "its calls")


def as_prefix(path: Any) -> str:
    """Return a path as a string. Raise if it is a folder."""
    prefix = os.fspath(path)
    if not isinstance(prefix, str) or not prefix:
        raise InvalidArgumentError(f"Checkpoint: the path is {path!r}, expected a string")
    if prefix.endswith(("/", os.sep)) or os.path.isdir(prefix):
        raise InvalidArgumentError(
            f"Checkpoint: {prefix} is a folder; add the prefix of checkpoint names, as in "
            f"{os.path.join(prefix, 'ckpt')!r}")
    return prefix
