# Reader/writer locks of variables. A LockRequest is a lock request: variables to read and variables
# to write, all granted together. The callers are ops that write variables, runs of programs, reads.
#
# An eager op or a run of a program holds the locks of the variables that it writes. A run lets
# other threads proceed while it has released the GIL or calls Python. A value can be read whenever
# C is not writing it. While a run calls Python, a reader gets a copy: the value that eager mode
# would have at this point, because effects keep their order.
#
# Requests that cannot be granted yet wait in a queue. A thread that releases variables serves the
# queue: it passes values to waiting readers and acquires locks on behalf of waiting writers. So a
# thread that writes all the time starves no other. The GIL is held throughout this file.

cdef extern from "pythread.h" nogil:
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long us, int interruptible)
    void PyThread_release_lock(PyThread_type_lock lock)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    /* The innermost lock request that this thread holds. */
    static DF_THREAD_LOCAL void *df_lock_top = NULL;
    """
    void *df_lock_top

cdef extern from "pthread.h" nogil:
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept,
                       void (*child)() noexcept)


cdef enum:
    MAX_WRITTEN = 32           # operands that an op may write: bits of df_op.writes
    RECHECK_US = 50000         # polling interval: a run that calls Python wakes no reader
    FORK_US = 100              # polling interval of a thread that forks


cdef LockRequest *waiting = NULL  # the queue, oldest first
cdef LockRequest *holding = NULL  # granted requests that write
cdef unsigned long forking = 0     # the thread that forks: no other may begin to write


cdef Tensor current_value(Variable v):
    """Return the value, or a copy if a request holds the write lock."""
    return v.value_ if v.writer == NULL else copied_value(v)


cdef Tensor copied_value(Variable v):
    cdef Tensor fresh = duplicate(v.value_)
    fresh.id = v.id
    fresh.watch = v.value_.watch
    return fresh


cdef int make_exclusive(Variable v) except -1:
    """Ensure that the memory that an op is about to write has no other owner."""
    cdef Tensor value = v.value_            # one more reference
    v.version += 1
    if Py_REFCNT(value) > 2 or not df_buffer_is_exclusive(value.t.buffer):
        v.value_ = copied_value(v)
    return 0


cdef int acquire_variables(LockRequest *c) except -1:
    """Acquire a request: wait until it can be granted, fill in its values, and hold its write locks
    until `release_variables`. A request that writes nothing holds nothing."""
    global df_lock_top
    c.outer = <LockRequest *>df_lock_top
    c.thread = PyThread_get_thread_ident()
    c.working = c.granted = c.failed = c.away = False
    if not can_be_granted(c) or must_queue(c):
        wait_in_queue(c)
    else:
        grant(c)
    if c.n_writes:
        df_lock_top = c
    return 0


cdef void release_variables(LockRequest *c) noexcept:
    global df_lock_top
    df_lock_top = c.outer
    unlock(c)
    if waiting != NULL:
        grant_queued()


cdef void unlock(LockRequest *c) noexcept nogil:
    cdef int k
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).writer = NULL
    unlink(&holding, c)


cdef void unlink(LockRequest **first, LockRequest *c) noexcept nogil:
    while first[0] != NULL:
        if first[0] == c:
            first[0] = c.next
            return
        first = &first[0].next


cdef Tensor value_when_possible(Variable v):
    """Return the value of a variable whose write lock is held."""
    cdef PyObject *variable = <PyObject *>v
    cdef PyObject *value = NULL
    cdef LockRequest c
    cdef Tensor x
    c.n_reads, c.n_writes = 1, 0
    c.reads = &variable
    c.values = &value
    acquire_variables(&c)
    x = <Tensor>value
    Py_DECREF(x)
    return x


cdef Tensor read_variable(Variable v):
    """Return the value of a variable or, while a graph records, the Symbol of its current version.
    """
    cdef PyObject *observer
    if df_trace_top != NULL:
        observer = pause_observer()
        try:
            return <Tensor?>(<object>df_trace_top).read(v)
        finally:
            resume_observer(observer)
    return v.value_ if v.writer == NULL else value_when_possible(v)


def snapshot_values(list variables not None):
    """Return the values of several variables at one moment, at which C writes no variable of the
    list."""
    cdef Py_ssize_t k, n = len(variables)
    cdef PyObject **place = <PyObject **>PyMem_Malloc((2 * n + 1) * sizeof(PyObject *))
    cdef list found = []
    cdef LockRequest c
    if place == NULL:
        raise MemoryError()
    try:
        for k in range(n):
            place[k] = <PyObject *><Variable?>variables[k]
        c.n_reads, c.n_writes = <int>n, 0
        c.reads, c.values = place, place + n
        acquire_variables(&c)
        for k in range(n):
            found.append(<Tensor>c.values[k])
            Py_DECREF(<Tensor>c.values[k])
    finally:
        PyMem_Free(place)
    return found


cdef bint can_be_granted(const LockRequest *c) noexcept:
    cdef LockRequest *writer
    cdef int k
    if forking and c.n_writes and forking != c.thread:
        return False
    for k in range(c.n_reads):
        writer = (<Variable>c.reads[k]).writer
        if writer != NULL and writer.working:
            return False
    for k in range(c.n_writes):
        if (<Variable>c.writes[k]).writer != NULL:
            return False
    return True


cdef bint must_queue(const LockRequest *c) noexcept:
    """Return True if an older request waits for a variable that `c` writes. A thread that already
    holds locks does not queue: older requests may be waiting for its locks."""
    cdef int k
    if c.outer == NULL:
        for k in range(c.n_writes):
            if (<Variable>c.writes[k]).wanted:
                return True
    return False


cdef int grant(LockRequest *c) except -1:
    global holding
    cdef int k, n
    for k in range(c.n_reads):
        try:
            x = current_value(<Variable>c.reads[k])
        except MemoryError:
            for n in range(k):
                Py_DECREF(<object>c.values[n])
            raise
        Py_INCREF(x)
        c.values[k] = <PyObject *>x
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).writer = c
    if c.n_writes:
        c.next = holding
        holding = c
    c.granted = True
    return 0


# --- the queue -----------------------------------------------------------------------------------


cdef void mark_wanted(const LockRequest *c, bint wanted) noexcept:
    cdef int k
    for k in range(c.n_reads):
        (<Variable>c.reads[k]).wanted = wanted
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).wanted = wanted


cdef void grant_queued() noexcept:
    """Grant the queued requests that can be granted now, oldest first."""
    cdef LockRequest *c = waiting
    cdef LockRequest *next
    while c != NULL:
        mark_wanted(c, False)
        c = c.next
    c = waiting
    while c != NULL:
        next = c.next
        if not c.away:
            if can_be_granted(c) and not must_queue(c):
                unlink(&waiting, c)
                try:
                    grant(c)
                except MemoryError:
                    c.failed = True
                PyThread_release_lock(c.wakeup)
            else:
                mark_wanted(c, True)
        c = next


cdef int wait_in_queue(LockRequest *c) except -1:
    global waiting
    cdef LockRequest **last = &waiting
    if c.outer != NULL:
        check_for_deadlock(c)
    c.wakeup = PyThread_allocate_lock()
    if c.wakeup == NULL:
        raise MemoryError()
    PyThread_acquire_lock(c.wakeup, 0)
    while last[0] != NULL:
        last = &last[0].next
    c.next = NULL
    last[0] = c
    mark_wanted(c, True)
    try:
        while not c.granted and not c.failed:
            with nogil:
                PyThread_acquire_lock_timed(c.wakeup, RECHECK_US, 1)
            if not c.granted and not c.failed:
                run_handlers(c)
    except:                                # Ctrl-C
        unlink(&waiting, c)
        mark_wanted(c, False)
        grant_queued()
        raise
    finally:
        PyThread_free_lock(c.wakeup)
    if c.failed:
        raise _errors.ResourceExhaustedError("no memory for a copy of a variable's value")
    return 0


cdef int run_handlers(LockRequest *c) except -1:
    """Run the handlers of pending signals. Their requests do not queue behind `c`."""
    c.away = True
    PyErr_CheckSignals()
    c.away = False
    grant_queued()
    return 0


cdef int check_for_deadlock(LockRequest *c) except -1:
    """Raise InUseError if a thread that holds locks requests a variable that is held by the same
    thread, or by a thread that waits for one of its locks, directly or not."""
    cdef LockRequest *w = waiting
    cdef PyObject *v
    cdef bint more = True
    while w != NULL:
        w.stuck = False
        w = w.next
    while more:
        more = False
        w = waiting
        while w != NULL:
            if not w.stuck and not w.away and needs_stuck(w, c.thread) != NULL:
                w.stuck = more = True
            w = w.next
    v = needs_stuck(c, c.thread)
    if v != NULL:
        raise _errors.InUseError(
            f"{(<Variable>v).name} cannot be assigned here: a program that writes it waits for "
            "this code, which it called; it can be read")
    return 0


cdef PyObject *needs_stuck(const LockRequest *c, unsigned long thread) noexcept:
    """Return a variable that `c` writes and that is held by `thread` or by a stuck thread, or NULL.
    """
    cdef LockRequest *writer
    cdef LockRequest *w
    cdef int k
    for k in range(c.n_writes):
        writer = (<Variable>c.writes[k]).writer
        if writer == NULL:
            continue
        if writer.thread == thread:
            return c.writes[k]
        w = waiting
        while w != NULL:
            if w.stuck and w.thread == writer.thread:
                return c.writes[k]
            w = w.next
    return NULL


# --- runs of C, and their calls of Python ---------------------------------------------------------


cdef void begin_work(LockRequest *c) noexcept:
    while forking and forking != c.thread:
        with nogil:
            usleep(FORK_US)
    c.working = True


cdef bint pause_work() noexcept:
    """Make variables readable while a run calls Python. Return True if C was writing some."""
    cdef LockRequest *c = <LockRequest *>df_lock_top
    cdef bint working = c != NULL and c.working
    if working:
        c.working = False
    return working


cdef void resume_work(bint working) noexcept:
    if working:
        begin_work(<LockRequest *>df_lock_top)


# --- forks ---------------------------------------------------------------------------------------
# A fork waits until no other thread writes a variable in C, so that the child has complete values.


def _before_fork():
    global forking
    cdef unsigned long thread = PyThread_get_thread_ident()
    while forking:
        with nogil:
            usleep(FORK_US)
    forking = thread
    while others_work():
        with nogil:
            usleep(FORK_US)


cdef bint others_work() noexcept:
    cdef LockRequest *c = holding
    while c != NULL:
        if c.working and c.thread != forking:
            return True
        c = c.next
    return False


def _after_fork():
    global forking
    forking = 0
    grant_queued()


cdef void forget_others() noexcept nogil:
    """In the child, inside the fork: drop the requests of threads that the child lacks. They lie on
    stacks that new threads may reuse."""
    cdef LockRequest *c = holding
    cdef LockRequest *next
    if not forking:                        # not a fork by Python: C forks in order to exec
        return
    while c != NULL:
        next = c.next
        if c.thread != forking:
            unlock(c)
        c = next
    c = waiting
    while c != NULL:
        next = c.next
        if c.thread != forking:
            unlink(&waiting, c)
        c = next


pthread_atfork(NULL, NULL, forget_others)
_os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
