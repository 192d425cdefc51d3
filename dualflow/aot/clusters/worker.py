"""The thread that compiles clusters, and what is known about each.

One daemon thread takes all that waits, looks for it in the cache, compiles the rest as one
library and swaps it in. It never holds up whoever calls a function, nor the end of the process.
After a fork the child starts a thread of its own for what was not finished.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dualflow.aot.clusters import compiler
from dualflow.errors import CompilerWarning, DualflowError
from dualflow.frames import warn
from dualflow.graph.program.clusters import COMPILED, PENDING
from dualflow.graph.program.spec import InstructionSpec


class Function(NamedTuple):
    """A cluster in C.

    Attributes
    ----------
    key : str
        Names it.
    text : str
    layout : list of int
        What the executor is told (csrc/fuse/cluster.h).
    """

    key: str
    text: str
    layout: list[int]


class Refused(Exception):
    """A cluster that is interpreted, and why."""


class Job:
    """A cluster that is to be compiled.

    Parameters
    ----------
    instruction : InstructionSpec
        That runs it.
    write : callable
        Writes the function, or raises `Refused`.
    use : callable
        Given the layout and the address of the function, when it is loaded.

    Attributes
    ----------
    state : str
        `PENDING`, `COMPILED`, or why it is neither.
    """

    def __init__(self, instruction: InstructionSpec, write: Callable[[], Function],
                 use: Callable[[list[int], int], None]) -> None:
        self.instruction = instruction
        self.write = write
        self.use = use
        self.state = PENDING


class Worker:
    """Compiles jobs in the background."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []               # those that are not finished
        self.addresses: dict[str, int] = {}     # of functions that are loaded
        self.warned = False
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._stop)

    def _forget(self) -> None:
        """Starts without a thread, as a child of a fork does."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: Any = None
        self._stopped = False

    def _stop(self) -> None:
        """The process ends: whatever compiles does not go on."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    # --- what callers do ---

    def add(self, jobs: Sequence[Job]) -> None:
        """Compiles jobs when there is time."""
        with self._changed:
            self.jobs += jobs
            self._start()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until nothing is left to compile; False: that took longer than `timeout` s."""
        with self._changed:
            self._start()
            return self._changed.wait_for(lambda: not self.jobs, timeout)

    def fail(self, jobs: Sequence[Job], why: str) -> None:
        """Leaves jobs to the interpreter, and says so the first time."""
        for job in jobs:
            if job.state == PENDING:
                job.state = f"not compiled: {why}"
        if not self.warned:
            self.warned = True
            warn(f"jit_compile: clusters are interpreted, as {why}", CompilerWarning)

    def _start(self) -> None:
        if self.jobs and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="dualflow-clusters",
                                            daemon=True)
            self._thread.start()

    # --- the thread ---

    def _run(self) -> None:
        while True:
            with self._changed:
                taken = list(self.jobs)
                if not taken or self._stopped:
                    self._thread = None
                    return
            try:
                self._compile(taken)
            except Exception as exc:        # whatever it is, the interpreter of clusters goes on
                with contextlib.suppress(CompilerWarning):      # where warnings are errors
                    self.fail(taken, str(exc))
            with self._changed:
                self.jobs = [job for job in self.jobs if job not in taken]
                self._changed.notify_all()

    def _compile(self, jobs: list[Job]) -> None:
        found = compiler.command()
        if found is None:
            raise compiler.CompilerError(compiler.NONE)
        folder = compiler.folder_for(found)
        functions = {job: made for job in jobs if (made := written(job)) is not None}
        missing = {made.key: made.text for made in functions.values()
                   if made.key not in self.addresses and not self._load(folder, made.key)}
        if missing:
            compiler.compile_library(found, folder, missing, self._run_command)
        for job, made in functions.items():
            if made.key in self.addresses or self._load(folder, made.key):
                use(job, made.layout, self.addresses[made.key])
            else:
                self.fail([job], "what the compiler makes cannot be loaded")

    def _load(self, folder: Path, key: str) -> bool:
        """Whether the library of a cluster is there, and loaded now. It stays so."""
        import ctypes

        path = compiler.library(folder, key)
        if path is None:
            return False
        try:
            function = getattr(ctypes.CDLL(str(path)), name_of(key))
        except (OSError, AttributeError):
            path.unlink(missing_ok=True)
            return False
        address = ctypes.cast(function, ctypes.c_void_p).value
        if address is not None:
            self.addresses[key] = address
        return address is not None

    def _run_command(self, words: Sequence[str]) -> str | None:
        import subprocess

        try:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                             text=True, errors="replace")
            _, said = self._process.communicate()
            return None if self._process.returncode == 0 else said or "no message"
        except OSError as exc:
            return str(exc)
        finally:
            self._process = None


def written(job: Job) -> Function | None:
    """The function of a job, or None: its state says why there is none."""
    try:
        return job.write()
    except Refused as why:
        job.state = f"interpreted: {why}"
    return None


def use(job: Job, layout: list[int], address: int) -> None:
    """Swaps a function in."""
    try:
        job.use(layout, address)
    except DualflowError as exc:
        job.state = f"not compiled: {exc}"
    else:
        job.state = COMPILED


def name_of(key: str) -> str:
    """The function of a cluster."""
    return f"df_cluster_{key}"


WORKER = Worker()
