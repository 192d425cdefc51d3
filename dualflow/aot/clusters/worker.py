"""The thread that compiles clusters, and the state of each job.

One daemon thread takes all waiting jobs, looks them up in the cache, compiles the rest as one
library and installs the functions. It delays neither calls of functions nor the end of the process.
After a fork, the child starts its own thread for unfinished jobs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dualflow._util.frames import warn
from dualflow.aot.clusters import compiler
from dualflow.errors import CompilerWarning, DualflowError
from dualflow.graph.program.clusters import COMPILED, PENDING
from dualflow.graph.program.spec import InstructionSpec


class Function(NamedTuple):
    """A cluster in C.

    Attributes
    ----------
    key : str
        A digest of the text, which names the function.
    text : str
    layout : list of int
        The layout of its slots, for the executor (csrc/fuse/cluster.h).
    """

    key: str
    text: str
    layout: list[int]


class Refused(Exception):
    """A cluster stays interpreted; the message states why."""


class Job:
    """A cluster to be compiled.

    Parameters
    ----------
    instruction : InstructionSpec
        The instruction that runs it.
    write : callable
        Returns the function, or raises `Refused`.
    use : callable
        Called with the layout and the address of the function once it is loaded.

    Attributes
    ----------
    state : str
        `PENDING`, `COMPILED`, or why it is not compiled.
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
        self.jobs: list[Job] = []               # unfinished jobs
        self.addresses: dict[str, int] = {}     # loaded functions by key
        self.warned = False
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._stop)

    def _forget(self) -> None:
        """Reset to a state without a thread; also called in a forked child."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: Any = None
        self._stopped = False

    def _stop(self) -> None:
        """Stop compiling at the end of the process."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    # --- called by other threads ---

    def add(self, jobs: Sequence[Job]) -> None:
        """Queue jobs."""
        with self._changed:
            self.jobs += jobs
            self._start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no jobs are left; return False if `timeout` s have passed before."""
        with self._changed:
            self._start()
            return self._changed.wait_for(lambda: not self.jobs, timeout)

    def fail(self, jobs: Sequence[Job], why: str) -> None:
        """Leave jobs to the interpreter; warn the first time."""
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
            except Exception as exc:        # on any failure, clusters stay interpreted
                with contextlib.suppress(CompilerWarning):      # if warnings are errors
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
                self.fail([job], "the compiled library cannot be loaded")

    def _load(self, folder: Path, key: str) -> bool:
        """Load the library of a cluster and keep it loaded; return False if there is none."""
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
    """Return the function of a job, or None after storing the reason in its state."""
    try:
        return job.write()
    except Refused as why:
        job.state = f"interpreted: {why}"
    return None


def use(job: Job, layout: list[int], address: int) -> None:
    """Install a compiled function."""
    try:
        job.use(layout, address)
    except DualflowError as exc:
        job.state = f"not compiled: {exc}"
    else:
        job.state = COMPILED


def name_of(key: str) -> str:
    """Return the name of a cluster's function."""
    return f"df_cluster_{key}"


WORKER = Worker()
