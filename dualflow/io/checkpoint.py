"""Training checkpoints: saved durably, and restored completely or not at all."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

from dualflow import dtypes
from dualflow._core import Tensor, Variable, current_graph, snapshot_values
from dualflow._util.notebook import card, counted
from dualflow.errors import InvalidArgumentError
from dualflow.io.content import FORMAT, TensorFile, checkpoint_at, write_content
from dualflow.io.files import SUFFIX, safetensors
from dualflow.io.index import write_index
from dualflow.io.object_graph import Tracked, copied_state

__all__ = ["Checkpoint", "Saving", "Status"]


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


class Status:
    """The result of `restore`, with the methods of TensorFlow's status objects.

    Attributes
    ----------
    unused : list of str
        Names in the checkpoint without a matching object.
    unmatched : list of str
        Names of objects that the checkpoint does not contain.
    """

    unused: list[str]
    unmatched: list[str]

    def __init__(self, path: str | None, unused: list[str], unmatched: list[str],
                 waiting: Callable[[], list[str]]) -> None:
        self.path = path
        self.unused, self.unmatched = unused, unmatched
        self._waiting = waiting

    def assert_consumed(self) -> Status:
        """Raise AssertionError unless all values of the checkpoint were used and all objects were
        restored. Slots of an optimizer that is not built yet count as unused."""
        self.assert_existing_objects_matched()
        left = [*self.unused, *self._waiting()]
        if left:
            raise AssertionError(f"{self.path} has values that are not used: {', '.join(left)}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Raise AssertionError unless all objects were restored."""
        if self.unmatched or self.path is None:
            raise AssertionError(f"{self.path} has no values for: {', '.join(self.unmatched)}")
        return self

    def assert_nontrivial_match(self) -> Status:
        """Raise AssertionError if there was no checkpoint."""
        if self.path is None:
            raise AssertionError("nothing was restored")
        return self

    def expect_partial(self) -> Status:
        """Do nothing: `Checkpoint.restore` reports mismatches at once."""
        return self


class Checkpoint:
    """The state of a training run, saved as a file.

    Parameters
    ----------
    **objects
        Variables, modules, optimizers, random generators, iterators of datasets (or other objects
        with a JSON-compatible `state()` and `restore(state)`), objects with `variables`, lists and
        dicts of these; arrays; numbers and strings. They become attributes; numbers and strings
        are changed by assigning the attribute.

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

    def __init__(self, **objects: Any) -> None:
        self._lock = threading.RLock()
        self._saving: Saving | None = None
        self.save_counter: Variable = Variable(0, False, "save_counter", dtypes.int64)
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
    def save(self, file_prefix: Any, wait: Literal[True] = True) -> str: ...

    @overload
    def save(self, file_prefix: Any, wait: Literal[False]) -> Saving: ...

    def save(self, file_prefix: Any, wait: bool = True) -> str | Saving:
        """Save the current state of all objects.

        Parameters
        ----------
        file_prefix : str
            A folder, created if it does not exist, and the prefix of checkpoint names.
        wait : bool, default True
            If False, return at once and write in the background. The data to be written shares
            memory with the variables until they are assigned.

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

    def write(self, file_prefix: Any, wait: bool = True) -> Any:
        """Save under exactly this name, without a counter and without an index."""
        return self.write_and(as_prefix(file_prefix), wait, lambda: None)

    def write_and(self, path: str, wait: bool, then: Callable[[], None]) -> Any:
        """Write a checkpoint, then call `then` once it is on disk."""
        refuse_tracing("save")
        safetensors()
        with self._lock:
            tensors, states = snapshot(Tracked(self))

            def work() -> None:
                write_content(path + SUFFIX, FORMAT, tensors, states)
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

    def restore(self, save_path: Any, partial: bool = False) -> Status:
        """Restore all objects from a checkpoint, or none if an error occurs.

        Parameters
        ----------
        save_path : str or None
            The result of `save`, or None from `latest_checkpoint`, which changes nothing.
        partial : bool, default False
            Whether to permit objects without values, which are unchanged, and unused values.

        Returns
        -------
        Status

        Raises
        ------
        NotFoundError
            If the checkpoint does not exist.
        DataLossError
            If the file is damaged.
        InvalidArgumentError
            If the checkpoint and the objects differ; all differences are listed.

        Notes
        -----
        Slots of an optimizer that is not built yet are stored and used when it is built.
        """
        if save_path is None:
            return Status(None, [], [], lambda: [])
        refuse_tracing("restore")
        with checkpoint_at(os.fspath(save_path).removesuffix(SUFFIX)) as content, self._lock:
            found = Tracked(self)
            difference = Difference(found, content)
            difference.check(partial)
            tensors = content.read()
            self._put_states(found, content)
            for name, x in tensors.items():
                if name in found.variables:
                    found.variables[name].assign(x)
                elif name in found.arrays:
                    found.arrays[name][...] = x.numpy()
            for path, optimizer in found.optimizers.items():
                optimizer.keep({of: {slot: tensors[name] for slot, name in names.items()}
                                for of, names in difference.kept[path].items()})
        return Status(content.path, difference.extra, difference.missing, lambda: [
            f"slots of {path}" for path, optimizer in found.optimizers.items() if optimizer.kept])

    read = restore

    def _put_states(self, found: Tracked, content: TensorFile) -> None:
        """Restore states that are not tensors. If one raises, undo the ones before."""
        before = {name: state.get() for name, state in found.states.items()}
        done: list[str] = []
        try:
            for name, state in found.states.items():
                if name in content.states:
                    done.append(name)
                    state.put(content.states[name])
        except BaseException as error:
            for name in done[:-1]:
                found.states[name].put(before[name])
            error.add_note(f"while {done[-1]} was restored from {content.path}; nothing was")
            raise


