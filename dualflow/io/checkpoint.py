"""Checkpoints of training: saved durably, restored whole or not at all."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

from dualflow import dtypes
from dualflow._core import Tensor, Variable, current_graph, values_together
from dualflow.errors import InvalidArgumentError
from dualflow.io.content import FORMAT, Content, checkpoint_at, write_content
from dualflow.io.files import SUFFIX, safetensors
from dualflow.io.index import write_index
from dualflow.io.tracked import Tracked, copied_state

__all__ = ["Checkpoint", "Saving", "Status"]


class Saving:
    """A checkpoint on its way to the disk; made by ``save(..., wait=False)``.

    Attributes
    ----------
    path : str
        What `restore` will take.
    """

    def __init__(self, path: str, work: Callable[[], None], after: Saving | None) -> None:
        self.path = path
        self._error: BaseException | None = None
        self._told = False
        self._after = after
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"saving {path}")
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            if self._after is not None:
                self._after._thread.join()          # in the order in which they were asked for
                self._after = None
            work()
        except BaseException as error:
            self._error = error
        finally:
            del self, work              # which the traceback refers to

    def done(self) -> bool:
        """Whether it is on the disk, or has failed."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> str:
        """Waits until it is on the disk; raises what went wrong, `TimeoutError` after `timeout`
        seconds. Returns the path."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"{self.path} is not saved after {timeout} s")
        if self._error is not None:
            self._told = True
            raise self._error
        return self.path

    def __del__(self) -> None:
        if getattr(self, "_error", None) is not None and not self._told:
            warnings.warn(f"{self.path} was not saved: {self._error}", RuntimeWarning,
                          stacklevel=2)

    def __repr__(self) -> str:
        return f"<Saving {self.path!r}{' done' * self.done()}>"


class Status:
    """What `restore` found, with the methods of TensorFlow's.

    Attributes
    ----------
    unused : list of str
        What the checkpoint has and the objects have not.
    unmatched : list of str
        What the objects have and the checkpoint has not.
    """

    unused: list[str]
    unmatched: list[str]

    def __init__(self, path: str | None, unused: list[str], unmatched: list[str],
                 waiting: Callable[[], list[str]]) -> None:
        self.path = path
        self.unused, self.unmatched = unused, unmatched
        self._waiting = waiting

    def assert_consumed(self) -> Status:
        """Raises AssertionError unless all of the checkpoint was used, and all objects are as it
        says; also while it has slots of an optimizer that is not built."""
        self.assert_existing_objects_matched()
        left = [*self.unused, *self._waiting()]
        if left:
            raise AssertionError(f"{self.path} has values that are not used: {', '.join(left)}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Raises AssertionError unless all objects are as the checkpoint says."""
        if self.unmatched or self.path is None:
            raise AssertionError(f"{self.path} has no values for: {', '.join(self.unmatched)}")
        return self

    def assert_nontrivial_match(self) -> Status:
        """Raises AssertionError if there was no checkpoint."""
        if self.path is None:
            raise AssertionError("nothing was restored")
        return self

    def expect_partial(self) -> Status:
        """Does nothing: what does not match is told at once, see `Checkpoint.restore`."""
        return self


