# Context managers that change the state of a thread or of the process: tapes, recording in a
# graph, patched attributes, stacks, the collector. They are compiled because Python checks for
# signals where its functions begin and where calls return: Ctrl-C is raised before `__enter__` or
# inside the block, never in between, so the old state is always restored.

cdef class Recorder:
    """Base class of tapes: inside the block, the tape records the ops of this thread.

    Parameters
    ----------
    persistent : bool
        Whether gradients may be computed more than once.
    watch_accessed_variables : bool
        Whether values of trainable variables are watched as soon as an op reads them.
    """
    cdef readonly Tape _tape
    cdef readonly bint _persistent, _auto_watch
    cdef bint used                     # gradients were computed
    cdef public object _how            # how the last gradient was computed: see
                                       # dualflow.autodiff.compiled_backward.last_gradient

    def __cinit__(self, *args, **kwargs):
        self._tape = Tape.__new__(Tape)
        self._auto_watch = True
        self._how = ""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent = persistent
        self._auto_watch = watch_accessed_variables
        if self._tape.active or len(self._tape.watched) or self.used:
            self._tape = Tape.__new__(Tape)
            self.used = False
        self._tape.auto_watch = self._auto_watch

    def __enter__(self):
        self._tape.begin()
        return self

    def __exit__(self, kind, value, trace):
        self._tape.end()

    def reset(self):
        """Drop all records and watched values; an active tape continues to record."""
        cdef bint active = self._tape.active
        if active:
            self._tape.end()
        self._tape = Tape.__new__(Tape, self._auto_watch)
        self.used = False
        if active:
            self._tape.begin()

    def _start(self, str caller not None):
        """Return the records to compute gradients from. A tape that is not persistent stops
        recording, and raises RuntimeError on the second call."""
        return self.start(caller)

    cdef Tape start(self, str caller):
        if not self._persistent:
            if self.used:
                raise RuntimeError(
                    f"GradientTape.{caller}: a tape that is not persistent can be used once, "
                    "because its memory is freed on the way; use GradientTape(persistent=True) or "
                    "pass all sources in one call")
            self.used = True
            if self._tape.active:
                self._tape.end()
        return self._tape


@cython.final
cdef class RecordingStopped:
    """A context in which a tape records nothing."""
    cdef Recorder recorder

    def __cinit__(self, Recorder recorder not None):
        self.recorder = recorder

    def __enter__(self):
        self.recorder._tape.end()

    def __exit__(self, kind, value, trace):
        if not self.recorder._tape.active:
            self.recorder._tape.begin()


cdef int count_alive(graph, int change) except -1:
    """Add to `alive`, the number of recordings, of a graph and of the graphs it continues."""
    while graph is not None:
        graph.alive += change
        graph = graph.after
    return 0


@cython.final
cdef class TraceContext:
    """A context in which ops of this thread are recorded in `graph` (None: executed). Tapes that
    were active before record nothing.

    Parameters
    ----------
    graph : Graph or None
        Returned by ``__enter__``.
    patched : PatchedAttribute, optional
        A context that is entered before this one and left after it.
    """
    cdef object graph
    cdef PatchedAttribute patched
    cdef object outer
    cdef Tape outer_log
    cdef bint entered

    def __cinit__(self, graph, PatchedAttribute patched=None):
        self.graph = graph
        self.patched = patched

    def __enter__(self):
        if self.entered:
            raise RuntimeError("this context was entered already")
        if self.patched is not None:
            self.patched.__enter__()
        self.entered = True
        count_alive(self.graph, 1)
        self.outer = current_graph()
        self.outer_log = <Tape>df_tape_top if df_tape_top != NULL else None
        set_trace_top(self.graph)
        set_tape_top(None)
        return self.graph

    def __exit__(self, kind, value, trace):
        count_alive(self.graph, -1)
        set_trace_top(self.outer)
        set_tape_top(self.outer_log)
        self.entered = False
        self.outer = self.outer_log = None
        if self.patched is not None:
            self.patched.__exit__(kind, value, trace)


@cython.final
cdef class PatchedAttribute:
    """A context that patches ``owner.name`` to `new` while any thread is inside; `old` is the
    original value."""
    cdef object owner, name, new
    cdef readonly object old
    cdef int64_t n_inside

    def __cinit__(self, owner, str name not None, new):
        self.owner = owner
        self.name = name
        self.new = new
        self.old = getattr(owner, name)

    def __enter__(self):
        now = getattr(self.owner, self.name)
        if self.n_inside == 0 and now is not self.new:
            setattr(self.owner, self.name, self.new)
            self.old = now
        self.n_inside += 1

    def __exit__(self, kind, value, trace):
        self.n_inside -= 1
        if self.n_inside == 0 and getattr(self.owner, self.name) is self.new:
            setattr(self.owner, self.name, self.old)


@cython.final
cdef class PushedItem:
    """A context that pushes `item` on a list and pops it on exit; ``__enter__`` returns `result`.
    `recording`, if given, is entered before it and left after it."""
    cdef list stack
    cdef object item, result
    cdef TraceContext recording

    def __cinit__(self, list stack not None, item, result=None, TraceContext recording=None):
        self.stack = stack
        self.item = item
        self.result = result
        self.recording = recording

    def __enter__(self):
        if self.recording is not None:
            self.recording.__enter__()
        self.stack.append(self.item)
        return self.result

    def __exit__(self, kind, value, trace):
        self.stack.pop()
        if self.recording is not None:
            self.recording.__exit__(kind, value, trace)


cdef class AutocastRegion:
    """A context in which ops of this thread autocast to a 16-bit dtype; see `dualflow.autocast`.
    It may be entered again inside, and by several threads.

    Parameters
    ----------
    dtype : DType or None
        None: without autocast.
    """
    cdef int dtype
    cdef list outer                    # (thread, the dtype outside) of each entry

    def __cinit__(self, dtype=None, *args, **kwargs):
        self.outer = []

    def __init__(self, dtype=None):
        self.dtype = 0 if dtype is None else dtype.index

    def __enter__(self):
        global df_autocast
        self.outer.append((PyThread_get_thread_ident(), df_autocast))
        df_autocast = self.dtype
        return self

    def __exit__(self, kind, value, trace):
        global df_autocast
        cdef Py_ssize_t k = len(self.outer) - 1
        cdef object thread = PyThread_get_thread_ident()
        while k > 0 and self.outer[k][0] != thread:
            k -= 1
        df_autocast = self.outer.pop(k)[1]


def current_autocast():
    """Return the dtype of the autocast region that this thread is in, or None."""
    return _dtypes.ALL[df_autocast] if df_autocast else None


cdef extern from "Python.h":
    bint PyGC_Enable()
    bint PyGC_Disable()


@cython.final
cdef class CollectorSuspended:
    """A context in which the cyclic garbage collector is suspended in all threads, unless it is
    disabled already: for code that allocates many objects that all stay alive, whose collections
    would free nothing and take a third of the time."""
    cdef bint enabled

    def __enter__(self):
        self.enabled = PyGC_Disable()

    def __exit__(self, kind, value, trace):
        if self.enabled:
            PyGC_Enable()