class Difference:
    """The differences between a checkpoint and objects.

    Attributes
    ----------
    missing : list of str
        Names that the checkpoint lacks.
    extra : list of str
        Names that only the checkpoint has.
    other : list of str
        Descriptions of tensors with another shape or dtype.
    kept : dict of str to dict of (Variable or int) to dict of str to str
        For each optimizer, the slots to be used when it is built: by variable, or by index of the
        variable, the names of its slots in the checkpoint.
    """

    def __init__(self, found: Tracked, content: TensorFile) -> None:
        have: dict[str, Any] = {**found.variables, **found.arrays}
        self.path: str = content.path
        self.missing: list[str] = [name for name in have if name not in content.tensors]
        self.missing += [name for name in found.states if name not in content.states]
        self.extra: list[str] = [name for name in content.states if name not in found.states]
        self.other: list[str] = []
        self.kept: dict[str, dict[Any, dict[str, str]]] = {path: {} for path in found.optimizers}
        for name, (dtype, shape) in content.tensors.items():
            slot = None if name in have else found.slot_in(name)
            if name in have:
                self._compare(name, dtype, shape, have[name])
            elif slot is None:
                self.extra.append(name)
            else:
                self.kept[slot.optimizer].setdefault(slot.of, {})[slot.name] = name
                if isinstance(slot.of, Variable):
                    optimizer = found.optimizers[slot.optimizer]
                    self._compare(name, dtype, shape, optimizer.initial_slot(slot.name, slot.of))
        for path, optimizer in found.optimizers.items():
            self.missing += [name.replace(f"/{slot}/", f"/{other}/", 1)
                             for names in self.kept[path].values() for slot, name in names.items()
                             for other in optimizer.next_layout() if other not in names]

    def _compare(self, name: str, dtype: str, shape: tuple[int, ...], mine: Any) -> None:
        if (dtype, shape) != (str(mine.dtype), tuple(mine.shape)):
            self.other.append(f"{name} is {dtype} {shape} in the checkpoint, {mine.dtype} "
                              f"{tuple(mine.shape)} here")

    def check(self, partial: bool) -> None:
        """Raise an error if there are differences that are not permitted."""
        problems = [] if partial else [
            *[f"the checkpoint has no {name}" for name in self.missing],
            *[f"there is no {name} here" for name in self.extra]]
        problems += self.other
        if problems:
            hint = "" if self.other or partial else "\npartial=True restores the rest"
            raise InvalidArgumentError(f"{self.path} does not match, and nothing was restored:\n  "
                                       + "\n  ".join(problems) + hint)


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