class Checkpoint:
    """What training needs to go on, as a file.

    Parameters
    ----------
    **objects
        Variables, modules, optimizers, random generators, iterators of datasets (anything with
        `state()`, of which JSON holds what it returns, and `restore(state)`), objects with
        `variables`, and lists and dicts of these; arrays; numbers and strings. They become
        attributes, numbers and strings to be assigned there.

    Attributes
    ----------
    save_counter : Variable, int64, shape ()
        How often it was saved.

    Notes
    -----
    Names of variables do not matter, but the way to them from here does.

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
                raise InvalidArgumentError(f"Checkpoint: {name} is no name for an object here")
            setattr(self, name, x)
        Tracked(self)                   # tells what cannot be saved

    # --- saving ---

    @overload
    def save(self, file_prefix: Any, wait: Literal[True] = True) -> str: ...

    @overload
    def save(self, file_prefix: Any, wait: Literal[False]) -> Saving: ...

    def save(self, file_prefix: Any, wait: bool = True) -> str | Saving:
        """Saves all objects as they are now.

        Parameters
        ----------
        file_prefix : str
            A folder, made if need be, and how the names of checkpoints begin.
        wait : bool, default True
            False: returns at once, and writes while the program goes on. Variables share their
            memory with what is to be written until they are assigned.

        Returns
        -------
        str, or Saving if not `wait`
            `file_prefix`, "-" and the value of `save_counter`, which is increased: what `restore`
            takes. The name is also in the folder's index, for `latest_checkpoint`.

        Raises
        ------
        OSError
            If it cannot be written; what was there before is as it was.
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
        """The same under the name given, without counting and without an index."""
        return self.write_and(as_prefix(file_prefix), wait, lambda: None)

    def write_and(self, path: str, wait: bool, then: Callable[[], None]) -> Any:
        """Writes a checkpoint, and does something when it is on the disk."""
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
        """Gives all objects the values of a checkpoint, or none if anything is wrong.

        Parameters
        ----------
        save_path : str or None
            What `save` returned; None, which `latest_checkpoint` returns, changes nothing.
        partial : bool, default False
            Whether objects may lack values, and stay as they are, and values objects.

        Returns
        -------
        Status

        Raises
        ------
        NotFoundError
            If there is no such checkpoint.
        DataLossError
            If the file is damaged.
        InvalidArgumentError
            If the checkpoint and the objects differ; all differences are listed.

        Notes
        -----
        Slots of an optimizer that is not built are kept, and are its slots when it is.
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

    def _put_states(self, found: Tracked, content: Content) -> None:
        """Restores what is no tensor; if one refuses its state, those before get theirs back."""
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
    """How a checkpoint and objects differ.

    Attributes
    ----------
    missing : list of str
        What the checkpoint lacks.
    extra : list of str
        What it has besides.
    other : list of str
        What has another shape or dtype there.
    kept : dict of str to dict of (Variable or int) to dict of str to str
        For each optimizer, the slots that it will have when it is built: for a variable, or its
        place among those, the names that its slots have in the checkpoint.
    """

    def __init__(self, found: Tracked, content: Content) -> None:
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
        """Raises if there are any that matter."""
        told = [] if partial else [
            *[f"the checkpoint has no {name}" for name in self.missing],
            *[f"there is no {name} here" for name in self.extra]]
        told += self.other
        if told:
            hint = "" if self.other or partial else "\npartial=True restores the rest"
            raise InvalidArgumentError(f"{self.path} does not fit, and nothing was restored:\n  "
                                       + "\n  ".join(told) + hint)


def snapshot(found: Tracked) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of all tensors at one moment, and states; they do not change any more."""
    values = values_together(list(found.variables.values()))
    tensors: dict[str, Tensor | Any] = dict(zip(found.variables, values, strict=True))
    tensors.update({name: x.copy() for name, x in found.arrays.items()})
    states = {name: copied_state(name, state.get()) for name, state in found.states.items()}
    return tensors, states


def refuse_tracing(what: str) -> None:
    """Raises while a function is traced: files are not written by its runs."""
    if current_graph() is not None:
        raise InvalidArgumentError(f"Checkpoint: a traced function cannot {what}; {what} between "
                                   "its calls")


def as_prefix(path: Any) -> str:
    """A path as text; refuses what names only a folder."""
    prefix = os.fspath(path)
    if not isinstance(prefix, str) or not prefix:
        raise InvalidArgumentError(f"Checkpoint: the path is {path!r}, want text")
    if prefix.endswith(("/", os.sep)) or os.path.isdir(prefix):
        raise InvalidArgumentError(
            f"Checkpoint: {prefix} is a folder; want how a checkpoint's name begins, too, as in "
            f"{os.path.join(prefix, 'ckpt')!r}")
    return prefix
