"""Caching of elements for later passes over a dataset, in memory or in a file.

Pass 0 of the source is cached, whichever iterator requests elements. All iterators read one list;
an iterator at the end of the list continues pass 0.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from dualflow.data.cache_file import read, write
from dualflow.data.stage import Cursor, Stage


class Cache(Stage):
    """A source whose elements are cached in memory."""

    process: int

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.elements: list[Any] = []
        self.filling: Cursor | None = None
        self.complete: bool = False
        self.process = os.getpid()
        self.lock: Any = threading.RLock()

    @property
    def size(self) -> int:
        return len(self.elements) if self.complete else self.source.size

    @property
    def is_cheap(self) -> bool:
        return self.complete

    def describe(self) -> list[Any]:
        return ["Cache", {}, self.source.describe()]

    def cursor(self, epoch: int) -> Cursor:
        return CacheCursor(self)

    def has(self, n: int) -> bool:
        """Cache at least `n` elements; return False if the source has fewer."""
        if len(self.elements) >= n or self.complete:
            return len(self.elements) >= n
        if self.process != os.getpid():     # forked: the threads that filled the cache are gone
            self.process, self.lock, self.filling = os.getpid(), threading.RLock(), None
        with self.lock:
            while len(self.elements) < n and not self.complete:
                self.fill()
        return len(self.elements) >= n

    def fill(self) -> None:
        """Cache one more element."""
        if self.filling is None:
            self.filling = self.source.cursor(0)
            self.filling.advance(len(self.elements))
        try:
            for element in self.filling:
                self.elements.append(element)
                return
        except KeyboardInterrupt:           # possibly after `next` and before `append`
            self.filling = None
            raise
        self.finish()

    def finish(self) -> None:
        """Mark the cache as complete."""
        self.complete, self.filling = True, None


class CacheCursor(Cursor):
    """A position in the cached elements."""

    stage: Cache
    index: int

    def __init__(self, stage: Cache) -> None:
        self.stage, self.index = stage, 0

    def __next__(self) -> Any:
        index = self.index
        if not self.stage.has(index + 1):
            raise StopIteration
        self.index = index + 1
        return self.stage.elements[index]

    def advance(self, n: int) -> int:
        begin, stage = self.index, self.stage
        stage.has(begin + n)
        self.index = min(begin + n, len(stage.elements))
        return self.index - begin

    def state(self) -> Any:
        return self.index

    def restore(self, state: Any) -> None:
        self.index = state


class FileCache(Cache):
    """A source whose elements are cached in a file, which is created when the cache is complete."""

    def __init__(self, source: Stage, path: str) -> None:
        super().__init__(source)
        self.path = path

    def has(self, n: int) -> bool:
        if not self.complete and not self.elements and os.path.exists(self.path):
            with self.lock:
                if not self.complete:
                    self.elements: list[Any] = read(self.path, self.source)
                    super().finish()
        return super().has(n)

    def finish(self) -> None:
        write(self.path, self.source, self.elements)
        super().finish()
