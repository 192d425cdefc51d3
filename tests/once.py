"""Work that one process of a test run does for all of them."""

import contextlib
import fcntl


@contextlib.contextmanager
def alone(path):
    """Hold the lock of a path: other processes of the run wait until the block ends."""
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
